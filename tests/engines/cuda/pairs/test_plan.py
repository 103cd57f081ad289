"""Plans of pairs, and the blocks of their batches, equal the definition in NumPy."""

import numpy as np
import pytest

import pair_plans
from exaln import _core
from exaln.engines.cuda.pairs.plan import Batch, Room, couple_bytes, fits_arena, fits_numbers, head_of, plan_pairs
from exaln.engines.cuda.pairs.shapes import PAIR_SHAPES
from exaln.engines.tasks import Bounds
from exaln.scoring.modes import Mode
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import PROTEIN
from exaln.sequences.records import offsets_of
from pair_plans import LAYOUT, PAIR

TABLES = [(True, False, True), (True, False, False), (False, False, True), (False, True, True), (False, True, False)]
SENDS = [(True, True), (False, True), (True, False), (False, False)]
N_SMS = 132


def lengths(rng, kind, n):
    if kind == "equal":
        return np.full(n, 512), np.full(n, 512)
    if kind == "few sizes":
        return rng.choice([1, 64, 65, 300], n), rng.choice([4, 5, 1000], n)
    return rng.integers(1, 2000, n), rng.integers(1, 2000, n)


@pytest.mark.parametrize("tables", TABLES, ids=str)
@pytest.mark.parametrize("kind", ["equal", "few sizes", "mixed"])
@pytest.mark.parametrize("n", [1, 2, 3, 1000, 5001])
def test_a_plan_is_that_of_the_definition(monkeypatch, tables, kind, n):
    rng = np.random.default_rng(n)
    m, columns = lengths(rng, kind, n)
    for arenas, block, sends in ((1 << 26, 1 << 16, SENDS[0]), (1 << 33, 1 << 18, SENDS[1]), (1 << 24, 1, SENDS[3])):
        monkeypatch.setattr("exaln.engines.cuda.pairs.plan.BLOCK_BYTES", block)
        room = Room(arenas, 1 << 40)
        plan = plan_pairs(m, columns, Bounds.of(m, columns), tables, room, N_SMS, sends, 300)
        limits = arenas // plan.n_slots, block
        expected = list(pair_plans.batches(m, columns, tables, limits, N_SMS, sends))
        assert [batch.shape for batch in plan] == [shape for shape, _ in expected]
        for batch, (_, own) in zip(plan, expected, strict=True):
            assert plan.order[batch.begin : batch.end].tolist() == own.tolist()
        assert sorted(plan.order.tolist()) == list(range(n))


@pytest.mark.parametrize("tables", TABLES, ids=str)
@pytest.mark.parametrize("sends", SENDS, ids=str)
def test_a_block_has_the_pairs_of_its_batch(tables, sends):
    """Pairs of mixed lengths that share sequences, in the order of the plan; what is not sent has its place in the
    codes.
    """
    rng = np.random.default_rng(3)
    sizes = rng.integers(1, 200, 40)
    offsets = offsets_of(sizes)
    codes = rng.integers(0, 4, offsets[-1]).astype(np.uint8)
    query, target = rng.integers(0, 40, 301), rng.integers(5, 40, 301)
    m, n = sizes[query], sizes[target]
    plan = plan_pairs(m, n, Bounds.of(m, n), tables, Room(1 << 30, 1 << 17), N_SMS, sends, 300)
    assert len(plan.rows) > 3
    first = int(offsets[5])
    sides = (codes, offsets, query, sends[0], 0), (codes, offsets, target, sends[1], first)
    for number, batch in enumerate(plan):
        block = np.full(batch.runs, 0xA5, np.uint8)
        shape = PAIR_SHAPES[batch.shape]
        _core.fill_pair_block(
            block, plan.rows[number], plan.order, *sides, (shape.lanes, shape.rows), tables, threads=3
        )
        own = plan.order[batch.begin : batch.end]
        pairs = block[batch.pairs :][: batch.n_pairs * PAIR.itemsize].view(PAIR)
        assert pairs["m"].tolist() == m[own].tolist()
        assert pairs["n"].tolist() == n[own].tolist()
        letters = block[batch.letters : batch.counters]
        for pair, q, t in zip(pairs, query[own].tolist(), target[own].tolist(), strict=True):
            for name, row, length, side, begin in (("query", q, "m", 0, 0), ("target", t, "n", 1, first)):
                source = letters if sends[side] else codes[begin:]
                place = int(pair[name])
                assert source[place : place + pair[length]].tolist() == codes[offsets[row] : offsets[row + 1]].tolist()
        layouts, arena_bytes = pair_plans.layouts_of(shape, m[own], n[own], tables)
        found = block[batch.layouts :][: len(layouts) * LAYOUT.itemsize].view(LAYOUT)
        assert found.tolist() == layouts.tolist()
        assert batch.arena_bytes == arena_bytes
        starts = block[batch.run_starts :][: 8 * (batch.n_pairs + 1)].view(np.uint64)
        assert starts.tolist() == offsets_of(m[own] + n[own]).tolist()
        assert batch.n_runs == starts[-1]
        assert not block[batch.counters : batch.results].any()
        assert batch.results - batch.counters == 16


