"""How databases are cut into batches, what is sent of a batch, and how batches are handed to devices."""

import threading
from itertools import chain, pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from exaln.engines.cuda.scan import division as division_module
from exaln.engines.cuda.scan.batch_rows import BatchRows
from exaln.engines.cuda.scan.batch_sources import Task, Tasks
from exaln.engines.cuda.scan.batches import BREAKPOINT, HostBatch
from exaln.engines.cuda.scan.buffers import SLOTS
from exaln.engines.cuda.scan.cache import Memo, SegmentCaches
from exaln.engines.cuda.scan.division import Requirements, RowSums, divide_resident, divide_streamed, even_edges
from exaln.engines.cuda.scan.long_targets import LENGTH_CLASSES
from exaln.engines.cuda.scan.sizes import PiecewiseLinear, PrefixSums, Sizes
from memory_targets import Rows

PAIRS_ONLY = Requirements((False, True, False), (False, True))


def one_range(segment, first, end, n_residues):
    return BatchRows(segment, ((first, end),), n_residues)


def swissprot_like(n_targets, seed=1):
    lengths = np.random.default_rng(seed).lognormal(5.65, 0.7, n_targets)
    return np.sort(np.clip(lengths, 30, 5000).astype(np.int64))


def covers_everything(batches, lengths):
    """Each row of each segment is in one batch, pieces ascend, and residues are counted."""
    for number, rows in enumerate(lengths):
        own = [one for one in batches if one.segment == number]
        edges = sorted(chain(*(one.pieces for one in own)))
        assert [first for first, _ in edges] + [len(rows)] == [0, *(end for _, end in edges)]
        assert all(one.pieces == tuple(sorted(one.pieces)) for one in own)
        assert all(first < end for first, end in edges)
        assert [one.n_residues for one in own] == [int(lengths_in(one, rows).sum()) for one in own]
        assert [len(one) for one in own] == [len(lengths_in(one, rows)) for one in own]


def lengths_in(batch, lengths):
    """The lengths of the rows of a batch; lengths: of all rows of its segment."""
    rows = batch.segment_rows(np.arange(len(batch)))
    assert lengths[rows].tolist() == batch.sizes(Sizes.of(lengths)).expanded().tolist()
    return lengths[rows]


@given(st.lists(st.integers(1, 1000), max_size=60), st.integers(1, 20))
def test_even_edges_cut_rows_evenly(weights, n_pieces):
    sums = PrefixSums(np.arange(len(weights)), len(weights), np.array(weights, np.int64))
    edges = even_edges(sums, 0, len(weights), n_pieces).tolist()
    assert edges == sorted(set(edges))
    assert (edges[0], edges[-1]) == (0, len(weights))
    assert len(edges) <= n_pieces + 1
    assert all(sum(weights[a:b]) <= sum(weights) / n_pieces + max(weights) for a, b in pairwise(edges))


def sums_of(lengths, long_length=5000):
    return [RowSums(Sizes.of(rows), long_length) for rows in lengths]


def test_a_database_that_fits_is_one_batch():
    lengths = [swissprot_like(570_000)]
    division = divide_resident(sums_of(lengths), 100 << 30)
    assert division.is_resident
    assert len(division.batches) == 1
    assert division.largest.n_residues == int(lengths[0].sum())
    covers_everything(division.batches, lengths)


def test_several_devices_get_several_batches_each():
    lengths = [swissprot_like(200_000), swissprot_like(100_000, 2), np.empty(0, np.int64)]
    division = divide_resident(sums_of(lengths), 100 << 30, n_devices=2)
    assert len(division.batches) >= 8
    covers_everything(division.batches, lengths)


def test_batches_that_stay_leave_room_for_one_that_is_scored():
    sums = sums_of([swissprot_like(570_000)])[0]
    kept = sums.weights(division_module.ROW_BYTES, 1, 12).total
    division = divide_resident([sums], 2 * kept)
    assert len(division.batches) > 1
    assert kept + 48 * division.largest.n_tiles < 2 * kept
    assert divide_resident([sums], kept) is None


