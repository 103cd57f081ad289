"""One pair region by region: the same score and path as by the direct method, whatever the slabs and the spacings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import engine_calls
import exaln
from exaln.alignments.aligned_pairs import PairList
from exaln.engines.contracts import Engine
from exaln.engines.cpu import engine as engine_module
from exaln.engines.cpu.engine import CpuEngine
from exaln.engines.reference.engine import ReferenceEngine
from exaln.engines.regions import NOTHING, EndCell, PathState, RegionResult, RegionTask, score_type
from exaln.errors import EngineError, InputError, OutOfMemoryError
from exaln.pairwise import routing
from exaln.pairwise.long import plan as plans
from exaln.pairwise.long import result
from exaln.pairwise.long.driver import PATH, SCORES, LongOptions, align_long, align_with, fill, score_long
from exaln.pairwise.long.plan import LAST_SPACING, Plan, Room, plan_path
from exaln.pairwise.long.store import DirectoryStore, MemoryStore, pair_name
from exaln.pairwise.long.traceback import LongPair
from exaln.scoring.modes import GLOBAL, LOCAL, SEMIGLOBAL
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import BUILT_IN, DNA
from exaln.sequences.records import Records
from long_cases import COSTS, SMALL_PLAN, align_in, by_definition, long_pair, mutated_pair, same
from pair_cases import ALL_MODES, align_pairs
from strategies import related_pairs, scorings

REFERENCE = ReferenceEngine()
SPACINGS = [(1,), (2, 1), (3,), (8, 3), (13, 5, 2), (500,)]


@pytest.fixture(params=["reference", "cpu"])
def engine(request: pytest.FixtureRequest) -> Engine:
    return REFERENCE if request.param == "reference" else CpuEngine(2)


@st.composite
def long_pairs(draw: st.DrawFn) -> LongPair:
    """Any scoring, any mode, two related sequences of at least one letter."""
    alphabet = draw(st.sampled_from(list(BUILT_IN.values())))
    scoring = draw(scorings(alphabet))
    first, second = draw(related_pairs(alphabet, max_size=30))
    letter = alphabet.letters[0]
    codes = alphabet.encode(first or letter), alphabet.encode(second or letter)
    return LongPair(*codes, scoring, draw(st.sampled_from(ALL_MODES)), REFERENCE)


@settings(max_examples=80, deadline=None)
@given(pair=long_pairs(), spacings=st.sampled_from(SPACINGS), slab_rows=st.integers(1, 50), is_wide=st.booleans())
def test_the_path_of_a_long_pair_is_that_of_the_direct_method(
    pair: LongPair, spacings: tuple[int, ...], slab_rows: int, is_wide: bool
) -> None:
    score = np.dtype(np.int64) if is_wide else score_type(len(pair.query), len(pair.target), pair.scoring)
    expected = by_definition(pair)
    for engine in (REFERENCE, CpuEngine(2)):
        chosen = LongPair(pair.query, pair.target, pair.scoring, pair.mode, engine)
        assert same(align_with(chosen, MemoryStore(Plan(score, slab_rows, spacings))), expected)
        assert fill(chosen, MemoryStore(Plan(score, slab_rows, ())), None).score == expected.score


@pytest.mark.parametrize("mode", ALL_MODES, ids=str)
def test_alignments_in_a_work_directory_in_every_mode(
    tmp_path: Path, engine: Engine, mode: exaln.scoring.modes.Mode
) -> None:
    pair = long_pair(mode, engine)
    assert same(align_in(tmp_path, pair), by_definition(pair))
    assert same(align_in(tmp_path, pair), by_definition(pair))  # from the stored path


def test_sequences_with_nothing_in_common_have_an_empty_path(engine: Engine, tmp_path: Path) -> None:
    pair = LongPair(np.zeros(20, np.uint8), np.ones(30, np.uint8), COSTS, LOCAL, engine)
    for found in (align_with(pair, MemoryStore(SMALL_PLAN)), align_in(tmp_path, pair)):
        assert (found.score, found.positions, found.operations.tolist()) == (0, (0, 0, 0, 0), [])


def test_the_driver_and_the_batch_algorithm_agree(engine: Engine) -> None:
    query, target = mutated_pair(1500, seed=8)
    [(score, positions, counts, operations)] = align_pairs([query], [target], [(0, 0)], COSTS, LOCAL)
    found = align_long(engine, query, target, COSTS, LOCAL, LongOptions())
    assert found.score == score == score_long(engine, query, target, COSTS, LOCAL)
    assert [list(found.positions), list(found.counts), found.operations.tolist()] == [positions, counts, operations]


def test_long_pairs_among_short_ones_keep_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """In searches, and in batches of pairs, by the cpu engine."""
    pairs = [mutated_pair(length, seed=length) for length in (20, 300, 30, 300, 250, 40)]
    queries, targets = (Records.of(DNA, [pair[side] for pair in pairs]) for side in (0, 1))
    rows = np.array([3, 0, 1, 5, 4, 2])
    listed, engine = PairList(rows, rows), CpuEngine(1)
    task = engine_calls.pair_task(queries, targets, listed, COSTS)
    expected = engine.align(task)
    known = replace(task, known_scores=expected.scores)
    monkeypatch.setattr(engine_module, "LONG_PAIRS", ((10, 50_000),))
    assert engine.is_long(task).any()
    for found in (routing.align_pairs(engine, task), routing.align_pairs(engine, known)):
        assert found.scores.tolist() == expected.scores.tolist()
        assert found.positions.tolist() == expected.positions.tolist()
        assert found.counts.tolist() == expected.counts.tolist()
        assert found.paths.operations.tolist() == expected.paths.operations.tolist()
        assert found.paths.offsets.tolist() == expected.paths.offsets.tolist()
    assert routing.score_pairs(engine, task).tolist() == expected.scores.tolist()
    wrong = replace(known, known_scores=expected.scores - 1).taken(np.array([0]))
    with pytest.raises(EngineError, match="traceback failed"):
        routing.align_pairs(engine, wrong)


def test_a_run_resumes_with_another_engine(tmp_path: Path) -> None:
    """One engine can finish what another has begun."""
    pair = long_pair(GLOBAL)

    class Stopping(ReferenceEngine):
        n_left = 2

        def fill(self, task: RegionTask) -> RegionResult:
            self.n_left -= 1
            if self.n_left < 0:
                raise KeyboardInterrupt
            return super().fill(task)

    with pytest.raises(KeyboardInterrupt):
        align_in(tmp_path, LongPair(pair.query, pair.target, COSTS, GLOBAL, Stopping()))
    opened = DirectoryStore(tmp_path, SMALL_PLAN, len(pair.query), len(pair.target))
    assert (opened.rows_done, opened.progress(40)) == (30, "resuming after 30 of 40 rows")
    opened.close()
    other = LongPair(pair.query, pair.target, COSTS, GLOBAL, CpuEngine(1))
    assert same(align_in(tmp_path, other, Plan(np.dtype(np.int64), 100, (50, 4))), by_definition(pair))


def test_a_path_with_another_score_is_an_error() -> None:
    pair = long_pair(GLOBAL)
    with pytest.raises(EngineError, match="the path of a long pair scores"):
        result.rescored(pair, EndCell(1000, 40, 41), [np.zeros(40, np.uint8), np.full(1, 2, np.uint8)])


def test_pieces_of_a_path_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result, "STEPS_AT_ONCE", 3)
    monkeypatch.setattr(result, "LONGEST_RUN", 4)
    pair = LongPair(np.zeros(10, np.uint8), np.zeros(10, np.uint8), COSTS, GLOBAL, REFERENCE)
    found = result.rescored(pair, EndCell(20, 10, 10), [np.zeros(4, np.uint8), np.zeros(6, np.uint8)])
    assert found.operations.tolist() == [4 << 4 | 7, 4 << 4 | 7, 2 << 4 | 7]
    assert found.counts == (10, 10, 0, 0, 0, 10)


# Plans


def test_small_pairs_have_one_level_and_large_ones_more() -> None:
    room = Room.of(64 << 30)
    assert plan_path(10_000, 10_000, COSTS, 1000, room).spacings == (LAST_SPACING,)
    large = plan_path(5_000_000, 5_000_000, COSTS, 20_000, room)
    assert len(large.spacings) == 3
    assert large.slab_rows == 5_000_000
    stored = plan_path(5_000_000, 5_000_000, COSTS, 20_000, Room.of(1 << 30, disk=64 << 30))
    assert stored.slab_rows == 20_000
    assert stored.spacings[0] == large.spacings[0]
    assert plan_path(5_000_000, 5_000_000, COSTS, 10**7, Room.of(1 << 30, disk=64 << 30)).slab_rows < 10**6
    assert stored.spacings[-1] == LAST_SPACING


@pytest.mark.parametrize("length", [30_000, 10**6, 10**8])
def test_checkpoints_fit_the_memory_limit(length: int) -> None:
    least = plans.LEAST_SCORES_PER_LETTER * 4 * 2 * length
    for memory in (2 * least, 3 * least, 100 * least):
        plan = plan_path(length, length, COSTS, 1 << 20, Room.of(memory))
        assert 4 * 4 * length * length / plan.spacings[0] <= memory / 2
        assert all(below < above for above, below in zip(plan.spacings, plan.spacings[1:], strict=False))


def test_a_pair_that_does_not_fit_is_refused_with_the_memory_it_needs() -> None:
    with pytest.raises(
        OutOfMemoryError, match=r"at least 3.0 GiB of memory for its path, better 59.6 GiB, and 512.0 MiB"
    ):
        plan_path(10**8, 10**8, COSTS, 1 << 20, Room.of(1 << 30))
    with pytest.raises(OutOfMemoryError, match=r"3.0 GiB of the work directory .* 768.0 MiB may be used$"):
        plan_path(10**8, 10**8, COSTS, 1 << 20, Room.of(64 << 30, disk=1 << 30))


def test_scores_are_64_bits_where_they_can_pass_31() -> None:
    steep = Scoring(match=1000, mismatch=-1000, gap_open=0, gap_extend=1)
    assert score_type(10**6, 10**6, steep) == np.int32
    assert score_type(3 * 10**6, 3 * 10**6, steep) == np.int64
    assert score_type(10**9, 10**9, Scoring(match=1, mismatch=-1, gap_open=0, gap_extend=2)) == np.int64


def test_the_better_end_cell_and_the_end_of_a_path() -> None:
    assert EndCell(5, 3, 9).better(EndCell(5, 8, 7)) == EndCell(5, 8, 7)
    assert EndCell(5, 3, 9).better(EndCell(6, 8, 17)) == EndCell(6, 8, 17)
    assert NOTHING.better(EndCell(0, 4, 4)) == NOTHING
    assert PathState(3, 3, left=0).is_complete(LOCAL)
    assert not PathState(3, 3, left=0).is_complete(GLOBAL)
    assert PathState(-1, 3, left=0).is_complete(GLOBAL)


# The public functions


def test_align_many_recognises_long_pairs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    pairs = [mutated_pair(length, seed=length) for length in (20, 900, 30, 1000, 700, 40)]
    queries, targets = ([pair[side] for pair in pairs] for side in (0, 1))
    expected = exaln.align_many(queries, targets, scoring=COSTS, mode=SEMIGLOBAL)
    monkeypatch.setattr(engine_module, "LONG_PAIRS", ((10, 400_000),))
    told: list[int] = []
    found = exaln.align_many(
        queries, targets, scoring=COSTS, mode=SEMIGLOBAL, progress=told.append, work_dir=tmp_path / "work"
    )
    assert found.scores.tolist() == expected.scores.tolist()
    assert found.cigars_extended == expected.cigars_extended
    assert found.positions.tolist() == expected.positions.tolist()
    assert found.counts.tolist() == expected.counts.tolist()
    assert told == sorted(told)
    assert told[-1] == sum(len(a) * len(b) for a, b in pairs)
    assert len(list((tmp_path / "work").iterdir())) == 3
    assert (
        exaln.score(queries[3], targets[3], scoring=COSTS) == exaln.align(queries[3], targets[3], scoring=COSTS).score
    )
    other = Records.of(exaln.Alphabet.parse("protein"), [rng.integers(0, 20, 2000).astype(np.uint8)])
    with pytest.raises(InputError, match="scores dna"):
        exaln.align_many(other, Records.of(DNA, [queries[3]]), scoring=COSTS)


def test_a_short_sequence_with_a_long_one_is_no_long_pair() -> None:
    lengths = [(500, 20_000), (600, 15_000), (5000, 200_000), (400, 400), (3000, 3000)]
    queries, targets = (Records.of(DNA, [np.zeros(pair[side], np.uint8) for pair in lengths]) for side in (0, 1))
    few = engine_calls.pair_task(queries, targets, PairList(np.arange(4), np.arange(4)), COSTS)
    assert CpuEngine(1).is_long(few).tolist() == [False, True, True, False]
    many = engine_calls.pair_task(queries, targets, PairList(np.arange(5).repeat(5), np.arange(5).repeat(5)), COSTS)
    assert CpuEngine(1).is_long(many)[::5].tolist() == [False, False, True, False, False]


def test_progress_and_the_state_of_a_work_directory_are_reported(tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    lines: list[str] = []
    query, target = mutated_pair(700, seed=1)
    options = LongOptions(tmp_path, watch=lambda *stage: told.append(stage), tell=lines.append)
    align_long(CpuEngine(1), query, target, COSTS, GLOBAL, options)
    cells, letters = len(query) * len(target), len(query) + len(target)
    assert (SCORES, cells, cells) in told
    assert (PATH, letters, letters) in told
    assert [stage for stage, _, _ in told] == sorted([stage for stage, _, _ in told], key=[SCORES, PATH].index)
    name = pair_name(LongPair(query, target, COSTS, GLOBAL, REFERENCE))
    assert lines == [f"{tmp_path / name}: starting"]
    align_long(CpuEngine(1), query, target, COSTS, GLOBAL, options)
    assert lines[1:] == [f"{tmp_path / name}: this pair is already aligned"]
