"""The memory of align_many and score_many with a million pairs: the peak above the lists of the user."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from user_time_parts.host_memory import MemorySampler, pinned_shows_in
from user_time_parts.sizes import Sizes
from user_time_parts.tables import Row, Table
from user_time_parts.trees import Tree

FORMS = ("str", "numpy", "arrow")


def measure(table: Table, trees: Sequence[Tree], sizes: Sizes, folder: Path, *, has_gpu: bool) -> None:
    """Fill the table."""
    for engine in ("cuda", "cpu") if has_gpu else ("cpu",):
        for do_align in (True, False):
            for form in FORMS:
                measure_call(table, trees, sizes, engine, do_align, form)
    table.note("peak of VmHWM, or of RssAnon where that is more, above RSS before the call")
    table.note(f"256 MiB of pinned memory show in: {pinned_shows_in() or 'no GPU'}")


def measure_call(table: Table, trees: Sequence[Tree], sizes: Sizes, engine: str, do_align: bool, form: str) -> None:
    """One call in a fresh process of each tree, after a small one that opens the engine."""
    name = f"{'align' if do_align else 'score'}_many, {sizes.million:,} x {sizes.million_length}, {form}, {engine}"
    peaks: dict[str, float] = {}
    digests = {}
    for tree in trees:
        with tree.worker() as worker:
            worker.ask("make", form=form, n=100, length=sizes.million_length)
            worker.ask("pairs", do_align=do_align, engine=engine)
            worker.ask("make", form=form, n=sizes.million, length=sizes.million_length)
            before = worker.ask("memory")
            sampler = MemorySampler(worker.pid)
            seconds = worker.ask("pairs", do_align=do_align, engine=engine)["seconds"]
            sampled = sampler.stop()
            table.keep(f"{name}, {tree.name}", {"before": before, "peak": sampled, "seconds": seconds})
            resident = before["RssAnon"] + before["RssShmem"] + before["RssFile"]
            rise = sampled["RssAnon"] - before["RssAnon"]
            if "peak_was_reset" not in before:
                rise = max(rise, sampled["VmHWM"] - resident)
            peaks[tree.name] = rise / 1e6
            digests[tree.name] = worker.ask("scores_digest")["digest"]
    table.compare(name, digests)
    table.add(
        Row(
            name,
            "MB",
            peaks.get("before"),
            peaks["now"],
            about=f"{1e6 * peaks['now'] / sizes.million:.0f} bytes a pair",
        )
    )
