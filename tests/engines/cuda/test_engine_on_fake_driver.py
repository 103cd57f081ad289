"""The host side of the cuda engine, on a driver without a GPU.

Results are those of the cpu engine, however work is divided, if memory is short, and on any devices. Errors are tested.
"""

import gc
import time
from types import SimpleNamespace

import numpy as np
import pytest

from cuda_plans import IN_STREAMS, plan_of_shapes
from engine_calls import located, pair_task, scan_task, scores
from exaln.engines.contracts import score_matrix
from exaln.engines.cpu.engine import CpuEngine
from exaln.engines.cuda import engine as cuda_engine
from exaln.engines.cuda.device_pool import DevicePool
from exaln.engines.cuda.engine import CudaEngine
from exaln.engines.cuda.scan import (
    block_scores,
    cache,
    code_uploads,
    collect,
    division,
    in_flight,
    job,
    launches,
    planner,
    stream_scores,
    target_parts,
)
from exaln.engines.cuda.scan.batch_sources import Tasks
from exaln.engines.cuda.scan.planner import Planner
from exaln.engines.cuda.scan.shapes import Packing, Shape
from exaln.engines.cuda.scan.strips import Part, Strip
from exaln.engines.tasks import QueryRows, ScanTask
from exaln.errors import DatabaseError, EngineError, InputError, OutOfMemoryError
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import DNA, PROTEIN
from exaln.sequences.records import Records
from exaln.statistics.length_bins import N_BINS
from fake_cuda import FakeDriver, install
from memory_targets import memory_targets
from threads import no_new_threads

BLOSUM62 = Scoring()
QUERY_LENGTHS = [5, 30, 0, 61, 1]
TARGET_LENGTHS = [0, 0, 1, 3, 4, 5, 9, 9, 17, 30, 64, 64, 65, 130]


def sequences(seed, alphabet, lengths):
    random = np.random.default_rng(seed)
    return [random.integers(0, 20 if alphabet is PROTEIN else 4, length).astype(np.uint8) for length in lengths]


class Case:
    """Queries and a database, and all scores by the cpu engine."""

    def __init__(self, scoring=BLOSUM62, queries=QUERY_LENGTHS, targets=TARGET_LENGTHS, n_segments=1, seed=1):
        alphabet = scoring.alphabet
        self.scoring = scoring
        self.queries = Records.of(alphabet, sequences(seed, alphabet, queries))
        self.database = memory_targets(alphabet, sequences(seed + 1, alphabet, targets), n_segments)
        self.expected = scores(CpuEngine(1), self.queries, self.database, scoring)

    @property
    def n_cells(self):
        return self.queries.n_residues * self.database.n_residues

    def scores(self, engine, progress=None):
        return scores(engine, self.queries, self.database, self.scoring, progress)

    def blocks(self, engine):
        return engine.score_blocks(scan_task(engine, self.queries, self.database, self.scoring))

    def cutoff(self, score):
        return np.full((len(self.queries), N_BINS), score, np.int32)

    def check(self, engine, cutoff=None):
        """Scores, progress and candidates."""
        cells = []
        np.testing.assert_array_equal(self.scores(engine, cells.append), self.expected)
        assert cells == sorted(cells)
        assert cells[-1] == self.n_cells
        cutoff = self.cutoff(int(np.median(self.expected))) if cutoff is None else cutoff
        assert self.scanned(engine, cutoff) == self.scanned(CpuEngine(1), cutoff)

    def scanned(self, engine, cutoff):
        """Candidates (query, ordinal, length, score), sorted."""
        pairs = []
        for candidates in engine.scan(scan_task(engine, self.queries, self.database, self.scoring, cutoff)):
            columns = candidates.query, candidates.row, candidates.score
            assert [column.dtype for column in columns] == [np.int32, np.int64, np.int32]
            found = located(candidates, self.database)
            columns = found.query, found.ordinal, found.length, found.score
            pairs += zip(*(column.tolist() for column in columns), strict=True)
        assert len(pairs) == len(set(pairs))
        return sorted(pairs)


@pytest.fixture
def new_driver(monkeypatch):
    """Installs a fake driver, and lets tests use as little memory as they like."""
    monkeypatch.setattr(cuda_engine, "MIN_MEMORY", 1)

    def make(alphabet=PROTEIN, **options):
        return install(monkeypatch, FakeDriver(**options), len(alphabet.letters))

    return make


