"""Paths walked back over kept lines in the core: step by step those of the reference, whatever was filled ahead."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import strategies
from exaln import _core
from exaln.engines.cuda.long import device_checkpoints
from exaln.engines.reference.engine import ReferenceEngine
from exaln.engines.reference.path import reference_alignment
from exaln.engines.regions import CheckpointParts, PairTable, PathState, Region
from exaln.pairwise.long.checkpoints import RegionBoundary, SlabCheckpoints, grid_places
from exaln.scoring.modes import GLOBAL, LOCAL, SEMIGLOBAL
from kernel_cases import ISAS, Costs, engine_with, mutated, random_codes
from long_regions import INT32, INT64, core_region, filled, outside
from pair_cases import MATRICES

REFERENCE = ReferenceEngine()
DNA = MATRICES["DNA"]


@pytest.fixture(autouse=True)
def few_lines_at_a_time(monkeypatch):
    monkeypatch.setattr(device_checkpoints, "MAX_CHECKPOINTS", 3)
    monkeypatch.setattr(device_checkpoints, "ALONG_GAP", 4)
    monkeypatch.setattr(device_checkpoints, "ACROSS_GAP", 1)


class FewParts:
    """Checkpoints of which no more than is near a path can be had, with rubbish beside them, as from a device."""

    def __init__(self, lines, region):
        self._lines, self._region = lines, region
        self.rows, self.columns, self.row, self.column = lines.rows, lines.columns, lines.row, lines.column
        self.n_asked = 0

    def near(self, row, column, spacing, gap):
        self.n_asked += 1
        rows, columns = device_checkpoints.parts_near_path(
            self._region, (self.rows, self.columns), row, column, spacing, gap
        )
        return CheckpointParts(
            self.rows[rows.own],
            rows.firsts,
            *(cut(lines, rows) for lines in (self._lines.row_H, self._lines.row_F)),
            self.columns[columns.own],
            columns.firsts,
            *(cut(lines, columns) for lines in (self._lines.column_H, self._lines.column_E)),
        )


def cut(lines, ahead):
    """Parts of lines."""
    parts = np.full((len(ahead.firsts), ahead.length), 123_456_789, lines.dtype)
    for part, line, first in zip(parts, lines[ahead.own], ahead.firsts, strict=True):
        begin, end = max(first, 0), min(first + len(part), len(line))
        if begin < end:
            part[begin - first : end - first] = line[begin:end]
    return parts


class Case:
    """A whole table with checkpoints, and the last cell of a path; `steps` are those of the reference engine."""

    def __init__(self, query, target, costs, mode, spacing, score=INT32):
        self.pair = PairTable(query, target, costs, mode)
        self.region = Region(0, len(query), 0, len(target))
        borders = outside(self.region, costs, mode, score)
        places = grid_places(0, len(query), spacing), grid_places(0, len(target), spacing)
        end, self.lines = filled(REFERENCE, (query, target, costs, mode), self.region, borders, *places, score)
        self.around, self.spacing = RegionBoundary(self.region, borders), spacing
        self.state = PathState(len(query) - 1, len(target) - 1)
        if mode.is_local:
            self.state = PathState(end.row - 1, end.column - 1, end.score)
        self.steps, self.after, _ = self.traced(REFERENCE)

    def traced(self, by, lines=None):
        """The steps, the state after them, and the number of calls."""
        kept = SlabCheckpoints(self.region, self.around, self.spacing)
        kept.add(0, self.region.end_row, lambda: lines or self.lines)
        steps, state, n_calls, walk = [], self.state, 0, by.traceback(self.pair)
        while not state.is_complete(self.pair.mode) and min(state.row, state.column) >= 0:
            piece, state = walk(kept, state)
            steps.extend(piece.tolist())
            n_calls += 1
        return steps, state, n_calls


def apart(rng, length, piece, gone):
    """Two sequences of which each lacks pieces that the other has, in turn: no diagonal holds for long."""
    common = random_codes(rng, length, 4)
    parts = [common[begin : begin + piece] for begin in range(0, length, piece)]
    new = [random_codes(rng, gone, 4) for _ in parts]
    query = np.concatenate([letters for i, part in enumerate(parts) for letters in (part, new[i][: gone * (i % 2)])])
    target = np.concatenate(
        [letters for i, part in enumerate(parts) for letters in (part, new[i][: gone * (1 - i % 2)])]
    )
    return query, target


@pytest.mark.parametrize("mode", [LOCAL, GLOBAL, SEMIGLOBAL], ids=str)
@pytest.mark.parametrize("spacing", [1, 7, 16, 64, 150, 4000])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_tracebacks_of_similar_sequences(mode, spacing, threads):
    rng = np.random.default_rng(spacing)
    query = random_codes(rng, 700, 4)
    case = Case(query, mutated(rng, query, 4, 0.1), DNA, mode, spacing)
    assert case.traced(engine_with(threads=threads))[:2] == (case.steps, case.after)
    assert case.traced(engine_with(threads=threads), FewParts(case.lines, case.region))[:2] == (case.steps, case.after)


@pytest.mark.parametrize("mode", [LOCAL, GLOBAL], ids=str)
@pytest.mark.parametrize("score", [INT32, INT64], ids=str)
def test_tracebacks_where_no_prefilled_block_is_used(mode, score):
    """A gap in every block or two, wider than the band, in one direction and in the other; blocks of several sizes."""
    cheap_gaps = Costs(np.where(np.eye(4, dtype=bool), 3, -5), 2, 0)
    for seed, (piece, gone) in enumerate([(40, 30), (20, 9), (150, 60)]):
        query, target = apart(np.random.default_rng(seed), 1200, piece, gone)
        for spacing in (16, 32, 80):
            case = Case(query, target, cheap_gaps, mode, spacing, score)
            assert len(case.steps) > 1400
            few = FewParts(case.lines, case.region)
            for threads in (1, 4):
                assert case.traced(engine_with(threads=threads))[:2] == (case.steps, case.after)
                assert case.traced(engine_with(threads=threads), few)[:2] == (case.steps, case.after)
            assert few.n_asked > 10


def test_one_call_traces_through_many_blocks():
    rng = np.random.default_rng(4)
    query = random_codes(rng, 3000, 4)
    case = Case(query, mutated(rng, query, 4, 0.02), DNA, GLOBAL, 32)
    for isa in ISAS:
        steps, after, n_calls = case.traced(engine_with(isa, threads=3))
        assert (steps, after) == (case.steps, case.after)
        assert n_calls == 1


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("factor", [1, 2000], ids=["16 bits", "32 bits"])
def test_tracebacks_with_every_matrix_and_instruction_set(name, factor):
    small = MATRICES[name]
    costs = Costs(small.matrix * factor, small.gap_open * factor, small.gap_extend * factor)
    rng = np.random.default_rng(len(name))
    for n_rows in (1, 2, 9, 60, 130):
        query = random_codes(rng, n_rows, len(costs.matrix))
        target = mutated(rng, query, len(costs.matrix), 0.2)
        if len(target) == 0:
            continue
        for mode in (LOCAL, GLOBAL, SEMIGLOBAL):
            for spacing in (20, 1000):
                case = Case(query, target, costs, mode, spacing)
                for isa in ISAS:
                    assert case.traced(engine_with(isa, threads=2))[:2] == (case.steps, case.after)


@pytest.mark.parametrize("gap", [1, 2])
def test_tracebacks_that_begin_in_a_gap(gap):
    rng = np.random.default_rng(gap)
    query = random_codes(rng, 90, 4)
    case = Case(query, mutated(rng, query, 4, 0.2), DNA, GLOBAL, 20)
    case.state = PathState(case.state.row, case.state.column, 0, gap)
    expected = case.traced(REFERENCE)[:2]
    for isa in ISAS:
        assert case.traced(engine_with(isa, threads=2))[:2] == expected


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_traceback_through_the_whole_table_is_the_path(data):
    alphabet = data.draw(strategies.alphabets)
    first, second = data.draw(strategies.related_pairs(alphabet, max_size=90))
    scoring = data.draw(strategies.scorings(alphabet))
    query, target = alphabet.encode(first), alphabet.encode(second)
    expected = reference_alignment(query, target, scoring, LOCAL)
    if expected.score == 0:
        return
    query_start, query_end, target_start, target_end = expected.positions
    case = Case(query, target, scoring, LOCAL, data.draw(st.integers(1, 100)))
    assert (case.state.row, case.state.column) == (query_end - 1, target_end - 1)
    by = engine_with(data.draw(st.sampled_from(ISAS)), data.draw(st.integers(1, 3)))
    steps, after, _ = case.traced(by, data.draw(st.sampled_from([None, FewParts(case.lines, case.region)])))
    assert (after.row, after.column, after.left, after.gap) == (query_start - 1, target_start - 1, 0, 0)
    assert len(steps) == expected.counts[5]


def core_arguments(**changed):
    """The arguments of a valid call of the traceback, with some of them changed."""
    n_rows, n_columns = 5, 7
    arguments = {
        **core_region(n_rows, n_columns, is_local=False),
        "spacing": 3,
        "rows": np.array([3]),
        "row_firsts": np.array([0]),
        "row_h": np.zeros((1, n_columns), np.int32),
        "row_f": np.zeros((1, n_columns), np.int32),
        "columns": np.array([3, 6]),
        "column_firsts": np.array([0, 0]),
        "column_h": np.zeros((2, n_rows), np.int32),
        "column_e": np.zeros((2, n_rows), np.int32),
        "row": 4,
        "column": 6,
    }
    return arguments | changed


def test_wrong_arguments_of_a_traceback_are_refused():
    walker = _core.BlockWalker(3)
    assert walker.walk(**core_arguments())[1] == -1
    wrong = [
        ({"row": 5}, "inside"),
        ({"column": -1}, "inside"),
        ({"gap": 3}, "gap"),
        ({"spacing": 0}, "apart"),
        ({"rows": np.array([2])}, "at hand"),
        ({"row_firsts": np.array([6])}, "at hand"),
        ({"column_firsts": np.array([0, 4])}, "at hand"),
        ({"row_firsts": np.array([0, 0])}, "shape"),
        ({"row_h": np.zeros((2, 7), np.int32)}, "shape"),
        ({"row_h": np.zeros((1, 6), np.int32)}, "shape"),
        ({"column_h": np.zeros((2, 5), np.int64)}, "int32"),
        ({"query": np.full(5, 32, np.uint8)}, "32"),
    ]
    for changed, message in wrong:
        with pytest.raises(ValueError, match=message):
            walker.walk(**core_arguments(**changed))
    for made, message in (({"threads": 0}, "threads"), ({"isa": "abacus"}, "abacus")):
        with pytest.raises(ValueError, match=message):
            _core.BlockWalker(**made)
    too_large = np.full((4, 4), 1 << 29, np.int32)
    with pytest.raises(ValueError, match="too large"):
        walker.walk(**core_arguments(matrix=too_large, gap_first=1 << 29))
    assert walker.walk(**core_arguments())[1] == -1
