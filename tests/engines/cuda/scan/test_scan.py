"""What leaves the cuda engine after the cut, and that neither order, batches, memory nor devices change a result."""

import re

import numpy as np
import pytest

import cuda_cases
from cuda_cases import IS_CUDA, all_letters, mixed_targets, new_engine, random_letters, scored, scorings
from exaln.engines.contracts import Keep, ScoreBlock
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

    def cut(self, keep):
        """What the contract says must be left."""
        lengths = np.array([len(target) for target in self.targets])
        return ScoreBlock(0, self.scores, np.arange(len(self.targets)), lengths).cut(keep)

    def assert_scored_by(self, engine, n_segments=1):
        found = engine.scores(self.records, engine.place(self.database(n_segments)), self.scoring)
        np.testing.assert_array_equal(found, self.scores)

    def assert_scanned_by(self, engine, keep, n_segments=1):
        assert_same(list(engine.scan(self.records, engine.place(self.database(n_segments)), self.scoring, keep)),
                    self.cut(keep), len(self.queries), keep)  # fmt: skip


def assert_same(found, expected, n_queries, keep):
    """Candidates in pieces and in any order are these, and the histograms count every pair once."""
    columns = [[(c.query, c.ordinal, c.length, c.score) for c in found]]
    query, ordinal, length, score = (
        (np.concatenate([np.empty(0, int), *parts]) for parts in zip(*columns[0], strict=True))
        if found
        else [np.empty(0, int)] * 4
    )
    order = np.lexsort((ordinal, query))
    wanted = np.lexsort((expected.ordinal, expected.query))
    for name, column in (("query", query), ("ordinal", ordinal), ("length", length), ("score", score)):
        np.testing.assert_array_equal(column[order], getattr(expected, name)[wanted], name)
    for candidates in found:
        dtypes = [
            column.dtype for column in (candidates.query, candidates.ordinal, candidates.length, candidates.score)
        ]
        assert dtypes == [np.int32, np.int64, np.int64, np.int32]
    if keep.score_bins == 0:
        assert all(candidates.histogram is None for candidates in found)
        return
    counts = np.zeros((n_queries, N_BINS, keep.score_bins), np.int64)
    for histogram in (candidates.histogram for candidates in found if candidates.histogram is not None):
        counts[histogram.first_query : histogram.first_query + len(histogram.counts)] += histogram.counts
    np.testing.assert_array_equal(counts, expected.histogram.counts)


@pytest.fixture(scope="module")
def mixed():
    return Case([0, 1, 30, 100, 144, 300, 300, 520, 1100], 3000, seed=1)


# The cut


@pytest.mark.parametrize("score_bins", [0, 1, 64, 1000])
@pytest.mark.parametrize("n_segments", [1, 3])
def test_one_cutoff_per_query_and_length_bin(fast_engine, mixed, score_bins, n_segments):
    """At, just below and just above scores that occur, so that every comparison matters."""
    rng = np.random.default_rng(2)
    minimum = rng.choice(mixed.scores.ravel(), (len(mixed.queries), N_BINS)) + rng.integers(
        -1, 2, (len(mixed.queries), N_BINS)
    )
    mixed.assert_scanned_by(fast_engine, Keep(minimum.astype(np.int32), score_bins=score_bins), n_segments)


def test_the_cutoff_applies_after_every_kernel(engine, mixed):
    keep = Keep(np.full((len(mixed.queries), N_BINS), 45, np.int32), k=10, score_bins=128)
    assert 0 < (mixed.scores >= 45).sum() < mixed.scores.size / 10
    mixed.assert_scanned_by(engine, keep)


@pytest.mark.parametrize("score_bins", [0, 100])
def test_a_cutoff_that_everything_passes(fast_engine, mixed, score_bins):
    keep = Keep(np.zeros((len(mixed.queries), N_BINS), np.int32), score_bins=score_bins)
    mixed.assert_scanned_by(fast_engine, keep)
    assert len(mixed.cut(keep).query) == mixed.scores.size


@pytest.mark.parametrize("score_bins", [0, 100])
def test_a_cutoff_that_nothing_passes(fast_engine, mixed, score_bins):
    minimum = np.full((len(mixed.queries), N_BINS), np.iinfo(np.int32).max, np.int32)
    mixed.assert_scanned_by(fast_engine, Keep(minimum, score_bins=score_bins))