def engine_with(**rules):
    """An engine that plans by these rules, with a pool of its own."""
    return CudaEngine(pool=DevicePool(Planner(**rules)))


STREAMED = {"divide_resident": lambda *arguments: None}
"""A rule by which no database is resident."""


def small_batches(monkeypatch, n_batches=5):
    """Streamed databases are cut, however small they are."""
    monkeypatch.setattr(division, "MIN_BATCH_RESIDUES", 1)
    monkeypatch.setattr(division, "STREAMED_BATCHES", n_batches)


SCORINGS = {
    "BLOSUM62": BLOSUM62,
    "DNA": Scoring.default(DNA),
    "above 16 bits": Scoring(match=7000, mismatch=-9, gap_open=20, gap_extend=3, alphabet=PROTEIN),
    "too large for packed words": Scoring(match=9000, mismatch=-9, gap_open=20, gap_extend=3, alphabet=PROTEIN),
    "free gaps": Scoring(match=5, mismatch=-4, gap_open=9, gap_extend=0),
}


@pytest.mark.parametrize("name", SCORINGS)
@pytest.mark.parametrize("long_length", [0, 20, 1000])
def test_a_resident_database_with_and_without_long_targets(new_driver, name, long_length):
    scoring = SCORINGS[name]
    driver = new_driver(scoring.alphabet)
    case, engine = Case(scoring), engine_with(long_length=lambda lengths, device: long_length)
    case.check(engine)
    assert driver.sent < 100_000
    assert (engine.times.rescored > 0) == (name == "above 16 bits" and long_length > 0)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", ["BLOSUM62", "above 16 bits"])
def test_a_streamed_database_of_two_segments(new_driver, monkeypatch, seed, name):
    scoring = SCORINGS[name]
    new_driver(scoring.alphabet, seed=seed)
    small_batches(monkeypatch)
    monkeypatch.setattr(code_uploads, "UNIT_BYTES", 16)
    case, engine = Case(scoring, n_segments=2, seed=seed), engine_with(**STREAMED)
    case.check(engine)
    assert "streamed" in engine.scan_report()[0]


@pytest.mark.parametrize("long_length", [0, 9, 64])
def test_long_targets_of_a_streamed_database_have_batches_of_their_own(new_driver, monkeypatch, long_length):
    driver = new_driver()
    small_batches(monkeypatch)
    engine = engine_with(**STREAMED, streamed_long_length=lambda *arguments: (long_length, 0.0))
    Case(targets=TARGET_LENGTHS * 4, n_segments=2).check(engine)
    assert engine.times.n_long == 4 * sum(length > long_length for length in TARGET_LENGTHS)
    names = [name for name, _, _ in driver.launches]
    assert "stream_scores" in names
    assert "block_scores" in names


def test_boundary_rows_of_long_queries_and_long_streamed_targets_lie_in_idle_stream_buffers(new_driver, monkeypatch):
    driver = new_driver()
    small_batches(monkeypatch)
    monkeypatch.setattr(block_scores, "block_shape", lambda shared, n_letters, n_rows: (32, 1))
    engine = engine_with(**STREAMED, streamed_long_length=lambda *arguments: (64, 0.0))
    Case(targets=TARGET_LENGTHS * 3).check(engine)
    boundaries = {arguments["boundary"] for name, _, arguments in driver.launches if name == "block_scores"}
    assert 0 not in boundaries


def test_several_groups_send_the_database_once_each(new_driver, monkeypatch):
    driver = new_driver()
    small_batches(monkeypatch)
    case, engine = Case(queries=[20] * 6), engine_with(**STREAMED, **IN_STREAMS)
    case.check(engine)
    once = engine.times.bytes_sent
    assert driver.sent > once > case.database.n_residues
    monkeypatch.setattr(planner, "MAX_GROUP_QUERIES", 2)
    case.check(engine)
    assert engine.times.bytes_sent == 3 * once