@pytest.mark.parametrize(("requirements", "n_queries"), [(Requirements(), 20), (PAIRS_ONLY, 1), (PAIRS_ONLY, 200)])
def test_streamed_batches_fill_the_memory_and_no_more(requirements, n_queries):
    lengths = [swissprot_like(570_000)]
    budget = int(lengths[0].sum()) // 4
    division = divide_streamed(sums_of(lengths), budget, requirements, n_queries)
    used = sum(division.largest.scratch(requirements, n_queries).values())
    assert not division.is_resident
    assert 0.75 * budget < used < budget - division_module.FIXED_BYTES
    covers_everything(division.batches, lengths)


def test_fewer_requirements_make_batches_larger():
    sums = sums_of([swissprot_like(570_000)])
    few, many = (divide_streamed(sums, 50 << 20, own, 1).batches for own in (PAIRS_ONLY, Requirements()))
    assert len(many) > 1.7 * len(few)
    one, other = Requirements((False, True, False), (False, False)), Requirements((True, False, False), (False, True))
    assert (one.stream_bytes, one.boundary_bytes, other.boundary_bytes) == (4, 0, 16)


def test_every_streamed_batch_has_targets_of_all_lengths():
    lengths = swissprot_like(570_000)
    division = divide_streamed(sums_of([lengths]), 50 << 20, Requirements(), 20)
    medians = [np.median(lengths_in(rows, lengths)) for rows in division.batches]
    assert len(division.batches) > 20
    assert max(medians) < 2 * min(medians)
    assert {len(rows.pieces) for rows in division.batches} == {LENGTH_CLASSES}
    sizes = [rows.n_residues for rows in division.batches]
    assert max(sizes) < 1.05 * min(sizes)


def test_long_targets_have_batches_of_their_own():
    lengths = swissprot_like(100_000)
    division = divide_streamed(sums_of([lengths], 2000), 16 << 20, Requirements(), 20)
    covers_everything(division.batches, [lengths])
    own = [lengths_in(rows, lengths) for rows in division.batches]
    kinds = {(bool((lengths > 2000).any()), bool((lengths <= 2000).any())) for lengths in own}
    assert kinds == {(True, False), (False, True)}
    assert {len(rows.pieces) for rows in division.batches if lengths_in(rows, lengths)[-1] > 2000} == {1}


def test_batches_have_a_maximum_size():
    division = divide_resident(sums_of([np.full(3000, 100_000)], 1_000_000), 1 << 40)
    assert max(one.n_residues for one in division.batches) <= division_module.MAX_BATCH_RESIDUES + 100_000


def test_long_targets_have_no_tiles():
    sums = sums_of([np.array([10, 20, 250_000_000])])
    assert divide_resident(sums, 2 << 30).is_resident
    assert sums[0].tiles.at(np.arange(4)).tolist() == [0, 3, 8, 8]
    assert sums[0].longest == 20


def segment_of(lengths, first_ordinal=0):
    codes = np.random.default_rng(5).integers(0, 20, int(np.sum(lengths))).astype(np.uint8)
    return Rows(codes, np.concatenate([[0], np.cumsum(lengths)]), first_ordinal + np.arange(len(lengths))[::-1])


def codes_of(host, segment):
    return np.concatenate([segment.codes[begin:end] for begin, end in host.code_ranges])


def expanded(host):
    """What the device expands from the header: numbers by their places in the batch."""
    header, columns = host.header(1 << 20), {}
    table = header[: 48 * host.n_columns].view(np.int64).reshape(-1, 6)
    sent = header[host.places.breakpoints :][: BREAKPOINT.itemsize * int(table[:, 3].sum())].view(BREAKPOINT)
    breakpoints = np.stack([sent[name].astype(np.int64) for name in ("first", "value", "step")], axis=1)
    for address, n, first, n_breakpoints, stride, is_wide in table.tolist():
        size = 8 if is_wide else 4
        numbers = PiecewiseLinear(breakpoints[first : first + n_breakpoints], n).expanded().tolist()
        columns |= {address - (1 << 20) + size * stride * i: number for i, number in enumerate(numbers)}
    return columns


