"""align_many and score_many on a GPU: whole calls from every form of sequences, CIGARs as text, and a short call."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from user_time_parts.sizes import Sizes
from user_time_parts.tables import Row, Table
from user_time_parts.trees import Tree, Worker, best, workers

ALIGN_MS = {"str": 130.0, "bytes": 130.0, "numpy": 60.0, "arrow": 60.0, "polars": 60.0}
SCORE_MS = {"str": 70.0, "bytes": 70.0, "numpy": 30.0, "arrow": 30.0, "polars": 30.0}
FEW_MS, CIGARS_MS = 1.5, 40.0
FORMS = ("str", "numpy", "arrow", "polars", "bytes", "mixed", "numpy S", "codes in a list")


PACKAGES = {"arrow": "pyarrow", "polars": "polars"}
"""What a form needs."""


def measure(table: Table, trees: Sequence[Tree], sizes: Sizes, folder: Path, *, has_gpu: bool) -> None:
    """Fill the table."""
    if not has_gpu:
        table.note("no GPU: not measured")
        return
    with workers(trees) as running:
        for form in FORMS:
            if form in PACKAGES and find_spec(PACKAGES[form]) is None:
                table.note(f"{form}: {PACKAGES[form]} is not installed")
            else:
                measure_form(table, running, form, sizes)


def measure_form(table: Table, running: list[Worker], form: str, sizes: Sizes) -> None:
    """The large and the short call of both functions from one form of sequences."""
    for n, required in ((sizes.pairs, True), (sizes.few, False)):
        for worker in running:
            worker.ask("make", form=form, n=n, length=sizes.length)
        for do_align in (True, False):
            call = f"{'align' if do_align else 'score'}_many, {n:,} pairs, {form}"
            limit = (ALIGN_MS if do_align else SCORE_MS).get(form) if required else FEW_MS
            measure_call(table, running, call, limit, {"do_align": do_align, "engine": "cuda"}, sizes.repeats)
            if do_align and required and form == "str":
                measure_cigars(table, running, sizes)


def measure_call(
    table: Table, running: list[Worker], call: str, limit: float | None, request: dict[str, Any], repeats: int
) -> None:
    """One call on all trees in turn, after one that is not counted, and the time on the device."""
    for worker in running:
        worker.ask("pairs", **request)
    times: dict[str, list[float]] = {worker.tree.name: [] for worker in running}
    for _ in range(repeats):
        for worker in running:
            times[worker.tree.name].append(worker.ask("pairs", **request)["seconds"])
    digests = {worker.tree.name: worker.ask("digest")["digest"] for worker in running}
    table.compare(call, digests)
    device = {worker.tree.name: worker.ask("pairs", reads="device", **request)["read"] for worker in running}
    table.keep(call, {"seconds": times, "device": device})
    kernels = device["now"]["kernels"] * 1e3
    aim = 2 * kernels or None
    about = f"device {kernels:.3g} ms" if device["now"]["launches"] else "device time not read"
    table.add(Row(call, "ms", best(times, "before", 1e3), best(times, "now", 1e3), limit, aim, about))


def measure_cigars(table: Table, running: list[Worker], sizes: Sizes) -> None:
    """The CIGARs of the last call, each time of a new result."""
    times: dict[str, list[float]] = {worker.tree.name: [] for worker in running}
    for _ in range(sizes.repeats):
        for worker in running:
            worker.ask("pairs", do_align=True, engine="cuda")
            times[worker.tree.name].append(worker.ask("cigars")["seconds"])
    call = f"all {sizes.pairs:,} CIGARs as text"
    table.keep(call, times)
    table.add(Row(call, "ms", best(times, "before", 1e3), best(times, "now", 1e3), CIGARS_MS))
