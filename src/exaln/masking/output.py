"""What `exaln mask` writes: masked FASTA, the intervals of segmasker and dustmasker, or BED."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from exaln.masking.hard import hard_masked

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.masking.intervals import Intervals
    from exaln.sequences.records import Records

FORMATS = ("fasta", "interval", "bed")


def masked_text(
    records: Records, found: Intervals, rows: NDArray[np.int32], outfmt: str, *, hard: bool, width: int
) -> bytes:
    """Records in the order of `rows`, in one of FORMATS; hard and width (letters per line) are for FASTA."""
    if outfmt == "fasta":
        masked = found.masks(records)
        return fasta_text(hard_masked(masked) if hard else masked, rows, width)
    lines = _interval_lines if outfmt == "interval" else _bed_lines
    return "".join(lines(records, found, rows.tolist())).encode("utf-8")


def fasta_text(records: Records, rows: NDArray[np.int32], width: int) -> bytes:
    """FASTA of these rows; masked letters are in lower case."""
    from exaln import _core

    letters = records.alphabet.letters
    return _core.fasta_text(
        records.ids.data,
        records.ids.offsets,
        records.descriptions.data,
        records.descriptions.offsets,
        records.codes,
        records.offsets,
        np.ascontiguousarray(records.mask[:, 0]),
        np.ascontiguousarray(records.mask[:, 1]),
        records.mask_offsets,
        np.frombuffer(letters.encode("ascii"), np.uint8),
        np.frombuffer(letters.lower().encode("ascii"), np.uint8),
        width,
        rows,
    ).tobytes()


def _interval_lines(records: Records, found: Intervals, rows: list[int]) -> Iterator[str]:
    """A header for each sequence, then its stretches as first and last position, from 0 on."""
    for row in rows:
        yield f">{' '.join(filter(None, (records.ids[row], records.descriptions[row])))}\n"
        for begin, end in _pairs(found, row):
            yield f"{begin} - {end - 1}\n"


def _bed_lines(records: Records, found: Intervals, rows: list[int]) -> Iterator[str]:
    """BED: id, begin and end of each stretch, 0-based and half-open; none overlaps another."""
    merged = found.merged()
    for row in rows:
        for begin, end in _pairs(merged, row):
            yield f"{records.ids[row]}\t{begin}\t{end}\n"


def _pairs(found: Intervals, row: int) -> Iterator[tuple[int, int]]:
    own = slice(int(found.offsets[row]), int(found.offsets[row + 1]))
    return zip(found.begins[own].tolist(), found.ends[own].tolist(), strict=True)
