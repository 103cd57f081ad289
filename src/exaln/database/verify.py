"""`verify`: everything that must hold for a database, checked against its files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from exaln.database.manifest import Manifest, SegmentEntry
from exaln.database.segment import Segment
from exaln.errors import DatabaseError
from exaln.foundation.mapped_file import unchanged
from exaln.statistics.length_bins import N_BINS, length_histogram

if TYPE_CHECKING:
    from numpy.typing import NDArray


def problems_of_database(manifest: Manifest, segments: tuple[Segment, ...]) -> Iterator[str]:
    """One line per problem; a segment whose hash is wrong is not looked at any further."""
    histogram: NDArray[np.int64] = np.zeros(N_BINS, np.int64)
    next_ordinal = 0
    all_readable = True
    for entry, segment in zip(manifest.segments, segments, strict=True):
        try:
            with unchanged(segment.require_unchanged):
                segment.check()
                found = list(_problems_of_segment(entry, segment))
                histogram += length_histogram(np.diff(segment.offsets))
            for problem in found:
                yield f"{segment.name}: {problem}"
        except DatabaseError as error:
            all_readable = False
            yield str(error)
        if entry.first_ordinal != next_ordinal:
            yield f"{segment.name}: begins with ordinal {entry.first_ordinal}; {next_ordinal} is due"
        next_ordinal = entry.first_ordinal + entry.rows
    if manifest.next_ordinal != next_ordinal:
        yield f"the manifest says {manifest.next_ordinal} for the next ordinal; the segments end before {next_ordinal}"
    if all_readable and not np.array_equal(histogram, manifest.length_histogram):
        yield "the length histogram of the manifest differs from that of the segments"


def _problems_of_segment(entry: SegmentEntry, segment: Segment) -> Iterator[str]:
    from pyarrow import ArrowException

    try:
        segment.batch.validate(full=True)
    except ArrowException as error:
        yield f"not valid Arrow data: {error}".splitlines()[0]
        return
    offsets = segment.offsets
    lengths = np.diff(offsets)
    if offsets[0] != 0 or offsets[-1] != segment.n_residues:
        yield f"residues run from {offsets[0]} to {offsets[-1]}; the manifest says {segment.n_residues}"
    if (int(lengths.min()), int(lengths.max())) != (entry.shortest, entry.longest):
        yield "shortest and longest sequence differ from the manifest"
    if np.any(np.diff(lengths) < 0):
        yield "rows are not sorted by length"
    if segment.n_residues and int(segment.codes.max()) >= len(segment.alphabet.letters):
        yield f"codes that are not {segment.alphabet.name} letters"
    ordinals = np.sort(segment.ordinals)
    if not np.array_equal(ordinals, np.arange(entry.first_ordinal, entry.first_ordinal + entry.rows)):
        yield "ordinals are not each place of the input once"
    yield from _problems_of_order(segment, lengths)
    yield from _problems_of_mask(segment, lengths)


def _problems_of_order(segment: Segment, lengths: NDArray[np.int64]) -> Iterator[str]:
    from exaln._core import argsort_bytes

    same_length = np.diff(lengths) == 0
    if np.any(np.diff(segment.ordinals)[same_length] < 0):
        yield "rows of equal length are not in input order"
    by_id, _ = argsort_bytes(segment.ids.data, np.array(segment.ids.offsets))  # a copy, which the core checks and uses
    if not np.array_equal(by_id, segment.by_id):
        yield "by_id is not the order of the ids"


def _problems_of_mask(segment: Segment, lengths: NDArray[np.int64]) -> Iterator[str]:
    mask = segment.mask
    lengths_of_intervals = np.repeat(lengths, np.diff(segment.mask_offsets))
    if len(lengths_of_intervals) != len(mask):
        yield "mask intervals that belong to no row"
    elif np.any(mask[:, 0] < 0) or np.any(mask[:, 0] >= mask[:, 1]) or np.any(mask[:, 1] > lengths_of_intervals):
        yield "mask intervals outside their sequence"