def test_a_batch_of_one_range_is_sent_with_its_columns():
    lengths = np.array([0, 1, 1, 5, 9, 9, 30, 31, 200])
    segment = segment_of(lengths, 100)
    host = HostBatch(Sizes.of(lengths), one_range(0, 2, 9, 285), 31)
    assert (len(host), host.n_stream, host.n_stream_residues, host.row_stride) == (7, 6, 85, 8)
    assert host.rows.segment_rows(np.arange(7)).tolist() == [2, 3, 4, 5, 6, 7, 8]
    assert codes_of(host, segment).tolist() == segment.codes[1:].tolist()
    places = host.places
    assert places.codes < host.sent_bytes == places.codes + 285 <= host.device_bytes
    columns = expanded(host)
    offsets = [columns[places.offsets + 8 * row] for row in range(8)]
    assert offsets == [0, 1, 6, 15, 24, 54, 85, 285]
    assert [columns[places.streams[False].starts + 4 * row] for row in range(7)] == [1, 2, 4, 7, 10, 18, 26]
    assert [columns[places.streams[True].starts + 4 * row] for row in range(4)] == [1, 3, 6, 14]
    assert [columns[places.streams[True].chunks + 4 * i] for i in range(4)] == [1, 0, 14, 3]


def test_a_batch_of_several_ranges_is_sent_with_the_columns_that_are_needed():
    lengths = np.array([0, 1, 1, 5, 9, 9, 30, 31, 200])
    segment = segment_of(lengths)
    rows = BatchRows(0, ((1, 3), (4, 5), (6, 8)), 72)
    host = HostBatch(Sizes.of(lengths), rows, 31).sending({True})
    assert host.lengths.expanded().tolist() == [1, 1, 9, 30, 31]
    assert host.rows.segment_rows(np.arange(5)).tolist() == [1, 2, 4, 6, 7]
    offsets = segment.offsets
    own = [segment.codes[offsets[row] : offsets[row + 1]] for row in (1, 2, 4, 6, 7)]
    assert codes_of(host, segment).tolist() == np.concatenate(own).tolist()
    columns = expanded(host)
    assert [columns[host.places.offsets + 8 * row] for row in range(6)] == [0, 1, 2, 11, 41, 72]
    assert [columns[host.places.streams[True].starts + 4 * row] for row in range(4)] == [1, 2, 10, 18]
    assert False not in host.places.streams


def test_headers_are_small():
    """A batch costs little more to send than its codes."""
    lengths = swissprot_like(60_000)
    division = divide_streamed(sums_of([lengths]), 16 << 20, Requirements((True, False, False), (True, False)), 20)
    hosts = [HostBatch(Sizes.of(lengths), rows, 5000).sending({False}) for rows in division.batches]
    assert len(hosts) > 8
    assert sum(host.sent_bytes for host in hosts) < 1.03 * lengths.sum()
    assert max(host.device_bytes for host in hosts) <= division.largest.scratch(Requirements(), 1)[SLOTS[0]]


def test_the_cache_of_a_segment_goes_with_it():
    caches = SegmentCaches()
    segment, other = segment_of([1, 2, 3]), segment_of([4])
    cache, database = caches.segment(segment), caches.database([segment, other])
    assert cache is caches.segment(segment)
    assert database is caches.database([segment, other])
    assert database is not caches.database([other, segment])
    assert (cache.lengths.expanded().tolist(), database.lengths.expanded().tolist()) == ([1, 2, 3], [1, 2, 3, 4])
    assert database.n_residues == 10
    assert len(caches) == 2
    del segment
    assert len(caches) == 1
    assert caches.database([other]).segments == (caches.segment(other),)
    assert len(caches._databases) == 1


