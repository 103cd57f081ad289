"""The panels in which the help of a command shows its options, from input to messages."""

from __future__ import annotations

from collections.abc import Iterable

# fmt: off
PANELS: dict[str, tuple[str, ...]] = {
    "Input": (
        "--query", "--db", "--in", "--ids", "--exclude-ids", "--alphabet", "--strip-gaps", "--max-record-size", "--all",
        "--mask", "--method",
    ),
    "Output": ("--out", "--outfmt", "--format", "--plot", "--hard", "--width", "--force", "--json"),
    "Scoring": (
        "--task", "--matrix", "--match", "--mismatch", "--gap-open", "--gap-extend", "--mode", "--strand", "--dbsize",
        "--statistics", "--seed", "--comp-based-stats", "--margin", "--preset", "--shuffles",
        "--shuffle-window",
    ),
    "Filters": (
        "--evalue", "--max-target-seqs", "--max-hsps", "--min-bits", "--min-score", "--min-identity",
        "--min-query-coverage", "--min-target-coverage", "--subject-besthit", "--culling-limit",
    ),
    "Masks": ("--query-mask", "--query-masking", "--target-mask"),
    "Engine": ("--engine", "--devices", "--gpu-memory", "--threads", "--memory", "--work-dir"),
    "Cluster": (
        "--cluster", "--cluster-config", "--plan", "--resume", "--shard",
        "--dashboard", "--tls-ca", "--tls-cert", "--tls-key", "--insecure",
    ),
    "Messages": ("--quiet", "--verbose", "--debug", "--help"),
}
# fmt: on

FEW_OPTIONS = 9
"""A command with no more options than this has one panel."""


def option_groups(names: Iterable[str]) -> list[dict[str, object]]:
    """The panels of a command with these options, in the form that rich-click takes; empty for few options.

    >>> option_groups(["--db", "--json"])
    []
    """
    given = set(names)
    if len(given) <= FEW_OPTIONS:
        return []
    panels = {title: [name for name in options if name in given] for title, options in PANELS.items()}
    return [{"name": title, "options": options} for title, options in panels.items() if options]
