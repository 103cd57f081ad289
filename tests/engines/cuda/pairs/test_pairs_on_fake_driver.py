"""Pairs of the cuda engine on a driver without a GPU: how devices share them, what is sent, how results are joined."""

from collections import Counter

import numpy as np
import pytest

import fake_pairs
from emulated_cuda import COMPILER, EmulatedDriver
from engine_calls import align_pairs, score_pairs
from exaln.alignments.aligned_pairs import PairList
from exaln.engines.cpu.engine import CpuEngine
from exaln.engines.cuda import engine as cuda_engine
from exaln.engines.cuda.engine import CudaEngine
from exaln.engines.cuda.pairs import batches as pair_batches
from exaln.engines.cuda.pairs import kernels as pair_kernels
from exaln.engines.cuda.pairs import plan as pair_plan
from exaln.engines.cuda.pairs.shapes import PAIR_SHAPES
from exaln.scoring.modes import Mode
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import DNA
from exaln.sequences.records import Records
from fake_cuda import FakeDriver, install

SCORING = Scoring(match=2, mismatch=-3, gap_open=5, gap_extend=2)
LENGTHS = [7, 30, 1, 0, 12, 25, 3, 18, 9, 9]


def records(seed, lengths=LENGTHS):
    rng = np.random.default_rng(seed)
    return Records.of(DNA, [rng.integers(0, 4, n).astype(np.uint8) for n in lengths])


