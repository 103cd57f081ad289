"""Regions of one pair on a driver without a GPU: what is sent and fetched, slabs, strips, and errors."""

import numpy as np
import pytest

import emulated_cuda
from exaln.engines.cpu import engine as cpu_engine
from exaln.engines.cpu.engine import CpuEngine
from exaln.engines.cuda import engine as cuda_engine
from exaln.engines.cuda.engine import CudaEngine
from exaln.engines.cuda.long import device_checkpoints, device_part, kernel_inputs
from exaln.engines.cuda.long import regions as cuda_regions
from exaln.engines.cuda.long.device_checkpoints import CheckpointRequest
from exaln.engines.cuda.long.kernel_inputs import strips_of
from exaln.engines.cuda.long.regions import slabs
from exaln.engines.cuda.long.shapes import LONG_SHAPES, PACKED_SHAPES, LongShape, long_cycles, long_shapes
from exaln.engines.cuda.runtime import download
from exaln.engines.reference.engine import ReferenceEngine
from exaln.engines.regions import NOTHING, Checkpoints, PairTable, Region
from exaln.errors import EngineError
from exaln.pairwise.long.driver import LongOptions, align_long, align_with
from exaln.pairwise.long.plan import Plan
from exaln.pairwise.long.store import MemoryStore
from exaln.pairwise.long.traceback import LongPair
from exaln.scoring.modes import GLOBAL, LOCAL, SEMIGLOBAL, Mode
from fake_cuda import FakeDriver, install
from kernel_cases import mutated, random_codes
from long_regions import INT32, INT64, SCORINGS, OnDevices, assert_as, filled, n_letters, outside, some

DNA = SCORINGS["DNA"]
REFERENCE = ReferenceEngine()


@pytest.fixture
def driver(monkeypatch):
    return install(monkeypatch, FakeDriver(memory=1 << 30), 20)


def similar(seed, length, scoring=DNA):
    rng = np.random.default_rng(seed)
    query = random_codes(rng, length, n_letters(scoring))
    return query, mutated(rng, query, n_letters(scoring), 0.1)


@pytest.mark.parametrize("name", SCORINGS)
@pytest.mark.parametrize("mode", [LOCAL, GLOBAL, SEMIGLOBAL], ids=str)
@pytest.mark.parametrize("score", [INT32, INT64], ids=str)
def test_checkpoints_and_the_best_cell_equal_those_of_another_engine(driver, name, mode, score):
    rng = np.random.default_rng(1)
    for length in (1, 2, 40, 150):
        query, target = similar(length, length, SCORINGS[name])
        lines = some(rng, len(query), 9), some(rng, len(target), 9)
        assert_as(OnDevices(), REFERENCE, query, target, SCORINGS[name], mode, *lines, score)


@pytest.mark.skipif(emulated_cuda.COMPILER is None, reason="g++ is missing")
@pytest.mark.parametrize("shape", [LongShape(4, 32, 2, 8), LongShape(20, 64, 1, 8)], ids=str)
@pytest.mark.parametrize("mode", [LOCAL, GLOBAL], ids=str)
def test_the_kernel_itself_on_an_emulated_device(monkeypatch, shape, mode):
    install(monkeypatch, emulated_cuda.EmulatedDriver(memory=1 << 30), 20)
    monkeypatch.setattr(device_part, "long_shapes", lambda *_: [shape])
    rng = np.random.default_rng(2)
    for length in (1, 40, 500):
        query, target = similar(length, length)
        lines = some(rng, len(query), 9), some(rng, len(target), 9)
        assert_as(OnDevices(), CpuEngine(), query, target, DNA, mode, *lines)


