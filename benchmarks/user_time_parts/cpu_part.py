"""align_many and score_many with the cpu engine on all threads: the whole call beside the time of its kernels.

The time of the kernels is that of the native functions which score and align, in the tree where it is less.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from user_time_parts.sizes import Sizes
from user_time_parts.tables import Row, Table
from user_time_parts.trees import Tree, Worker, best, workers

FORMS = ("str", "numpy", "arrow", "bytes", "mixed")
MOST_TIMES_KERNELS = 1.2


def measure(table: Table, trees: Sequence[Tree], sizes: Sizes, folder: Path, *, has_gpu: bool) -> None:
    """Fill the table."""
    with workers(trees) as running:
        for form in FORMS:
            for worker in running:
                worker.ask("make", form=form, n=sizes.pairs, length=sizes.length)
            for do_align in (True, False):
                measure_call(table, running, form, do_align, sizes)


def measure_call(table: Table, running: list[Worker], form: str, do_align: bool, sizes: Sizes) -> None:
    """One call on all trees in turn."""
    call = f"{'align' if do_align else 'score'}_many, {sizes.pairs:,} pairs, {form}"
    request = {"do_align": do_align, "engine": "cpu"}
    times: dict[str, list[float]] = {worker.tree.name: [] for worker in running}
    kernels: list[float] = []
    reads = []
    for _ in range(sizes.repeats):
        for worker in running:
            answer = worker.ask("pairs", reads="kernels", **request)
            times[worker.tree.name].append(answer["seconds"])
            kernels.append(answer["read"]["kernels"])
            reads.append({worker.tree.name: answer["read"]})
    table.compare(call, {worker.tree.name: worker.ask("digest")["digest"] for worker in running})
    table.keep(call, {"seconds": times, "native": reads})
    least = min(kernels) * 1e3
    now = best(times, "now", 1e3)
    about = f"kernels {least:.4g} ms, times {(now or 0) / least:.2f}" if least else "kernels not read"
    limit = MOST_TIMES_KERNELS * least or None
    table.add(Row(call, "ms", best(times, "before", 1e3), now, limit, None, about))
