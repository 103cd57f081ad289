"""What a study is: a paper, parts that measure, and a page that is made from what they measured."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from exaln.errors import EngineError

if TYPE_CHECKING:
    from exaln.engines.cuda.runtime.device import Device
    from exaln_studies.counters import ProfiledLaunch
    from exaln_studies.measurements import Measurements

Row = dict[str, Any]
"""One measurement: plain numbers and words, by the name of the column."""

REPEATS = 3
ENOUGH_SECONDS = 1.0
"""Work that has taken so long is not repeated."""


class NotMeasurable(EngineError):
    """Something that a part needs is not on this machine; a study goes on without the part."""


@dataclass
class Bench:
    """What a part is given: how long it may take, on what, and where its results are compared.

    n_checks: results that were compared and right. tell: called with what is measured next.
    """

    quick: bool
    threads: int
    device: Device | None = None
    tell: Callable[[str], None] = lambda text: None
    n_checks: int = 0

    def check(self, what: str, found: object, expected: object) -> None:
        """Both must be the same; arrays in every element. A study with a wrong result has no figures."""
        if not np.array_equal(np.asarray(found), np.asarray(expected)):
            raise EngineError(f"{what}: the result is {_short(found)}, and must be {_short(expected)}")
        self.n_checks += 1

    def seconds(self, work: Callable[[], object], enough: float = ENOUGH_SECONDS) -> float:
        """The fastest of some runs, of long work of fewer: what else runs on a machine only slows."""
        times = [_timed(work)]
        while len(times) < REPEATS and sum(times) < enough:
            times.append(_timed(work))
        return min(times)

    @property
    def gpu(self) -> Device:
        """The device of a part that needs one."""
        assert self.device is not None
        return self.device


@dataclass(frozen=True)
class Part:
    """A piece of a study that is measured on its own, by a CPU or with a GPU.

    is_gradual: whether a page can show what there is of a run that was cut short.
    """

    name: str
    device: Literal["cpu", "gpu"]
    title: str
    measure: Callable[[Bench], Iterator[Row]]
    is_gradual: bool = False


@dataclass(frozen=True)
class Table:
    """A table of a page; cells are text already."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Line:
    """Points of a plot that belong together. dashed: a model of the line before. is_papers: what a paper measured."""

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
    """A plot of shares or of few values: one group of bars, stacked by `parts`."""

    name: str
    caption: str
    y: str
    labels: Sequence[str]
    parts: Sequence[tuple[str, Sequence[float]]]
    log_y: bool = False


Block = str | Table | Figure | Bars


@dataclass(frozen=True)
class Section:
    """A heading of a page and what stands below it. part: without its measurements the section says so."""

    title: str
    part: str
    blocks: Callable[[Measurements], Sequence[Block]]


@dataclass(frozen=True)
class Study:
    """One paper. summary: what it proposed, on what, in a paragraph; findings: what held and what no longer holds.

    launches: those whose counters the profiler reads.
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
        """By name."""
        return next(part for part in self.parts if part.name == name)


def _timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def _short(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= 80 else f"{text[:77]}..."
