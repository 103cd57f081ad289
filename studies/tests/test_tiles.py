"""Xiao, Aji and Feng, instead of the Cell: the tiled wavefront on CPU threads, compared cell by cell."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exaln.engines.reference.path import fill_table
from exaln.scoring.modes import LOCAL
from exaln.sequences.alphabet import PROTEIN
from exaln_studies import _native
from exaln_studies.whole_tables import SIDE, scoring
from golden_data import fasta

SCORING = scoring()
sequences = st.lists(st.integers(0, 19), max_size=3 * 7).map(lambda codes: np.array(codes, np.uint8))


def filled(query, target, threads, side):
    """H, E and F, filled by tiles."""
    tables = [np.full((len(query) + 1, len(target) + 1), -7, np.int32) for _ in range(3)]
    costs = SCORING.matrix, SCORING.gap_first, SCORING.gap_extend
    waited = _native.fill_tiles(query, target, *costs, threads, side, *(table.reshape(-1) for table in tables))
    assert len(waited) == threads
    return tables


def assert_as_reference(query, target, threads, side):
    expected = fill_table(SCORING.matrix[np.ix_(query, target)], SCORING, LOCAL)
    h, e, f = filled(query, target, threads, side)
    np.testing.assert_array_equal(h, expected.h)
    np.testing.assert_array_equal(e[1:, 1:], expected.e[1:, 1:])
    np.testing.assert_array_equal(f[1:, 1:], expected.f[1:, 1:])
    return int(h.max())


@given(sequences, sequences, st.integers(1, 4), st.sampled_from([1, 3, 7]))
def test_every_cell_equals_that_of_the_reference_engine(query, target, threads, side):
    assert_as_reference(query, target, threads, side)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("lengths", [(SIDE, SIDE), (SIDE - 1, 2 * SIDE + 1), (100, 33)], ids=str)
def test_tiles_of_the_size_of_the_paper(lengths, threads):
    random = np.random.default_rng(lengths)
    query, target = (random.integers(0, 20, n).astype(np.uint8) for n in lengths)
    assert_as_reference(query, target, threads, SIDE)


def test_haemoglobins_have_the_score_of_other_programs():
    query, target = (PROTEIN.encode(letters) for letters in fasta("hba_hbb.fasta").values())
    assert assert_as_reference(query, target, 2, SIDE) == 285  # by other programs, BLOSUM62 with gaps 11/1
