"""Runs the parts of a study that this machine can measure, and writes its page."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from exaln.engines.bench.runs import command, machine
from exaln.errors import EngineError, InputError, OutputError
from exaln.foundation.output_file import open_output
from exaln_studies import figures
from exaln_studies.measurements import Measurements, PartRun, merged, now
from exaln_studies.page import page_text
from exaln_studies.study import Bars, Bench, Figure, NotMeasurable, Part, Study

Say = Callable[[str], None]

STAT = Path("/proc/stat")
"""Its first line counts ticks of all cores: user, nice, system, idle, waiting for disks, interrupts."""

SAVED_EVERY_SECONDS = 5.0
"""How often the rows of a part are saved while it runs, so that an interrupted run keeps them."""


def measure(
    study: Study,
    *,
    quick: bool,
    threads: int,
    parts: Sequence[str] = (),
    earlier: Iterable[Path] = (),
    note: Say = lambda text: None,
    progress: Say = lambda text: None,
    save: Callable[[Measurements], object] = lambda measurements: None,
    device: int = 0,
) -> Measurements:
    """Measure the named parts, or all that this machine can, and return them with those of the `earlier` files.

    note: called with messages for the user; progress: called with what is being measured; save: called every few
    seconds and after each part with all measurements so far. Raises EngineError for a wrong result, and for a named
    part that cannot be measured here.
    """
    result = merged(study.name, earlier)

    def save_part(run: PartRun) -> None:
        result.add(run)
        save(result)

    for part in _chosen(study, parts, note):
        note(f"measuring part {part.name}: {part.title}")
        try:
            measure_part(part, quick=quick, threads=threads, progress=progress, save=save_part, device=device)
        except NotMeasurable as error:
            if parts:
                raise
            note(f"not measured here: {part.name} ({error})")
    return result


def measure_part(
    part: Part, *, quick: bool, threads: int, progress: Say, save: Callable[[PartRun], object], device: int = 0
) -> None:
    """Measure one part. `save` is called with its rows and its machine every few seconds and at the end."""
    import exaln

    bench = Bench(quick, threads, progress=lambda text: progress(f"{part.name}: {text}"))
    if part.device == "gpu":
        from exaln_studies.gpu import StudyDevice

        bench.device = StudyDevice(device)
        bench.device.set_budget(None)
    begun = time.perf_counter()
    run = PartRun(
        part=part.name,
        device=part.device,
        machine={**machine(), "load": round(busy_cores(), 1)},
        gpu=bench.device.name if bench.device is not None else None,
        command=without_paths(command()),
        date=now(),
        exaln=exaln.__version__,
        quick=quick,
        seconds=0.0,
        checks=0,
        rows=[],
        is_whole=False,
    )

    def so_far(*, is_whole: bool) -> PartRun:
        seconds = round(time.perf_counter() - begun, 1)
        return replace(run, seconds=seconds, checks=bench.n_checks, is_whole=is_whole)

    saved = begun
    for row in part.measure(bench):
        run.rows.append(row)
        if time.perf_counter() - saved > SAVED_EVERY_SECONDS:
            save(so_far(is_whole=False))
            saved = time.perf_counter()
    if bench.n_checks == 0:
        raise EngineError(f"part {part.name} of the study compared no result")
    save(so_far(is_whole=True))


def without_paths(text: str) -> str:
    """Return a command line without --out and --verbose, which do not affect what is measured.

    >>> without_paths("exaln study chaibou-sie --out /somewhere --part gpu --verbose")
    'exaln study chaibou-sie --part gpu'
    """
    return re.sub(r" --(out \S+|verbose)(?= |$)", "", text)


def busy_cores(seconds: float = 0.2) -> float:
    """Number of cores that other processes keep busy; without /proc/stat, the load average of the last minute."""

    def ticks() -> tuple[int, int]:
        counts = [int(count) for count in STAT.read_text(encoding="ascii").splitlines()[0].split()[1:9]]
        return sum(counts), counts[3] + counts[4]

    if not STAT.exists():
        return os.getloadavg()[0]
    all_before, idle_before = ticks()
    time.sleep(seconds)
    all_after, idle_after = ticks()
    idle = (idle_after - idle_before) / max(1, all_after - all_before)
    return (1 - idle) * (os.cpu_count() or 1)


def write(study: Study, measurements: Measurements, folder: Path) -> Path:
    """Write measurements, plots and page into a folder, which is created; return the path of the page."""
    save_measurements(study, measurements, folder)
    text, drawn = page_text(study, measurements)
    plots = {folder / figure_file(study, block): figures.rendered(block) for block in drawn}
    for path, plot in plots.items():
        _write(path, plot)
    page = folder / f"{study.name}.md"
    _write(page, text.encode())
    return page


def save_measurements(study: Study, measurements: Measurements, folder: Path) -> Path:
    """Write the measurements into a folder, which is created; return their path."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: {error.strerror or error}; choose another folder with --out") from None
    _write(measurements_file(study, folder), measurements.text().encode())
    return measurements_file(study, folder)


def measurements_file(study: Study, folder: Path) -> Path:
    """Path of a study's measurements in the folder of its page."""
    return folder / f"{study.name}.json"


def figure_file(study: Study, figure: Figure | Bars) -> str:
    """File name of a plot, in the folder of the page."""
    return f"{study.name}-{figure.name}.svg"


def _write(path: Path, content: bytes) -> None:
    with open_output(path) as file:
        file.write(content)


def _chosen(study: Study, names: Sequence[str], note: Say) -> list[Part]:
    known = [part.name for part in study.parts]
    for name in names:
        if name not in known:
            raise InputError(f"the study {study.name} has no part {name!r}; there are {', '.join(known)}")
    chosen = [part for part in study.parts if not names or part.name in names]
    reason = _no_gpu() if any(part.device == "gpu" for part in chosen) else None
    if reason is None:
        return chosen
    skipped = [part.name for part in chosen if part.device == "gpu"]
    if names:
        raise EngineError(f"the part {skipped[0]} needs a GPU: {reason}")
    note(f"not measured here: {', '.join(skipped)} ({reason})")
    return [part for part in chosen if part.device == "cpu"]


def _no_gpu() -> str | None:
    from exaln.engines.cuda.engine import CudaEngine

    return CudaEngine.unavailable_reason()
