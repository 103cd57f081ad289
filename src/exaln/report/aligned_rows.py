"""Alignments as rows of letters, both sequences with their gaps, for many hits at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from exaln.alignments.cigar import DELETION, EQUAL, INSERTION, aligned, strings
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
    """The columns of all alignments, concatenated; hit i has the columns offsets[i]:offsets[i + 1].

    query, target: uint8, ASCII letters and `-`. operation: uint8, the code in `OPERATIONS` of each column.
    """

    query: NDArray[np.uint8]
    target: NDArray[np.uint8]
    operation: NDArray[np.uint8]
    offsets: NDArray[np.int64]


def rows_of(hits: AnyHits) -> Rows:
    """The aligned rows of all hits."""
    places = zip(hits.queries, hits.query_start.tolist(), hits.query_end.tolist(), strict=True)
    query = [codes[start:end] for codes, start, end in places]
    return rows_of_paths(query, aligned_targets(hits), hits.paths, hits.alphabet)


def aligned_targets(hits: AnyHits) -> list[NDArray[np.uint8]]:
    """The codes (uint8) of the aligned part of each target, reverse-complemented on the minus strand."""
    if not (hits.strand < 0).any():
        return list(hits.target_slices)
    other, both = complements(hits.alphabet), zip(hits.target_slices, hits.strand.tolist(), strict=True)
    return [codes if strand > 0 else other[codes[::-1]] for codes, strand in both]


def rows_of_paths(
    query: list[NDArray[np.uint8]], target: list[NDArray[np.uint8]], paths: Paths, alphabet: Alphabet
) -> Rows:
    """The aligned rows of paths; query, target: for each path, the codes that it consumes."""
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
    """The letters of all pieces in the columns where `is_letter` holds, and gaps in the others."""
    row = np.full(len(is_letter), GAP_LETTER, np.uint8)
    if pieces:
        row[is_letter] = letters[np.concatenate(pieces)]
    return row


def btops(hits: AnyHits) -> list[str]:
    """The traceback operations of all hits; see `btop`."""
    return [text for part in hits.parts() for text in strings(btop(rows_of(part), part.paths))]


def btop(rows: Rows, paths: Paths) -> Text:
    """BLAST's trace-back operations (BTOP): the length of each run of equal letters, and both letters elsewhere.

    `7AG39-C`: 7 equal letters, A in the query against G in the target, 39 equal letters, a gap in the query against C.
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