def test_a_region_within_a_table(driver):
    query, target = similar(3, 200)
    region = Region(50, 180, 31, 100)
    rng = np.random.default_rng(2)
    borders = outside(Region(0, region.n_rows, 0, region.n_columns), DNA, GLOBAL)
    rows, columns = 50 + some(rng, region.n_rows, 9), 31 + some(rng, region.n_columns, 9)
    for mode in (LOCAL, GLOBAL):
        case = ((query, target, DNA, mode), region, borders, rows, columns)
        found, expected = filled(OnDevices(), *case), filled(REFERENCE, *case)
        assert found[0] == expected[0]
        assert all((getattr(found[1], name) == getattr(expected[1], name)).all() for name in ("row_H", "column_E"))


@pytest.mark.parametrize("mode", [LOCAL, GLOBAL], ids=str)
def test_slabs_of_rows_where_memory_is_short(driver, monkeypatch, mode):
    """The device has room for few checkpoints at a time."""
    monkeypatch.setattr(cuda_regions, "slabs", lambda region, lines, room: slabs(region, lines, 60_000))
    query, target = similar(4, 300)
    rows, columns = np.arange(7, 300, 7), np.arange(50, len(target) + 1, 50)
    assert_as(OnDevices(), REFERENCE, query, target, DNA, mode, rows, columns)
    launched = [arguments for name, _, arguments in driver.launches if name == "fill_region"]
    assert len(launched) > 3
    assert sum(arguments["n_rows"] for arguments in launched) == 300


def test_slabs_cover_all_rows_and_fit():
    region = Region(10, 5000, 0, 1000)
    lines = CheckpointRequest(np.arange(100, 5000, 100), np.arange(100, 1000, 100), INT32)
    for room in (1, 100_000, 1_000_000, 1 << 40):
        cut = list(slabs(region, lines, room))
        assert [slab.first_row for slab in cut] == [10, *(slab.end_row for slab in cut[:-1])]
        assert cut[-1].end_row == 5000
    assert len(cut) == 1


@pytest.mark.parametrize("shape", [*LONG_SHAPES, *PACKED_SHAPES], ids=str)
def test_strips_end_at_checkpoint_rows(shape):
    rng = np.random.default_rng(shape.rows)
    for n_rows in (1, shape.rows, shape.strip_rows, shape.strip_rows + 1, 5000):
        kept = some(rng, n_rows, 20)
        strips = strips_of(n_rows, shape, kept)
        ends = strips["first_row"] + strips["n_rows"]
        assert strips["first_row"].tolist() == [0, *ends[:-1]]
        assert ends[-1] == n_rows
        assert dict(
            zip(ends[strips["checkpoint"] >= 0], strips["checkpoint"][strips["checkpoint"] >= 0], strict=True)
        ) == {int(row): line for line, row in enumerate(kept)}
        assert (strips["n_rows"] > 0).all()


def test_checkpoints_are_fetched_in_pieces(driver, monkeypatch):
    """Through less pinned memory than their size, each piece to its place."""
    monkeypatch.setattr(download, "SLOT_BYTES", 96)
    monkeypatch.setattr(download, "SMALL_BYTES", 90)
    query, target = similar(12, 150)
    assert_as(OnDevices(), REFERENCE, query, target, DNA, LOCAL, np.arange(1, 150, 9), np.arange(1, 140, 9))


def test_an_empty_region_launches_no_kernel(driver):
    query, target = similar(5, 30)
    region = Region(3, 3, 0, len(target))
    case = ((query, target, DNA, LOCAL), region, outside(region, DNA, LOCAL), np.zeros(0, np.int64), np.array([5]))
    assert filled(OnDevices(), *case)[0] == NOTHING
    assert not driver.launches


def test_progress_ends_with_all_cells(driver):
    told = []
    query, target = similar(6, 90)
    region = Region(0, len(query), 0, len(target))
    nothing = np.zeros(0, np.int64)
    filled(
        OnDevices(),
        (query, target, DNA, LOCAL),
        region,
        outside(region, DNA, LOCAL),
        nothing,
        nothing,
        progress=told.append,
    )
    assert told == sorted(told)
    assert told[-1] == region.cells


