"""Pruning a local table: neither score nor end nor path changes; numbers of pruned cells are never too high."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exaln.engines.contracts import Engine
from exaln.engines.cpu import engine as cpu_engine
from exaln.engines.cpu.engine import CpuEngine
from exaln.engines.cpu.seed_chain import chain_score
from exaln.engines.cuda import engine as cuda_engine
from exaln.engines.cuda.engine import CudaEngine
from exaln.engines.cuda.long import regions as cuda_regions
from exaln.engines.reference.engine import ReferenceEngine
from exaln.engines.regions import Boundary, Checkpoints, EndCell, PairTable, Pruning, Region, RegionResult, RegionTask
from exaln.pairwise.long import driver
from exaln.pairwise.long.checkpoints import TableBoundary
from exaln.pairwise.long.driver import LongOptions, align_long, score_long
from exaln.pairwise.long.plan import Plan
from exaln.pairwise.long.result import LongAlignment
from exaln.pairwise.long.store import MemoryStore
from exaln.pairwise.long.traceback import LongPair
from exaln.scoring.modes import GLOBAL, LOCAL
from exaln.scoring.scoring import Scoring
from fake_cuda import FakeDriver, install
from kernel_cases import ISAS, engine_with, mutated, random_codes
from long_cases import same
from long_regions import OnDevices

COSTS = {
    "DNA": Scoring(match=1, mismatch=-3, gap_open=3, gap_extend=2),
    "ties": Scoring(match=1, mismatch=-1, gap_open=0, gap_extend=1),
    "free gaps": Scoring(match=1, mismatch=-1, gap_open=0, gap_extend=0),
    "large": Scoring(match=100, mismatch=-90, gap_open=150, gap_extend=20),
}
INT32 = np.dtype(np.int32)


def pair_of(kind: str, length: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Two sequences of about this length."""
    rng = np.random.default_rng(seed)
    query = random_codes(rng, length, 4)
    other = random_codes(rng, length, 4)
    return {
        "similar": lambda: (query, mutated(rng, query, 4, 0.05)),
        "the same": lambda: (query, query),
        "unrelated": lambda: (query, other),
        "one letter": lambda: (np.zeros(length, np.uint8), np.zeros(length * 9 // 10, np.uint8)),
        "a period": lambda: (np.tile(np.array([0, 1, 2], np.uint8), length // 3), query[:3].repeat(length // 6)),
        "in the corner": lambda: (np.append(query, other[: length // 2]), np.append(other, other[: length // 2])),
        "at the start": lambda: (np.append(query[: length // 2], other), np.append(query[: length // 2], query[::-1])),
        "two parts": lambda: (query, np.concatenate([query[length // 2 :], other[:300], query[: length // 2]])),
        "a large gap": lambda: (query, np.delete(query, np.s_[length // 3 : length // 2])),
    }[kind]()


KINDS = ["similar", "the same", "unrelated", "one letter", "a period", "in the corner", "at the start", "two parts"]
KINDS += ["a large gap"]


def aligned(engine: Engine, query: np.ndarray, target: np.ndarray, costs: Scoring, **options: Any) -> LongAlignment:
    return align_long(engine, query, target, costs, LOCAL, LongOptions(memory=300_000_000, **options))


@pytest.mark.parametrize("costs", COSTS.values(), ids=COSTS)
@pytest.mark.parametrize("kind", KINDS)
def test_pruning_does_not_change_alignments(kind: str, costs: Scoring, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths over checkpoints, on several threads, with the best score found on the way and with a lower bound."""
    query, target = pair_of(kind, 6000)
    expected = aligned(CpuEngine(2), query, target, costs, prunes=False)
    assert same(aligned(CpuEngine(3), query, target, costs), expected)
    monkeypatch.setattr(cpu_engine, "CHAIN_CELLS", 0)
    for isa in (ISAS[0], ISAS[-1]):
        engine = engine_with(isa, 2)
        assert same(aligned(engine, query, target, costs), expected)
        assert score_long(engine, query, target, costs, LOCAL) == expected.score


def test_cells_are_pruned_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    query, target = pair_of("similar", 20_000)
    said: list[str] = []
    options = LongOptions(detail=said.append)
    score_long(CpuEngine(1), query, target, COSTS["DNA"], LOCAL, options)
    monkeypatch.setattr(cpu_engine, "CHAIN_CELLS", 0)
    score_long(CpuEngine(1), query, target, COSTS["DNA"], LOCAL, options)
    score_long(CpuEngine(1), query, target, COSTS["DNA"], GLOBAL, options)
    score_long(CpuEngine(1), query, target, COSTS["DNA"], LOCAL, LongOptions(detail=said.append, prunes=False))
    shares = [float(line.split(" %")[0]) for line in said]
    assert shares[1] > shares[0] > 10
    assert shares[2:] == [0.0, 0.0]


def filled(engine: Engine, table: PairTable, region: Region, lines: Checkpoints, pruning: Pruning | None) -> EndCell:
    around = TableBoundary(table.scoring, table.mode, INT32)
    borders = Boundary(*around.top(0, region.end_column), *around.left(0, region.end_row), corner=0)
    task = RegionTask(table, region, borders, lines.rows, lines.columns, lambda: lines, finds_end=True, pruning=pruning)
    return engine.fill(task).end


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0.0, 0.9, 1.0])
def test_pruned_checkpoints_are_never_too_high(isa: str, kind: str, share: float) -> None:
    query, target = pair_of(kind, 3000)
    table, region = PairTable(query, target, COSTS["DNA"], LOCAL), Region(0, len(query), 0, len(target))
    rows, columns = np.arange(100, len(query), 333), np.arange(77, len(target), 333)
    engine = engine_with(isa, 2)
    expected, found = (Checkpoints.empty(region, rows, columns, INT32) for _ in range(2))
    end = filled(engine, table, region, expected, None)
    pruning = Pruning(int(end.score * share), len(query), len(target))
    assert filled(engine, table, region, found, pruning) == end
    for name in ("row_H", "row_F", "column_H", "column_E"):
        assert (getattr(found, name) <= getattr(expected, name)).all()
    same_places = sum(int((getattr(found, name) != getattr(expected, name)).sum()) for name in ("row_H", "column_H"))
    assert same_places == 0 or pruning.cells > 0


def test_pruning_with_fewer_rows_left_than_the_region_has_is_refused() -> None:
    table = PairTable(*pair_of("similar", 100), COSTS["DNA"], LOCAL)
    region = Region(0, 100, 0, len(table.target))
    nothing = np.zeros(0, np.int64)
    with pytest.raises(ValueError, match="fewer rows or columns are left"):
        filled(CpuEngine(1), table, region, Checkpoints.empty(region, nothing, nothing, INT32), Pruning(5, 99, 10_000))


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 1000),
    length=st.integers(5, 130),
    letters=st.integers(1, 4),
    rate=st.sampled_from([0.0, 0.1, 0.3, 1.0]),
    name=st.sampled_from(sorted(COSTS)),
    spacings=st.sampled_from([(9, 4), (31, 7), (50,)]),
    slab_rows=st.integers(10, 140),
    seeded=st.booleans(),
)
def test_pruning_every_possible_cell_does_not_change_alignments(
    seed: int,
    length: int,
    letters: int,
    rate: float,
    name: str,
    spacings: tuple[int, ...],
    slab_rows: int,
    seeded: bool,
) -> None:
    """By an engine that prunes every single cell that the rule lets it prune."""
    rng = np.random.default_rng(seed)
    query = random_codes(rng, length, letters)
    target = mutated(rng, query, letters, rate)
    if not len(target):
        return
    pair = LongPair(query, target, COSTS[name], LOCAL, PruningReference())
    expected = driver.align_with(
        LongPair(query, target, COSTS[name], LOCAL, ReferenceEngine(), prunes=False),
        MemoryStore(Plan(INT32, slab_rows, spacings)),
    )
    pair.engine.least = expected.score if seeded else 0  # type: ignore[attr-defined]
    assert same(driver.align_with(pair, MemoryStore(Plan(INT32, slab_rows, spacings))), expected)


class PruningReference(ReferenceEngine):
    """Textbook tables of which every cell is pruned that may be; `least` is known before."""

    least = 0

    def lower_bound(self, pair: PairTable) -> int:
        return self.least

    def fill(self, task: RegionTask) -> RegionResult:
        pair, region, borders, lines, pruning = task.pair, task.region, task.boundary, task.room(), task.pruning
        assert pruning is not None
        first, extend = pair.scoring.gap_first, pair.scoring.gap_extend
        most, end = pair.scoring.max_score, EndCell(0, 0, 0)
        rows_left, columns_left = pruning.left(region)
        above_h, above_f = borders.top_H.tolist(), borders.top_F.tolist()
        corner = borders.corner
        for i in range(region.n_rows):
            diagonal, left_h, e = corner, int(borders.left_H[i]), int(borders.left_E[i])
            corner = left_h
            for j in range(region.n_columns):
                score = int(pair.scoring.matrix[pair.query[region.first_row + i], pair.target[region.first_column + j]])
                reach = max(0, diagonal, above_h[j], left_h)
                h = max(0, diagonal + score, e, above_f[j])
                f, e = max(above_f[j] - extend, h - first), max(e - extend, h - first)
                if reach + most * min(rows_left - i, columns_left - j) < max(pruning.best, end.score):
                    h, e, f = 0, -first, -first
                    pruning.cells += 1
                diagonal, above_h[j], above_f[j], left_h = above_h[j], h, f, h
                if task.finds_end:
                    here = EndCell(h, region.first_row + i + 1, region.first_column + j + 1)
                    end = end.better(here) if h else end
                place = np.flatnonzero(lines.columns == region.first_column + j + 1)
                lines.column_H[place, i], lines.column_E[place, i] = h, e
            place = np.flatnonzero(lines.rows == region.first_row + i + 1)
            lines.row_H[place], lines.row_F[place] = above_h, above_f
        return RegionResult(lines, end)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1000), kind=st.sampled_from(KINDS), name=st.sampled_from(sorted(COSTS)))
def test_the_score_of_a_seed_chain_is_a_lower_bound(seed: int, kind: str, name: str) -> None:
    query, target = pair_of(kind, 900, seed)
    engine, costs = CpuEngine(1), COSTS[name]
    least = chain_score(engine, PairTable(query, target, costs, LOCAL))
    score = score_long(engine, query, target, costs, LOCAL, LongOptions(prunes=False))
    assert 0 <= least <= score
    assert least > 0.5 * score or kind not in ("similar", "the same") or name != "DNA"


def test_a_seed_chain_continues_over_a_part_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """It counts as two gaps, over which a long enough chain goes on."""
    monkeypatch.setattr("exaln.engines.cpu.seed_chain.LARGE_CELLS", 10_000)
    monkeypatch.setattr("exaln.engines.cpu.seed_chain.SHARE", 1 << 40)
    rng = np.random.default_rng(3)
    query, new = random_codes(rng, 4000, 4), random_codes(rng, 90, 4)
    target = np.concatenate([query[:2000], new, query[2090:]])
    table = PairTable(query, target, COSTS["DNA"], LOCAL)
    assert 3300 < chain_score(CpuEngine(1), table) <= score_long(CpuEngine(1), query, target, COSTS["DNA"], LOCAL)


def test_sequences_without_a_common_word_have_the_lower_bound_0() -> None:
    for query, target in (([0] * 5, [0] * 5), ([0] * 100, [1] * 100), ([], [1]), ([0] * 100, [0] * 100)):
        codes = np.array(query, np.uint8), np.array(target, np.uint8)
        assert chain_score(CpuEngine(1), PairTable(*codes, COSTS["DNA"], LOCAL)) == 0


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    return install(monkeypatch, FakeDriver(memory=1 << 30), 20)


def test_a_device_gets_the_rows_left_in_each_slab_and_the_best_score(
    device: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of several slabs each from its own first row on; and the best score of those before."""
    slabs = cuda_regions.slabs
    monkeypatch.setattr(cuda_regions, "slabs", lambda region, lines, room: slabs(region, lines, 60_000))
    query, target = pair_of("similar", 300)
    table, region = PairTable(query, target, COSTS["large"], LOCAL), Region(0, 300, 0, len(target))
    lines = Checkpoints.empty(region, np.arange(7, 300, 7), np.arange(50, len(target), 50), INT32)
    pruning = Pruning(7, 1000, 2000)
    end = filled(OnDevices(), table, region, lines, pruning)
    launched = [arguments for name, _, arguments in device.launches if name == "fill_region"]
    assert len(launched) > 3
    rows_before = np.concatenate([[0], np.cumsum([arguments["n_rows"] for arguments in launched])[:-1]])
    assert [arguments["rows_left"] for arguments in launched] == (1000 - rows_before).tolist()
    assert {(arguments["columns_left"], arguments["highest"]) for arguments in launched} == {(2000, 100)}
    assert pruning.best == end.score > 7


def test_blocks_on_the_path_are_pruned_on_a_device(device: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is known of a block's path goes to the device with the block."""
    monkeypatch.setattr(cuda_engine, "SMALL_REGION", 0)
    query, target = pair_of("similar", 1300)
    pair = LongPair(query, target, COSTS["DNA"], LOCAL, CudaEngine())
    expected = aligned(CpuEngine(1), query, target, COSTS["DNA"], prunes=False)
    assert same(driver.align_with(pair, MemoryStore(Plan(INT32, 5000, (500, 100)))), expected)
    launched = [arguments for name, _, arguments in device.launches if name == "fill_region"]
    for arguments in launched[1:]:
        assert (arguments["rows_left"], arguments["columns_left"]) == (arguments["n_rows"], arguments["n_columns"])
    assert len(launched) > 2