def assert_as_cpu(engine, queries, targets, pairs, mode):
    """Scores and alignments equal those of the CPU, which also aligns pairs without letters; the order is kept."""
    case = (queries, targets, pairs, SCORING, mode)
    expected, found = align_pairs(CpuEngine(1), *case), align_pairs(engine, *case)
    for name in ("scores", "positions", "counts"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name
    assert score_pairs(engine, *case).tolist() == expected.scores.tolist()
    assert found.paths.offsets.tolist() == expected.paths.offsets.tolist()
    assert found.paths.operations.tolist() == expected.paths.operations.tolist()


def n_launches(driver, kernel):
    return sum(name == kernel for name, _, _ in driver.launches)


@pytest.mark.parametrize("devices", [[0], [0, 0], [1, 0], [0, 1, 1]], ids=str)
@pytest.mark.parametrize("mode", ["local", "global", "free:qs,te"])
def test_devices_share_the_pairs(monkeypatch, devices, mode):
    driver = fake_pairs.install(monkeypatch, FakeDriver(n_gpus=2))
    monkeypatch.setattr(cuda_engine, "LEAST_SHARE", 100)
    one_shape(monkeypatch)
    queries, targets = records(1), records(2)
    rows = np.random.default_rng(3).permutation(len(LENGTHS))
    engine = CudaEngine(devices)
    assert_as_cpu(engine, queries, targets, PairList(rows, rows[::-1].copy()), Mode.parse(mode))
    assert n_launches(driver, "fill_couples") == 2 * len(devices)


def one_shape(monkeypatch):
    """One batch is enough for few pairs of any size."""
    use_shapes(monkeypatch, PAIR_SHAPES[-1:])


def use_shapes(monkeypatch, shapes):
    for module in (pair_batches, pair_kernels, pair_plan):
        monkeypatch.setattr(module, "PAIR_SHAPES", shapes)


def test_pairs_with_few_cells_use_one_device(monkeypatch):
    driver = fake_pairs.install(monkeypatch, FakeDriver(n_gpus=2))
    one_shape(monkeypatch)
    rows = np.arange(len(LENGTHS))
    assert_as_cpu(CudaEngine([0, 1]), records(1), records(2), PairList(rows, rows), Mode.parse("local"))
    assert n_launches(driver, "fill_couples") == 2


def test_a_batch_takes_one_upload_one_download_and_three_launches(monkeypatch):
    """Each call of the driver takes longer in Python than on the device."""
    driver = fake_pairs.install(monkeypatch, FakeDriver())
    one_shape(monkeypatch)
    queries, targets = records(1), records(2)
    rows = np.array([0, 1, 2, 4, 5, 6])
    case = (queries, targets, PairList(rows, rows), SCORING, Mode.parse("local"))
    engine = CudaEngine([0])
    align_pairs(engine, *case)
    calls = counted(monkeypatch, driver)
    align_pairs(engine, *case)
    expected = {"cuMemcpyHtoDAsync": 1, "cuLaunchKernel": 3, "cuMemcpyDtoHAsync": 1, "cuEventRecord": 1}
    assert {name: calls[name] for name in expected} == expected
    assert sum(calls.values()) - calls["cuEventQuery"] == sum(expected.values()) + 3  # two contexts, free memory


def counted(monkeypatch, driver):
    """How often each function of a driver is called from now on."""
    calls = Counter()

    def counting(name, function):
        def call(*arguments):
            calls[name] += 1
            return function(*arguments)

        return call

    for name in dir(driver):
        if name.startswith("cu"):
            monkeypatch.setattr(driver, name, counting(name, getattr(driver, name)))
    return calls


def test_only_the_sequences_of_the_pairs_are_sent(monkeypatch):
    driver = fake_pairs.install(monkeypatch, FakeDriver())
    one_shape(monkeypatch)
    lengths = [5_000, 7, 9, 12, 5_000]
    rows = np.array([3, 1, 2])
    assert_as_cpu(CudaEngine([0]), records(1, lengths), records(2, lengths), PairList(rows, rows), Mode.parse("global"))
    assert 0 < driver.sent < 2_000


@pytest.mark.parametrize("pairing", ["one query", "one target", "all"])
def test_letters_that_pairs_share_are_sent_once(monkeypatch, pairing):
    driver = fake_pairs.install(monkeypatch, FakeDriver())
    lengths = [40] * 12
    queries, targets = records(1, lengths), records(2, lengths)
    rows, zeros = np.arange(12), np.zeros(12, np.int64)
    listed = {
        "one query": PairList(zeros, rows),
        "one target": PairList(rows, zeros),
        "all": PairList(np.repeat(rows, 12), np.tile(rows, 12)),
    }[pairing]
    monkeypatch.setattr(pair_plan, "BLOCK_BYTES", 1_000)
    assert_as_cpu(CudaEngine([0]), queries, targets, listed, Mode.parse("local"))
    letters = {(a["queries"], a["targets"]) for name, _, a in driver.launches if name == "pack_couples"}
    n_batches = n_launches(driver, "pack_couples") // 2
    assert n_batches > 1
    shared = [len({pair[side] for pair in letters}) == 1 for side in (0, 1)]
    assert shared == [pairing in ("one query", "all"), pairing in ("one target", "all")]


@pytest.mark.parametrize(("other_letter", "n_letters"), [(None, 4), (4, 5)])
def test_kernels_are_compiled_for_the_letters_in_use(monkeypatch, other_letter, n_letters):
    """Four letters of DNA, even if some of them are missing, and those that occur besides."""
    driver = fake_pairs.install(monkeypatch, FakeDriver())
    queries = Records.of(DNA, [np.zeros(n, np.uint8) for n in LENGTHS])
    targets = records(2)
    if other_letter is not None:
        targets.codes[-1] = other_letter
    rows = np.arange(len(LENGTHS))
    assert_as_cpu(CudaEngine([0]), queries, targets, PairList(rows, rows), Mode.parse("local"))
    assert {constants["LETTERS"] for _, constants, _ in driver.launches} == {n_letters}


def test_an_empty_list_of_pairs(monkeypatch):
    fake_pairs.install(monkeypatch, FakeDriver())
    nothing = np.empty(0, np.int64)
    found = align_pairs(CudaEngine([0]), records(1), records(2), PairList(nothing, nothing), SCORING)
    assert (len(found), len(found.positions), len(found.paths)) == (0, 0, 0)


def test_pairs_of_every_shape_keep_their_order(monkeypatch):
    """Batches are made by shape and size, so they are not in the order of the pairs."""
    driver = fake_pairs.install(monkeypatch, FakeDriver())
    rng = np.random.default_rng(4)
    lengths = rng.integers(1, 300, 40).tolist()
    queries, targets = records(5, lengths), records(6, rng.permutation(lengths).tolist())
    rows = np.arange(len(lengths))
    assert_as_cpu(CudaEngine([0]), queries, targets, PairList(rows, rows), Mode.parse("local"))
    shapes = {(c["LANES"], c["ROWS"]) for name, c, _ in driver.launches if name == "fill_couples"}
    assert 1 < len(shapes) <= len(PAIR_SHAPES)


@pytest.mark.skipif(COMPILER is None, reason="g++ is not installed")
@pytest.mark.parametrize("shape", PAIR_SHAPES, ids=lambda shape: f"{shape.lanes} x {shape.rows}")
@pytest.mark.parametrize("mode", ["local", "free:qs,te"])
def test_the_kernels_themselves_on_an_emulated_device(monkeypatch, shape, mode):
    """Compiled for the CPU, one lane after the other."""
    install(monkeypatch, EmulatedDriver(), 0)
    use_shapes(monkeypatch, (shape,))
    rng = np.random.default_rng(7)
    queries = records(7, [*LENGTHS, shape.strip_rows + 3])
    targets = Records.of(
        DNA,
        [
            np.delete(codes, rng.integers(0, max(1, len(codes)), 2)[: len(codes)])
            for codes in (queries.sequence(row) for row in range(len(queries)))
        ],
    )
    rows = np.arange(len(queries))
    assert_as_cpu(CudaEngine([0]), queries, targets, PairList(rows, rows), Mode.parse(mode))
