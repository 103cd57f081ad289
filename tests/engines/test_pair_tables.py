"""Pairs with substitution tables of their own: the cpu engine against the reference, real tables and drawn ones."""

from dataclasses import replace

import numpy as np
import pytest

from engine_calls import pair_task
from exaln.alignments.aligned_pairs import PairList
from exaln.engines.cpu.engine import CpuEngine
from exaln.engines.reference.engine import ReferenceEngine
from exaln.engines.tasks import PairTables, SeveralTask
from exaln.errors import EngineError
from exaln.scoring.scoring import Scoring
from exaln.sequences.records import Records
from exaln.statistics.composition import SCALE, Compositions, CompositionScores

SCORING = Scoring("BLOSUM62")
CPU, REFERENCE = CpuEngine(2), ReferenceEngine()


def task_of(seed, n_pairs=24, longest=50):
    """Pairs that share words, and are repetitive now and then."""
    rng = np.random.default_rng(seed)
    n_letters = len(SCORING.alphabet.letters)

    def sequence():
        unit = rng.integers(0, n_letters, rng.integers(1, longest)).astype(np.uint8)
        return np.tile(unit, 1 + longest // len(unit))[: rng.integers(0, longest + 1)]

    queries = [sequence() for _ in range(5)]
    targets = [np.concatenate([sequence(), queries[place % 5][:15], sequence()]) for place in range(8)]
    records = [Records.of(SCORING.alphabet, sequences) for sequences in (queries, targets)]
    pairs = PairList(rng.integers(0, 5, n_pairs), rng.integers(0, 8, n_pairs))
    return pair_task(*records, pairs, SCORING)


def with_tables(task, mode):
    """The task with the tables of a mode of composition-based statistics; mode 0: with large random ones."""
    if mode:
        parts = [Compositions.of(records.codes, records.offsets) for records in (queries_of(task), task.targets)]
        scores = CompositionScores.of(SCORING, mode).tables(*parts, task.query, task.target)
        return replace(task, tables=PairTables(scores, SCALE * SCORING.gap_open, SCALE * SCORING.gap_extend))
    rng = np.random.default_rng(len(task))
    scores = rng.integers(-9000, 8000, (len(task), 27, 27)).astype(np.int32)
    return replace(task, tables=PairTables(scores, 11_000, 700))


def queries_of(task):
    return Records.of_columns(SCORING.alphabet, task.queries.codes("cpu"), task.queries.offsets)


@pytest.mark.parametrize("mode", [0, 1, 2, 3])
def test_scores_and_alignments_are_those_of_the_reference(mode):
    task = with_tables(task_of(mode), mode)
    scores = REFERENCE.score(task)
    assert np.array_equal(CPU.score(task), scores)
    assert (scores > 0).any()
    for known in (None, scores):
        found, expected = CPU.align(replace(task, known_scores=known)), REFERENCE.align(task)
        for column in ("scores", "positions", "counts"):
            assert np.array_equal(getattr(found, column), getattr(expected, column)), column
        assert np.array_equal(found.paths.operations, expected.paths.operations)
        assert np.array_equal(found.paths.offsets, expected.paths.offsets)


@pytest.mark.parametrize("mode", [0, 2])
def test_several_alignments_are_those_of_the_reference(mode):
    task = with_tables(task_of(10 + mode), mode)
    several = SeveralTask(task, 6, np.full(len(task), 12 * SCALE))
    found, expected = CPU.align_several(several), REFERENCE.align_several(several)
    assert np.array_equal(found.pair, expected.pair)
    assert len(found) > len(distinct_pairs(found))
    assert np.array_equal(found.aligned.scores, expected.aligned.scores)
    assert np.array_equal(found.aligned.paths.operations, expected.aligned.paths.operations)


def distinct_pairs(found):
    return set(found.pair.tolist())


def test_tables_are_taken_with_their_pairs():
    task = with_tables(task_of(3), 2)
    places = np.array([5, 0, 7])
    assert np.array_equal(CPU.score(task.taken(places)), CPU.score(task)[places])
    assert len(CPU.score(task.taken(places[:0]))) == 0


def test_blocks_of_columns_need_one_table():
    with pytest.raises(EngineError, match="one table for all pairs"):
        CPU.score_ends(with_tables(task_of(4), 2), 64)
