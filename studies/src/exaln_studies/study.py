"""The shapes of a study: a paper, parts that measure, and the sections, tables and plots of its page."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from exaln.errors import EngineError

if TYPE_CHECKING:
    from exaln_studies.counters import ProfiledLaunch
    from exaln_studies.gpu import StudyDevice
    from exaln_studies.measurements import Measurements

Row = dict[str, Any]
"""One measurement: numbers and strings by column name."""

REPEATS = 3
ENOUGH_SECONDS = 1.0
"""Work that has taken this long is not repeated."""


class NotMeasurable(EngineError):
    """Raised by a part that cannot be measured on this machine; the study continues without it."""


@dataclass
class Bench:
    """What a part measures with: its options, its device, and the comparison of its results.

    progress: called with a description of what is measured next. n_checks: number of results compared so far.
    """

    quick: bool
    threads: int
    device: StudyDevice | None = None
    progress: Callable[[str], None] = lambda text: None
    n_checks: int = 0

    def check(self, what: str, result: object, expected: object) -> None:
        """Raise EngineError unless both are equal, arrays in every element."""
        if not np.array_equal(np.asarray(result), np.asarray(expected)):
            raise EngineError(f"{what}: the result is {_short(result)}, and must be {_short(expected)}")
        self.n_checks += 1

    def seconds(self, work: Callable[[], object], enough: float = ENOUGH_SECONDS) -> float:
        """Seconds of the fastest of up to REPEATS runs; no further run starts after `enough` seconds.

        The minimum, because other processes can only slow a run down.
        """
        times = [_timed(work)]
        while len(times) < REPEATS and sum(times) < enough:
            times.append(_timed(work))
        return min(times)

    @property
    def gpu(self) -> StudyDevice:
        """The device of a GPU part."""
        assert self.device is not None
        return self.device


@dataclass(frozen=True)
class Part:
    """A piece of a study that is measured on its own, on a CPU or a GPU.

    is_gradual: whether the page can show the rows of an interrupted run.
    """

    name: str
    device: Literal["cpu", "gpu"]
    title: str
    measure: Callable[[Bench], Iterator[Row]]
    is_gradual: bool = False


@dataclass(frozen=True)
class Table:
    """A table of a page; its cells are text."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Line:
    """One line of a plot. dashed: a model of the line before it. is_papers: measured by the paper, not here."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    dashed: bool = False
    is_papers: bool = False


@dataclass(frozen=True)
class Figure:
    """A plot of a page, written beside it as `<study>-<name>.svg`."""

    name: str
    caption: str
    x: str
    y: str
    lines: Sequence[Line]
    log_x: bool = False
    log_y: bool = False
    points: Sequence[float] = ()


@dataclass(frozen=True)
class Bars:
    """A bar plot: one bar per label, stacked from `parts`, each a name and its heights."""

    name: str
    caption: str
    y: str
    labels: Sequence[str]
    parts: Sequence[tuple[str, Sequence[float]]]
    log_y: bool = False


Block = str | Table | Figure | Bars


@dataclass(frozen=True)
class Section:
    """A section of a page. part: whose measurements it shows; without them the section says how to measure it."""

    title: str
    part: str
    blocks: Callable[[Measurements], Sequence[Block]]


@dataclass(frozen=True)
class Study:
    """One paper and what is measured of it.

    summary: what the paper proposed, and how it is measured here; findings: its claims beside today's results;
    launches: the kernel launches that the profiler counts.
    """

    name: str
    title: str
    paper: str
    summary: str
    parts: tuple[Part, ...]
    sections: tuple[Section, ...]
    findings: Callable[[Measurements], Sequence[Block]] = field(default=lambda measurements: ())
    launches: Callable[[Bench], Iterator[ProfiledLaunch]] = field(default=lambda bench: iter(()))

    def part(self, name: str) -> Part:
        """Return the part with this name."""
        return next(part for part in self.parts if part.name == name)


def _timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def _short(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= 80 else f"{text[:77]}..."
