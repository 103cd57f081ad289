"""The FASTA report: the sequences of the targets, whole or only their aligned parts.

Hits have the aligned parts alone; whole targets are read again, a few at a time, from where they came from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from exaln.errors import InputError
from exaln.report.aligned_rows import aligned_targets
from exaln.report.clean import title

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.alignments.query_hits import QueryHits

    WholeTargets = Callable[[NDArray[np.int64]], Sequence[NDArray[np.uint8]]]
    """The codes of whole targets, given their ordinals (int64[n])."""

LINE = 60
AT_ONCE = 1 << 24
"""Residues of whole targets that are read at a time; a single target may have more."""


def write_fasta(
    file: BinaryIO, hits: Iterable[QueryHits], *, aligned: bool = False, whole: WholeTargets | None = None
) -> None:
    """Write each target of a query once, best first; `aligned`: every alignment, as `>id:start-end`.

    An aligned part on the minus strand is written as its reverse complement, which is what the query aligns with. Its
    start is then larger than its end, as in tabular reports. whole: reads whole targets; InputError if they are needed
    and it is None.
    """
    if not aligned and whole is None:
        raise InputError("fasta has whole targets, which these hits do not have; write 'fasta aligned'")
    for query_hits in hits:
        records = _aligned_parts(query_hits) if whole is None or aligned else _whole_targets(query_hits, whole)
        for header, letters in records:
            _write(file, header, letters)


def _aligned_parts(hits: QueryHits) -> Iterator[tuple[str, str]]:
    """Header and letters of the aligned part of every alignment."""
    for part in hits.parts():
        for row, codes in enumerate(aligned_targets(part)):
            start, end = int(part.target_start[row]) + 1, int(part.target_end[row])
            place = f"{start}-{end}" if part.strand[row] > 0 else f"{end}-{start}"
            header = title(f"{part.target_ids[row]}:{place}", part.target_descriptions[row])
            yield header, part.alphabet.decode(codes)


def _whole_targets(hits: QueryHits, whole: WholeTargets) -> Iterator[tuple[str, str]]:
    """Header and letters of every target."""
    first_rows = hits.target_offsets[:-1]
    for some in _portions(first_rows, hits.target_lengths):
        for row, codes in zip(some.tolist(), whole(hits.ordinal[some]), strict=True):
            yield title(hits.target_ids[row], hits.target_descriptions[row]), hits.alphabet.decode(codes)


def _portions(rows: NDArray[np.int64], lengths: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """The rows in portions of about AT_ONCE residues."""
    total, start = np.cumsum(lengths[rows]), 0
    while start < len(rows):
        done = int(total[start - 1]) if start else 0
        end = max(start + 1, int(np.searchsorted(total, done + AT_ONCE, side="right")))
        yield rows[start:end]
        start = end


def _write(file: BinaryIO, header: str, letters: str) -> None:
    lines = [letters[start : start + LINE] for start in range(0, len(letters), LINE)]
    file.write("\n".join([f">{header}", *lines, ""]).encode())
