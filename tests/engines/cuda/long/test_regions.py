"""Regions of one pair on the GPU, in every shape, mode and width, on one device and on one opened several times."""

import threading
import time

import numpy as np
import pytest

from exaln.engines.cpu import engine as cpu_engine
from exaln.engines.cpu.engine import CpuEngine
from exaln.engines.cuda import engine as cuda_engine
from exaln.engines.cuda.engine import CudaEngine
from exaln.engines.cuda.long import device_part, kernel_inputs, slab
from exaln.engines.cuda.long import regions as cuda_regions
from exaln.engines.cuda.long.shapes import LONG_SHAPES, MAX_LARGE_ROWS, PACKED_SHAPES
from exaln.engines.reference.engine import ReferenceEngine
from exaln.engines.regions import Boundary, Pruning, Region
from exaln.errors import EngineError
from exaln.pairwise.long.driver import LongOptions, align_long, align_with, score_long
from exaln.pairwise.long.plan import Plan
from exaln.pairwise.long.store import MemoryStore
from exaln.pairwise.long.traceback import LongPair
from exaln.scoring.modes import GLOBAL, LOCAL, Mode
from kernel_cases import mutated, random_codes
from long_regions import INT32, INT64, SCORINGS, OnDevices, assert_as, assert_same, filled, n_letters, outside, some

pytestmark = pytest.mark.gpu

DNA = SCORINGS["DNA"]
REFERENCE = ReferenceEngine()
ROOMY = 2 << 30
NO_CHECKPOINTS = np.zeros(0, np.int64)


@pytest.fixture(scope="module", autouse=True)
def _gpu():
    reason = CudaEngine.unavailable_reason()
    if reason is not None:
        pytest.skip(reason)


def on_device(devices=(0,)):
    return OnDevices(devices, ROOMY)


def similar(seed, length, scoring=DNA, rate=0.1):
    rng = np.random.default_rng(seed)
    query = random_codes(rng, length, n_letters(scoring))
    return query, mutated(rng, query, n_letters(scoring), rate)


@pytest.fixture(params=[*LONG_SHAPES, *PACKED_SHAPES], ids=str)
def shape(request, monkeypatch):
    """Every region in this shape."""
    monkeypatch.setattr(device_part, "long_shapes", lambda *_: [request.param])
    monkeypatch.setattr(cuda_regions, "_may_pack", lambda *_, **__: True)
    return request.param


@pytest.mark.parametrize("mode", [LOCAL, GLOBAL], ids=str)
def test_sizes_around_strips_and_pieces(shape, mode):
    rng = np.random.default_rng(1)
    for n_rows in (1, 33, shape.strip_rows, shape.strip_rows + 1):
        for n_columns in (1, 4 * shape.piece, 4 * shape.piece + 1):
            query, target = random_codes(rng, n_rows, 4), random_codes(rng, n_columns, 4)
            lines = some(rng, n_rows, 9), some(rng, n_columns, 9)
            assert_as(on_device(), CpuEngine(), query, target, DNA, mode, *lines)


@pytest.mark.parametrize("name", SCORINGS)
@pytest.mark.parametrize("mode", [LOCAL, GLOBAL], ids=str)
@pytest.mark.parametrize("score", [INT32, INT64], ids=str)
def test_every_scoring_in_32_and_64_bits(name, mode, score):
    rng = np.random.default_rng(2)
    query, target = similar(3, 1500, SCORINGS[name])
    lines = some(rng, len(query), 20), some(rng, len(target), 20)
    assert_as(on_device(), CpuEngine(), query, target, SCORINGS[name], mode, *lines, score)


@pytest.mark.parametrize("mode", [LOCAL, GLOBAL], ids=str)
def test_every_row_and_column_is_a_checkpoint(shape, mode):
    query, target = similar(4, 150)
    rows, columns = np.arange(1, len(query) + 1), np.arange(1, len(target) + 1)
    assert_as(on_device(), CpuEngine(), query, target, DNA, mode, rows, columns)


def test_the_first_of_many_equal_best_cells(shape):
    """Of equal scores the smallest column, then the smallest row, wherever strips and lanes end."""
    ones, period = np.zeros(1300, np.uint8), np.tile(np.array([0, 1, 2, 3, 3, 2], np.uint8), 200)
    for query, target in ((ones, ones[:900]), (ones[:900], ones), (period, period[6:])):
        assert_as(on_device(), CpuEngine(), query, target, SCORINGS["free gaps"], LOCAL, NO_CHECKPOINTS, NO_CHECKPOINTS)
    nothing = np.zeros(700, np.uint8), np.ones(700, np.uint8)
    assert_as(on_device(), CpuEngine(), *nothing, DNA, LOCAL, NO_CHECKPOINTS, NO_CHECKPOINTS)


