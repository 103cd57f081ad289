"""Plans from distinct lengths are those from one number for each target (tests/support/per_target_plans.py)."""

from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import per_target_plans as per_target
from exaln.engines.cuda.runtime.device import DeviceProperties
from exaln.engines.cuda.scan import division
from exaln.engines.cuda.scan.batch_rows import BatchRows
from exaln.engines.cuda.scan.division import RowSums, even_edges
from exaln.engines.cuda.scan.long_targets import TYPICAL_STRIPS, long_length, streamed_long_length
from exaln.engines.cuda.scan.sizes import PrefixSums, Sizes
from exaln.engines.cuda.scan.strips import StreamStatistics, plan_strips

H200 = DeviceProperties(n_sms=132, shared_bytes=232448, dpx=True, arch="sm_90")
T4 = DeviceProperties(n_sms=40, shared_bytes=65536, dpx=False, arch="sm_75")

some_lengths = st.lists(st.one_of(st.integers(0, 9), st.integers(0, 3000)), min_size=1, max_size=120).map(
    lambda lengths: np.array(sorted(lengths), np.int64)
)
some_weights = st.tuples(st.integers(0, 60), st.integers(0, 2), st.integers(0, 12), st.integers(0, 224))


def drawn_lengths(seed, n):
    random = np.random.default_rng(seed)
    lengths = random.lognormal(5.65, random.uniform(0.1, 1.2), n).astype(np.int64)
    lengths[: int(random.integers(0, 4))] = random.integers(5000, 40_000)
    return np.sort(lengths)


@given(some_lengths, some_weights, st.integers(-1, 3000))
def test_prefix_sums_are_those_of_single_targets(lengths, weight, long):
    sums, expected = RowSums(Sizes.of(lengths), long).weights(*weight), per_target.weights(lengths, long, *weight)
    assert sums.at(np.arange(len(lengths) + 1)).tolist() == expected.tolist()
    assert sums.total == expected[-1]
    goals = np.unique([*expected, *(expected + 1), *(expected - 1), expected[-1] // 2]).clip(0, expected[-1])
    assert sums.first_at_least(goals).tolist() == np.searchsorted(expected, goals).tolist()


@given(some_lengths, some_weights, st.integers(0, 200), st.data())
def test_rows_are_cut_as_target_by_target(lengths, weight, n_pieces, data):
    first = data.draw(st.integers(0, len(lengths)))
    end = data.draw(st.integers(first, len(lengths)))
    sums, own = RowSums(Sizes.of(lengths), 700).weights(*weight), per_target.weights(lengths, 700, *weight)
    expected = first + per_target.even_edges(own[first : end + 1] - own[first], n_pieces)
    assert even_edges(sums, first, end, n_pieces).tolist() == expected.tolist()


def test_nothing_has_no_weight():
    sums = PrefixSums(np.empty(0, np.int64), 0, np.empty(0, np.int64))
    assert (sums.total, sums.at(np.array([0])).tolist(), sums.first_at_least(np.array([0])).tolist()) == (0, [0], [0])


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("device", [H200, T4], ids=lambda device: device.arch)
def test_long_lengths_are_those_of_single_targets(seed, device):
    random = np.random.default_rng(seed)
    lengths = drawn_lengths(seed, int(random.integers(1, 60_000)))
    assert long_length(Sizes.of(lengths), device) == per_target.long_length(lengths, device)
    targets = StreamStatistics(len(lengths), 10**6, 5 * 10**5, int(lengths[-1]), 24)
    strips = plan_strips(random.integers(1, 1500, int(random.integers(1, 9))).tolist(), device, targets)
    for own in (strips, TYPICAL_STRIPS):
        for n_batches in (1, 2, 7, 40):
            found = streamed_long_length(Sizes.of(lengths), device, own, n_batches)
            assert found == per_target.streamed_long_length(lengths, device, own, n_batches)


@pytest.mark.parametrize("is_resident", [True, False])
@pytest.mark.parametrize("seed", range(20))
def test_batches_are_those_of_single_targets(seed, is_resident):
    random = np.random.default_rng(seed)
    lengths, long = drawn_lengths(seed, int(random.integers(1, 5000))), int(random.integers(0, 3000))
    weight = 66, 2, int(random.integers(0, 40)), 224
    limit, max_residues = (int(random.integers(1000, 10**6)) for _ in range(2))
    sums = RowSums(Sizes.of(lengths), long)
    batches = division._batches(sums, sums.weights(*weight), limit, max_residues, is_resident=is_resident)
    expected = per_target.edges_of_batches(lengths, long, weight, limit, max_residues, is_resident=is_resident)
    assert sorted(chain(*batches)) == expected


@given(some_lengths, st.data())
@settings(deadline=None)
def test_halves_are_cut_by_size(lengths, data):
    first = data.draw(st.integers(0, len(lengths) - 1))
    end = data.draw(st.integers(first + 1, len(lengths)))
    if end - first < 2:
        return
    rows = BatchRows(0, ((first, end),), int(lengths[first:end].sum()))
    one, other = rows.halves(Sizes.of(lengths))
    ends = np.cumsum(lengths[first:end] + 64)
    cut = first + int(np.clip(np.searchsorted(ends, ends[-1] // 2) + 1, 1, end - first - 1))
    assert (one.pieces, other.pieces) == (((first, cut),), ((cut, end),))
    assert one.n_residues + other.n_residues == rows.n_residues


@given(st.lists(some_lengths, max_size=4))
def test_merged_lengths_are_sorted(parts):
    merged = Sizes.merged([Sizes.of(np.empty(0, np.int64)), *map(Sizes.of, parts)])
    expected = sorted(chain(*(part.tolist() for part in parts)))
    assert merged.expanded().tolist() == expected
    assert merged.n_up_to(9) == sum(length <= 9 for length in expected)
    assert (merged.smallest, merged.largest) == ((expected[0], expected[-1]) if expected else (0, 0))
