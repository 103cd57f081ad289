"""Regions in halves of words: the kernel itself, on an emulated device everywhere and on a GPU, against the CPU."""

import numpy as np
import pytest

import emulated_cuda
from emulated_cuda import EmulatedDriver
from exaln.engines.cpu.engine import CpuEngine
from exaln.engines.cuda import engine as cuda_engine
from exaln.engines.cuda.engine import CudaEngine
from exaln.engines.cuda.letters import fold_letters
from exaln.engines.cuda.long import device_part
from exaln.engines.cuda.long import regions as cuda_regions
from exaln.engines.cuda.long.packed import ByteScores
from exaln.engines.cuda.long.shapes import PACKED_SHAPES, LongShape
from exaln.engines.cuda.runtime.compiler import cubin
from exaln.engines.cuda.runtime.nvrtc import compiler_version
from exaln.engines.regions import Boundary, Pruning, Region
from exaln.errors import EngineError
from exaln.pairwise.long.driver import LongOptions, align_long
from exaln.scoring.modes import GLOBAL, LOCAL, SEMIGLOBAL, Mode
from exaln.scoring.scoring import Scoring
from exaln.sequences.used_letters import used_letters
from fake_cuda import install
from kernel_cases import mutated, random_codes
from long_regions import SCORINGS, OnDevices, assert_as, assert_same, filled, outside, some

DNA = SCORINGS["DNA"]
SMALL, LARGE = LongShape(4, 64, 1, 8, is_packed=True), PACKED_SHAPES[-1]
NO_CHECKPOINTS = np.zeros(0, np.int64)


@pytest.fixture(params=["emulated", pytest.param("gpu", marks=pytest.mark.gpu)])
def device(request, monkeypatch):
    """A device that computes all regions in a packed shape: `shape`."""
    if request.param == "emulated":
        if emulated_cuda.COMPILER is None:
            pytest.skip("g++ is missing")
        install(monkeypatch, EmulatedDriver(memory=1 << 30), 20)
    else:
        needs_gpu()
    made = OnDevices(memory=1 << 30)
    made.shape = SMALL if request.param == "emulated" else LARGE
    made.scale = 1 if request.param == "emulated" else 4
    monkeypatch.setattr(device_part, "long_shapes", lambda *_: [made.shape])
    monkeypatch.setattr(cuda_regions, "_may_pack", lambda *_, **__: True)
    return made


def needs_gpu():
    if reason := CudaEngine.unavailable_reason():
        pytest.skip(reason)


def similar(seed, length, rate=0.1):
    rng = np.random.default_rng(seed)
    query = random_codes(rng, length, 4)
    return query, mutated(rng, query, 4, rate)


@pytest.mark.parametrize("mode", [LOCAL, GLOBAL, SEMIGLOBAL], ids=str)
def test_checkpoints_and_the_best_cell_equal_those_of_another_engine(device, mode):
    rng = np.random.default_rng(1)
    for length in (1, 5, 200, 700 * device.scale):
        query, target = similar(length, length)
        lines = some(rng, len(query), 9), some(rng, len(target), 9)
        assert_as(device, CpuEngine(), query, target, DNA, mode, *lines)


@pytest.mark.parametrize("mode", [LOCAL, GLOBAL], ids=str)
def test_sizes_around_strips_and_pieces(device, mode):
    rng = np.random.default_rng(2)
    strip, piece = device.shape.strip_rows, 4 * device.shape.piece
    for n_rows, n_columns in ((1, 1), (1, piece), (33, piece + 1), (strip, 9 * piece), (strip + 1, 9 * piece - 1)):
        query, target = random_codes(rng, n_rows, 4), random_codes(rng, n_columns, 4)
        lines = some(rng, n_rows, 9), some(rng, n_columns, 9)
        assert_as(device, CpuEngine(), query, target, DNA, mode, *lines)


@pytest.mark.parametrize("mode", [LOCAL, GLOBAL], ids=str)
def test_every_row_and_column_is_a_checkpoint(device, mode):
    query, target = similar(4, 90)
    assert_as(
        device, CpuEngine(), query, target, DNA, mode, np.arange(1, len(query) + 1), np.arange(1, len(target) + 1)
    )