def test_parts_of_a_block_are_aligned_and_follow_one_another():
    n, room = np.arange(1, 100), Room(1 << 24, 1 << 14)
    plan = plan_pairs(n, n, Bounds.of(n, n), TABLES[0], room, N_SMS, (True, True), 297)
    for batch in plan:
        places = batch[Batch._fields.index("pairs") : Batch._fields.index("n_runs")]
        assert list(places) == sorted(places)
        assert all(place % 16 == 0 for place in places)
        host, device, _, _ = batch.sizes(paths=True)
        assert host <= device


def test_slots_share_the_arenas_and_one_is_enough_for_the_largest_table():
    n = np.full(100, 400)
    largest = int(couple_bytes(n[:1], n[:1], TABLES[0])[0])
    for arenas, n_slots in ((largest, 1), (2 * largest - 1, 1), (2 * largest, 2), (9 * largest, 3)):
        plan = plan_pairs(n, n, Bounds.of(n, n), TABLES[0], Room(arenas, 1 << 30), N_SMS, (True, True), 300)
        assert plan.n_slots == n_slots
        assert all(n_slots * batch.arena_bytes <= arenas for batch in plan if batch.n_pairs > 2)


def test_tables_fit_one_by_one_or_all_at_once():
    """If the largest of all sizes fits, no pair is looked at on its own."""
    scoring, mode = Scoring(match=2, mismatch=-3), Mode.parse("global")
    m, n = np.array([10, 7000, 10, 0, 16_000]), np.array([10, 10, 7000, 5, 16_000])
    whole, some = Bounds.of(m, n), Bounds.of(m[:3], n[:3])
    for bounds in (whole, some):
        assert fits_numbers(m[:3], n[:3], bounds, scoring, mode).tolist() == [True, True, True]
    assert fits_numbers(m, n, whole, scoring, mode).tolist() == [True, True, True, False, False]
    few = Room(int(couple_bytes(m[:1], n[:1], TABLES[2])[0]), 0)
    assert fits_arena(m[:3], n[:3], some, TABLES[2], few).tolist() == [True, False, False]
    assert fits_arena(m[:3], n[:3], some, TABLES[2], Room(1 << 40, 0)).all()
    huge = np.array([1 << 40])
    assert not fits_arena(huge, huge, Bounds.of(huge, huge), TABLES[2], Room(1 << 60, 0)).any()
    assert Bounds.of(m[:0], n[:0]) == (0, 0, 0, 0)


def test_the_most_bytes_of_a_couple_are_those_of_the_definition():
    rng = np.random.default_rng(5)
    m, n = rng.integers(1, 3000, (2, 200))
    for tables in TABLES:
        expected = np.max([pair_plans.couple_bytes(shape, m, n, tables) for shape in PAIR_SHAPES], axis=0)
        assert couple_bytes(m, n, tables).tolist() == expected.tolist()


@pytest.mark.parametrize("threads", [1, 4])
def test_used_codes_are_those_of_the_sequences_in_use(threads):
    rng = np.random.default_rng(6)
    offsets = offsets_of([5, 0, 300_000, 300_000, 7])
    codes = rng.integers(0, 3, offsets[-1]).astype(np.uint8)
    codes[0], codes[offsets[2] + 123_456], codes[-1] = 19, 5, 7

    def used(*rows):
        found = _core.used_codes((codes, offsets, np.array(rows), True, 0), 4, threads)
        return np.flatnonzero(found).tolist()

    assert used(1) == used(3) == [0, 1, 2, 3]  # all letters of DNA, whether they occur or not
    assert used(2, 3, 2) == [0, 1, 2, 3, 5]
    assert used(2) == [0, 1, 2, 5]
    assert used(4, 4) == sorted({*codes[-7:].tolist()})


def test_the_head_of_a_block_folds_the_letters_in_use():
    scoring = Scoring("BLOSUM62")
    used = np.zeros(256, np.uint8)
    used[[0, 4, 9]] = 1
    n_letters, head = head_of(scoring, used.tobytes())
    fold, table = head[:256], head[256:].view(np.uint32).reshape(2, n_letters + 1, n_letters + 1)
    assert n_letters == 3
    letters = PROTEIN.letters
    assert len(letters) > 9
    for a in (0, 4, 9):
        for b in (0, 4, 9):
            assert table[0, fold[a], fold[b]].astype(np.uint16).view(np.int16) == scoring.matrix[a, b]
    assert (table[0] << 16 == table[1]).all()
    assert (table[0, 0].astype(np.uint16).view(np.int16) == -8192).all()
