"""A grid of shapes: lengths, numbers of pairs, forms of sequences, modes, scores and alignments, both engines.

All forms are measured in local mode, and all modes from str and from NumPy codes. The grid is filled from few pairs to
many; a call that would take longer than MOST_SECONDS, by the call with a tenth of the pairs, is left out.

A cliff is a call that takes more than CLIFF times as long as a neighbour lets expect. Neighbours differ in one step of
one direction of the grid. From a larger call the smaller one is expected to take its share of the cells, but at least
the fixed cost of a call and what its pairs cost each; with few pairs, which cannot fill the machine, at least the time
of one pair, and its share of the letters. From a smaller call the larger one is expected to take as long per cell.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from user_time_parts.sizes import Sizes
from user_time_parts.tables import Table
from user_time_parts.trees import Tree, Worker

LENGTHS: tuple[int | str, ...] = (30, 100, 300, 1000, 5000, "mixed")
MIXED_LENGTH = 971
"""The mean of the lengths of "mixed"."""

MIXED_SQUARE = 2_430_000
"""The mean of their squares: cells of a pair."""

NUMBERS = (1, 10, 100, 1000, 10_000, 100_000, 1_000_000)
FORMS = ("str", "numpy", "bytes", "arrow", "mixed")
MODES = ("local", "global", "semiglobal", "overlap")
MODE_FORMS = ("str", "numpy")
CLIFF = 3.0
FEW_PAIRS = 1000
"""Fewer pairs do not fill the machine."""

MOST_SECONDS, MOST_LETTERS = 1.0, 320_000_000
SHORT_SECONDS, SHORT_REPEATS = 0.03, 3


@dataclass(frozen=True)
class Shape:
    """One call of the grid."""

    engine: str
    do_align: bool
    mode: str
    form: str
    length: int | str
    n: int

    @property
    def cells(self) -> float:
        """Cells of all pairs."""
        return float(self.n) * (MIXED_SQUARE if isinstance(self.length, str) else self.length**2)

    @property
    def letters(self) -> float:
        """Letters of one side."""
        return float(self.n) * (MIXED_LENGTH if isinstance(self.length, str) else self.length)

    @property
    def name(self) -> str:
        """What is called, in words."""
        what = "align" if self.do_align else "score"
        return f"{what}, {self.engine}, {self.mode}, {self.form}, length {self.length}, {self.n:,} pairs"


Times = dict[Shape, float]


def measure(table: Table, trees: Sequence[Tree], sizes: Sizes, folder: Path, *, has_gpu: bool) -> None:
    """Fill the grid with the times of this tree, print it and list its cliffs."""
    engines = ("cuda", "cpu") if has_gpu else ("cpu",)
    with trees[-1].worker() as worker:
        times = measured(table, worker, engines, sizes)
    for text in [*grids(times, engines), *cliff_lines(times)]:
        table.note(text)
    table.keep("grid", [{**vars(shape), "seconds": seconds} for shape, seconds in times.items()])


def measured(table: Table, worker: Worker, engines: Sequence[str], sizes: Sizes) -> Times:
    """Seconds of the calls, from few pairs to many, until the time is over."""
    times: Times = {}
    began = time.perf_counter()
    for n in (number for number in NUMBERS if number <= sizes.shape_pairs):
        for length in LENGTHS:
            if Shape("", True, "", "", length, n).letters > MOST_LETTERS:
                continue
            if time.perf_counter() - began > sizes.shape_seconds:
                table.note(f"the time was over at {n:,} pairs of length {length}")
                return times
            measure_number(table, worker, engines, times, length, n)
    return times


def measure_number(
    table: Table, worker: Worker, engines: Sequence[str], times: Times, length: int | str, n: int
) -> None:
    """All calls with n pairs of a length. The scores of all forms and engines must be the same."""
    digests: dict[str, dict[str, str]] = {}
    for form in FORMS:
        wanted = [shape for shape in shapes(engines, form, length, n) if expected_seconds(times, shape) <= MOST_SECONDS]
        if wanted:
            worker.ask("make", form=form, n=n, length=length)
        for shape in wanted:
            times[shape] = seconds_of(worker, shape)
            key = f"{shape.engine} {'align' if shape.do_align else 'score'} {shape.form}"
            digests.setdefault(shape.mode, {})[key] = worker.ask("scores_digest")["digest"]
    for mode, of_mode in digests.items():
        table.compare(f"scores, {mode}, length {length}, {n:,} pairs", of_mode)


def shapes(engines: Sequence[str], form: str, length: int | str, n: int) -> Iterator[Shape]:
    """The calls with these sequences."""
    for engine in engines:
        for do_align in (False, True):
            for mode in MODES if form in MODE_FORMS else MODES[:1]:
                yield Shape(engine, do_align, mode, form, length, n)


def expected_seconds(times: Times, shape: Shape) -> float:
    """Ten times the call with a tenth of the pairs; endless if that was left out already."""
    if shape.n == NUMBERS[0]:
        return 0.0
    fewer = replace(shape, n=shape.n // 10)
    return 10 * times[fewer] if fewer in times else float("inf")


def seconds_of(worker: Worker, shape: Shape) -> float:
    """The best of several short calls, or the second of two with few pairs, or the only long one."""
    request = {"do_align": shape.do_align, "engine": shape.engine, "mode": shape.mode}
    seconds: float = worker.ask("pairs", **request)["seconds"]
    if shape.n == NUMBERS[0]:  # the first call opens the device and compiles
        seconds = worker.ask("pairs", **request)["seconds"]
    for _ in range(SHORT_REPEATS - 1 if seconds < SHORT_SECONDS else 0):
        seconds = min(seconds, worker.ask("pairs", **request)["seconds"])
    return seconds


def grids(times: Times, engines: Sequence[str]) -> Iterator[str]:
    """The whole grid as text: milliseconds of each call and GCUPS, a column for each number of pairs."""
    numbers = sorted({shape.n for shape in times})
    for engine in engines:
        for do_align in (False, True):
            own = {
                shape: seconds
                for shape, seconds in times.items()
                if (shape.engine, shape.do_align) == (engine, do_align)
            }
            lines = [f"{'align' if do_align else 'score'}_many, {engine}: milliseconds a call, GCUPS"]
            lines.append("length mode       form  " + "".join(f"{n:>18,}" for n in numbers))
            for row in dict.fromkeys(replace(shape, n=0) for shape in sorted(own, key=_order)):
                cells = [_cell(replace(row, n=n), own) for n in numbers]
                lines.append(f"{row.length!s:6} {row.mode:10} {row.form:6}" + "".join(f"{cell:>18}" for cell in cells))
            yield "\n".join([*lines, ""])


def _order(shape: Shape) -> tuple[int, int, int]:
    return LENGTHS.index(shape.length), MODES.index(shape.mode), FORMS.index(shape.form)


def _cell(shape: Shape, times: Times) -> str:
    if shape not in times:
        return "-"
    seconds = times[shape]
    return f"{seconds * 1e3:.4g} {shape.cells / seconds / 1e9:7.4g}"


def cliff_lines(times: Times) -> list[str]:
    """The cliffs, the worst first."""
    found = sorted(cliffs(times), reverse=True)
    head = f"cliffs: {len(found)} calls take more than {CLIFF:g} times as long as a neighbour lets expect"
    return [head, *(f"{ratio:6.1f} times: {text}" for ratio, text in found)]


def cliffs(times: Times) -> Iterator[tuple[float, str]]:
    """Ratio to what is expected, and what is slow beside which neighbour."""
    for shape, seconds in times.items():
        worst, beside, why = 0.0, shape, ""
        for neighbour, direction in neighbours(shape):
            if neighbour in times:
                ratio = seconds / expected(times, shape, neighbour)
                if ratio > worst:
                    worst, beside, why = ratio, neighbour, direction
        if worst > CLIFF:
            yield (
                worst,
                f"{shape.name}: {seconds * 1e3:.4g} ms; {why} {_difference(beside, why)}: {times[beside] * 1e3:.4g} ms",
            )


def _difference(shape: Shape, direction: str) -> str:
    return str({"length": shape.length, "pairs": shape.n, "form": shape.form, "mode": shape.mode}[direction])


def neighbours(shape: Shape) -> Iterator[tuple[Shape, str]]:
    """The shapes one step away; every other form and mode is one step away."""
    for step in (-1, 1):
        number = NUMBERS.index(shape.n) + step
        if 0 <= number < len(NUMBERS):
            yield replace(shape, n=NUMBERS[number]), "pairs"
        fixed = LENGTHS[:-1]
        if shape.length in fixed and 0 <= fixed.index(shape.length) + step < len(fixed):
            yield replace(shape, length=fixed[fixed.index(shape.length) + step]), "length"
    if shape.length == "mixed":
        yield replace(shape, length=1000), "length"
    yield from ((replace(shape, form=form), "form") for form in FORMS if form != shape.form)
    yield from ((replace(shape, mode=mode), "mode") for mode in MODES if mode != shape.mode)


def expected(times: Times, shape: Shape, neighbour: Shape) -> float:
    """Seconds that a call should take by a neighbour's time."""
    share = shape.cells / neighbour.cells
    if share >= 1:
        return max(times[neighbour] * share, least_seconds(times, shape))
    if shape.n < FEW_PAIRS:
        share = max(share, shape.letters / neighbour.letters)
    one = times.get(replace(shape, n=1), 0.0)
    return max(times[neighbour] * share, one, least_seconds(times, shape))


def least_seconds(times: Times, shape: Shape) -> float:
    """The fixed cost of a call, and what its pairs cost each, by the calls with the shortest pairs."""
    same = replace(shape, length=LENGTHS[0])
    fixed = times.get(replace(same, n=1), 0.0)
    most = max((other.n for other in times if replace(other, n=0) == replace(same, n=0)), default=0)
    if shape.length == LENGTHS[0] or not most:
        return fixed
    return max(fixed, times[replace(same, n=most)] / most * shape.n)
