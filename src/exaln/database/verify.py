"""`Database.verify`: checks a whole database, its hashes, its columns and what its manifest says about them."""

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
    """One line per problem. A segment with a wrong hash or a broken rule of `column_checks` is not examined further."""
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
            yield f"{segment.name}: starts with ordinal {entry.first_ordinal} instead of {next_ordinal}"
        next_ordinal = entry.first_ordinal + entry.rows
    if manifest.next_ordinal != next_ordinal:
        yield f"the next ordinal is {manifest.next_ordinal} in the manifest, but the segments end before {next_ordinal}"
    if all_readable and not np.array_equal(histogram, manifest.length_histogram):
        yield "the length histogram of the manifest differs from that of the segments"


def _problems_of_segment(entry: SegmentEntry, segment: Segment) -> Iterator[str]:
    from pyarrow import ArrowException

    try:
        segment.batch.validate(full=True)
    except ArrowException as error:
        yield f"not valid Arrow data: {error}".splitlines()[0]
        return
    rule = segment.broken_rule()  # opening checks this for files, but not for segments in memory
    if rule is not None:
        yield rule
        return
    lengths = np.diff(segment.offsets)
    if (int(lengths.min()), int(lengths.max())) != (entry.shortest, entry.longest):
        yield "shortest and longest sequence differ from the manifest"
    yield from _problems_of_order(segment, lengths)


def _problems_of_order(segment: Segment, lengths: NDArray[np.int64]) -> Iterator[str]:
    """Violations of the two sort orders, which lookups rely on and `column_checks` does not check."""
    from exaln._core import argsort_bytes

    same_length = np.diff(lengths) == 0
    if np.any(np.diff(segment.ordinals)[same_length] < 0):
        yield "rows of equal length are not in input order"
    offsets = np.array(segment.ids.offsets)  # a copy: the file may change while the core uses them
    by_id, _ = argsort_bytes(segment.ids.data, offsets)
    if not np.array_equal(by_id, segment.by_id):
        yield "by_id is not the order of the ids"
