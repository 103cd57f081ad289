"""Candidates of the cuda engine, and that neither order, batches, memory nor devices change a result."""

import re

import numpy as np
import pytest

import cuda_cases
import engine_calls
from cuda_cases import IS_CUDA, all_letters, mixed_targets, new_engine, random_letters, scored, scorings
from exaln.errors import EngineError, OutOfMemoryError
from exaln.sequences.records import Records
from exaln.statistics.length_bins import N_BINS, length_bin
from kernel_cases import random_codes
from memory_targets import memory_targets

pytestmark = pytest.mark.gpu

BLOSUM62 = scorings()["BLOSUM62"]
needs_cuda = pytest.mark.skipif(not IS_CUDA, reason="about GPUs")


class Case:
    """Queries, targets, and all their scores by the cpu engine."""

    def __init__(self, lengths, n_targets, seed, longest=3000, scoring=BLOSUM62):
        rng = np.random.default_rng(seed)
        self.scoring = scoring
        self.queries = [random_letters(rng, int(length), scoring) for length in lengths]
        self.targets = [*mixed_targets(rng, n_targets, scoring, self.queries, longest), all_letters(scoring)]
        self.scores = scored(cuda_cases.cpu(), self.queries, self.targets, scoring)

    @property
    def records(self):
        return Records.of(self.scoring.alphabet, self.queries)

    def database(self, n_segments=1):
        return memory_targets(self.scoring.alphabet, self.targets, n_segments)

    def cutoff(self, score):
        return np.full((len(self.queries), N_BINS), score, np.int32)

    def passing(self, cutoff):
        """Query and ordinal of the pairs that reach the cutoff."""
        lengths = np.array([len(target) for target in self.targets])
        return np.nonzero(self.scores >= cutoff[:, length_bin(lengths)])

    def assert_scored_by(self, engine, n_segments=1):
        found = engine_calls.scores(engine, self.records, self.database(n_segments), self.scoring)
        np.testing.assert_array_equal(found, self.scores)

    def assert_scanned_by(self, engine, cutoff, n_segments=1):
        database = self.database(n_segments)
        self.assert_candidates(engine_calls.scan(engine, self.records, database, self.scoring, cutoff), cutoff)

    def assert_candidates(self, pieces, cutoff):
        """Candidates in pieces and in any order are those that reach the cutoff."""
        pieces = list(pieces)
        names = "query", "ordinal", "length", "score"
        columns = [np.concatenate([np.empty(0, int), *(getattr(one, name) for one in pieces)]) for name in names]
        query, ordinal, length, score = columns
        order = np.lexsort((ordinal, query))
        queries, ordinals = self.passing(cutoff)
        np.testing.assert_array_equal(query[order], queries)
        np.testing.assert_array_equal(ordinal[order], ordinals)
        np.testing.assert_array_equal(score[order], self.scores[queries, ordinals])
        assert length.tolist() == [len(self.targets[place]) for place in ordinal]


@pytest.fixture(scope="module")
def mixed():
    return Case([0, 1, 30, 100, 144, 300, 300, 520, 1100], 3000, seed=1)


# Cutoffs


@pytest.mark.parametrize("n_segments", [1, 3])
def test_one_cutoff_per_query_and_length_bin(fast_engine, mixed, n_segments):
    """At, just below and just above scores that occur, so that every comparison matters."""
    rng = np.random.default_rng(2)
    cutoff = rng.choice(mixed.scores.ravel(), (len(mixed.queries), N_BINS)) + rng.integers(
        -1, 2, (len(mixed.queries), N_BINS)
    )
    mixed.assert_scanned_by(fast_engine, cutoff.astype(np.int32), n_segments)


def test_the_cutoff_applies_after_every_kernel(engine, mixed):
    assert 0 < (mixed.scores >= 45).sum() < mixed.scores.size / 10
    mixed.assert_scanned_by(engine, mixed.cutoff(45))


def test_a_cutoff_that_everything_passes(fast_engine, mixed):
    mixed.assert_scanned_by(fast_engine, mixed.cutoff(0))
    assert len(mixed.passing(mixed.cutoff(0))[0]) == mixed.scores.size


def test_a_cutoff_that_nothing_passes(fast_engine, mixed):
    mixed.assert_scanned_by(fast_engine, mixed.cutoff(np.iinfo(np.int32).max))


def test_cutoffs_that_one_query_passes_with_everything_and_the_others_with_nothing(fast_engine, mixed):
    cutoff = mixed.cutoff(10_000)
    cutoff[4] = 0
    mixed.assert_scanned_by(fast_engine, cutoff)


def test_cutoffs_that_one_length_bin_passes(fast_engine, mixed):
    cutoff = mixed.cutoff(10_000)
    cutoff[:, int(length_bin(200))] = 20
    mixed.assert_scanned_by(fast_engine, cutoff)


def test_more_candidates_than_any_list_on_the_device_holds(fast_engine):
    """Five million: also what a user gets with an E-value without bounds."""
    case = Case([40] * 50, 100_000, seed=3, longest=12)
    case.assert_scanned_by(fast_engine, case.cutoff(0))


def test_scores_above_the_limit_are_compared_with_the_cutoff(engine):
    scoring = scorings()["1024"]
    case = Case([5, 60, 61, 300], 800, seed=4, scoring=scoring)
    assert (case.scores > 32767).sum() > 10
    case.assert_scanned_by(engine, case.cutoff(30_000))


# Order, batches, packing


