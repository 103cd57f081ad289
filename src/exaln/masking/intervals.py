"""Stretches of sequences as columns: in order, joined where they overlap, written as masks of records."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from exaln.sequences.records import Records, offsets_of, read_only

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Intervals:
    """Stretches of n sequences, 0-based and half-open within their sequence.

    begins, ends: int64[intervals]; offsets: int64[n + 1], those of sequence i are offsets[i] to offsets[i + 1].
    They may overlap, and be in any order within a sequence.
    """

    begins: NDArray[np.int64]
    ends: NDArray[np.int64]
    offsets: NDArray[np.int64]

    @staticmethod
    def none(n: int) -> Intervals:
        """No stretches of n sequences."""
        nothing = np.empty(0, np.int64)
        return Intervals(nothing, nothing, np.zeros(n + 1, np.int64))

    @staticmethod
    def of_records(records: Records) -> Intervals:
        """The masks of the records, which are their lower-case letters."""
        first, end = int(records.mask_offsets[0]), int(records.mask_offsets[-1])
        mask = records.mask[first:end]
        return Intervals(mask[:, 0], mask[:, 1], records.mask_offsets - first)

    def __len__(self) -> int:
        """The number of sequences."""
        return len(self.offsets) - 1

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """int64[intervals]: the sequence of each."""
        return read_only(np.repeat(np.arange(len(self)), np.diff(self.offsets)))

    def merged(self, gap: int = 0) -> Intervals:
        """Intervals in order; none overlaps or touches another. Those up to `gap` residues apart become one."""
        if not len(self.begins):
            return self
        order = np.lexsort((self.begins, self.rows))
        before = offsets_of(np.full(len(self), int(self.ends.max()) + gap + 1))[self.rows]  # all on one line
        begins, reached = (before + self.begins)[order], np.maximum.accumulate((before + self.ends)[order])
        firsts = np.flatnonzero(np.concatenate(([True], begins[1:] > reached[:-1] + gap)))
        lasts = np.append(firsts[1:], len(begins)) - 1
        before = before[firsts]
        counts = np.bincount(self.rows[firsts], minlength=len(self))
        return Intervals(begins[firsts] - before, reached[lasts] - before, offsets_of(counts))

    def joined(self, other: Intervals, gap: int = 0) -> Intervals:
        """The letters that are in one of both, for the same sequences; merged."""
        rows = np.concatenate((self.rows, other.rows))
        begins = np.concatenate((self.begins, other.begins))
        ends = np.concatenate((self.ends, other.ends))
        order = np.argsort(rows, kind="stable")
        return Intervals(begins[order], ends[order], self.offsets + other.offsets).merged(gap)

    def masks(self, records: Records) -> Records:
        """The records with these intervals as their masks."""
        merged = self.merged()
        mask = np.stack((merged.begins, merged.ends), axis=1)
        return replace(records, mask=mask, mask_offsets=merged.offsets)
