"""Progress of long work: a bar on a terminal or in a notebook, nothing in a pipe. Work is counted in all cases.

Each kind of work is a class that is called with how much is done, as engines and readers call it.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar

from exaln.foundation import arguments
from exaln.foundation.notebook_bar import NotebookBar, is_notebook
from exaln.foundation.plurals import number_of

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

AnyProgress: TypeAlias = Callable[[int], None] | bool | None
"""The `progress` argument of public functions: True for a bar, or a function called with the number of cells done."""

LEAST_SECONDS_FOR_A_RATE = 0.5
Row = TypeVar("Row")


def may_share_screen(out: str) -> bool:
    """Whether output to `out` may appear on the same screen as the bar: "-", if stdout is a terminal or a pipe."""
    if out != "-":
        return False
    try:
        mode = os.fstat(sys.stdout.fileno()).st_mode
    except (OSError, ValueError, AttributeError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or sys.stdout.isatty()


class Work:
    """A context manager for one piece of work, shown on stderr while it runs, with its rate and the time left.

    shown: whether to draw a bar. total: the amount of work, None if unknown. `done` and `seconds` count the work.
    """

    description = "Working"
    _shown_at_once = True

    def __init__(self, *, shown: bool, total: int | None = None) -> None:
        self.done = 0
        self.seconds = 0.0
        self._total = total
        self._started = time.perf_counter()
        self._bar: Any = _new_bar() if shown else None
        self._task: TaskID | int | None = None

    def __enter__(self) -> Self:
        self._started = time.perf_counter()
        if self._bar is not None:
            self._task = self._bar.add_task(self.description, total=self._total, rate="")
            if self._shown_at_once:
                self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.seconds = max(time.perf_counter() - self._started, 1e-9)
        if self._bar is not None:
            self._bar.stop()

    def ends_before(self, rows: Iterable[Row], out: str) -> Iterator[Row]:
        """The rows, with the bar removed before the first one if `out` may share its screen.

        In `exaln ... | less` the other end of the pipe may write at any time, so the bar does not come back.
        """
        is_shared = may_share_screen(out)
        for row in rows:
            if is_shared and self._bar is not None:
                self._bar.stop()
            yield row

    def rate(self) -> str:
        """The speed with its unit, for the bar and the final line; "" if it has none."""
        return ""

    def spent(self, *more: str) -> str:
        """The time spent, then in brackets the speed and `more`. Work that was too short shows no speed."""
        rate = self.rate() if self.seconds >= LEAST_SECONDS_FOR_A_RATE else ""
        brackets = "; ".join(part for part in (rate, *more) if part)
        return f"{self.seconds:.2f} s" + (f" ({brackets})" if brackets else "")

    def _advance(self, done: int, total: int | None) -> None:
        self.done = done
        if self._bar is not None and self._task is not None:
            self.seconds = max(time.perf_counter() - self._started, 1e-9)
            self._bar.update(self._task, completed=done, total=total, rate=self.rate())


@contextmanager
def showing(progress: Any, kind: Callable[..., Work], total: Callable[[], int | None]) -> Iterator[Any]:
    """The callback for an argument `progress` of a public function: the function itself, a `Work` for True, or None.

    kind: the class of Work for a bar. total: gives the amount of work; called only for a bar. InputError for anything
    else than a function, True, False or None.
    """
    if progress is True:
        with kind(shown=is_notebook() or (sys.stderr is not None and sys.stderr.isatty()), total=total()) as work:
            yield work
    elif progress is None or progress is False:
        yield None
    elif callable(progress) and not isinstance(progress, type):
        yield progress
    else:
        raise arguments.wrong(
            "progress", progress, "True for a bar, a function that is called with what is done, or None"
        )


class ReadingProgress(Work):
    """Bytes of sequence files that are read, or of segments that are merged."""

    description = "Reading"
    residues = 0

    def __call__(self, bytes_done: int, bytes_total: int | None, residues: int) -> None:
        """Set the bytes and residues so far; bytes_total is None if unknown."""
        self.residues = residues
        self._advance(bytes_done, bytes_total)

    def rate(self) -> str:
        """MB per second of the files as stored, compressed or not."""
        return f"{_rounded(self.done / self.seconds / 1e6)} MB/s"


class CheckingProgress(Work):
    """Residues of segments that were compared with their hashes."""

    description = "Checking"

    def __call__(self, residues: int) -> None:
        """Set the residues checked so far."""
        self._advance(residues, self._total)

    def rate(self) -> str:
        """Million residues per second."""
        return f"{_rounded(self.done / self.seconds / 1e6)} M residues/s"


class ScoringProgress(Work):
    """Cells of the dynamic programming matrix."""

    description = "Scoring"

    def __call__(self, cells: int) -> None:
        """Set the cells computed so far."""
        self._advance(cells, self._total)

    def rate(self) -> str:
        """Cell updates per second."""
        return f"{_rounded(self.done / self.seconds / 1e9)} GCUPS"


class AligningProgress(ScoringProgress):
    """Cells of pairs that are aligned."""

    description = "Aligning"


class FoundHits:
    """Counts the queries and hits that are reported."""

    n_queries = n_hits = n_alignments = 0

    def found(self, n_hits: int, n_alignments: int) -> None:
        """Count one more query, its hits and their alignments."""
        self.n_queries += 1
        self.n_hits += n_hits
        self.n_alignments += n_alignments

    def counted_hits(self) -> str:
        """For the final line: 219 hits of 2 queries; with the number of alignments if it is another one."""
        hits = number_of(self.n_hits, "hit")
        if self.n_alignments != self.n_hits:
            hits += f" ({number_of(self.n_alignments, 'alignment')})"
        return f"{hits} of {number_of(self.n_queries, 'query')}"


class SearchProgress(ScoringProgress, FoundHits):
    """Cells of a search. The total is estimated from the share of the query file that was read."""

    description = "Searching"

    def reading(self, cells: int, bytes_read: int, bytes_total: int | None) -> None:
        """Estimate the total: the queries in the first `bytes_read` bytes of the file make `cells` cells."""
        if bytes_total and bytes_read:
            self._total = int(cells * max(1.0, bytes_total / bytes_read))


class ClusterProgress(ScoringProgress, FoundHits):
    """Cells of the finished units of a cluster search."""

    description = "Searching"
    n_workers = 0

    def changed(self, cells: int, n_workers: int) -> None:
        """Set the cells computed so far and the current number of workers."""
        self.n_workers = n_workers
        self(cells)

    def rate(self) -> str:
        """Cell updates per second and the number of workers."""
        return f"{super().rate()}, {number_of(self.n_workers, 'worker')}"


class MergeProgress(Work, FoundHits):
    """Queries whose hits from several parts are merged."""

    description = "Merging"

    def found(self, n_hits: int, n_alignments: int) -> None:
        """Count one more merged query and its hits."""
        super().found(n_hits, n_alignments)
        self._advance(self.n_queries, self._total)


class PairProgress(ScoringProgress):
    """Cells of aligned pairs. The total is estimated from the share of the first file that was read.

    If results go to the same screen (`shares_screen`), the bar is shown only during the stages of long pairs.
    """

    description = "Aligning"
    n_pairs = n_cells = 0
    _n_resumed = 0  # cells computed before an interruption, by an earlier process
    _stage = ""
    _stage_began = (0, 0.0)

    def __init__(self, *, shown: bool, shares_screen: bool = False) -> None:
        super().__init__(shown=shown)
        self._shown_at_once = not shares_screen

    def __call__(self, cells: int) -> None:
        """Set the cells computed so far; ends the stage of a long pair."""
        if self._stage and self._bar is not None and self._task is not None:
            self._bar.reset(self._task, total=self._total, completed=cells, description=self.description)
            if not self._shown_at_once:
                self._bar.stop()
        self._stage = ""
        super().__call__(cells)

    def stage(self, stage: str, done: int, total: int) -> None:
        """Show a stage of a long pair: "scores" counts cells, "path" counts letters."""
        if stage != self._stage:
            self._n_resumed += done if stage == "scores" else 0
            self._stage, self._stage_began = stage, (done, time.perf_counter())
            if self._bar is not None and self._task is not None:
                self._bar.reset(self._task, total=total, completed=done, description=f"{self.description}: {stage}")
                self._bar.start()
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done, total=total, rate=self._stage_rate(done))

    def rate(self) -> str:
        """Cell updates per second, without the cells that an earlier process computed."""
        here = self.done - self._n_resumed
        return f"{_rounded(here / self.seconds / 1e9)} GCUPS" if here else ""

    def _stage_rate(self, done: int) -> str:
        first, began = self._stage_began
        per_second = (done - first) / max(time.perf_counter() - began, 1e-9)
        in_cells, in_letters = f"{_rounded(per_second / 1e9)} GCUPS", f"{_rounded(per_second / 1e6)} M letters/s"
        return in_cells if self._stage == "scores" else in_letters

    def reading(self, n_pairs: int, cells: int, bytes_read: int, bytes_total: int | None) -> None:
        """Count more pairs, read from the first `bytes_read` bytes of the file, and estimate the total."""
        self.n_pairs += n_pairs
        self.n_cells += cells
        if bytes_total and bytes_read:
            self._total = int(self.n_cells * max(1.0, bytes_total / bytes_read))


def _rounded(rate: float) -> str:
    """A rate with three significant digits, or as a whole number from 100 on.

    >>> _rounded(1234.5), _rounded(12.345), _rounded(0.0012345), _rounded(0)
    ('1,234', '12.3', '0.00123', '0')
    """
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.3g}"


def _new_bar() -> Progress | NotebookBar:
    if is_notebook():
        return NotebookBar()
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}"),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("spent"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
        refresh_per_second=5,
    )