def test_the_first_of_many_equal_best_cells(device):
    """Of equal scores the smallest column, then the smallest row, wherever strips, lanes and halves end."""
    ones, period = np.zeros(500, np.uint8), np.tile(np.array([0, 1, 2, 3, 3, 2], np.uint8), 80)
    for query, target in ((ones, ones[:400]), (ones[:400], ones), (period, period[6:])):
        assert_as(device, CpuEngine(), query, target, SCORINGS["free gaps"], LOCAL, NO_CHECKPOINTS, NO_CHECKPOINTS)
    nothing = np.zeros(300, np.uint8), np.ones(400, np.uint8)
    assert_as(device, CpuEngine(), *nothing, DNA, LOCAL, NO_CHECKPOINTS, NO_CHECKPOINTS)


def scoring_of(name, shape):
    """By name; "costly" costs so much that a strip of this shape just has room for the differences."""
    costs = (Scoring(match=9, mismatch=-100, gap_open=100, gap_extend=extend) for extend in range(100, -1, -1))
    return next(filter(shape.holds, costs)) if name == "costly" else SCORINGS[name]


@pytest.mark.parametrize("name", ["DNA", "costly", "free gaps"])
@pytest.mark.parametrize("mode", [LOCAL, GLOBAL], ids=str)
@pytest.mark.parametrize("height", [0, 200_000, 2_000_000_000])
def test_scores_for_which_the_base_moves(device, name, mode, height):
    """Scores that pass 16 bits, upwards in one half of the table and downwards in the other, and far from 0."""
    scoring = scoring_of(name, device.shape)
    rng = np.random.default_rng(5)
    same = random_codes(rng, 500 * device.scale, 2)
    query, target = np.append(same, np.zeros_like(same)), np.append(same, np.full_like(same, 3))
    region = Region(0, len(query), 0, len(target))
    near = outside(region, scoring, GLOBAL if height else mode)
    lines = (near.top_H, near.top_F, near.left_H, near.left_E)
    borders = Boundary(*(line + np.int32(height) for line in lines), corner=height)
    case = ((query, target, scoring, mode), region, borders, some(rng, len(query), 9), some(rng, len(target), 9))
    assert_same(filled(device, *case), filled(CpuEngine(), *case))


@pytest.mark.parametrize("mode", [LOCAL, GLOBAL], ids=str)
def test_rare_letters(device, mode):
    """Beyond the four most frequent ones, in rows and columns, few of them and many."""
    rng = np.random.default_rng(6)
    for n_letters, share in ((5, 0.001), (8, 0.01), (8, 0.9)):
        query, target = similar(7, 600 * device.scale)
        for codes in (query, target):
            is_rare = rng.random(len(codes)) < share
            codes[is_rare] = rng.integers(4, n_letters, int(is_rare.sum()))
        lines = some(rng, len(query), 9), some(rng, len(target), 9)
        assert_as(device, CpuEngine(), query, target, DNA, mode, *lines)


def test_more_strips_than_warps(device, monkeypatch):
    """One block takes strip after strip: queues go round, and rows wait for a warp."""
    monkeypatch.setattr(device_part, "QUEUES_SHARE", 1 << 40)
    query, target = similar(8, 1500 * device.scale)
    rows, columns = np.arange(512, len(query), 512), np.arange(512, len(target), 512)
    assert_as(device, CpuEngine(), query, target, DNA, LOCAL, rows, columns)


@pytest.mark.parametrize("name", ["DNA", "costly"])
@pytest.mark.parametrize("share", [0.5, 1.0])
def test_pruning_keeps_the_best_cell_and_raises_no_value(device, name, share):
    """The same end, and no number too high, where numbers fall from far above the base to nothing."""
    scoring = scoring_of(name, device.shape)
    query, target = similar(9, 2500 * device.scale, rate=0.03)
    region = Region(0, len(query), 0, len(target))
    rows, columns = np.arange(77, len(query), 77), np.arange(33, len(target), 33)
    case = ((query, target, scoring, LOCAL), region, outside(region, scoring, LOCAL), rows, columns)
    end, lines = filled(CpuEngine(), *case)
    pruning = Pruning(int(end.score * share), len(query), len(target))
    found, pruned = filled(device, *case, pruning=pruning)
    assert found == end
    for name in ("row_H", "row_F", "column_H", "column_E"):
        assert (getattr(pruned, name) <= getattr(lines, name)).all(), name
    assert pruning.cells > region.cells * 0.1


