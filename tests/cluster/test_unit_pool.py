"""Units of a search on a cluster: every query meets every residue once, whichever units fail or are returned."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exaln.cluster import unit_pool as pool_module
from exaln.cluster.division import Plan
from exaln.cluster.simulation import Costs, simulate
from exaln.cluster.unit_pool import Pool, UnitSize
from exaln.cluster.units import Chunk, Group, Unit, chunks_of, query_groups
from exaln.database.database import Database
from exaln.database.segment_limits import SegmentLimits
from exaln.sequences.alphabet import PROTEIN
from exaln.sequences.records import Records


@pytest.fixture(autouse=True)
def _small_units(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "LEAST_PLACES", 3)


def groups_of(weights: list[int]) -> list[Group]:
    return [Group(5 * number, 5 * number + 5, weight) for number, weight in enumerate(weights)]


def chunks_at(edges: list[int]) -> list[Chunk]:
    return [Chunk(first, end, 10 * (end - first)) for first, end in pairwise(edges)]


def area(units: list[Unit], groups: list[Group], n_places: int) -> np.ndarray:
    """How often each residue of each group is in a unit."""
    counts = np.zeros((len(groups), n_places), int)
    for unit in units:
        counts[unit.query_first // 5, unit.first : unit.end] += 1
    return counts


@st.composite
def pools(draw: st.DrawFn) -> tuple[Pool, int]:
    edges = sorted({0, *draw(st.lists(st.integers(1, 300), max_size=5)), 301})
    weights = draw(st.lists(st.integers(1, 50), min_size=1, max_size=12))
    unit_size = UnitSize(draw(st.floats(0.1, 20)), 0.1)
    return Pool(groups_of(weights), chunks_at(edges), unit_size), edges[-1]


@settings(deadline=None, max_examples=30)
@given(pools(), st.data())
def test_every_residue_of_every_group_is_done_once_whatever_fails(made: tuple[Pool, int], data: st.DataObject) -> None:
    pool, n_places = made
    workers = {f"w{number}": 10.0**number for number in range(data.draw(st.integers(1, 4)))}
    done, running, n_failed = [], [], 0
    for _ in range(10_000):
        name = data.draw(st.sampled_from(sorted(workers)))
        unit = pool.take(name, workers[name], sum(workers.values()), workers)
        if unit is not None:
            running.append((unit, name))
        if not running and pool.cells_left == 0:
            break
        if not running:
            continue
        ended, worker = running.pop(data.draw(st.integers(0, len(running) - 1)))
        end = data.draw(st.sampled_from(["done", "done", "fail", "back", "forget"]))
        if end == "done" or n_failed > 20:
            done.append(ended)
        elif end == "fail":
            n_failed += 1
            assert pool.fail(ended, worker) >= 1
        else:
            pool.give_back(ended)
            if end == "forget":
                pool.forget(worker)
    assert not running
    assert (area(done, list(pool.groups), n_places) == 1).all()
    assert pool.cells_left == 0


@settings(deadline=None, max_examples=30)
@given(pools(), st.data())
def test_what_was_done_before_is_not_done_again(made: tuple[Pool, int], data: st.DataObject) -> None:
    pool, n_places = made
    before = [unit for unit in drained(pool) if data.draw(st.booleans())]
    after = drained(Pool(pool.groups, pool.chunks, pool.unit_size, before))
    assert (area(before + after, list(pool.groups), n_places) == 1).all()


def drained(pool: Pool) -> list[Unit]:
    return list(taken(pool))


def taken(pool: Pool, total_speed: float = 100.0) -> Iterator[Unit]:
    while (unit := pool.take("w", 100.0, total_speed)) is not None:
        yield unit


def test_a_unit_that_failed_goes_to_another_worker_if_there_is_one() -> None:
    pool = Pool(groups_of([1]), chunks_at([0, 10]), UnitSize())
    unit = pool.take("a", 1e9, 1e9, ["a", "b"])
    assert unit is not None
    assert pool.fail(unit, "a") == 1
    assert pool.take("a", 1e9, 1e9, ["a", "b"]) is None
    assert pool.take("b", 1e9, 1e9, ["a", "b"]) == unit
    assert pool.fail(unit, "b") == 2
    assert pool.take("a", 1e9, 1e9, ["a", "b"]) == unit


def test_workers_stay_with_the_chunk_they_hold() -> None:
    pool = Pool(groups_of([1] * 20), chunks_at([0, 1000, 2000, 3000]), UnitSize(1.0))
    held: dict[str, set[int]] = {"a": set(), "b": set(), "c": set()}
    for _ in range(15):
        for worker, chunks in held.items():
            unit = pool.take(worker, 1000.0, 3000.0, held)
            assert unit is not None
            chunks.add(unit.first // 1000)
    assert sorted(map(sorted, held.values())) == [[0], [1], [2]]


def test_units_are_as_large_as_their_worker_is_fast_and_become_smaller() -> None:
    pool = Pool(groups_of([1]), chunks_at([0, 10**6]), UnitSize(10.0, 0.01))
    fast, slow = pool.take("fast", 900.0, 1000.0), pool.take("slow", 100.0, 1000.0)
    assert fast is not None
    assert slow is not None
    assert (fast.end - fast.first, slow.end - slow.first) == (9000, 1000)
    sizes = [unit.end - unit.first for unit in taken(pool, 1000.0)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < sizes[0] / 10


def test_units_of_a_worker_that_is_alone_stay_large() -> None:
    pool = Pool(groups_of([1]), chunks_at([0, 10**6]), UnitSize(10.0, 0.01))
    assert {unit.end - unit.first for unit in taken(pool)} == {1000}


def test_long_targets_are_taken_first() -> None:
    units = drained(Pool(groups_of([1]), chunks_at([0, 50, 100]), UnitSize(0.1, 0.1)))
    assert [unit.first for unit in units] == [40, 30, 20, 10, 0, 90, 80, 70, 60, 50]


@settings(deadline=None, max_examples=20)
@given(st.integers(1, 20_000), st.integers(0, 500), st.integers(1, 10**6), st.floats(1, 1e15))
def test_groups_have_all_queries_in_order(n: int, length: int, n_residues: int, cells: float) -> None:
    lengths = [length] * n
    groups = query_groups(np.array(lengths), 2, chunks_at([0, n_residues, 2 * n_residues]), cells)
    assert [group.query_first for group in groups] == [0, *(group.query_end for group in groups[:-1])]
    assert groups[-1].query_end == len(lengths)
    assert all(group.query_end - group.query_first <= 4097 for group in groups)
    assert all(group.weight == max(1, 2 * sum(lengths[group.query_first : group.query_end])) for group in groups)


def test_a_group_and_a_chunk_are_a_unit_if_that_is_not_too_few_queries_or_too_many() -> None:
    def sizes(n_chunks: int, cells: float) -> list[int]:
        chunks = chunks_at(list(range(0, 1000 * n_chunks + 1, 1000)))
        return [group.query_end - group.query_first for group in query_groups(np.full(1000, 10), 1, chunks, cells)]

    assert sizes(1, 10 * 50 * 1000) == [50] * 20
    assert sizes(1, 10 * 5 * 1000) == [16] * 62 + [8]
    assert sizes(9, 10 * 300 * 1000) == [256] * 3 + [232]
    assert sizes(1, 10 * 600 * 1000) == [600, 400]


def database(n_targets: int, rows: int) -> Database:
    codes = np.random.default_rng(1).integers(0, 20, (n_targets, 3000), dtype=np.uint8)
    return Database.in_memory([Records.of(PROTEIN, list(codes))], limits=SegmentLimits(rows=rows))


def test_small_segments_are_one_chunk() -> None:
    manifest = database(1000, 10).manifest
    chunks = chunks_of(manifest)
    assert len(chunks) == 3
    assert [chunk.first for chunk in chunks[1:]] == [chunk.end for chunk in chunks[:-1]]
    assert (chunks[0].first, chunks[-1].end) == (0, manifest.n_residues + 1)
    assert sum(chunk.n_bytes for chunk in chunks) == sum(entry.bytes for entry in manifest.segments)


def test_an_estimate_is_the_sum_of_cells_and_losses() -> None:
    manifest = database(1000, 1000).manifest
    plan = Plan.of(chunks_of(manifest), np.full(500, 400), 1, [1e9] * 4)
    free = simulate(plan.pool(), plan.speeds, Costs(0, 0, 0, 1e30, 1e30))
    assert free.ideal == pytest.approx(500 * 400 * (manifest.n_residues + 1) / 4e9)
    assert free.efficiency > 0.95
    assert free.seconds == pytest.approx(free.ideal + free.idle, rel=1e-6)
    slow = simulate(plan.pool(), plan.speeds, Costs(unit_s=free.seconds, merge_s=0))
    assert slow.seconds > 2 * free.seconds
    lines = list(plan.lines(["cpu, avx2, 1 thread"] * 4))
    assert "4 workers (4 x cpu, avx2, 1 thread), 4 GCUPS measured" in lines[0]
    assert "6e+11 cells; 32 groups of queries, units of 15.0 s or less" in lines[1]


def test_mixed_workers_end_together() -> None:
    plan = Plan.of(chunks_of(database(1000, 1000).manifest), np.full(2, 400_000), 1, [5e9, 1e8, 1e8])
    assert plan.estimate(Costs(0, 0, 0, 1e30, 1e30)).efficiency > 0.9
