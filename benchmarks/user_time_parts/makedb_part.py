"""`exaln makedb` of FASTA on two cores and on all, and of gzip beside its decompression alone."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from user_time_parts.made_data import compressed, swissprot_fasta
from user_time_parts.sizes import Sizes
from user_time_parts.tables import Row, Table
from user_time_parts.trees import Tree, best, workers

WORK_S, PROCESS_S = 0.63, 0.92
"""CUDASW++4.0 for the same file on the same machine."""

SPEEDS = {2: 250.0, 16: 600.0}
"""Required MB/s by number of cores."""

GZIP_TIMES = 1.15
"""The most that makedb may take of the time of decompression alone; the start of its threads is in it."""


def measure(table: Table, trees: Sequence[Tree], sizes: Sizes, folder: Path, *, has_gpu: bool) -> None:
    """Fill the table."""
    fasta = swissprot_fasta(folder, sizes.targets)
    is_full = sizes.targets == Sizes.targets and has_gpu
    megabytes = fasta.stat().st_size / 1e6
    n_all = len(os.sched_getaffinity(0))
    for n_cores in sorted({2, n_all}):
        work = measure_work(table, trees, sizes, fasta, folder, n_cores)
        before, now = (best(work, name) for name in ("before", "now"))
        name = f"makedb of {megabytes:.0f} MB, {n_cores} cores"
        if n_cores == n_all:
            table.add(Row(f"{name}, work", "s", before, now, WORK_S if is_full else None))
        speeds = [None if seconds is None else megabytes / seconds for seconds in (before, now)]
        table.add(Row(f"{name}, work", "MB/s", *speeds, SPEEDS.get(n_cores) if is_full else None))
    times = measure_process(table, trees, sizes, fasta, folder)
    row = best(times, "before"), best(times, "now"), PROCESS_S if is_full else None
    table.add(Row(f"makedb of {megabytes:.0f} MB, process", "s", *row))
    measure_gzip(table, trees, sizes, fasta, folder, n_all, is_full)


def measure_work(
    table: Table, trees: Sequence[Tree], sizes: Sizes, source: Path, folder: Path, n_cores: int
) -> dict[str, list[float]]:
    """Seconds of exaln.Database.build on a number of cores, in fresh processes, after a small one."""
    times: dict[str, list[float]] = {tree.name: [] for tree in trees}
    small = folder / "small.fasta"
    small.write_text(">one\nMKVLAAGIT\n", encoding="utf-8")
    for _ in range(sizes.repeats):
        with workers(trees) as running:
            for worker in running:
                worker.ask("use_cores", n=n_cores)
                worker.ask("build", source=str(small), database=str(folder / "small.exaln"))
                built = folder / f"built-{worker.tree.name}.exaln"
                times[worker.tree.name].append(worker.ask("build", source=str(source), database=str(built))["seconds"])
    table.keep(f"work, {source.name}, {n_cores} cores", times)
    compare_databases(table, trees, folder, f"{source.name}, {n_cores} cores")
    return times


def measure_process(
    table: Table, trees: Sequence[Tree], sizes: Sizes, source: Path, folder: Path
) -> dict[str, list[float]]:
    """Seconds of `exaln makedb`."""
    times: dict[str, list[float]] = {tree.name: [] for tree in trees}
    for _ in range(sizes.repeats):
        for tree in trees:
            built = folder / f"built-{tree.name}.exaln"
            arguments = ["makedb", "--in", str(source), "--db", str(built), "--force", "--quiet"]
            times[tree.name].append(tree.exaln(arguments).seconds)
    table.keep(f"process, {source.name}", times)
    compare_databases(table, trees, folder, f"{source.name}, process")
    return times


def measure_gzip(
    table: Table, trees: Sequence[Tree], sizes: Sizes, fasta: Path, folder: Path, n_cores: int, is_full: bool
) -> None:
    """The work for compressed input beside decompression by the library that exaln uses."""
    packed = compressed(fasta)
    alone: dict[str, list[float]] = {tree.name: [] for tree in trees}
    for _ in range(sizes.repeats):
        with workers(trees[-1:]) as running:
            for worker in running:
                alone[worker.tree.name].append(worker.ask("decompress", path=str(packed))["seconds"])
    work = measure_work(table, trees, sizes, packed, folder, n_cores)
    least = min(alone["now"])
    table.keep("decompression alone", alone)
    row = best(work, "before"), best(work, "now"), GZIP_TIMES * least if is_full else None
    table.add(Row(f"makedb of gzip, {n_cores} cores, work", "s", *row, about=f"decompression alone {least:.2f} s"))


def compare_databases(table: Table, trees: Sequence[Tree], folder: Path, what: str) -> None:
    """Compare the segments that the trees have written, byte for byte, by the hashes in their manifests."""
    from exaln.database.manifest import read_manifest

    digests = {}
    for tree in trees:
        manifest = read_manifest(folder / f"built-{tree.name}.exaln")
        digests[tree.name] = str(hash(tuple(entry.block_xxh3_64 for entry in manifest.segments)))
    table.compare(f"the database of {what}", digests)