@pytest.mark.parametrize("gap_open", [11, 40])
def test_stacks_of_queries_are_cut_where_strips_end(new_driver, gap_open):
    """In both halves of the words, and with an unpaired query, by a plan made here."""
    driver = new_driver()
    two, merged, pairs = (
        Shape(4, 4, 768, packing) for packing in (Packing.TWO_QUERIES, Packing.MERGED, Packing.LETTER_PAIRS)
    )

    def plan(lengths, device, targets):
        assert lengths == (9, 20, 3, 22, 0, 19, 6)
        return [
            Strip(two, (Part(0, 0, 9, 0), Part(2, 0, 3, 3)), (Part(1, 0, 16, 0),), True),
            Strip(two, (), (Part(1, 16, 4, 0), Part(3, 0, 12, 1)), True),
            Strip(two, (Part(6, 0, 6, 0),), (Part(3, 12, 10, 0),), False),
            Strip(merged, (Part(5, 0, 16, 0),), (Part(5, 0, 16, 0),), True),
            Strip(pairs, (Part(5, 16, 3, 0),), (Part(5, 16, 3, 0),), False),
        ]

    scoring, engine = Scoring(gap_open=gap_open, gap_extend=1), engine_with(**IN_STREAMS, strips=plan)
    for n_targets in (len(TARGET_LENGTHS), len(TARGET_LENGTHS) - 1):
        Case(scoring, queries=[9, 20, 3, 22, 0, 19, 6], targets=TARGET_LENGTHS[:n_targets]).check(engine)
    assert {"pack_singles", "pack_pairs", "pack_merged"} <= {name for name, _, _ in driver.launches}


@pytest.mark.parametrize(("most_seconds", "expected"), [(1.0, [3]), (0.0, [1, 1, 1])])
def test_strips_with_the_same_kernel_share_a_launch(new_driver, monkeypatch, most_seconds, expected):
    """Up to a time, after which an interrupt must take effect."""
    driver = new_driver()
    monkeypatch.setattr(stream_scores, "MAX_LAUNCH_SECONDS", most_seconds)
    shape = Shape(4, 4, 768, Packing.TWO_QUERIES)
    strips = [
        Strip(shape, (Part(0, 0, 16, 0),), (Part(1, 0, 16, 0),), True),
        Strip(shape, (Part(0, 16, 16, 0),), (Part(1, 16, 14, 0),), True),
        Strip(shape, (Part(0, 32, 8, 0),), (), False),
    ]
    case, engine = Case(queries=[40, 30]), engine_with(**IN_STREAMS, strips=lambda *arguments: strips)
    case.scores(engine)
    assert [arguments["n_strips"] for name, _, arguments in driver.launches if name == "stream_scores"] == expected
    case.check(engine)


@pytest.mark.parametrize("devices", [None, [0], [1, 0], [0, 0], [1, 1, 1]])
@pytest.mark.parametrize("is_resident", [True, False])
def test_several_devices_share_a_scan(new_driver, monkeypatch, devices, is_resident):
    new_driver(n_gpus=2)
    small_batches(monkeypatch)
    pool = DevicePool(Planner(**({} if is_resident else STREAMED)))
    case, engine = Case(n_segments=2, targets=TARGET_LENGTHS * 3), CudaEngine(devices, pool=pool)
    for _ in range(2):
        case.check(engine)
    n_devices = len(devices or [0, 1])
    assert engine.describe() == ("cuda, Fake GPU" if n_devices == 1 else f"cuda, {n_devices} x Fake GPU")


def test_devices_take_first_what_they_hold(new_driver, monkeypatch):
    driver = new_driver(n_gpus=2)
    monkeypatch.setattr(division, "MIN_BATCH_RESIDUES", 1)
    pool = DevicePool()
    case, engine = Case(targets=TARGET_LENGTHS * 4), CudaEngine(pool=pool)
    case.check(engine)
    segments = case.database.segments
    database = pool.cache.segments.database(segments)
    (divided,) = database.resident._values.values()
    workspaces = [pool.idle(number)[0] for number in (0, 1)]
    assert len(divided.batches) >= 8
    first, second = ([one for one in divided.batches if own.residents.get(segments[0], one)] for own in workspaces)
    assert {*first, *second} == set(divided.batches)
    scan = SimpleNamespace(segments=segments, workspaces=workspaces)
    assert {job.Job.preference(scan, workspaces[0], one) for one in first} == {0}
    assert driver.sent < 4 * case.database.n_residues * 200


def test_a_resident_database_is_sent_once(new_driver):
    driver = new_driver()
    case = Case()
    case.check(CudaEngine())
    sent = driver.sent
    other = Case(queries=[7], seed=9)
    engine = CudaEngine()
    found, expected = (scores(one, other.queries, case.database, BLOSUM62) for one in (engine, CpuEngine(1)))
    np.testing.assert_array_equal(found, expected)
    assert engine.times.bytes_sent == 0
    assert driver.sent - sent < 5000


