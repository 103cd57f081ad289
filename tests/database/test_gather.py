"""Some targets as records: right from one segment or several, and nothing else of the database is read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from database_samples import TINY, random_sequences, records_of
from exaln.database.database import Database
from exaln.database.gather import sequences_of, target_slices, texts_of, whole_targets
from exaln.database.segment_writer import SegmentLimits
from exaln.database.views import segment_starts, target_ordinals, target_origins
from exaln.errors import DatabaseError

PLAIN = random_sequences(40, seed=4)


@pytest.mark.parametrize("limits", [TINY, SegmentLimits()])
@pytest.mark.parametrize("rows", [[], [0], [39], [3, 4, 20, 38], [20, 3, 20, 39], list(range(40))])
def test_targets_and_parts_of_them_are_those_of_the_input(
    tmp_path: Path, limits: SegmentLimits, rows: list[int]
) -> None:
    database = Database.build_records([records_of(PLAIN)], tmp_path / "db", limits=limits)
    assert (len(database.segments) > 2) == (limits == TINY)
    starts, own = segment_starts(database), np.array(rows, np.int64)
    for part in (database, database.part(0, database.n_residues + 1)):
        origins = target_origins(part, own, starts)
        ordinals = origins.ordinal.tolist()
        assert target_ordinals(part, own).tolist() == ordinals
        ids, descriptions = texts_of(part, own, starts)
        assert [*zip(ids, descriptions, strict=True)] == [PLAIN[ordinal][:2] for ordinal in ordinals]
        begin = np.minimum(np.arange(len(rows)) % 3, origins.length)
        for first, end in ((np.zeros_like(begin), origins.length), (begin, np.maximum(begin, origins.length - 1))):
            records, places = sequences_of(part, own, (first, end), origins.length, starts)
            found = [database.alphabet.decode(records.sequence(place)) for place in places.tolist()]
            spans = zip(ordinals, first.tolist(), end.tolist(), strict=True)
            assert found == [PLAIN[ordinal][2].upper()[begin:stop] for ordinal, begin, stop in spans]


def test_few_targets_are_gathered_from_few_blocks(tmp_path: Path) -> None:
    """Neither ids nor ordinals are read as a whole."""
    database = Database.build_records([records_of(random_sequences(3000, seed=2, longest=4000))], tmp_path / "db")
    (segment,) = Database.open(tmp_path / "db").segments
    assert segment._file is not None
    n_blocks = len(segment._file._is_checked)
    opened, row, starts = Database.open(tmp_path / "db"), np.array([5]), np.array([0, 3000])
    length = target_origins(opened, row, starts).length
    records, _ = sequences_of(opened, row, (np.zeros(1, np.int64), length), length, starts)
    assert records.codes.tolist() == database.segments[0].records.rows(5, 6).sequence(0).tolist()
    segment.sequences_of(np.array([5]))
    assert 0 < segment._file._is_checked.sum() < n_blocks


@pytest.mark.parametrize("limits", [TINY, SegmentLimits()])
def test_whole_targets_and_slices_are_those_of_the_input_in_any_order(tmp_path: Path, limits: SegmentLimits) -> None:
    database = Database.build_records([records_of(PLAIN)], tmp_path / "db", limits=limits)
    ordinals = np.random.default_rng(3).permutation(np.repeat(np.arange(40), 2))
    lengths = np.array([len(PLAIN[ordinal][2]) for ordinal in ordinals])
    starts, ends = lengths // 4, lengths - lengths // 3
    whole, some = whole_targets(database, ordinals), target_slices(database, ordinals, starts, ends)
    for ordinal, one, part, start, end in zip(ordinals, whole, some, starts, ends, strict=True):
        letters = PLAIN[ordinal][2].upper()
        assert database.alphabet.decode(one) == letters
        assert database.alphabet.decode(part) == letters[start:end]
    assert whole_targets(database, ordinals[:0]) == []


def test_a_range_outside_of_its_target_is_refused(tmp_path: Path) -> None:
    database = Database.build_records([records_of(PLAIN)], tmp_path / "db")
    here = np.array([7])
    for start, end in ((0, len(PLAIN[7][2]) + 1), (-1, 1), (2, 1)):
        with pytest.raises(DatabaseError, match="not a valid segment"):
            target_slices(database, here, np.array([start]), np.array([end]))


def test_a_slice_reads_only_its_blocks(tmp_path: Path) -> None:
    long = ("long", "", "ACDEFGHIKLMNPQRSTVWY" * 400_000)
    Database.build_records([records_of([*PLAIN, long])], tmp_path / "db")
    database = Database.open(tmp_path / "db")
    (one,) = target_slices(database, np.array([40]), np.array([4_000_003]), np.array([4_000_006]))
    assert database.alphabet.decode(one) == "EFG"
    segment = database.segments[0]
    assert segment._file is not None
    assert segment._file._is_checked.sum() < len(segment._file._is_checked) / 2