def test_cutoffs_that_one_query_passes_with_everything_and_the_others_with_nothing(fast_engine, mixed):
    minimum = np.full((len(mixed.queries), N_BINS), 10_000, np.int32)
    minimum[4] = 0
    mixed.assert_scanned_by(fast_engine, Keep(minimum, score_bins=16))


def test_cutoffs_that_one_length_bin_passes(fast_engine, mixed):
    minimum = np.full((len(mixed.queries), N_BINS), 10_000, np.int32)
    minimum[:, int(length_bin(200))] = 20
    mixed.assert_scanned_by(fast_engine, Keep(minimum))


def test_more_candidates_than_any_list_on_the_device_holds(fast_engine):
    """Five million: also what a user gets with an E-value without bounds."""
    case = Case([40] * 50, 100_000, seed=3, longest=12)
    case.assert_scanned_by(fast_engine, Keep.everything(50))


def test_scores_above_the_limit_are_cut_and_counted_as_they_are(engine):
    scoring = scorings()["1024"]
    case = Case([5, 60, 61, 300], 800, seed=4, scoring=scoring)
    assert (case.scores > 32767).sum() > 10
    case.assert_scanned_by(engine, Keep(np.full((4, N_BINS), 30_000, np.int32), score_bins=2000))


# Order, batches, packing


def test_the_number_of_queries_in_a_call_changes_nothing(engine, mixed):
    placement = engine.place(mixed.database())
    n_queries = len(mixed.queries)
    for size in (1, 2, 3, 4, n_queries):
        for first in range(0, n_queries, size):
            end = min(n_queries, first + size)
            found = engine.scores(mixed.records.rows(first, end), placement, BLOSUM62)
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
    placement = fast_engine.place(mixed.database(2))
    linear = scorings()["linear gaps"]
    expected = scored(cuda_cases.cpu(), mixed.queries, mixed.targets, linear)
    for _ in range(3):
        np.testing.assert_array_equal(fast_engine.scores(mixed.records, placement, BLOSUM62), mixed.scores)
        np.testing.assert_array_equal(fast_engine.scores(mixed.records, placement, linear), expected)


def test_two_scans_of_one_engine_at_a_time(fast_engine, mixed):
    """Half of one, then another, then the rest."""
    keep = Keep(np.full((len(mixed.queries), N_BINS), 30, np.int32))
    placement = fast_engine.place(mixed.database(3))
    first = fast_engine.scan(mixed.records, placement, BLOSUM62, keep)
    found = [next(first)]
    mixed.assert_scanned_by(fast_engine, keep)
    assert_same([*found, *first], mixed.cut(keep), len(mixed.queries), keep)


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
    keep = Keep(np.full((len(large.queries), N_BINS), 40, np.int32), score_bins=100)
    for n_segments in (1, 3):
        placement = engine.place(large.database(n_segments))
        found = engine.scores(large.records.rows(0, n_queries), placement, BLOSUM62)
        np.testing.assert_array_equal(found, large.scores[:n_queries])
    if n_queries == 6:
        large.assert_scanned_by(engine, keep, 2)
        large.assert_scanned_by(engine, Keep.everything(6))


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
    keep = Keep(np.full((len(large.queries), N_BINS), 40, np.int32), score_bins=100)
    for case in (large, mixed):
        for n_segments in (1, 7):
            case.assert_scored_by(engine, n_segments)
    large.assert_scanned_by(engine, keep, 7)


def times_sent(engine):
    """How often the last scan sent the database to the device, as --verbose tells it."""
    return float(re.search(r"([0-9.]+) x the database", " ".join(engine.scan_report()))[1])


@needs_cuda
def test_what_is_resident_is_sent_once_and_what_is_streamed_once_per_group(large):
    roomy, small = new_engine(), new_engine(memory=48 << 20)
    placement = roomy.place(large.database())
    for most in (1.2, 0.01, 0.01):
        roomy.scores(large.records, placement, BLOSUM62)
        assert times_sent(roomy) <= most
    placement = small.place(large.database())
    for _ in range(2):
        small.scores(large.records, placement, BLOSUM62)
        assert 0.9 < times_sent(small) < 1.2


@needs_cuda
def test_a_scan_without_a_memory_limit(mixed):
    mixed.assert_scored_by(new_engine(memory=None))


@needs_cuda
@pytest.mark.parametrize("devices", [(97,), (0, 97)])
def test_a_gpu_that_is_not_there_is_an_error(devices, mixed):
    with pytest.raises(EngineError, match="97"):
        mixed.assert_scored_by(new_engine(devices=devices))
