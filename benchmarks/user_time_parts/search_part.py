"""`exaln search` in fresh processes against a synthetic Swiss-Prot, and `exaln.search` again in one process.

The floor is what no search on a GPU can go below: an interpreter, cuInit and a context, from ctypes alone.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from user_time_parts.made_data import queries_file, swissprot
from user_time_parts.sizes import Sizes
from user_time_parts.tables import Row, Table
from user_time_parts.trees import Tree, best, workers

STANDARD_QUERY = 375
ONE_QUERY_S, ONE_QUERY_AIM_S, ALL_QUERIES_S, COMPILE_S, AGAIN_MS = 0.9, 0.65, 2.0, 1.5, 22.0

CONTEXT = """
import ctypes
cuda, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
assert cuda.cuInit(0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
"""
FLOORS = {
    "interpreter": "pass",
    "interpreter and numpy": "import numpy",
    "interpreter, numpy and pyarrow": "import numpy, pyarrow",
    "interpreter and cuInit": "import ctypes; assert ctypes.CDLL('libcuda.so.1').cuInit(0) == 0",
    "interpreter, cuInit and context": CONTEXT,
}


def measure(table: Table, trees: Sequence[Tree], sizes: Sizes, folder: Path, *, has_gpu: bool) -> None:
    """Fill the table."""
    engine = "cuda" if has_gpu else "cpu"
    if not has_gpu:
        table.note("no GPU: measured with the cpu engine, to which the required figures do not apply")
    database = swissprot(folder, sizes.targets)
    one, every = queries_file(folder, [STANDARD_QUERY]), queries_file(folder, None)
    measure_floors(table, trees[-1], sizes, has_gpu)
    caches = {tree.name: folder / f"kernels-{tree.name}" for tree in trees}
    if has_gpu:
        measure_empty_caches(table, trees, sizes, one, database, caches)
    limits = (ONE_QUERY_S, ONE_QUERY_AIM_S) if has_gpu else (None, None)
    measure_command(table, trees, sizes, f"one query of {STANDARD_QUERY}", one, database, engine, caches, *limits)
    limits = (ALL_QUERIES_S, None) if has_gpu else (None, None)
    measure_command(table, trees, sizes, "20 queries", every, database, engine, caches, *limits)
    measure_again(table, trees, sizes, one, database, engine, has_gpu)


def measure_floors(table: Table, tree: Tree, sizes: Sizes, has_gpu: bool) -> None:
    """The least time of processes that only start what a search needs."""
    for name, code in FLOORS.items():
        if has_gpu or "cuInit" not in name:
            seconds = min(tree.program("-c", code).seconds for _ in range(sizes.repeats))
            table.add(Row(f"floor: {name}", "s", None, seconds))


def command(query: Path, database: Path, engine: str, *more: str) -> list[str]:
    """Arguments of a search with default options."""
    return ["search", "--query", str(query), "--db", str(database), "--engine", engine, "--quiet", *more]


def measure_empty_caches(
    table: Table, trees: Sequence[Tree], sizes: Sizes, query: Path, database: Path, caches: dict[str, Path]
) -> None:
    """What a search takes longer when no kernel is compiled: the longest beside the shortest with a filled cache."""
    empty: dict[str, list[float]] = {tree.name: [] for tree in trees}
    filled: dict[str, list[float]] = {tree.name: [] for tree in trees}
    for _ in range(min(2, sizes.repeats)):
        for tree in trees:
            shutil.rmtree(caches[tree.name], ignore_errors=True)
            environment = {"EXALN_CACHE": str(caches[tree.name])}
            for times in (empty, filled):
                times[tree.name].append(tree.exaln(command(query, database, "cuda"), **environment).seconds)
    table.keep("empty kernel cache", empty)
    table.keep("filled kernel cache", filled)
    more = {tree.name: [max(empty[tree.name]) - min(filled[tree.name])] for tree in trees}
    table.add(Row("an empty kernel cache, more", "s", best(more, "before"), best(more, "now"), COMPILE_S))


def measure_command(
    table: Table,
    trees: Sequence[Tree],
    sizes: Sizes,
    name: str,
    query: Path,
    database: Path,
    engine: str,
    caches: dict[str, Path],
    limit: float | None,
    aim: float | None,
) -> None:
    """One search in fresh processes of all trees in turn, after one that is not counted."""
    times: dict[str, list[float]] = {tree.name: [] for tree in trees}
    processor: dict[str, list[float]] = {tree.name: [] for tree in trees}
    digests = {}
    for repeat in range(1 + sizes.repeats):
        for tree in trees:
            environment = {"EXALN_CACHE": str(caches[tree.name])} if engine == "cuda" else {}
            ended = tree.exaln(command(query, database, engine), **environment)
            digests[tree.name] = ended.digest
            if repeat:
                times[tree.name].append(ended.seconds)
                processor[tree.name].append(ended.cpu_seconds)
    call = f"exaln search, {name}, {sizes.targets:,} proteins"
    table.compare(call, digests)
    table.keep(call, {"seconds": times, "processor seconds": processor})
    about = f"processor {min(processor['now']):.2f} s"
    table.add(Row(call, "s", best(times, "before"), best(times, "now"), limit, aim, about))


def measure_again(
    table: Table, trees: Sequence[Tree], sizes: Sizes, query: Path, database: Path, engine: str, has_gpu: bool
) -> None:
    """exaln.search in one process: the second call, and the best of the later ones."""
    second: dict[str, list[float]] = {tree.name: [] for tree in trees}
    later: dict[str, list[float]] = {tree.name: [] for tree in trees}
    digests = {}
    for _ in range(sizes.repeats):
        with workers(trees) as running:
            for worker in running:
                name = worker.tree.name
                answers = [
                    worker.ask("search", query=str(query), database=str(database), engine=engine) for _ in range(6)
                ]
                second[name].append(answers[1]["seconds"])
                later[name].append(min(answer["seconds"] for answer in answers[2:]))
                digests[name] = answers[-1]["digest"]
    table.compare("exaln.search", digests)
    table.keep("exaln.search again", {"second": second, "later": later})
    limit = AGAIN_MS if has_gpu else None
    for what, times in (("the second call", second), ("later calls", later)):
        before, now = best(times, "before", 1e3), best(times, "now", 1e3)
        table.add(Row(f"exaln.search in one process, {what}", "ms", before, now, limit))