def test_the_best_cell_of_unrelated_sequences(shape):
    """Scores are so low that the end may be in every piece, and yet only in few parts of it."""
    rng = np.random.default_rng(15)
    for n_rows, n_columns in ((2000, 3001), (3000, 1999)):
        pair = random_codes(rng, n_rows, 4), random_codes(rng, n_columns, 4)
        assert_as(on_device(), CpuEngine(), *pair, DNA, LOCAL, NO_CHECKPOINTS, NO_CHECKPOINTS)


def test_more_strips_than_warps(shape, monkeypatch):
    """One block takes strip after strip: queues go round, and rows wait for a warp."""
    monkeypatch.setattr(device_part, "QUEUES_SHARE", 1 << 40)
    for mode in (LOCAL, GLOBAL):
        query, target = similar(5, 5000)
        rows, columns = np.arange(512, 5000, 512), np.arange(512, len(target), 512)
        assert_as(on_device(), CpuEngine(), query, target, DNA, mode, rows, columns)


@pytest.mark.parametrize("base", [12_000_000, 100_000_000, 2_000_000_000])
def test_high_scores_within_a_table(base):
    """In the midst of a table: keys fit 31 bits, they do not, and near the end of 32 bits."""
    query, target = similar(6, 1000)
    region = Region(0, len(query), 0, len(target))
    near = outside(region, DNA, GLOBAL)
    high = Boundary(near.top_H + base, near.top_F + base, near.left_H + base, near.left_E + base, base)
    rows, columns = np.arange(100, 1000, 100), np.arange(100, 900, 100)
    case = ((query, target, DNA, LOCAL), region, high, rows, columns)
    assert_same(filled(on_device(), *case), filled(CpuEngine(), *case))


@pytest.mark.parametrize("mode", [LOCAL, GLOBAL], ids=str)
@pytest.mark.parametrize("n_devices", [3])
def test_columns_divided_over_a_device_opened_several_times(monkeypatch, mode, n_devices):
    monkeypatch.setattr(cuda_regions, "MIN_DEVICE_COLUMNS", 100)
    query, target = similar(7, 6000)
    rng = np.random.default_rng(7)
    lines = some(rng, len(query), 20), some(rng, len(target), 20)
    assert_as(on_device((0,) * n_devices), CpuEngine(), query, target, DNA, mode, *lines)


def test_a_region_computed_in_slabs(monkeypatch):
    slabs = cuda_regions.slabs
    monkeypatch.setattr(cuda_regions, "slabs", lambda region, lines, room: slabs(region, lines, 2_000_000))
    query, target = similar(8, 3000)
    for devices in ((0,), (0, 0)):
        monkeypatch.setattr(cuda_regions, "MIN_DEVICE_COLUMNS", 1000)
        rows, columns = np.arange(100, 3000, 100), np.arange(100, 2900, 100)
        assert_as(on_device(devices), CpuEngine(), query, target, DNA, LOCAL, rows, columns)


@pytest.mark.parametrize("mode", ["local", "overlap"])
def test_a_long_alignment_equals_that_of_the_cpu(monkeypatch, mode):
    monkeypatch.setattr(cuda_engine, "SMALL_REGION", 0)
    query, target = similar(9, 9000, rate=0.05)
    arguments = (query, target, DNA, Mode.parse(mode), LongOptions())
    found, expected = (align_long(engine, *arguments) for engine in (CudaEngine(memory=ROOMY), CpuEngine()))
    assert found.operations.tolist() == expected.operations.tolist()
    assert (found.score, found.positions) == (expected.score, expected.positions)
    assert score_long(CudaEngine(memory=ROOMY), *arguments[:4]) == expected.score


@pytest.mark.parametrize("mode", ["local", "global"])
@pytest.mark.parametrize("spacings", [(512,), (4000, 512), (9000, 1500, 100)], ids=str)
@pytest.mark.parametrize("score", [INT32, INT64], ids=str)
def test_a_path_over_checkpoints_that_stay_on_the_device(monkeypatch, mode, spacings, score):
    """Of all levels, with pieces that only one sequence has."""
    monkeypatch.setattr(cuda_engine, "SMALL_REGION", 0)
    query, target = similar(15, 30_000, rate=0.05)
    query, target = np.delete(query, np.s_[20_000:21_200]), np.delete(target, np.s_[9_000:10_500])
    found, expected = (
        align_with(LongPair(query, target, DNA, Mode.parse(mode), engine), MemoryStore(Plan(score, 40_000, spacings)))
        for engine in (CudaEngine(memory=ROOMY), CpuEngine(1))
    )
    assert found.operations.tolist() == expected.operations.tolist()
    assert (found.score, found.positions, found.counts) == (expected.score, expected.positions, expected.counts)