def test_another_scoring_packs_again(new_driver):
    new_driver()
    case = Case()
    same = Case(Scoring("PAM30"))
    engine = CudaEngine()
    for scoring in (BLOSUM62, same.scoring, Scoring(match=1, mismatch=-1, alphabet=PROTEIN), BLOSUM62):
        found, expected = (scores(one, case.queries, case.database, scoring) for one in (engine, CpuEngine(1)))
        np.testing.assert_array_equal(found, expected)


def test_memory_of_a_database_that_is_gone_is_free(new_driver):
    driver = new_driver()
    case = Case(targets=[1000] * 50)
    case.scores(CudaEngine())
    held = driver.used
    del case
    gc.collect()
    assert held - driver.used > 100_000


def test_a_new_database_evicts_an_old_one(new_driver):
    driver = new_driver()
    cases, engine = [Case(targets=[1000] * 40, seed=seed) for seed in range(8)], CudaEngine(memory=800_000)
    for case in (*cases, *cases[:2]):
        case.check(engine)
        assert "resident" in engine.scan_report()[0]
    assert 500_000 < driver.peak <= 800_000


def test_two_scans_in_turn_have_workspaces_of_their_own(new_driver):
    new_driver()
    pool = DevicePool()
    case, engine = Case(targets=TARGET_LENGTHS * 2), CudaEngine(pool=pool)
    one, other = (case.blocks(engine) for _ in range(2))
    first = next(one)
    np.testing.assert_array_equal(next(other).scores, first.scores)
    assert [len(list(rest)) for rest in (one, other)] == [0, 0]
    assert len(pool.idle(0)) == 2


@pytest.mark.parametrize("capacity", [1, 10, 1 << 16])
@pytest.mark.parametrize("first", [1, 5, 1 << 14])
def test_more_candidates_than_the_list_holds(new_driver, monkeypatch, capacity, first):
    new_driver()
    monkeypatch.setattr(launches, "MIN_CAPACITY", capacity)
    monkeypatch.setattr(launches, "MAX_CAPACITY", capacity)
    monkeypatch.setattr(collect, "FIRST_CANDIDATES", first)
    case = Case()
    case.check(CudaEngine())
    case.check(CudaEngine(), case.cutoff(0))
    case.check(CudaEngine(), case.cutoff(10_000))


@pytest.mark.parametrize("room", [1, 3, 1 << 16])
def test_more_scores_above_16_bits_than_the_list_holds(new_driver, monkeypatch, room):
    new_driver()
    monkeypatch.setattr(in_flight, "MAX_OVERFLOWS", room)
    engine = engine_with(**IN_STREAMS)
    Case(SCORINGS["above 16 bits"]).check(engine)
    assert engine.times.rescored > 3


def test_pairs_one_by_one_in_several_launches(new_driver, monkeypatch):
    new_driver()
    monkeypatch.setattr(target_parts, "MAX_ITEMS", 4)
    Case(SCORINGS["too large for packed words"]).check(CudaEngine())


def test_long_queries_against_long_targets_need_boundary_rows(new_driver, monkeypatch):
    new_driver()
    monkeypatch.setattr(block_scores, "block_shape", lambda shared, n_letters, n_rows: (32, 1))
    Case().check(engine_with(long_length=lambda lengths, device: 20))


def test_blocks_of_scores_are_bounded(new_driver, monkeypatch):
    new_driver()
    monkeypatch.setattr(collect, "BLOCK_SCORES", 2 * len(TARGET_LENGTHS))
    case, engine = Case(), CudaEngine()
    case.check(engine)
    blocks = list(case.blocks(engine))
    assert [(block.first_query, len(block.scores)) for block in blocks] == [(0, 2), (2, 2), (4, 1)]


def test_empty_queries_and_empty_targets(new_driver):
    new_driver()
    engine, nothing = CudaEngine(), Case(queries=[], targets=[3, 4])
    assert nothing.scores(engine).shape == (0, 2)
    nothing = Case(queries=[3], targets=[])
    assert nothing.scores(engine).shape == (1, 0)
    for query_lengths, target_lengths in (([0], [0, 0]), ([4], [0]), ([0, 3], [0, 1])):
        case = Case(queries=query_lengths, targets=target_lengths)
        np.testing.assert_array_equal(case.scores(engine), case.expected)


# --- memory


