"""Alignments drawn as text: blocks of query, middle line and target, as in BLAST."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

import numpy as np

from exaln.alignments.cigar import DELETION, EQUAL, INSERTION, Paths
from exaln.errors import InputError
from exaln.report.aligned_rows import Rows, rows_of, rows_of_paths
from exaln.sequences.strands import reverse_complement

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.alignments.query_hits import AnyHits
    from exaln.scoring.scoring import Scoring

WIDTH = 60
"""Alignment columns per line."""

NAMES = ("Query", "Sbjct")

IDENTICAL, POSITIVE, MISMATCH, GAP = range(4)
_MARKS = np.frombuffer(b"|+  ", np.uint8)
_COLOURS = ("\x1b[1;32m", "\x1b[33m", "\x1b[31m", "\x1b[2m")
"""ANSI sequences for IDENTICAL, POSITIVE, MISMATCH and GAP columns: bold green, yellow, red, faint."""

_PLAIN = "\x1b[0m"


@dataclass(frozen=True)
class Picture:
    """One alignment to draw: three rows of letters, and the kind of each column.

    query_first, target_first: 1-based position of the first letter. target_step: -1 on the minus strand, otherwise 1.
    """

    query: str
    middle: str
    target: str
    kinds: bytes
    query_first: int
    target_first: int
    target_step: int


def draw(
    query: NDArray[np.uint8],
    target: NDArray[np.uint8],
    path: NDArray[np.uint32],
    *,
    scoring: Scoring,
    query_start: int = 0,
    target_start: int = 0,
    strand: int = 1,
    width: int = WIDTH,
    colour: bool = False,
    names: tuple[str, str] = NAMES,
) -> str:
    """An alignment of two whole sequences (uint8 codes) as text, in blocks of `width` columns.

    path: uint32, see `alignments.cigar.Paths`. query_start, target_start: 0-based; on strand -1, target_start is the
    smallest target position of the alignment. The middle line shows equal letters (`|` for nucleotides) and `+` for
    pairs that score above 0.

    >>> from exaln.scoring.scoring import Scoring
    >>> blosum = Scoring("BLOSUM50", gap_open=0, gap_extend=8)
    >>> encode = blosum.alphabet.encode
    >>> path = np.array([2 << 4 | EQUAL, 1 << 4 | INSERTION, 2 << 4 | EQUAL], np.uint32)
    >>> print(draw(encode("HEAGAWGHEE"), encode("PAWHEAE"), path, scoring=blosum, query_start=4, target_start=1))
    Query  5  AWGHE  9
              AW HE
    Sbjct  2  AW-HE  5
    """
    if width < 1:
        raise InputError(f"width is {width}; a line needs at least one column")
    query_part, target_part = _consumed(query, target, path, query_start, target_start)
    if strand < 0:
        target_part = reverse_complement(target_part, scoring.alphabet)
    paths = Paths(path, np.array([0, len(path)], np.int64))
    rows = rows_of_paths([query_part], [target_part], paths, scoring.alphabet)
    target_first = target_start + 1 if strand > 0 else target_start + len(target_part)
    (picture,) = _pictures(rows, [query_start + 1], [target_first], [strand], scoring)
    return "\n\n".join(_blocks(picture, width, colour, names))


def draw_all(hits: AnyHits, *, colour: bool = False) -> Iterator[str]:
    """The alignments of all hits, each as `draw` returns it; much faster than calling `draw` for each."""
    target_first = np.where(hits.strand > 0, hits.target_start + 1, hits.target_end).tolist()
    query_first, steps = (hits.query_start + 1).tolist(), hits.strand.tolist()
    for picture in _pictures(rows_of(hits), query_first, target_first, steps, hits.scoring):
        yield "\n\n".join(_blocks(picture, WIDTH, colour, NAMES))


def _pictures(
    rows: Rows, query_first: list[int], target_first: list[int], steps: list[int], scoring: Scoring
) -> Iterator[Picture]:
    kinds = column_kinds(rows, scoring)
    middle = middle_line(rows, kinds, scoring).tobytes().decode("ascii")
    query, target = (row.tobytes().decode("ascii") for row in (rows.query, rows.target))
    kind_bytes = kinds.tobytes()
    places = pairwise(rows.offsets.tolist())
    for (start, end), at_query, at_target, step in zip(places, query_first, target_first, steps, strict=True):
        cut = slice(start, end)
        yield Picture(query[cut], middle[cut], target[cut], kind_bytes[cut], at_query, at_target, step)


def _consumed(
    query: NDArray[np.uint8], target: NDArray[np.uint8], path: NDArray[np.uint32], query_start: int, target_start: int
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """The codes of query and target that the path consumes."""
    lengths, codes = (path >> 4).astype(np.int64), path & 15
    query_part = query[query_start : query_start + int(lengths[codes != DELETION].sum())]
    target_part = target[target_start : target_start + int(lengths[codes != INSERTION].sum())]
    return query_part, target_part


def column_kinds(rows: Rows, scoring: Scoring) -> NDArray[np.uint8]:
    """uint8: IDENTICAL, POSITIVE, MISMATCH or GAP for each column."""
    code = scoring.alphabet.table
    kinds = np.full(len(rows.operation), GAP, np.uint8)
    is_pair = (rows.operation != DELETION) & (rows.operation != INSERTION)
    scores = scoring.matrix[code[rows.query[is_pair]], code[rows.target[is_pair]]]
    kinds[is_pair] = np.where(scores > 0, POSITIVE, MISMATCH)
    kinds[rows.operation == EQUAL] = IDENTICAL
    return kinds


def middle_line(rows: Rows, kinds: NDArray[np.uint8], scoring: Scoring) -> NDArray[np.uint8]:
    """uint8: the ASCII letters of the line between query and target."""
    if scoring.alphabet.is_nucleotide:
        return np.where(kinds == IDENTICAL, ord("|"), ord(" ")).astype(np.uint8)
    return np.where(kinds == IDENTICAL, rows.query, _MARKS[kinds])


def _blocks(picture: Picture, width: int, colour: bool, names: tuple[str, str]) -> Iterator[str]:
    query_at, target_at, step = picture.query_first, picture.target_first, picture.target_step
    query_end = query_at + len(picture.query) - picture.query.count("-") - 1
    target_end = target_at + step * (len(picture.target) - picture.target.count("-") - 1)
    digits = len(str(max(query_at, target_at, query_end, target_end)))
    label = max(map(len, names))
    for start in range(0, len(picture.query), width):
        rows = [row[start : start + width] for row in (picture.query, picture.middle, picture.target)]
        n_query, n_target = len(rows[0]) - rows[0].count("-"), len(rows[2]) - rows[2].count("-")
        if colour:
            rows = [_paint(row, picture.kinds[start : start + width]) for row in rows]
        above = _line(names[0], label, digits, query_at, n_query, 1, rows[0])
        below = _line(names[1], label, digits, target_at, n_target, step, rows[2])
        yield f"{above}\n{'':<{label + digits + 4}}{rows[1]}\n{below}"
        query_at, target_at = query_at + n_query, target_at + step * n_target


def _line(name: str, label: int, digits: int, first: int, n_letters: int, step: int, text: str) -> str:
    """One row with its name and positions; a row that is all gaps has no positions."""
    if n_letters == 0:
        return f"{name:<{label}}  {'':<{digits}}  {text}"
    return f"{name:<{label}}  {first:<{digits}}  {text}  {first + step * (n_letters - 1)}"


def _paint(text: str, kinds: bytes) -> str:
    painted, at = [], 0
    for kind, run in groupby(kinds):
        size = len(list(run))
        painted.append(f"{_COLOURS[kind]}{text[at : at + size]}{_PLAIN}")
        at += size
    return "".join(painted)
