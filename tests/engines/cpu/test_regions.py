"""Regions of a table in the core: every instruction set, mode and width against the reference, cell by cell."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import long_regions
import strategies
from exaln import _core
from exaln.engines.reference.engine import ReferenceEngine
from exaln.engines.regions import NOTHING, Boundary, Region
from exaln.scoring.modes import GLOBAL, LOCAL, OVERLAP, SEMIGLOBAL
from kernel_cases import ISAS, Costs, engine_with, mutated, random_codes
from long_regions import INT32, INT64, assert_same, core_region, outside
from pair_cases import MATRICES

REFERENCE = ReferenceEngine()


def whole(query, target):
    return Region(0, len(query), 0, len(target))


def every(n, step=1, also=()):
    return np.array(sorted({*range(step, n + 1, step), *also}), np.int64)


def filled(by, query, target, costs, mode, region, *rest, **options):
    """(end, lines) of a region."""
    return long_regions.filled(by, (query, target, costs, mode), region, *rest, **options)


def assert_fills(query, target, costs, mode, rows=None, columns=None, score=INT32, isas=ISAS, threads=(1,)):
    """All cells of the whole table, or some lines, as by the reference."""
    region = whole(query, target)
    borders = outside(region, costs, mode, score)
    rows = every(len(query)) if rows is None else rows
    columns = every(len(target)) if columns is None else columns
    case = (query, target, costs, mode, region, borders, rows, columns, score)
    expected = filled(REFERENCE, *case)
    for isa in isas:
        for n in threads:
            assert_same(filled(engine_with(isa, n), *case), expected)


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("factor", [1, 2000], ids=["16 bits", "32 bits"])
def test_all_cells_of_a_region_are_exact(name, factor):
    small = MATRICES[name]
    costs = Costs(small.matrix * factor, small.gap_open * factor, small.gap_extend * factor)
    rng = np.random.default_rng(len(name))
    query = random_codes(rng, 150, len(costs.matrix))
    target = mutated(rng, query, len(costs.matrix), 0.2)
    for mode in (LOCAL, GLOBAL, SEMIGLOBAL):
        assert_fills(query, target, costs, mode)


DNA = MATRICES["DNA"]
EDGES = sorted({1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 63, 64, 65})


@pytest.mark.parametrize("n_rows", EDGES)
def test_regions_of_sizes_around_every_edge(n_rows):
    rng = np.random.default_rng(n_rows)
    for n_columns in EDGES:
        query, target = random_codes(rng, n_rows, 4), random_codes(rng, n_columns, 4)
        assert_fills(query, target, DNA, LOCAL)
        assert_fills(query, target, DNA, GLOBAL)


@pytest.mark.parametrize("where", ["query", "target", "both", "everywhere"])
@pytest.mark.parametrize("factor", [1, 2000], ids=["16 bits", "32 bits"])
def test_regions_with_few_ambiguous_letters(where, factor):
    """A, C, G and T with some N, R and U: some rows, some steps, both, or all cells need the whole matrix."""
    small = MATRICES["DNA"]
    costs = Costs(small.matrix * factor, small.gap_open * factor, small.gap_extend * factor)
    rng = np.random.default_rng(11)
    query = random_codes(rng, 700, 4)
    target = mutated(rng, query, 4, 0.1)
    for codes, is_meant in ((query, where != "target"), (target, where != "query")):
        odd = rng.integers(0, len(codes), (300 if where == "everywhere" else 3) * is_meant)
        codes[odd] = rng.choice([4, 14, 15], len(odd))
    for mode in (LOCAL, GLOBAL):
        assert_fills(query, target, costs, mode, every(700, 7), every(len(target), 5))


@pytest.mark.parametrize("n_letters", [2, 4, 5, 8, 9, 20])
def test_regions_with_few_and_many_classes_of_letters(n_letters):
    rng = np.random.default_rng(n_letters)
    query = random_codes(rng, 200, n_letters)
    target = mutated(rng, query, n_letters, 0.2)
    for factor in (1, 2000):
        costs = Costs(np.where(np.eye(n_letters, dtype=bool), 3, -2) * factor, 4 * factor, factor)
        assert_fills(query, target, costs, LOCAL)
        assert_fills(query, target, costs, SEMIGLOBAL)


@pytest.mark.parametrize("mode", [LOCAL, OVERLAP, GLOBAL], ids=str)
@pytest.mark.parametrize("score", [INT32, INT64], ids=str)
def test_regions_of_many_strips_on_threads(mode, score):
    rng = np.random.default_rng(5)
    query = random_codes(rng, 9_001, 4)
    target = np.concatenate([random_codes(rng, 300, 4), mutated(rng, query[4_000:6_000], 4, 0.1)])
    rows, columns = every(9_001, 512, also=(1, 4_095, 4_097, 9_001)), every(len(target), 64, also=(1, 77, len(target)))
    fastest, portable = ISAS[0], ISAS[-1]
    assert_fills(query, target, DNA, mode, rows, columns, score, isas=[fastest], threads=(1, 2, 3, 7))
    assert_fills(query, target, DNA, mode, rows, columns, score, isas=[portable], threads=(3,))


@pytest.mark.parametrize(("name", "factor"), [("DNA", 40), ("BLOSUM62", 15), ("linear gaps", 150)])
@pytest.mark.parametrize("mode", [LOCAL, GLOBAL, SEMIGLOBAL], ids=str)
def test_regions_whose_score_bases_move(name, factor, mode):
    """Costs just small enough for lanes of 16 bits, scores that are not; then far below 0, unless they are local."""
    small = MATRICES[name]
    costs = Costs(small.matrix * factor, small.gap_open * factor, small.gap_extend * factor)
    n_letters = len(costs.matrix)
    rng = np.random.default_rng(factor)
    query = random_codes(rng, 600, 4 if name == "DNA" else n_letters)
    query[300] = n_letters - 1
    target = np.concatenate([mutated(rng, query, n_letters, 0.02), random_codes(rng, 600, n_letters)])
    assert_fills(query, target, costs, mode, every(600, 7), every(len(target), 5))


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("mode", [LOCAL, GLOBAL], ids=str)
def test_regions_with_scores_far_beyond_16_bits(isa, mode):
    """Equal sequences climb to 90,000, then fall again: bases follow, up and down, at different steps in each lane."""
    costs = Costs(np.where(np.eye(4, dtype=bool), 30, -40), 20, 25)
    rng = np.random.default_rng(1)
    query = random_codes(rng, 3_000, 4)
    target = np.concatenate([query, random_codes(rng, 1_500, 4), query[:500]])
    assert_fills(query, target, costs, mode, every(3_000, 100), every(5_000, 100), isas=[isa])


@pytest.mark.parametrize("mode", [LOCAL, GLOBAL], ids=str)
def test_regions_with_scores_beyond_32_bits(mode):
    """A region in the midst of a table whose scores are above 2^32, and one where they are below -2^32."""
    rng = np.random.default_rng(3)
    query = random_codes(rng, 400, 4)
    target = mutated(rng, query, 4, 0.1)
    region = whole(query, target)
    near = outside(region, DNA, GLOBAL, INT64)
    for base in (1 << 40, *(() if mode.is_local else (-(1 << 40),))):
        high = Boundary(near.top_H + base, near.top_F + base, near.left_H + base, near.left_E + base, base)
        case = (query, target, DNA, mode, region, high, every(400), every(len(target)), INT64)
        expected = filled(REFERENCE, *case)
        assert mode.is_local is False or expected[0].score > 1 << 40
        if not mode.is_local:
            expected = NOTHING, expected[1]
        for isa in ISAS:
            assert_same(filled(engine_with(isa), *case), expected)


@pytest.mark.parametrize("mode", [LOCAL, GLOBAL, SEMIGLOBAL], ids=str)
def test_regions_together_are_the_whole_table(mode):
    rng = np.random.default_rng(8)
    query = random_codes(rng, 300, 4)
    target = mutated(rng, query, 4, 0.15)
    n = len(target)
    region = whole(query, target)
    _, all_lines = filled(REFERENCE, query, target, DNA, mode, region, outside(region, DNA, mode), every(300), every(n))
    for first_row, end_row, first_column, end_column in ((100, 300, 77, n), (1, 2, 1, 2), (37, 250, 130, 131)):
        part = Region(first_row, end_row, first_column, end_column)
        inside = np.s_[first_column:end_column], np.s_[first_row:end_row]
        borders = Boundary(
            all_lines.row_H[first_row - 1][inside[0]],
            all_lines.row_F[first_row - 1][inside[0]],
            all_lines.column_H[first_column - 1][inside[1]],
            all_lines.column_E[first_column - 1][inside[1]],
            int(all_lines.row_H[first_row - 1, first_column - 1]),
        )
        rows, columns = np.arange(first_row + 1, end_row + 1), np.arange(first_column + 1, end_column + 1)
        case = (query, target, DNA, mode, part, borders, rows, columns)
        expected = filled(REFERENCE, *case)
        np.testing.assert_array_equal(expected[1].row_H, all_lines.row_H[first_row:end_row, inside[0]])
        for isa in ISAS:
            assert_same(filled(engine_with(isa), *case), expected)


def test_the_end_cell_among_equal_scores():
    """Of equal scores the smallest column, then the smallest row, whatever the strips, lanes and threads."""
    rng = np.random.default_rng(6)
    piece = random_codes(rng, 40, 4)
    spacer = np.full(1, 4, np.uint8)
    matrix = np.full((5, 5), -99)
    np.fill_diagonal(matrix, [1, 1, 1, 1, -99])
    costs = Costs(matrix, 90, 9)
    query = np.concatenate([part for _ in range(120) for part in (piece, spacer)])
    target = np.concatenate([spacer, piece, spacer, piece, spacer])
    region = whole(query, target)
    none = np.zeros(0, np.int64)
    for isa in ISAS:
        for threads in (1, 3):
            end, _ = filled(
                engine_with(isa, threads),
                query,
                target,
                costs,
                LOCAL,
                region,
                outside(region, costs, LOCAL),
                none,
                none,
            )
            assert (end.score, end.row, end.column) == (40, 40, 41)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_region_with_any_scoring(data):
    alphabet = data.draw(strategies.alphabets)
    first, second = data.draw(strategies.related_pairs(alphabet, max_size=90))
    scoring = data.draw(strategies.scorings(alphabet))
    mode = data.draw(st.sampled_from([LOCAL, GLOBAL, SEMIGLOBAL, OVERLAP]))
    query, target = alphabet.encode(first), alphabet.encode(second)
    rows = np.array(sorted(data.draw(st.sets(st.integers(1, max(1, len(query)))))), np.int64)
    columns = np.array(sorted(data.draw(st.sets(st.integers(1, max(1, len(target)))))), np.int64)
    isa = data.draw(st.sampled_from(ISAS))
    if len(query) > 0 and len(target) > 0:
        assert_fills(query, target, scoring, mode, rows, columns, isas=[isa], threads=(data.draw(st.integers(1, 3)),))


def core_arguments(**changed):
    """The arguments of a valid call of fill_region, with some of them changed."""
    n_rows, n_columns = 3, 5
    arguments = {
        **core_region(n_rows, n_columns, is_local=True),
        "rows": np.array([3]),
        "row_h": np.zeros((1, n_columns), np.int32),
        "row_f": np.zeros((1, n_columns), np.int32),
        "columns": np.array([2, 5]),
        "column_h": np.zeros((2, n_rows), np.int32),
        "column_e": np.zeros((2, n_rows), np.int32),
    }
    return arguments | changed


def test_wrong_arguments_of_fill_region_are_refused():
    assert _core.fill_region(**core_arguments())[0] == 0
    wrong = [
        ({"rows": np.array([0])}, "lie within"),
        ({"rows": np.array([4])}, "lie within"),
        ({"columns": np.array([2, 2])}, "ascend"),
        ({"columns": np.array([3, 2])}, "ascend"),
        ({"row_h": np.zeros((2, 5), np.int32)}, "shape"),
        ({"column_e": np.zeros((2, 4), np.int32)}, "shape"),
        ({"row_h": np.zeros((1, 5), np.int64)}, "int32"),
        ({"top_h": np.zeros(5, np.int64)}, "int32"),
        ({"top_h": np.zeros(5, np.float32)}, "int32"),
        ({"left_h": np.zeros(2, np.int32)}, "long"),
        ({"query": np.full(3, 32, np.uint8)}, "32"),
        ({"threads": 0}, "threads"),
        ({"isa": "abacus"}, "abacus"),
    ]
    for changed, message in wrong:
        with pytest.raises(ValueError, match=message):
            _core.fill_region(**core_arguments(**changed))
    read_only = np.zeros((1, 5), np.int32)
    read_only.flags.writeable = False
    with pytest.raises(TypeError):
        _core.fill_region(**core_arguments(row_h=read_only))


def test_an_exception_in_the_progress_callback_stops_all_threads():
    query = np.zeros(60_000, np.uint8)
    region = whole(query, query)
    none = np.zeros(0, np.int64)

    def give_up(cells):
        assert 0 <= cells <= region.cells
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        filled(
            engine_with(ISAS[0], 2),
            query,
            query,
            DNA,
            LOCAL,
            region,
            outside(region, DNA, LOCAL),
            none,
            none,
            progress=give_up,
        )


def test_an_empty_region_has_no_end():
    empty = np.zeros(0, np.uint8)
    region = whole(empty, empty)
    none = np.zeros(0, np.int64)
    end, _ = filled(engine_with(ISAS[0]), empty, empty, DNA, LOCAL, region, outside(region, DNA, LOCAL), none, none)
    assert end == NOTHING