def test_batches_shrink_until_they_fit(new_driver):
    """The device is smaller than it says, as if another process took its memory."""
    case = Case(targets=[300] * 300, queries=[40, 50])
    needed = new_driver()
    case.check(CudaEngine())
    driver = new_driver(memory=needed.peak // 3)
    driver.cuMemGetInfo = lambda: (0, 1 << 40, 1 << 40)
    engine = CudaEngine()
    for _ in range(2):
        case.check(engine)
    assert driver.peak <= needed.peak // 3


@pytest.mark.parametrize("memory", [80_000, 150_000, 400_000])
def test_a_scan_stays_within_its_memory(new_driver, monkeypatch, memory):
    driver = new_driver()
    monkeypatch.setattr(division, "MIN_BATCH_RESIDUES", 1)
    monkeypatch.setattr(division, "FIXED_BYTES", 0)
    monkeypatch.setattr(division, "HEADER_BYTES", 3000)
    Case(targets=[300] * 60, queries=[40, 50]).check(CudaEngine(memory=memory))
    assert driver.peak <= memory


def test_what_is_resident_gives_way_to_a_scan_with_less_memory(new_driver, monkeypatch):
    """Of the same database: batches need not shrink for it."""
    new_driver()
    monkeypatch.setattr(division, "MIN_BATCH_RESIDUES", 1)
    monkeypatch.setattr(division, "FIXED_BYTES", 0)
    monkeypatch.setattr(division, "HEADER_BYTES", 3000)
    monkeypatch.setattr(Tasks, "halve", lambda tasks: pytest.fail("memory was short"))
    case = Case(targets=[300] * 300, queries=[40, 50])
    for memory in (None, 400_000, None, 400_000):
        engine = CudaEngine(memory=memory)
        case.check(engine)
        assert ("resident" if memory is None else "streamed") in engine.scan_report()[0]


def test_a_single_row_that_does_not_fit_is_out_of_memory(new_driver):
    new_driver()
    case, engine = Case(targets=[100_000]), CudaEngine(memory=60_000)
    with pytest.raises(OutOfMemoryError, match=r"GPU 0 \(Fake GPU\): .* more cannot be had.*--gpu-memory"):
        case.scores(engine)


def test_a_resident_view_can_have_less_memory_than_the_engine(new_driver):
    driver = new_driver()
    case, engine = Case(targets=[300] * 60, queries=[40, 50]), CudaEngine()
    queries = QueryRows.of_sequences(case.queries, BLOSUM62)
    task = ScanTask(queries, engine.open(case.database, budget=150_000))
    np.testing.assert_array_equal(score_matrix(engine, task), case.expected)
    assert driver.peak <= 150_000


# --- what goes wrong


@pytest.mark.parametrize(
    "kernel", ["expand", "pack_singles", "pack_pairs", "pack_merged", "stream_scores", "block_scores", "cut"]
)
def test_a_kernel_that_fails_is_an_engine_error(new_driver, kernel):
    new_driver(broken=kernel)
    packing = {"pack_pairs": Packing.LETTER_PAIRS, "pack_merged": Packing.MERGED}.get(kernel, Packing.TWO_QUERIES)
    strips = plan_of_shapes(Shape(8, 4, 768, packing))
    case, engine = Case(queries=[30, 30]), engine_with(long_length=lambda lengths, device: 64, strips=strips)
    message = rf"GPU 0 \(Fake GPU\): kernel .*{kernel}.* failed: CUDA_ERROR_ILLEGAL_ADDRESS"
    with pytest.raises(EngineError, match=message):
        case.scanned(engine, case.cutoff(0))
    assert engine.pool.idle(0) == []


def test_a_score_beyond_31_bits_is_an_engine_error(new_driver, monkeypatch):
    new_driver()
    monkeypatch.setattr(block_scores, "INT32_MAX", 7000 * 40)
    scoring = SCORINGS["above 16 bits"]
    letters = np.zeros(50, np.uint8)
    queries = Records.of(PROTEIN, [letters])
    engine = CudaEngine()
    with pytest.raises(EngineError, match="a score does not fit 31 bits"):
        scores(engine, queries, memory_targets(PROTEIN, [letters]), scoring)


@pytest.mark.parametrize("is_resident", [True, False])
def test_an_error_of_the_reader_thread_is_raised_in_the_caller(new_driver, monkeypatch, is_resident):
    new_driver()
    small_batches(monkeypatch)

    def broken(*arguments):
        raise DatabaseError("damaged")

    monkeypatch.setattr(job, "HostBatch", broken)
    case, engine = Case(), engine_with(**({} if is_resident else STREAMED))
    with pytest.raises(DatabaseError, match="damaged"):
        case.scores(engine)


@pytest.mark.parametrize("devices", [[0], [0, 0]])
@pytest.mark.parametrize("is_resident", [True, False])
def test_closing_the_iterator_ends_the_threads(new_driver, monkeypatch, devices, is_resident):
    new_driver()
    small_batches(monkeypatch, 20)
    pool = DevicePool(Planner(**({} if is_resident else STREAMED)))
    case, engine = Case(targets=TARGET_LENGTHS * 4, n_segments=3), CudaEngine(devices, pool=pool)
    with no_new_threads():
        blocks = case.blocks(engine)
        next(blocks)
        started = time.perf_counter()
        blocks.close()
        assert time.perf_counter() - started < 5
    case.check(engine)


def test_an_interrupt_in_the_middle_ends_the_threads(new_driver):
    new_driver()
    case, engine = Case(targets=TARGET_LENGTHS * 2), CudaEngine()

    def interrupt(cells):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        case.scores(engine, interrupt)
    case.check(engine)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"threads": 0}, InputError, "threads is 0"),
        ({"devices": []}, InputError, "no GPU was given"),
        ({"devices": [0, 2]}, EngineError, "there is no GPU 2; this machine has 0 to 1"),
        ({"memory": 0}, OutOfMemoryError, "0 bytes of GPU memory are too few"),
    ],
)
def test_impossible_options_are_errors(new_driver, options, error, message):
    new_driver(n_gpus=2)
    with pytest.raises(error, match=message):
        CudaEngine(**options)