def test_the_number_of_queries_in_a_call_changes_nothing(engine, mixed):
    database = mixed.database()
    n_queries = len(mixed.queries)
    for size in (1, 2, 3, 4, n_queries):
        for first in range(0, n_queries, size):
            end = min(n_queries, first + size)
            found = engine_calls.scores(engine, mixed.records.rows(first, end), database, BLOSUM62)
            np.testing.assert_array_equal(found, mixed.scores[first:end])


def test_the_order_of_queries_and_targets_changes_nothing(fast_engine, mixed):
    rng = np.random.default_rng(5)
    for _ in range(3):
        rows, columns = rng.permutation(len(mixed.queries)), rng.permutation(len(mixed.targets))
        queries, targets = [mixed.queries[i] for i in rows], [mixed.targets[i] for i in columns]
        found = scored(fast_engine, queries, targets, BLOSUM62, n_segments=int(rng.integers(1, 5)))
        np.testing.assert_array_equal(found, mixed.scores[np.ix_(rows, columns)])


@pytest.mark.parametrize("n_segments", [2, 9, 200])
def test_segments_change_nothing(fast_engine, mixed, n_segments):
    mixed.assert_scored_by(fast_engine, n_segments)


def test_a_resident_database_scores_the_same_after_other_scorings(fast_engine, mixed):
    """A database that stayed on the device, with other scorings in between."""
    database = mixed.database(2)
    linear = scorings()["linear gaps"]
    expected = scored(cuda_cases.cpu(), mixed.queries, mixed.targets, linear)
    for _ in range(3):
        for scoring, scores in ((BLOSUM62, mixed.scores), (linear, expected)):
            found = engine_calls.scores(fast_engine, mixed.records, database, scoring)
            np.testing.assert_array_equal(found, scores)


def test_two_scans_of_one_engine_at_a_time(fast_engine, mixed):
    """Half of one, then another, then the rest."""
    cutoff = mixed.cutoff(30)
    first = engine_calls.scan(fast_engine, mixed.records, mixed.database(3), BLOSUM62, cutoff)
    found = [next(first)]
    mixed.assert_scanned_by(fast_engine, cutoff)
    mixed.assert_candidates([*found, *first], cutoff)


# Memory and devices


@pytest.fixture(scope="module")
def large():
    """Five million residues, of which a few targets are long."""
    case = Case([50, 144, 150, 375, 700, 1300], 20_000, seed=6)
    rng = np.random.default_rng(7)
    case.targets[::4000] = [random_codes(rng, 20_000, 20) for _ in case.targets[::4000]]
    case.scores = scored(cuda_cases.cpu(), case.queries, case.targets, BLOSUM62)
    return case


@pytest.mark.parametrize("n_queries", [1, 2, 6])
@pytest.mark.parametrize("megabytes", [64, 32])
def test_little_memory_changes_nothing(large, megabytes, n_queries):
    """Below what the database needs, it is streamed in many batches."""
    engine = new_engine(memory=megabytes << 20)
    for n_segments in (1, 3):
        queries = large.records.rows(0, n_queries)
        found = engine_calls.scores(engine, queries, large.database(n_segments), BLOSUM62)
        np.testing.assert_array_equal(found, large.scores[:n_queries])
    if n_queries == 6:
        large.assert_scanned_by(engine, large.cutoff(40), 2)
        large.assert_scanned_by(engine, large.cutoff(0))


@needs_cuda
@pytest.mark.parametrize("megabytes", [24, 16])
def test_very_little_memory_is_enough_or_an_error(large, megabytes):
    """But never a wrong score."""
    try:
        large.assert_scored_by(new_engine(memory=megabytes << 20))
    except OutOfMemoryError as error:
        assert "--gpu-memory" in str(error)  # noqa: PT017


@needs_cuda
def test_too_little_memory_is_an_error(mixed):
    with pytest.raises(OutOfMemoryError, match="memory"):
        mixed.assert_scored_by(new_engine(memory=1000))


@needs_cuda
@pytest.mark.parametrize("memory", [cuda_cases.ROOMY, 32 << 20])
def test_a_device_that_is_opened_twice_is_two_devices(large, mixed, memory):
    engine = new_engine(devices=(0, 0), memory=memory)
    for case in (large, mixed):
        for n_segments in (1, 7):
            case.assert_scored_by(engine, n_segments)
    large.assert_scanned_by(engine, large.cutoff(40), 7)


def times_sent(engine):
    """How often the last scan sent the database to the device, as --verbose tells it."""
    return float(re.search(r"([0-9.]+) x the database", " ".join(engine.scan_report()))[1])


@needs_cuda
def test_what_is_resident_is_sent_once_and_what_is_streamed_once_per_group(large):
    roomy, small = new_engine(), new_engine(memory=48 << 20)
    database = large.database()
    for most in (1.2, 0.01, 0.01):
        engine_calls.scores(roomy, large.records, database, BLOSUM62)
        assert times_sent(roomy) <= most
    database = large.database()
    for _ in range(2):
        engine_calls.scores(small, large.records, database, BLOSUM62)
        assert 0.9 < times_sent(small) < 1.2


@needs_cuda
def test_a_scan_without_a_memory_limit(mixed):
    mixed.assert_scored_by(new_engine(memory=None))


@needs_cuda
@pytest.mark.parametrize("devices", [(97,), (0, 97)])
def test_a_gpu_that_is_not_there_is_an_error(devices, mixed):
    with pytest.raises(EngineError, match="97"):
        mixed.assert_scored_by(new_engine(devices=devices))