@pytest.mark.parametrize("mode", ["local", "global", "semiglobal", "overlap", "free:qs,te"])
def test_a_long_alignment_equals_that_of_the_cpu(driver, monkeypatch, mode):
    """Checkpoints of two levels from the device, and the traceback on the CPU."""
    monkeypatch.setattr(cuda_engine, "SMALL_REGION", 0)
    query, target = similar(7, 1300)
    arguments = (query, target, DNA, Mode.parse(mode), LongOptions())
    found, expected = (align_long(engine, *arguments) for engine in (CudaEngine(), CpuEngine(1)))
    assert found.operations.tolist() == expected.operations.tolist()
    assert (found.score, found.positions) == (expected.score, expected.positions)
    assert "fill_region" in {name for name, *_ in driver.launches}


@pytest.mark.parametrize("mode", ["local", "global", "semiglobal", "overlap"])
@pytest.mark.parametrize("spacings", [(300, 40), (700, 150, 30), (64,)], ids=str)
@pytest.mark.parametrize("score", [INT32, INT64], ids=str)
def test_a_path_over_checkpoints_that_stay_on_the_device(driver, monkeypatch, mode, spacings, score):
    """Of all levels. A piece that only one sequence has, and repeats, take the path far from its diagonal."""
    monkeypatch.setattr(cuda_engine, "SMALL_REGION", 0)
    monkeypatch.setattr(device_checkpoints, "MAX_CHECKPOINTS", 5)
    monkeypatch.setattr(device_checkpoints, "ALONG_GAP", 3)
    query, target = similar(14, 900)
    target = np.concatenate([target[:200], target[450:], query[100:400]])
    held = []
    hold = cuda_regions.hold_checkpoints
    monkeypatch.setattr(cuda_regions, "hold_checkpoints", lambda *given: held.append(hold(*given)) or held[-1])
    found, expected = (
        align_with(LongPair(query, target, DNA, Mode.parse(mode), engine), MemoryStore(Plan(score, 2000, spacings)))
        for engine in (CudaEngine(threads=3), REFERENCE)
    )
    assert found.operations.tolist() == expected.operations.tolist()
    assert (found.score, found.positions, found.counts) == (expected.score, expected.positions, expected.counts)
    assert len(held) >= len(spacings)
    assert None not in held


def test_checkpoints_that_stay_on_the_device(driver, monkeypatch):
    """Parts of them are read in any order, and their memory is freed; without room for them, they are copied."""
    monkeypatch.setattr(cuda_engine, "SMALL_REGION", 0)
    query, target = similar(11, 400)
    region = Region(0, len(query), 0, len(target))
    rows, columns = np.arange(50, 400, 50), np.arange(30, len(target), 30)
    borders = outside(region, DNA, LOCAL)
    _, expected = filled(REFERENCE, (query, target, DNA, LOCAL), region, borders, rows, columns)
    pair = (query, target, DNA, LOCAL)
    _, held = filled(CudaEngine(), pair, region, borders, rows, columns, may_hold=True)
    assert not isinstance(held, Checkpoints)
    for place, own in ((0, slice(0, 30)), (6, slice(100, 101)), (3, slice(7, 350))):
        np.testing.assert_array_equal(held.row(place, own), expected.row(place, own))
        np.testing.assert_array_equal(held.column(place, own), expected.column(place, own))
    before = driver.used
    del held
    assert driver.used < before
    monkeypatch.setattr(cuda_regions, "HELD_SHARE", 1 << 60)
    _, copied = filled(CudaEngine(), pair, region, borders, rows, columns, may_hold=True)
    assert isinstance(copied, Checkpoints)


def test_devices_are_opened_while_a_lower_bound_is_computed(driver, monkeypatch):
    query, target = similar(15, 2000)
    pair = PairTable(query, target, DNA, LOCAL)
    assert CudaEngine().lower_bound(pair) == 0
    assert not driver.streams
    for module in (cuda_engine, cpu_engine):
        monkeypatch.setattr(module, "CHAIN_CELLS", 1)
    assert CudaEngine().lower_bound(pair) == CpuEngine().lower_bound(pair) > 0
    assert driver.streams


