"""How far a long piece of work is: a bar on a terminal or in a notebook, nothing in a pipe. What was done is counted in
any case.
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
"""What functions take as `progress`: True for a bar, or a function that is called with the number of cells done."""

LEAST_SECONDS_FOR_A_RATE = 0.5
Row = TypeVar("Row")


def may_share_screen(out: str) -> bool:
    """Whether what is written to `out` ("-" is stdout) may appear on the screen of the bar: a terminal or a pipe."""
    if out != "-":
        return False
    try:
        mode = os.fstat(sys.stdout.fileno()).st_mode
    except (OSError, ValueError, AttributeError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or sys.stdout.isatty()


class Work:
    """A piece of work, as a context manager; on stderr while it runs, with its rate and the time left."""

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
        """The rows. The bar is gone before the first of them if `out` may be the same screen, as in `exaln ... | less`:
        the other end of a pipe may write at any time, so a bar that came back would be mixed with the rows.
        """
        is_shared = may_share_screen(out)
        for row in rows:
            if is_shared and self._bar is not None:
                self._bar.stop()
            yield row

    def rate(self) -> str:
        """How fast the work is, with its unit."""
        return ""

    def spent(self, *more: str) -> str:
        """The time, and in brackets how fast it was and what else is to be said. A blink says nothing about speed."""
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
    """What a piece of work calls to tell how far it is, from the argument `progress` of a public function: the function
    that was passed, a bar for True, None for None and False. total: asked for a bar only.
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
    """Bytes of files that are read (or of segments that are written anew): called as `exaln.Database` calls it."""

    description = "Reading"
    residues = 0

    def __call__(self, bytes_done: int, bytes_total: int | None, residues: int) -> None:
        """So far."""
        self.residues = residues
        self._advance(bytes_done, bytes_total)

    def rate(self) -> str:
        """Of the files as they are stored."""
        return f"{_rounded(self.done / self.seconds / 1e6)} MB/s"


class CheckingProgress(Work):
    """Residues whose segments were compared with their hashes."""

    description = "Checking"

    def __call__(self, residues: int) -> None:
        """So far."""
        self._advance(residues, self._total)

    def rate(self) -> str:
        """In residues."""
        return f"{_rounded(self.done / self.seconds / 1e6)} M residues/s"


class ScoringProgress(Work):
    """Cells of the dynamic programme: called as engines call it."""

    description = "Scoring"

    def __call__(self, cells: int) -> None:
        """So far."""
        self._advance(cells, self._total)

    def rate(self) -> str:
        """Cell updates per second."""
        return f"{_rounded(self.done / self.seconds / 1e9)} GCUPS"


class AligningProgress(ScoringProgress):
    """Cells of pairs that are aligned."""

    description = "Aligning"


class FoundHits:
    """Counts what is reported."""

    n_queries = n_hits = 0

    def found(self, n_hits: int) -> None:
        """One more query was searched."""
        self.n_queries += 1
        self.n_hits += n_hits

    def counted_hits(self) -> str:
        """For the last line: 219 hits of 2 queries."""
        return f"{number_of(self.n_hits, 'hit')} of {number_of(self.n_queries, 'query')}"


class SearchProgress(ScoringProgress, FoundHits):
    """A search: cells, and how much of the query file was read, from which the whole is estimated."""

    description = "Searching"

    def reading(self, cells: int, bytes_read: int, bytes_total: int | None) -> None:
        """Queries worth so many cells were read, which are so many bytes of their file: the rest is estimated."""
        if bytes_total and bytes_read:
            self._total = int(cells * max(1.0, bytes_total / bytes_read))


class ClusterProgress(ScoringProgress, FoundHits):
    """A search on a cluster: cells of the units that came back."""

    description = "Searching"
    n_workers = 0

    def changed(self, cells: int, n_workers: int) -> None:
        """So far."""
        self.n_workers = n_workers
        self(cells)

    def rate(self) -> str:
        """With the number of workers."""
        return f"{super().rate()}, {number_of(self.n_workers, 'worker')}"


class MergeProgress(Work, FoundHits):
    """Queries whose parts are merged."""

    description = "Merging"

    def found(self, n_hits: int) -> None:
        """One more query was merged."""
        super().found(n_hits)
        self._advance(self.n_queries, self._total)


class PairProgress(ScoringProgress):
    """Pairs that are aligned: cells, and how much of the first file was read, from which the whole is estimated.

    If results go to the same screen (`shares_screen`), a bar is there for the stages of long pairs only.
    """

    description = "Aligning"
    n_pairs = n_cells = 0
    _n_given = 0  # cells that were computed before, by a process that was interrupted
    _stage = ""
    _stage_began = (0, 0.0)

    def __init__(self, *, shown: bool, shares_screen: bool = False) -> None:
        super().__init__(shown=shown)
        self._shown_at_once = not shares_screen

    def __call__(self, cells: int) -> None:
        """So far."""
        if self._stage and self._bar is not None and self._task is not None:
            self._bar.reset(self._task, total=self._total, completed=cells, description=self.description)
            if not self._shown_at_once:
                self._bar.stop()
        self._stage = ""
        super().__call__(cells)

    def stage(self, stage: str, done: int, total: int) -> None:
        """How far a stage of a long pair is: "scores" counts cells, "path" letters."""
        if stage != self._stage:
            self._n_given += done if stage == "scores" else 0
            self._stage, self._stage_began = stage, (done, time.perf_counter())
            if self._bar is not None and self._task is not None:
                self._bar.reset(self._task, total=total, completed=done, description=f"{self.description}: {stage}")
                self._bar.start()
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done, total=total, rate=self._stage_rate(done))

    def rate(self) -> str:
        """Cell updates per second, of those that were computed here."""
        here = self.done - self._n_given
        return f"{_rounded(here / self.seconds / 1e9)} GCUPS" if here else ""

    def _stage_rate(self, done: int) -> str:
        first, began = self._stage_began
        per_second = (done - first) / max(time.perf_counter() - began, 1e-9)
        in_cells, in_letters = f"{_rounded(per_second / 1e9)} GCUPS", f"{_rounded(per_second / 1e6)} M letters/s"
        return in_cells if self._stage == "scores" else in_letters

    def reading(self, n_pairs: int, cells: int, bytes_read: int, bytes_total: int | None) -> None:
        """So many pairs more, which bring what was read of the file to so many bytes: the rest is estimated."""
        self.n_pairs += n_pairs
        self.n_cells += cells
        if bytes_total and bytes_read:
            self._total = int(self.n_cells * max(1.0, bytes_total / bytes_read))


def _rounded(rate: float) -> str:
    """Three digits.

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