@pytest.mark.parametrize("share", [0.0, 0.9, 1.0])
@pytest.mark.parametrize("score", [INT32, INT64], ids=str)
def test_pruning_keeps_the_best_cell_and_raises_no_value(share, score, monkeypatch):
    """The same end, and no number too high; on one device, and on one opened twice."""
    monkeypatch.setattr(cuda_regions, "MIN_DEVICE_COLUMNS", 1000)
    query, target = similar(13, 12_000, rate=0.05)
    region = Region(0, len(query), 0, len(target))
    rows, columns = np.arange(777, len(query), 777), np.arange(333, len(target), 333)
    case = ((query, target, DNA, LOCAL), region, outside(region, DNA, LOCAL, score), rows, columns, score)
    end, lines = filled(CpuEngine(), *case)
    for devices in ((0,), (0, 0)):
        pruning = Pruning(int(end.score * share), len(query), len(target))
        found, pruned = filled(on_device(devices), *case, pruning=pruning)
        assert found == end
        for name in ("row_H", "row_F", "column_H", "column_E"):
            assert (getattr(pruned, name) <= getattr(lines, name)).all(), name
        assert region.cells > pruning.cells > region.cells * (0.5 if share else 0.05)


@pytest.mark.parametrize("name", ["DNA", "linear", "free gaps"])
@pytest.mark.parametrize("rate", [0.0, 0.05, 0.5])
def test_pruned_alignments_are_the_same(monkeypatch, name, rate):
    monkeypatch.setattr(cuda_engine, "SMALL_REGION", 0)
    query, target = similar(14, 9000, rate=rate)
    for many in (1 << 62, 0):
        monkeypatch.setattr(cpu_engine, "CHAIN_CELLS", many)
        monkeypatch.setattr(cuda_engine, "CHAIN_CELLS", many)
        arguments = (query, target, SCORINGS[name], LOCAL)
        found = align_long(CudaEngine(memory=ROOMY), *arguments, LongOptions())
        expected = align_long(CpuEngine(), *arguments, LongOptions(prunes=False))
        assert found.operations.tolist() == expected.operations.tolist()
        assert (found.score, found.positions) == (expected.score, expected.positions)


def test_strips_that_wait_too_long_give_up(monkeypatch):
    """Strip 0 is never taken: the others give up, and nothing is left running."""
    control = kernel_inputs.CONTROL
    monkeypatch.setattr(device_part, "PATIENCE_SECONDS", 0.3)
    monkeypatch.setattr(device_part.DevicePart, "_upload", with_ticket(device_part.DevicePart._upload, control))
    query, target = similar(10, 5000)
    began = time.monotonic()
    with pytest.raises(EngineError, match=r"a strip waited in vain for 0\.3 s"):
        assert_as(on_device(), CpuEngine(), query, target, DNA, LOCAL, NO_CHECKPOINTS, NO_CHECKPOINTS)
    assert time.monotonic() - began < 20


def with_ticket(upload, control):
    """As if the first strip had been taken before."""

    def uploaded(part, name, array):
        if name == "control":
            array = array.copy()
            array["ticket"] = 1
        return upload(part, name, array)

    return uploaded


def test_an_interrupt_ends_a_running_kernel(monkeypatch):
    """A kernel of seconds ends at once, and the device works as before."""
    monkeypatch.setattr(slab, "PROGRESS_SECONDS", 0.0)
    query, target = similar(11, 1_500_000, rate=0.01)

    def interrupt(cells):
        raise KeyboardInterrupt

    region = Region(0, len(query), 0, len(target))
    case = ((query, target, DNA, LOCAL), region, outside(region, DNA, LOCAL), NO_CHECKPOINTS, NO_CHECKPOINTS)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        filled(on_device(), *case, progress=interrupt)
    assert time.monotonic() - began < 5
    assert threading.active_count() < 50
    small = similar(12, 500)
    assert_as(on_device(), REFERENCE, *small, DNA, LOCAL, np.array([100]), np.array([100]))


def test_a_shape_for_64_bit_scores_exists():
    assert min(shape.rows for shape in LONG_SHAPES) >= MAX_LARGE_ROWS
