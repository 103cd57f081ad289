"""Two sequence files as batches of pairs. They are read while pairs are aligned, so memory does not grow with them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from exaln.alignments.aligned_pairs import PairList
from exaln.errors import InputError
from exaln.foundation.plurals import number_of
from exaln.pairwise.pairs import paired
from exaln.sequences.fasta import SequenceFile, no_sequences
from exaln.sequences.records import Records, joined

MAX_PAIRS = 1 << 14
"""Pairs in a batch, at most, unless one query has more targets."""


@dataclass(frozen=True)
class PairBatch:
    """Sequences and the pairs that they make. first_query, first_target: places in the files of the first of each."""

    queries: Records
    targets: Records
    pairs: PairList
    first_query: int = 0
    first_target: int = 0


class _Side:
    """The records of one file, taken in numbers that suit both files."""

    def __init__(self, file: SequenceFile) -> None:
        self.file, self.n_taken = file, 0
        self._records: Records | None = None
        self._next = next(file, None)
        self._at = 0
        self.advance()

    def advance(self) -> None:
        """Go on to the next record batch of the file if the current one is used up."""
        if self.n_ready == 0:
            self._records, self._next = self._next, next(self.file, None) if self._next is not None else None
            self._at = 0

    @property
    def n_ready(self) -> int:
        """Records that were read and not taken yet."""
        return 0 if self._records is None else len(self._records) - self._at

    @property
    def is_read(self) -> bool:
        """Whether the file has no records beyond those that are ready."""
        return self._next is None

    @property
    def is_single(self) -> bool:
        """Whether the file has exactly one record."""
        return self.n_taken == 0 and self.n_ready == 1 and self.is_read

    def take(self, n: int) -> Records:
        """The next n records, of which at least n are ready."""
        assert self._records is not None
        taken = self._records.rows(self._at, self._at + n)
        self._at += n
        self.n_taken += n
        self.advance()
        return taken


def zipped(first: SequenceFile, second: SequenceFile) -> Iterator[PairBatch]:
    """Yield pairs record by record. A single record in one file is paired with every record of the other.

    Raises InputError if the numbers of records differ otherwise, or if a file is empty.
    """
    left, right = _Side(first), _Side(second)
    for side in (left, right):
        _require_records(side.file, side.n_ready)
    if left.is_single or right.is_single:
        yield from _one_with_many(left, right)
        return
    while left.n_ready and right.n_ready:
        if left.is_read and right.is_read and left.n_ready != right.n_ready:
            break
        done, n = left.n_taken, min(left.n_ready, right.n_ready, MAX_PAIRS)
        yield PairBatch(left.take(n), right.take(n), paired(n, n, "zip"), done, done)
    if left.n_ready or right.n_ready:
        raise _different_numbers(first, second)


def _different_numbers(first: SequenceFile, second: SequenceFile) -> InputError:
    for file in (first, second):
        for _ in file:  # read to the end, to count the records
            pass
    return InputError(
        f"{first.name} has {number_of(first.n_records, 'record')} and {second.name} has {second.n_records}: they go "
        "pair by pair, so the numbers must be equal, or one of them 1; --all aligns every record with every other"
    )


def _one_with_many(left: _Side, right: _Side) -> Iterator[PairBatch]:
    one, many = (left, right) if left.is_single else (right, left)
    single = one.take(1)
    while many.n_ready:
        done, n = many.n_taken, min(many.n_ready, MAX_PAIRS)
        others = many.take(n)
        if one is left:
            yield PairBatch(single, others, paired(1, n, "zip"), 0, done)
        else:
            yield PairBatch(others, single, paired(n, 1, "zip"), done, 0)


def crossed(first: SequenceFile, second: SequenceFile) -> Iterator[PairBatch]:
    """Yield pairs of every record of the first file with every record of the second, which stays in memory.

    Raises InputError if a file is empty.
    """
    batches = list(second)
    _require_records(second, len(batches))
    targets = batches[0] if len(batches) == 1 else joined(batches)
    n_queries, done = max(1, MAX_PAIRS // len(targets)), 0
    for records in first:
        for start in range(0, len(records), n_queries):
            some = records.rows(start, min(start + n_queries, len(records)))
            yield PairBatch(some, targets, paired(len(some), len(targets), "all"), done)
            done += len(some)
    _require_records(first, done)


def _require_records(file: SequenceFile, n_records: int) -> None:
    if n_records == 0:
        raise no_sequences(file)
