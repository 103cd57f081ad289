"""exaln.align and exaln.score of two short proteins: microseconds per call, and the table of small_calls.py, which has
parasail beside them where it is installed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from user_time_parts.sizes import Sizes
from user_time_parts.tables import Row, Table
from user_time_parts.trees import Tree, best, workers

LIMITS_US = {(True, False): 60.0, (False, False): 25.0}
CALLS = 200
PROGRAM = Path(__file__).resolve().parent.parent / "small_calls.py"


def measure(table: Table, trees: Sequence[Tree], sizes: Sizes, folder: Path, *, has_gpu: bool) -> None:
    """Fill the table."""
    with workers(trees) as running:
        for do_align in (True, False):
            for has_scoring in (False, True):
                times: dict[str, list[float]] = {tree.name: [] for tree in trees}
                for _ in range(3 * sizes.repeats):
                    for worker in running:
                        request = {"do_align": do_align, "length": 100, "has_scoring": has_scoring, "repeats": CALLS}
                        times[worker.tree.name].append(worker.ask("small", **request)["seconds"])
                call = f"exaln.{'align' if do_align else 'score'}, two proteins of 100"
                call += ", scoring=" if has_scoring else ""
                table.keep(call, times)
                limit = LIMITS_US.get((do_align, has_scoring))
                table.add(Row(call, "us", best(times, "before", 1e6), best(times, "now", 1e6), limit))
    table.note(trees[-1].program(str(PROGRAM), "--lengths", "30,100,300").stdout.decode())