def test_small_regions_are_left_to_the_cpu(driver):
    query, target = similar(8, 100)
    assert_as(CudaEngine(), REFERENCE, query, target, DNA, LOCAL, np.array([50]), np.array([50]))
    assert not driver.launches


def test_a_kernel_that_gives_up_raises(driver, monkeypatch):
    monkeypatch.setitem(driver_kernels(), "fill_region", lost)
    query, target = similar(9, 100)
    region = Region(0, len(query), 0, len(target))
    nothing = np.zeros(0, np.int64)
    with pytest.raises(EngineError, match=r"^GPU 0 \(Fake GPU\): a strip waited in vain for 20 s; please report this$"):
        filled(OnDevices(), (query, target, DNA, LOCAL), region, outside(region, DNA, LOCAL), nothing, nothing)


def test_no_kernel_runs_before_all_parts_have_what_they_need(driver, monkeypatch):
    """Loading a kernel or getting memory may wait for kernels that run, which may wait for a part not yet started."""
    monkeypatch.setattr(cuda_regions, "MIN_DEVICE_COLUMNS", 10)
    monkeypatch.setitem(driver_kernels(), "fill_region", lambda *_: None)
    called = []
    for name in ("cuModuleLoadData", "cuMemAlloc", "cuMemFree", "cuCtxSynchronize", "cuLaunchCooperativeKernel"):
        monkeypatch.setattr(driver, name, noted(called, name, getattr(driver, name)))
    query, target = similar(13, 400)
    region = Region(0, len(query), 0, len(target))
    nothing = np.zeros(0, np.int64)
    filled(OnDevices((0, 0, 0)), (query, target, DNA, GLOBAL), region, outside(region, DNA, GLOBAL), nothing, nothing)
    launches = [place for place, name in enumerate(called) if name == "cuLaunchCooperativeKernel"]
    assert len(launches) == 3
    assert called[launches[0] : launches[-1] + 1] == ["cuLaunchCooperativeKernel"] * 3
    assert "cuModuleLoadData" in called[: launches[0]]


def noted(called, name, function):
    def call(*arguments):
        called.append(name)
        return function(*arguments)

    return call


def test_an_exception_during_the_kernel_cancels_it(driver):
    def interrupt(cells):
        raise KeyboardInterrupt

    query, target = similar(10, 100)
    region = Region(0, len(query), 0, len(target))
    case = ((query, target, DNA, LOCAL), region, outside(region, DNA, LOCAL), *(np.zeros(0, np.int64),) * 2)
    with pytest.raises(KeyboardInterrupt):
        filled(OnDevices(), *case, progress=interrupt)
    driver.cuCtxSynchronize()
    control = driver.launches[-1][2]["control"]
    assert driver.view(control, np.uint32, 2)[1] == kernel_inputs.CANCELLED


def driver_kernels():
    import fake_cuda

    return fake_cuda.KERNELS


def lost(driver, arguments, constants):
    driver.view(arguments.control, np.uint32, 2)[1] = kernel_inputs.LOST


def test_larger_pairs_use_shapes_with_more_rows():
    """Few rows for small pairs, many for large ones; something for every alphabet."""
    chosen = [
        min(LONG_SHAPES, key=lambda shape: long_cycles(shape, n, n, 132 * shape.blocks * shape.threads // 32, 132)).rows
        for n in (3_000, 100_000, 1_000_000, 4_000_000)
    ]
    assert chosen == sorted(chosen)
    assert chosen[0] < chosen[-1]
    for letters in (1, 4, 25, 200):
        for score_bytes in (4, 8):
            assert all(
                shape.shared_bytes(letters, score_bytes) <= 232448
                for shape in long_shapes(letters, score_bytes, 232448)
            )