def test_a_memo_computes_a_value_once_and_stays_small():
    memo, computed = Memo(capacity=2), []
    for key in (1, 1, 2, 1, 3, 4, 4):
        assert memo.get(key, lambda key=key: computed.append(key) or -key) == -key
    assert computed == [1, 2, 3, 4]
    assert (memo.known(4), memo.known(1)) == (-4, None)


@given(st.lists(st.integers(0, 500), min_size=2, max_size=40).map(sorted), st.data())
def test_halves_have_all_rows_once(lengths, data):
    lengths = np.array(lengths)
    edges = data.draw(st.lists(st.integers(0, len(lengths)), min_size=2, max_size=8, unique=True).map(sorted))
    pieces = tuple(zip(edges[::2], edges[1::2], strict=False))
    rows = BatchRows(3, pieces, sum(int(lengths[first:end].sum()) for first, end in pieces))
    assume(len(rows) > 1)
    one, other = rows.halves(Sizes.of(lengths))
    assert min(len(one), len(other)) >= 1
    assert one.segment == other.segment == 3
    both = [*one.segment_rows(np.arange(len(one))), *other.segment_rows(np.arange(len(other)))]
    assert sorted(both) == rows.segment_rows(np.arange(len(rows))).tolist()
    assert [one.n_residues, other.n_residues] == [int(lengths_in(half, lengths).sum()) for half in (one, other)]


def tasks_of(n, lengths):
    ranges = [one_range(0, i, i + 1, 10) for i in range(n)]
    return Tasks([Task(0, rows) for rows in ranges], lambda rows: rows.halves(Sizes.of(lengths)))


def test_devices_take_what_they_prefer_and_leave_what_they_refuse():
    tasks = tasks_of(5, np.full(5, 10))
    assert tasks.take(lambda rows: 0 if rows.pieces[0][0] == 3 else 1).rows.pieces[0][0] == 3
    assert tasks.take(lambda rows: 1).rows.pieces[0][0] == 0
    assert tasks.take(lambda rows: None) is None
    assert [tasks.take().rows.pieces[0][0] for _ in range(3)] == [1, 2, 4]
    assert tasks.take() is None


def test_tasks_that_are_put_back_come_first():
    tasks = tasks_of(4, np.full(4, 10))
    taken = [tasks.take(), tasks.take()]
    tasks.put_back(taken)
    assert [tasks.take().rows.pieces[0][0] for _ in range(4)] == [0, 1, 2, 3]


def test_after_halving_tasks_are_split_when_they_are_taken():
    """By the largest that is left, and not by the one that was taken before."""
    lengths = np.full(20, 100)
    few, many = one_range(0, 0, 4, 400), one_range(0, 4, 20, 1600)
    tasks = Tasks([Task(7, few), Task(7, many)], lambda rows: rows.halves(Sizes.of(lengths)))
    tasks.put_back([tasks.take()])
    tasks.halve()
    found = []
    while (task := tasks.take()) is not None:
        assert task.group == 7
        found.append(task.rows)
    assert found[0] == few
    assert max(rows.size for rows in found) <= many.size // 2
    covers_everything(found, [lengths])
    tasks = Tasks([Task(0, one_range(0, 0, 2, 200))], lambda rows: rows.halves(Sizes.of(lengths)))
    tasks.halve()
    tasks.halve()
    assert [len(tasks.take().rows), len(tasks.take().rows)] == [1, 1]


def test_every_task_is_taken_once_by_several_devices():
    tasks = tasks_of(400, np.full(400, 10))
    found = [[], [], []]

    def work(own):
        while (task := tasks.take()) is not None:
            own.append(task.rows.pieces[0][0])

    threads = [threading.Thread(target=work, args=(own,)) for own in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(chain(*found)) == list(range(400))
