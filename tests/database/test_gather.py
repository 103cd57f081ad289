"""Some targets as records: right from one segment or several, and nothing else of the database is read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from database_samples import TINY, random_sequences, records_of
from exaln.database.database import Database
from exaln.database.gather import gathered
from exaln.database.segment_writer import SegmentLimits
from exaln.database.views import segment_starts, target_ordinals, target_origins

PLAIN = random_sequences(40, seed=4)


@pytest.mark.parametrize("limits", [TINY, SegmentLimits()])
@pytest.mark.parametrize("rows", [[], [0], [39], [3, 4, 20, 38], list(range(40))])
def test_gathered_targets_are_those_of_the_input(tmp_path: Path, limits: SegmentLimits, rows: list[int]) -> None:
    database = Database.build_records([records_of(PLAIN)], tmp_path / "db", limits=limits)
    assert (len(database.segments) > 2) == (limits == TINY)
    starts, own = segment_starts(database), np.array(rows, np.int64)
    for part in (database, database.part(0, database.n_residues + 1)):
        records = gathered(part, own, starts, texts=True)
        ordinals = target_origins(part, own, starts).ordinal.tolist()
        assert target_ordinals(part, own).tolist() == ordinals
        assert len(records) == len(rows)
        for place, ordinal in enumerate(ordinals):
            id_, description, sequence = PLAIN[ordinal]
            assert (records.ids[place], records.descriptions[place]) == (id_, description)
            assert database.alphabet.decode(records.sequence(place)) == sequence.upper()
        codes = gathered(part, own, starts, texts=False)
        assert codes.codes.tolist() == records.codes.tolist()
        assert codes.ids.to_list() == [""] * len(rows)


def test_few_targets_are_gathered_from_few_blocks(tmp_path: Path) -> None:
    """Neither ids nor ordinals are read as a whole."""
    database = Database.build_records([records_of(random_sequences(3000, seed=2, longest=4000))], tmp_path / "db")
    (segment,) = Database.open(tmp_path / "db").segments
    assert segment._file is not None
    n_blocks = len(segment._file._is_checked)
    records = gathered(Database.open(tmp_path / "db"), np.array([5]), np.array([0, 3000]), texts=True)
    assert records.codes.tolist() == database.segments[0].records.rows(5, 6).sequence(0).tolist()
    segment.sequences_of(np.array([5]))
    assert 0 < segment._file._is_checked.sum() < n_blocks
