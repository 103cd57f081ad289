"""What Python shows of hits: their number, the first ones, and the last."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from exaln.report.clean import one_line
from exaln.report.columns import number_text
from exaln.statistics import format_bits, format_evalue

if TYPE_CHECKING:
    from exaln.hits import Hit, Hits

SHOWN = 10
NAME = 24

_COLUMNS: dict[str, Callable[[Hit], str]] = {
    "query_id": lambda hit: _short(hit.query_id),
    "target_id": lambda hit: _short(hit.target_id),
    "score": lambda hit: number_text(hit.score),
    "bits": lambda hit: "" if hit.bits is None else format_bits(hit.bits),
    "evalue": lambda hit: "" if hit.evalue is None else format_evalue(hit.evalue),
    "identity": lambda hit: f"{hit.percent_identity:.1f}%",
    "query": lambda hit: f"{hit.query_start}:{hit.query_end}",
    "target": lambda hit: f"{hit.target_start}:{hit.target_end}" + ("" if hit.strand > 0 else " minus"),
}


def preview(hits: Hits) -> str:
    """A short table; more than SHOWN hits are abridged."""
    heading = f"Hits: {len(hits):,} {'hit' if len(hits) == 1 else 'hits'}"
    if len(hits) == 0:
        return heading
    rows = [_texts(hit) for hit in (hits if len(hits) <= SHOWN else hits[: SHOWN - 1])]
    if len(hits) > SHOWN:
        rows += [["..."] + [""] * (len(_COLUMNS) - 1), _texts(hits[-1])]
    widths = [max(map(len, column)) for column in zip(list(_COLUMNS), *rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in [list(_COLUMNS), *rows]]
    return "\n".join([heading, *lines])


def _texts(hit: Hit) -> list[str]:
    return [text(hit) for text in _COLUMNS.values()]


def _short(name: str) -> str:
    return one_line(name if len(name) <= NAME else name[: NAME - 3] + "...")
