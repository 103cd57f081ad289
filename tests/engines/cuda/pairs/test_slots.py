"""Batches in flight: the order of their results, paths longer than expected, and waits that Ctrl-C interrupts."""

import numpy as np
import pytest

import fake_pairs
from engine_calls import align_pairs, score_pairs
from exaln.alignments.aligned_pairs import PairList
from exaln.engines.cpu.engine import CpuEngine
from exaln.engines.cuda.engine import CudaEngine
from exaln.engines.cuda.pairs import plan as pair_plan
from exaln.engines.cuda.pairs import slots as pair_slots
from exaln.engines.cuda.runtime.device import Device
from exaln.errors import EngineError, OutOfMemoryError
from exaln.scoring.modes import Mode
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import DNA
from exaln.sequences.records import Records
from fake_cuda import FakeDriver

SCORING = Scoring(match=2, mismatch=-3, gap_open=5, gap_extend=2)
N = 60


@pytest.fixture
def case(monkeypatch):
    """Pairs of mixed lengths in many small batches."""
    monkeypatch.setattr(pair_plan, "BLOCK_BYTES", 1500)
    rng = np.random.default_rng(8)
    queries = Records.of(DNA, [rng.integers(0, 4, n).astype(np.uint8) for n in rng.integers(1, 90, N)])
    targets = Records.of(DNA, [rng.integers(0, 4, n).astype(np.uint8) for n in rng.integers(1, 90, N)])
    return queries, targets, PairList(rng.permutation(N), rng.permutation(N)), SCORING, Mode.parse("global")


def assert_same(found, expected):
    for name in ("scores", "positions", "counts"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name
    assert found.paths.offsets.tolist() == expected.paths.offsets.tolist()
    assert found.paths.operations.tolist() == expected.paths.operations.tolist()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_slots", [1, 2, 3])
def test_results_are_in_the_order_of_the_pairs(monkeypatch, case, seed, n_slots):
    """The fake driver runs streams in random order, and a block that is filled too early spoils what it holds."""
    monkeypatch.setattr(pair_plan, "N_SLOTS", n_slots)
    driver = fake_pairs.install(monkeypatch, FakeDriver(seed=seed))
    assert_same(align_pairs(CudaEngine([0]), *case), align_pairs(CpuEngine(1), *case))
    assert len({arguments["arena"] for name, _, arguments in driver.launches if name == "fill_couples"}) == n_slots
    assert sum(name == "fill_couples" for name, _, _ in driver.launches) > 5


def test_batches_are_queued_before_earlier_ones_are_waited_for(monkeypatch, case):
    order = []
    monkeypatch.setattr(pair_plan, "EXPECTED_SHARE", 1)
    driver = fake_pairs.install(monkeypatch, FakeDriver())
    settle, launch = pair_slots.Slot.settle, driver.cuLaunchKernel
    monkeypatch.setattr(pair_slots.Slot, "settle", lambda slot: (order.append("wait"), settle(slot))[1])
    monkeypatch.setattr(driver, "cuLaunchKernel", lambda *a: (order.append(a[0].name), launch(*a))[1])
    align_pairs(CudaEngine([0]), *case)
    kernels = ["pack_couples", "fill_couples", "trace_back"]
    n_batches = order.count("fill_couples")
    assert order == ["wait"] * 3 + kernels * 3 + ["wait", *kernels] * (n_batches - 3) + ["wait"] * 3


@pytest.mark.parametrize("share", [1, 50, 1 << 40])
def test_runs_of_paths_that_were_not_expected_are_downloaded_on_their_own(monkeypatch, case, share):
    """Of all runs, of few, and of none the place in the block is known before."""
    monkeypatch.setattr(pair_plan, "EXPECTED_SHARE", share)
    fake_pairs.install(monkeypatch, FakeDriver())
    assert_same(align_pairs(CudaEngine([0]), *case), align_pairs(CpuEngine(1), *case))


@pytest.mark.usefixtures("no_thread_is_left")
@pytest.mark.parametrize("n_interrupted", [1, 2, 3, 5])
@pytest.mark.parametrize("wait", ["wait", "record", "upload", "download", "launch"])
def test_an_interruption_leaves_an_engine_that_works(monkeypatch, case, wait, n_interrupted):
    """The first calls of a function of the device raise KeyboardInterrupt, also those of the next call."""
    fake_pairs.install(monkeypatch, FakeDriver())
    engine, expected, left = CudaEngine([0]), align_pairs(CpuEngine(1), *case), [n_interrupted]
    function = getattr(Device, wait)

    def interrupted(*arguments, **named):
        if left[0]:
            left[0] -= 1
            raise KeyboardInterrupt
        return function(*arguments, **named)

    monkeypatch.setattr(Device, wait, interrupted)
    for _ in range(n_interrupted):
        with pytest.raises(KeyboardInterrupt):
            align_pairs(engine, *case)
    assert_same(align_pairs(engine, *case), expected)
    assert score_pairs(engine, *case).tolist() == expected.scores.tolist()


def test_an_interruption_in_the_middle_leaves_an_engine_that_works(monkeypatch, case):
    """While all slots are in flight, and in their last waits."""
    fake_pairs.install(monkeypatch, FakeDriver())
    engine, expected = CudaEngine([0]), align_pairs(CpuEngine(1), *case)
    wait, count = Device.wait, [0]
    align_pairs(engine, *case)

    def interrupted(device, event):
        count[0] += 1
        if count[0] in (2, 5, 13):
            raise KeyboardInterrupt
        wait(device, event)

    monkeypatch.setattr(Device, "wait", interrupted)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            align_pairs(engine, *case)
    assert_same(align_pairs(engine, *case), expected)


def test_a_failing_kernel_is_named(monkeypatch, case):
    fake_pairs.install(monkeypatch, FakeDriver(broken="trace_back"))
    with pytest.raises(EngineError, match=r"trace_back.* failed: CUDA_ERROR_ILLEGAL_ADDRESS"):
        align_pairs(CudaEngine([0]), *case)


def test_paths_without_their_score_are_an_error(monkeypatch, case):
    driver = fake_pairs.install(monkeypatch, FakeDriver())
    import fake_cuda

    def wrong(driver, a, constants):
        fake_pairs.trace_back(driver, a, constants)
        driver.view(a.counters, np.uint32, 4)[1] = 3

    monkeypatch.setitem(fake_cuda.KERNELS, "trace_back", wrong)
    with pytest.raises(EngineError, match="3 paths do not have their score"):
        align_pairs(CudaEngine([0]), *case)
    assert driver.launches


def test_little_memory_is_enough_and_is_not_exceeded(monkeypatch, case):
    driver = fake_pairs.install(monkeypatch, FakeDriver())
    monkeypatch.setattr("exaln.engines.cuda.engine.MIN_MEMORY", 1)
    monkeypatch.setattr(pair_plan, "BLOCK_BYTES", 24 << 20)
    memory = 3 << 20
    engine, expected = CudaEngine([0], memory=memory), align_pairs(CpuEngine(1), *case)
    for _ in range(3):
        assert_same(align_pairs(engine, *case), expected)
        assert score_pairs(engine, *case).tolist() == expected.scores.tolist()
    assert 0 < driver.peak <= memory


def test_a_device_that_others_fill_is_an_error_with_advice(monkeypatch, case):
    driver = fake_pairs.install(monkeypatch, FakeDriver(memory=1 << 30))
    engine = CudaEngine([0])
    driver.used = 1 << 30
    with pytest.raises(OutOfMemoryError, match="free the device"):
        align_pairs(engine, *case)
