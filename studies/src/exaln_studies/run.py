"""Run the parts of a study that this machine can run, and write its page."""

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

Tell = Callable[[str], None]

STAT = Path("/proc/stat")
"""Its first line has the ticks of all cores: of users, low priority, system, idle, waiting for disks, interrupts."""

KEPT_EVERY_SECONDS = 5.0
"""Of a long part: who ends it early has the rows so far."""


def measure(
    study: Study,
    *,
    quick: bool,
    threads: int,
    parts: Sequence[str] = (),
    known: Iterable[Path] = (),
    note: Tell = lambda text: None,
    tell: Tell = lambda text: None,
    keep: Callable[[Measurements], object] = lambda found: None,
    device: int = 0,
) -> Measurements:
    """Measure parts: those that are named, or all that this machine can; `known` files have what is kept of others.

    note is called with what everybody wants to know, tell with what is measured just now, keep every few seconds and
    after each part with all that there is so far.
    """
    found = merged(study.name, known)

    def so_far(run: PartRun) -> None:
        found.add(run)
        keep(found)

    for part in _chosen(study, parts, note):
        note(f"measuring part {part.name}: {part.title}")
        try:
            measure_part(part, quick=quick, threads=threads, tell=tell, keep=so_far, device=device)
        except NotMeasurable as error:
            if parts:
                raise
            note(f"not measured here: {part.name} ({error})")
    return found


def measure_part(
    part: Part, *, quick: bool, threads: int, tell: Tell, keep: Callable[[PartRun], object], device: int = 0
) -> None:
    """One part, with what it was measured on: kept every few seconds, and in the end."""
    import exaln

    bench = Bench(quick, threads, tell=lambda text: tell(f"{part.name}: {text}"))
    if part.device == "gpu":
        from exaln.engines.cuda.runtime.device import Device

        bench.device = Device(device)
        bench.device.set_budget(None)
    begun = time.perf_counter()
    run = PartRun(
        part=part.name,
        device=part.device,
        machine={**machine(), "load": round(cores_at_work(), 1)},
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

    kept = begun
    for row in part.measure(bench):
        run.rows.append(row)
        if time.perf_counter() - kept > KEPT_EVERY_SECONDS:
            keep(so_far(is_whole=False))
            kept = time.perf_counter()
    if bench.n_checks == 0:
        raise EngineError(f"part {part.name} of the study compared no result")
    keep(so_far(is_whole=True))


def without_paths(text: str) -> str:
    """A command without what says only where and how it reports.

    >>> without_paths("exaln study chaibou-sie --out /somewhere --part gpu --verbose")
    'exaln study chaibou-sie --part gpu'
    """
    return re.sub(r" --(out \S+|verbose)(?= |$)", "", text)


def cores_at_work(seconds: float = 0.2) -> float:
    """How many cores others keep busy just now; where the system does not count ticks, the mean of a minute."""

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
    """Measurements, plots and page into a folder; the path of the page. Without matplotlib there is no page."""
    kept = keep_measurements(study, measurements, folder)
    text, drawn = page_text(study, measurements)
    try:
        pictures = {folder / figure_file(study, block): figures.rendered(block) for block in drawn}
    except InputError as error:
        raise InputError(f"measurements are in {kept}, but the page is missing: {error}") from None
    for path, picture in pictures.items():
        _write(path, picture)
    page = folder / f"{study.name}.md"
    _write(page, text.encode())
    return page


def keep_measurements(study: Study, measurements: Measurements, folder: Path) -> Path:
    """Measurements alone into a folder, which is made; their path."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: {error.strerror or error}; choose another folder with --out") from None
    _write(measurements_file(study, folder), measurements.text().encode())
    return measurements_file(study, folder)


def measurements_file(study: Study, folder: Path) -> Path:
    """Where the measurements of a study are kept beside its page."""
    return folder / f"{study.name}.json"


def figure_file(study: Study, figure: Figure | Bars) -> str:
    """The file of a plot, beside the page."""
    return f"{study.name}-{figure.name}.svg"


def _write(path: Path, content: bytes) -> None:
    with open_output(path) as file:
        file.write(content)


def _chosen(study: Study, names: Sequence[str], note: Tell) -> list[Part]:
    known = [part.name for part in study.parts]
    for name in names:
        if name not in known:
            raise InputError(f"the study {study.name} has no part {name!r}; there are {', '.join(known)}")
    wanted = [part for part in study.parts if not names or part.name in names]
    reason = _no_gpu() if any(part.device == "gpu" for part in wanted) else None
    if reason is None:
        return wanted
    left = [part.name for part in wanted if part.device == "gpu"]
    if names:
        raise EngineError(f"the part {left[0]} needs a GPU: {reason}")
    note(f"not measured here: {', '.join(left)} ({reason})")
    return [part for part in wanted if part.device == "cpu"]


def _no_gpu() -> str | None:
    from exaln.engines.cuda.engine import CudaEngine

    return CudaEngine.unavailable_reason()
