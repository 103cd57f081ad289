"""Strips of a scan: every row of every query once, in shapes that fit the device, in the least estimated time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuda_plans import assert_complete
from exaln.engines.cuda.runtime.constants import packed_limit
from exaln.engines.cuda.runtime.device import DeviceProperties
from exaln.engines.cuda.scan.long_targets import long_length, streamed_long_length
from exaln.engines.cuda.scan.shapes import SHAPES, Packing, Shape, block_bytes, block_shape
from exaln.engines.cuda.scan.sizes import Sizes
from exaln.engines.cuda.scan.strips import NO_QUERY, Part, StreamStatistics, Strip, plan_strips

DEVICES = {
    "sm_75": DeviceProperties(n_sms=40, shared_bytes=65536, dpx=False, arch="sm_75"),
    "sm_80": DeviceProperties(n_sms=108, shared_bytes=166912, dpx=False, arch="sm_80"),
    "sm_89": DeviceProperties(n_sms=128, shared_bytes=101376, dpx=False, arch="sm_89"),
    "sm_90": DeviceProperties(n_sms=132, shared_bytes=232448, dpx=True, arch="sm_90"),
}
STANDARD = [144, 189, 222, 375, 464, 567, 657, 729, 850, 1000, 1500, 2005]
STANDARD += [2504, 3005, 3564, 4061, 4548, 4743, 5147, 5478]


def swissprot(n_letters=20):
    return StreamStatistics(570_000, 51_600_000, 25_800_000, 7000, n_letters)


def check(lengths, device, targets):
    strips = plan_strips(lengths, device, targets)
    assert_complete(strips, lengths)
    assert all(strip.shape.shared_bytes(targets.n_letters) <= device.shared_bytes for strip in strips)
    return strips


@pytest.mark.parametrize("name", DEVICES)
@given(
    lengths=st.lists(st.integers(0, 9000), max_size=12),
    n_letters=st.integers(1, 100),
    n_targets=st.integers(1, 10**7),
    longest=st.integers(1, 50_000),
)
@settings(max_examples=60, deadline=None)
def test_every_row_of_every_query_is_scored_once(name, lengths, n_letters, n_targets, longest):
    tiles = n_targets * max(1, longest // 8)
    check(lengths, DEVICES[name], StreamStatistics(n_targets, tiles, tiles // 2 + 1, longest, n_letters))


def test_a_query_without_a_partner_is_unpaired():
    strips = check([100, 5000, 100], DEVICES["sm_90"], swissprot())
    paired = {part.query for strip in strips if not strip.shape.is_paired for part in strip.parts}
    assert paired == {0, 2}
    assert {part.query for strip in strips if strip.shape.is_paired for part in strip.parts} == {1}


def test_queries_that_fit_a_strip_are_not_cut():
    """If that takes no more strips, no boundary rows are stored."""
    strips = check([384] * 16, DEVICES["sm_90"], swissprot())
    assert not any(strip.has_top or strip.has_bottom for strip in strips)
    assert {len(strip.low) for strip in strips} != {1}


def test_lane_rows_of_a_strip():
    shape = Shape(8, 12, 640, Packing.TWO_QUERIES)
    strip = Strip(shape, (Part(2, 24, 30, 0), Part(0, 0, 12, 3)), (Part(1, 0, 90, 0),), has_bottom=True)
    rows = strip.lane_rows(np.array([0, 12, 200, 300]))
    assert rows[:, 0].tolist() == [
        [224, 12, NO_QUERY, 1],
        [236, 12, NO_QUERY, 1],
        [248, 6, 2, 1],
        [0, 12, 0, 0],
        *[[0, 0, NO_QUERY, 0]] * 3,
        [0, 0, NO_QUERY, 2],
    ]
    unpaired = Strip(Shape(8, 12, 640, Packing.MERGED), strip.high[:1], strip.high[:1], has_bottom=False)
    assert unpaired.lane_rows(np.array([0, 12, 200, 300]))[:, :, 2].tolist() == [[NO_QUERY] * 2] * 7 + [[1, 1]]
    assert rows[:, 1].tolist() == [[12 + 12 * lane, 12, NO_QUERY, int(lane > 0)] for lane in range(7)] + [[96, 6, 1, 3]]


def test_a_single_query_meets_pairs_of_targets():
    assert all(strip.shape.is_paired for strip in check([375], DEVICES["sm_90"], swissprot()))


def test_an_alphabet_too_large_for_pairs_is_merged():
    strips = check([375], DEVICES["sm_75"], swissprot(n_letters=100))
    assert {strip.shape.packing for strip in strips} == {Packing.MERGED}


def test_little_of_the_strips_is_padding():
    strips = check(STANDARD, DEVICES["sm_90"], swissprot())
    padded = sum(strip.shape.strip_rows * (1 if strip.shape.is_paired else 2) for strip in strips)
    assert sum(STANDARD) / padded > 0.98


def test_few_targets_are_compared_with_many_rows_at_a_time():
    """A small batch keeps few groups of lanes busy for long, rather than many for a moment."""
    small = StreamStatistics(16_000, 1_500_000, 750_000, 1500, 20)
    widest = max(check(STANDARD, DEVICES["sm_90"], small), key=lambda strip: strip.shape.strip_rows)
    assert widest.shape.lanes == 32


def test_shapes_are_distinct_and_fit_the_registers():
    assert len(set(SHAPES)) == len(SHAPES)
    assert all(shape.threads * (2 * shape.rows + 44) <= 65536 for shape in SHAPES)


def test_few_long_targets_start_where_they_would_keep_the_others_waiting():
    random = np.random.default_rng(1)
    lengths = np.sort(np.append(random.lognormal(5.65, 0.7, 200_000).astype(int) + 1, [35_000, 35_213]))
    start = long_length(Sizes.of(lengths), DEVICES["sm_90"])
    assert 1000 < start < 35_000
    assert (lengths > start).sum() < 200
    assert long_length(Sizes.of(lengths[:-2]), DEVICES["sm_90"]) <= lengths[-3]


@pytest.mark.parametrize(("lengths", "expected"), [([], 0), ([0], 0), ([7], 7), ([500] * 100_000, 500)])
def test_targets_of_one_length_are_not_long(lengths, expected):
    assert long_length(Sizes.of(np.array(lengths, np.int64)), DEVICES["sm_90"]) == expected


@pytest.mark.parametrize("name", DEVICES)
@pytest.mark.parametrize("n_letters", [1, 4, 20, 27, 100])
def test_a_block_fits_every_device(name, n_letters):
    for n_rows in (1, 375, 5000):
        threads, rows = block_shape(DEVICES[name].shared_bytes, n_letters, n_rows)
        assert block_bytes(threads, rows, n_letters) <= DEVICES[name].shared_bytes


def test_short_queries_get_small_blocks():
    sizes = [block_shape(DEVICES["sm_90"].shared_bytes, 23, n_rows)[0] for n_rows in (1, 128, 129, 375, 2048, 2049)]
    assert sizes == [32, 32, 64, 128, 512, 512]


def test_limits_of_packed_scores():
    assert packed_limit(True, 11) == 32756
    assert packed_limit(False, 11) == 2037


def test_a_profile_has_a_word_for_each_symbol_and_row():
    assert Shape(8, 16, 512, Packing.LETTER_PAIRS).profile_bytes(20) == 21 * 21 * 128 * 4
    assert Shape(16, 24, 512, Packing.TWO_QUERIES).profile_bytes(20) == 21 * 384 * 4
    assert Shape(16, 20, 512, Packing.MERGED).profile_bytes(20) == 21 * (320 * 4 + 384 * 2)


def test_long_targets_of_streamed_batches_depend_on_the_strips():
    random = np.random.default_rng(1)
    lengths = np.sort(random.lognormal(5.65, 0.7, 570_000).astype(int) + 1)
    targets, device = StreamStatistics(16_000, 1_500_000, 750_000, 1500, 20), DEVICES["sm_90"]
    many, one = (
        streamed_long_length(Sizes.of(lengths), device, plan_strips(queries, device, targets), n_batches=35)[0]
        for queries in (STANDARD, [144])
    )
    assert 500 < one < many <= lengths[-1]
    assert streamed_long_length(Sizes.of(lengths[:0]), device, [], 1) == (0, 0.0)
