"""Pairs of the cuda engine on a driver without a GPU: how devices share them, what is sent, how results are joined."""

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


@pytest.mark.parametrize("devices", [[0], [0, 0], [1, 0], [0, 1, 1]], ids=str)
@pytest.mark.parametrize("mode", ["local", "global", "free:qs,te"])
def test_devices_share_the_pairs(monkeypatch, devices, mode):
    driver = fake_pairs.install(monkeypatch, FakeDriver(n_gpus=2))
    monkeypatch.setattr(cuda_engine, "LEAST_SHARE", 100)
    monkeypatch.setattr(pair_batches, "FEW_LETTERS", 0)
    queries, targets = records(1), records(2)
    rows = np.random.default_rng(3).permutation(len(LENGTHS))
    engine = CudaEngine(devices)
    assert_as_cpu(engine, queries, targets, PairList(rows, rows[::-1].copy()), Mode.parse(mode))
    assert sum(name == "mark_letters" for name, _, _ in driver.launches) == 2 * 2 * len(devices)


def test_pairs_with_few_cells_use_one_device(monkeypatch):
    driver = fake_pairs.install(monkeypatch, FakeDriver(n_gpus=2))
    monkeypatch.setattr(pair_batches, "FEW_LETTERS", 0)
    rows = np.arange(len(LENGTHS))
    assert_as_cpu(CudaEngine([0, 1]), records(1), records(2), PairList(rows, rows), Mode.parse("local"))
    assert sum(name == "mark_letters" for name, _, _ in driver.launches) == 2 * 2


def test_only_the_sequences_of_the_pairs_are_sent(monkeypatch):
    driver = fake_pairs.install(monkeypatch, FakeDriver())
    monkeypatch.setattr(pair_batches, "FEW_LETTERS", 0)
    queries, targets = records(1), records(2)
    rows = np.array([6, 4, 5])
    assert_as_cpu(CudaEngine([0]), queries, targets, PairList(rows, rows), Mode.parse("global"))
    sent = [arguments["n"] for name, _, arguments in driver.launches if name == "mark_letters"]
    assert sent == [sum(LENGTHS[4:7])] * 4


@pytest.mark.parametrize(("other_letter", "n_launches"), [(None, 0), (4, 2 * 2)])
def test_the_device_finds_used_letters_only_if_there_are_others_than_dna(monkeypatch, other_letter, n_launches):
    driver = fake_pairs.install(monkeypatch, FakeDriver())
    queries, targets = records(1), records(2)
    if other_letter is not None:
        targets.codes[-1] = other_letter
    rows = np.arange(len(LENGTHS))
    assert_as_cpu(CudaEngine([0]), queries, targets, PairList(rows, rows), Mode.parse("local"))
    assert sum(name == "mark_letters" for name, _, _ in driver.launches) == n_launches


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
    monkeypatch.setattr(pair_batches, "PAIR_SHAPES", (shape,))
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