def test_paths_need_the_core(new_driver, monkeypatch):
    new_driver()
    monkeypatch.setattr(CpuEngine, "unavailable_reason", staticmethod(lambda: "no core today"))
    case, pairs = Case(), SimpleNamespace(query=np.zeros(1, np.int64), target=np.zeros(1, np.int64))
    with pytest.raises(EngineError, match="alignments are made by the cpu engine: no core today"):
        CudaEngine().align(pair_task(case.queries, case.queries, pairs, BLOSUM62, known_scores=np.zeros(1, np.int64)))


def test_letters_are_those_of_the_whole_database(new_driver, monkeypatch):
    """One segment has letters that the other lacks."""
    driver = new_driver()
    targets = [np.array([0, 1, 2] * 5, np.uint8), np.array([3, 4, 23] * 5, np.uint8)]
    database = memory_targets(PROTEIN, targets, 2)
    queries = Records.of(PROTEIN, [np.arange(25, dtype=np.uint8)])
    expected = scores(CpuEngine(1), queries, database, BLOSUM62)
    np.testing.assert_array_equal(scores(CudaEngine(), queries, database, BLOSUM62), expected)
    assert {constants["LETTERS"] for _, constants, _ in driver.launches if "LETTERS" in constants} == {6}
    monkeypatch.setattr(cache, "MAX_COUNTED_RESIDUES", 1)
    np.testing.assert_array_equal(scores(CudaEngine(), queries, database, BLOSUM62), expected)
    assert max(constants["LETTERS"] for _, constants, _ in driver.launches if "LETTERS" in constants) > 20


def test_a_smaller_memory_limit_than_before_evicts_what_is_resident(new_driver, monkeypatch):
    """What is on the device goes, and the database that was resident is streamed."""
    driver = new_driver()
    monkeypatch.setattr(division, "MIN_BATCH_RESIDUES", 1)
    monkeypatch.setattr(division, "FIXED_BYTES", 0)
    monkeypatch.setattr(division, "HEADER_BYTES", 3000)
    case = Case(targets=[300] * 150, queries=[40, 50])
    case.check(CudaEngine())
    assert driver.used > 60_000
    engine = CudaEngine(memory=60_000)
    case.check(engine)
    assert driver.used <= 60_000
    assert "streamed" in engine.scan_report()[0]


def test_scratch_buffers_of_other_calls_are_freed(new_driver):
    driver = new_driver()
    case, engine = Case(targets=[300] * 60, queries=[40, 50]), CudaEngine(memory=1_000_000)
    case.check(engine)
    engine.pool.idle(0)[0].scratch("a buffer of another call", 1_000_000 - driver.used)
    larger = Case(targets=[300] * 90, queries=[40, 50], seed=3)
    larger.check(engine)
    assert "resident" in engine.scan_report()[0]
    assert driver.peak <= 1_000_000
