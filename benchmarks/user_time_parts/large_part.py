"""`exaln search` of large databases in fresh processes: resident on the GPU, and streamed, with the host's memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from user_time_parts.host_memory import pinned_shows_in
from user_time_parts.made_data import large_database, queries_file, swissprot
from user_time_parts.search_part import STANDARD_QUERY, command
from user_time_parts.sizes import Sizes
from user_time_parts.tables import Row, Table
from user_time_parts.trees import Tree, best

LIMITS_S = {(25, "resident"): (2.2, 1.5), (100, "resident"): (4.5, None), (100, "streamed"): (5.5, None)}
"""Required seconds and aim by number of copies of 570,000 proteins."""

MEMORY_MB = 2000.0
STREAMED = ("--gpu-memory", "4G")
STREAMED_QUICKLY = ("--gpu-memory", "64M")


def measure(table: Table, trees: Sequence[Tree], sizes: Sizes, folder: Path, *, has_gpu: bool) -> None:
    """Fill the table."""
    swissprot(folder, sizes.targets)
    query = queries_file(folder, [STANDARD_QUERY])
    pinned = pinned_shows_in()
    table.note(f"256 MiB of pinned memory show in: {pinned or 'no GPU'}")
    ways = {"resident": (), "streamed": STREAMED_QUICKLY if sizes.is_quick else STREAMED} if has_gpu else {"cpu": ()}
    for n_copies in sizes.copies:
        database = large_database(folder, sizes.targets, n_copies)
        for way, more in ways.items():
            arguments = command(query, database, "cuda" if has_gpu else "cpu", *more)
            name = f"exaln search, one query, {n_copies * sizes.targets:,} proteins, {way}"
            limits = LIMITS_S.get((n_copies, way), (None, None)) if sizes.targets == Sizes.targets else (None, None)
            measure_way(table, trees, sizes, name, arguments, limits, pinned)


def measure_way(
    table: Table,
    trees: Sequence[Tree],
    sizes: Sizes,
    name: str,
    arguments: list[str],
    limits: tuple[float | None, float | None],
    pinned: dict[str, int],
) -> None:
    """One search in fresh processes of all trees in turn; the first of each fills the page cache and is not counted."""
    times: dict[str, list[float]] = {tree.name: [] for tree in trees}
    memory: dict[str, list[dict[str, int]]] = {tree.name: [] for tree in trees}
    digests = {}
    for repeat in range(1 + sizes.repeats):
        for tree in trees:
            ended = tree.exaln(arguments, with_memory=True)
            digests[tree.name] = ended.digest
            if repeat:
                times[tree.name].append(ended.seconds)
                memory[tree.name].append(ended.memory)
    table.compare(name, digests)
    table.keep(name, {"seconds": times, "memory": memory})
    table.add(Row(name, "s", best(times, "before"), best(times, "now"), *limits))
    peaks = {tree: max(held_bytes(one, pinned) for one in found) / 1e6 for tree, found in memory.items()}
    mapped = max(one.get("RssFile", 0) for one in memory["now"]) / 1e6
    about = f"anonymous and pinned; file pages {mapped:,.0f} MB"
    table.add(Row(f"{name}, memory", "MB", peaks.get("before"), peaks["now"], MEMORY_MB, None, about))


def held_bytes(peaks: dict[str, int], pinned: dict[str, int]) -> int:
    """Anonymous memory and what is pinned, by the counter in which pinned memory shows on this machine."""
    rises = {name: rise for name, rise in pinned.items() if name != "VmHWM"}
    counter = max(rises, key=lambda name: rises[name], default="RssAnon")
    anonymous = peaks.get("RssAnon", 0)
    return anonymous if counter == "RssAnon" else anonymous + peaks.get(counter, 0)
