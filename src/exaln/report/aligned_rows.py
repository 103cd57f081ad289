"""Alignments as rows of letters: both sequences with their gaps, for many hits at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from exaln.alignments.cigar import DELETION, EQUAL, INSERTION, aligned
from exaln.sequences.records import Text, digits, write_numbers
from exaln.sequences.strands import complements

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.alignments.cigar import Paths
    from exaln.alignments.query_hits import AnyHits
    from exaln.sequences.alphabet import Alphabet

GAP_LETTER = ord("-")


@dataclass(frozen=True)
class Rows:
    """The columns of all alignments, one after the other: those of hit i are offsets[i]:offsets[i + 1].

    query, target: uint8, ASCII letters and `-`. operation: uint8, the code of `OPERATIONS` of each column.
    """

    query: NDArray[np.uint8]
    target: NDArray[np.uint8]
    operation: NDArray[np.uint8]
    offsets: NDArray[np.int64]


def rows_of(hits: AnyHits) -> Rows:
    """The aligned letters of all hits."""
    places = zip(hits.queries, hits.query_start.tolist(), hits.query_end.tolist(), strict=True)
    query = [codes[start:end] for codes, start, end in places]
    return rows_of_paths(query, aligned_targets(hits), hits.paths, hits.alphabet)


def aligned_targets(hits: AnyHits) -> list[NDArray[np.uint8]]:
    """Codes of the aligned part of each target, read along the query."""
    parts = zip(hits.targets, hits.target_start, hits.target_end, hits.strand, strict=True)
    if not (hits.strand < 0).any():
        return [target[start:end] for target, start, end, _ in parts]
    other = complements(hits.alphabet)
    return [target[start:end] if strand > 0 else other[target[start:end][::-1]] for target, start, end, strand in parts]


def rows_of_paths(
    query: list[NDArray[np.uint8]], target: list[NDArray[np.uint8]], paths: Paths, alphabet: Alphabet
) -> Rows:
    """The rows of paths; query and target hold the codes that each path consumes."""
    paths = aligned(paths)
    lengths = (paths.operations >> 4).astype(np.int64)
    operation = np.repeat((paths.operations & 15).astype(np.uint8), lengths)
    letters = np.frombuffer(alphabet.letters.encode("ascii"), np.uint8)
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    return Rows(
        _spread(letters, query, operation != DELETION),
        _spread(letters, target, operation != INSERTION),
        operation,
        ends[paths.offsets],
    )


def _spread(
    letters: NDArray[np.uint8], pieces: list[NDArray[np.uint8]], is_letter: NDArray[np.bool_]
) -> NDArray[np.uint8]:
    row = np.full(len(is_letter), GAP_LETTER, np.uint8)
    if pieces:
        row[is_letter] = letters[np.concatenate(pieces)]
    return row


def btop(rows: Rows, paths: Paths) -> Text:
    """BLAST's trace-back operations: the length of each run of equal letters, and both letters of other columns.

    `7AG39-C` is 7 equal letters, A of the query on G of the target, 39 equal letters, a gap in the query on C.
    """
    paths = aligned(paths)
    lengths = paths.operations >> 4
    is_equal = (paths.operations & 15) == EQUAL
    sizes = np.where(is_equal, digits(lengths), 2 * lengths.astype(np.int64))
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    data = np.empty(int(ends[-1]), np.uint8)
    write_numbers(data, ends[1:][is_equal] - 1, lengths[is_equal])
    differs = rows.operation != EQUAL
    counts = lengths[~is_equal].astype(np.int64)
    before = np.repeat(np.cumsum(counts) - counts, counts)
    places = np.repeat(ends[:-1][~is_equal], counts) + 2 * (np.arange(len(before)) - before)
    data[places] = rows.query[differs]
    data[places + 1] = rows.target[differs]
    return Text(data, ends[paths.offsets])