@pytest.mark.gpu
@pytest.mark.parametrize("mode", [LOCAL, GLOBAL], ids=str)
def test_columns_divided_over_a_device_opened_several_times(monkeypatch, mode):
    needs_gpu()
    monkeypatch.setattr(device_part, "long_shapes", lambda *_: [LARGE])
    monkeypatch.setattr(cuda_regions, "_may_pack", lambda *_, **__: True)
    monkeypatch.setattr(cuda_regions, "MIN_DEVICE_COLUMNS", 100)
    query, target = similar(10, 6000)
    rng = np.random.default_rng(10)
    lines = some(rng, len(query), 20), some(rng, len(target), 20)
    assert_as(OnDevices((0, 0, 0), 2 << 30), CpuEngine(), query, target, DNA, mode, *lines)


@pytest.mark.gpu
@pytest.mark.parametrize("mode", ["local", "overlap"])
@pytest.mark.parametrize("rate", [0.0, 0.05, 0.5])
def test_a_long_alignment_equals_that_of_the_cpu(monkeypatch, mode, rate):
    needs_gpu()
    monkeypatch.setattr(device_part, "long_shapes", lambda *_: [LARGE])
    monkeypatch.setattr(cuda_regions, "_may_pack", lambda *_, **__: True)
    monkeypatch.setattr(cuda_engine, "SMALL_REGION", 0)
    arguments = (*similar(11, 9000, rate), DNA, Mode.parse(mode))
    found = align_long(CudaEngine(memory=2 << 30), *arguments, LongOptions())
    expected = align_long(CpuEngine(), *arguments, LongOptions(prunes=False))
    assert found.operations.tolist() == expected.operations.tolist()
    assert (found.score, found.positions) == (expected.score, expected.positions)


@pytest.mark.skipif(compiler_version() is None, reason="NVRTC is not installed")
def test_scorings_that_do_not_fit_are_refused_by_the_kernel_too(monkeypatch, tmp_path):
    """Scores that just fit halves of words compile; those that do not are refused by the kernel too."""
    monkeypatch.setenv("EXALN_CACHE", str(tmp_path))
    costs = [Scoring(match=20, mismatch=-1, gap_open=7, gap_extend=extend) for extend in range(100)]
    n_fit = sum(map(SMALL.holds, costs))
    assert [SMALL.holds(scoring) for scoring in costs] == [True] * n_fit + [False] * (100 - n_fit)
    sources = [
        SMALL.source(4, scoring, is_local=True, is_large=False, large_ends=False)
        for scoring in costs[n_fit - 1 : n_fit + 1]
    ]
    assert cubin(sources[0], "sm_90")
    with pytest.raises(EngineError, match="static assertion"):
        cubin(sources[1], "sm_90")


def folded(scoring, target):
    return fold_letters(scoring, used_letters(target))


def test_byte_scores_and_their_selectors():
    """The most frequent letters are plain; the digits of a column choose its scores in both halves."""
    target = np.array([7, 3, 3, 1, 0, 2, 2, 1, 0, 3], np.uint8)
    scores = ByteScores.of(folded(DNA, target), target)
    assert scores.ranks[[3, 1, 0, 2, 7]].tolist() == [0, 2, 1, 3, 4]
    places = scores.places(target, 12)
    for letter, place in zip(target, places, strict=False):
        plain, odd = (scores.table[:, part].view(np.uint8) for part in (slice(0, 4), slice(4, 8)))
        low, high = np.concatenate([plain, odd], axis=1), np.concatenate([odd, plain], axis=1)
        digits = [int(place) >> 4 * i & 15 for i in range(4)]
        assert digits[1] == digits[0] | 8
        assert digits[3] == digits[2] | 8
        expected = DNA.matrix[:, letter].astype(np.int8).tolist()
        assert low[:, digits[0]].view(np.int8).tolist() == expected
        assert high[:, digits[2]].view(np.int8).tolist() == expected


def test_scores_that_do_not_fit_bytes():
    target = np.arange(15, dtype=np.uint8)
    assert ByteScores.of(folded(DNA, target), target) is None
    protein = SCORINGS["protein"]
    assert ByteScores.of(folded(protein, target), target) is None
    wide = Scoring(match=200, mismatch=-1, gap_open=1, gap_extend=1)
    assert ByteScores.of(folded(wide, target[:4]), target[:4]) is None
