"""Convert alignments to and from `Bio.Align.Alignment`, in which the target is the first sequence."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.alignments.cigar import DELETION, DIFFERENT, EQUAL, INSERTION, MATCH, Paths, merged
from exaln.errors import InputError
from exaln.foundation import arguments
from exaln.foundation.plurals import number_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

INSTALL = 'Biopython is not installed; pip install "exaln[bio]"'


@dataclass(frozen=True)
class Coordinates:
    """The path of a Biopython alignment: start positions, and the letters that each step consumes, int64[steps]."""

    query_start: int
    target_start: int
    query_steps: NDArray[np.int64]
    target_steps: NDArray[np.int64]

    def columns(self) -> NDArray[np.uint32]:
        """uint32[columns]: the operation of each column, M, I or D."""
        codes = np.where(self.target_steps == 0, INSERTION, np.where(self.query_steps == 0, DELETION, MATCH))
        return np.repeat(codes, np.maximum(self.query_steps, self.target_steps)).astype(np.uint32)


def make_alignment(
    query: tuple[str, str],
    target: tuple[str, str],
    operations: NDArray[np.uint32],
    query_start: int,
    target_start: int,
    score: float,
    *,
    strand: int = 1,
) -> Any:
    """A Bio.Align.Alignment of two sequences, each given as (letters, id). operations: uint32, as in `Paths`.

    On strand -1 the path runs up the target and down the query, as in Biopython, and query_start is where it begins.
    InputError if Biopython is missing or nothing is aligned.
    """
    try:
        bio_align: Any = import_module("Bio.Align")
        bio_seq: Any = import_module("Bio.Seq")
        bio_record: Any = import_module("Bio.SeqRecord")
    except ImportError:
        raise InputError(INSTALL) from None
    if len(operations) == 0:
        raise InputError("no letters are aligned; Biopython has no empty alignments")
    runs = merged(Paths(operations, np.array([0, len(operations)], np.int64))).operations
    lengths, codes = (runs >> 4).astype(np.int64), runs & 15
    steps = np.stack([np.where(codes == INSERTION, 0, lengths), strand * np.where(codes == DELETION, 0, lengths)])
    coordinates = np.array([[target_start], [query_start]]) + np.pad(np.cumsum(steps, axis=1), ((0, 0), (1, 0)))
    records = [bio_record.SeqRecord(bio_seq.Seq(letters), id=name, description="") for letters, name in (target, query)]
    alignment = bio_align.Alignment(records, coordinates)
    alignment.score = score
    return alignment


def letters_of(alignment: Any) -> tuple[tuple[str, str], tuple[str, str]]:
    """(letters, id) of the query and of the target; InputError if the alignment is not of two sequences."""
    if not hasattr(alignment, "sequences") or not hasattr(alignment, "coordinates"):
        raise arguments.wrong("alignment", alignment, "a Bio.Align.Alignment")
    if len(alignment.sequences) != 2:
        raise InputError(f"the alignment has {number_of(len(alignment.sequences), 'sequence')}; expected two")
    target, query = ((str(getattr(one, "seq", one)), str(getattr(one, "id", ""))) for one in alignment.sequences)
    return query, target


def coordinates_of(alignment: Any) -> Coordinates:
    """The path of an alignment; InputError if a sequence runs backwards or letters of both are skipped at once."""
    target, query = np.asarray(alignment.coordinates, np.int64)
    target_steps, query_steps = np.diff(target), np.diff(query)
    if (target_steps < 0).any() or (query_steps < 0).any():
        raise InputError("a sequence of the alignment is on the other strand; pass its reverse complement")
    if ((query_steps != target_steps) & (query_steps != 0) & (target_steps != 0)).any():
        raise InputError("the alignment skips letters of both sequences at once; this cannot be represented")
    return Coordinates(int(query[0]), int(target[0]), query_steps, target_steps)


def with_equality(
    columns: NDArray[np.uint32], query: NDArray[np.uint8], target: NDArray[np.uint8]
) -> NDArray[np.uint32]:
    """uint32[columns]: operations with = or X in place of M. query, target: uint8, the codes that they consume."""
    at_query, at_target = (np.cumsum(columns != gap) - 1 for gap in (DELETION, INSERTION))
    is_pair = columns == MATCH
    kinds = columns.copy()
    kinds[is_pair] = np.where(query[at_query[is_pair]] == target[at_target[is_pair]], EQUAL, DIFFERENT)
    return kinds


def as_runs(columns: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """uint32: runs of equal columns merged into operations, as in `exaln.alignments.cigar.Paths`.

    >>> as_runs(np.array([7, 7, 1, 7], np.uint32)).tolist() == [2 << 4 | 7, 1 << 4 | 1, 1 << 4 | 7]
    True
    """
    places = np.flatnonzero(np.concatenate([np.ones(min(1, len(columns)), np.bool_), columns[1:] != columns[:-1]]))
    lengths = np.diff(np.append(places, len(columns))).astype(np.uint32)
    return (lengths << 4 | columns[places]).astype(np.uint32)
