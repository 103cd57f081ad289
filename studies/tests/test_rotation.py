"""Chaibou and Sie: the rotation and its inverse, cells per step, tables filled on threads, and the traceback."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exaln.engines.reference.path import fill_table, reference_alignment
from exaln.scoring.modes import LOCAL
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import PROTEIN
from exaln_studies import _native
from exaln_studies.fits import fitted
from exaln_studies.pairs import answer_of, similar_pair, steps_of
from exaln_studies.rotation import (
    BY_DIAGONALS,
    DEPENDENCIES,
    LAYOUTS,
    ORIGINAL,
    ROTATED,
    cells_of_step,
    rotate,
    rotate_back,
    rotated_back,
    strides_of,
    table_size,
    trace_back,
)
from golden_data import fasta

SCORING = Scoring("BLOSUM62", gap_open=0, gap_extend=2)
letters = st.integers(0, 19)
sequences = st.lists(letters, max_size=40).map(lambda codes: np.array(codes, np.uint8))


def table_of(query, target, layout, threads=1, chunk=1):
    table = np.full(table_size(layout, len(query), len(target)), -7, np.int32)
    _native.fill_table(query, target, SCORING.matrix, SCORING.gap_extend, layout, threads, chunk, table)
    return table


# The rotation itself


@pytest.mark.parametrize("n", [1, 2, 7, 30])
def test_the_rotation_is_one_to_one_and_its_inverse_takes_it_back(n):
    cells = [(i, j) for i in range(1, n + 1) for j in range(1, n + 1)]
    rotated = [rotate(i, j) for i, j in cells]
    assert len(set(rotated)) == n * n
    assert [rotate_back(*place) for place in rotated] == cells
    assert {column for _, column in rotated} == set(range(1, 2 * n))


@pytest.mark.parametrize("n", [1, 2, 7, 30])
def test_a_step_is_a_column_and_depends_on_earlier_columns(n):
    columns = {}
    for i in range(1, n + 1):
        for j in range(1, n + 1):
            row, column = rotate(i, j)
            columns.setdefault(column, []).append((i, j))
            neighbours = {rotate(i - 1, j - 1), rotate(i - 1, j), rotate(i, j - 1)}
            assert {(row + down, column + right) for down, right in DEPENDENCIES} == neighbours
            assert all(earlier < column for _, earlier in neighbours)
    assert [len(columns[step]) for step in sorted(columns)] == [cells_of_step(n, s) for s in range(1, 2 * n)]
    assert sum(cells_of_step(n, s) for s in range(1, 2 * n)) == n * n


@pytest.mark.parametrize("layout", LAYOUTS)
def test_native_code_and_python_agree_on_layouts(layout):
    m, n = 5, 9
    assert _native.table_size(layout, m, n) == table_size(layout, m, n)
    places = np.arange(table_size(layout, m, n), dtype=np.int32)
    view = rotated_back(places, layout, m, n)
    down, right = strides_of(layout, m, n)
    for i in range(m + 1):
        for j in range(n + 1):
            expected = {
                ORIGINAL: i * (n + 1) + j,
                ROTATED: i * (m + n + 1) + i + j,
                BY_DIAGONALS: (i + j) * (m + 1) + i,
            }[layout]
            assert view[i, j] == expected == i * down + j * right
            if layout == ROTATED and i and j:  # the paper counts from 1, without the border
                assert divmod(expected, m + n + 1) == (rotate(i, j)[0], rotate(i, j)[1] + 1)


# Filling, and the traceback


@given(sequences, sequences, st.sampled_from(LAYOUTS), st.integers(1, 4), st.sampled_from([1, 3, 50]))
def test_every_cell_equals_that_of_the_reference_engine(query, target, layout, threads, chunk):
    expected = fill_table(SCORING.matrix[np.ix_(query, target)], SCORING, LOCAL).h
    result = rotated_back(table_of(query, target, layout, threads, chunk), layout, len(query), len(target))
    np.testing.assert_array_equal(result, expected)


@given(sequences, sequences, st.sampled_from(LAYOUTS))
def test_the_path_through_the_inverse_equals_that_of_the_reference_engine(query, target, layout):
    h = rotated_back(table_of(query, target, layout), layout, len(query), len(target))
    row, column, steps = trace_back(h, query, target, SCORING)
    expected = reference_alignment(query, target, SCORING, LOCAL)
    assert (row, column) == (expected.positions[1], expected.positions[3])
    assert steps == steps_of(np.array(expected.operations, np.uint32))


@pytest.mark.parametrize("kind", ["nucleotides", "proteins"])
def test_the_sequences_of_a_pair_are_similar(kind):
    query, target = similar_pair(kind, 400)
    assert len(query) == len(target) == 400
    answer = answer_of(query, target, SCORING)
    assert len(answer.steps) > 300
    assert {"D", "I", "M"} == set(answer.steps)


def test_haemoglobins_in_every_layout():
    query, target = (PROTEIN.encode(letters) for letters in fasta("hba_hbb.fasta").values())
    answer = answer_of(query, target, SCORING)
    for layout in LAYOUTS:
        h = rotated_back(table_of(query, target, layout, 2, 50), layout, len(query), len(target))
        assert h.max() == answer.score
        assert trace_back(h, query, target, SCORING) == (answer.query_end, answer.target_end, answer.steps)


def test_a_model_is_fitted_to_relative_errors():
    lengths, threads = [100, 200, 400, 100, 200, 400], [1, 1, 1, 4, 4, 4]
    times = [n * n * 2e-9 / p + 2 * n * 1e-6 for n, p in zip(lengths, threads, strict=True)]
    columns = [[n * n / p for n, p in zip(lengths, threads, strict=True)], [2 * n for n in lengths]]
    fit = fitted(columns, times)
    assert fit.coefficients == pytest.approx((2e-9, 1e-6))
    assert fit.worst < 1e-6
