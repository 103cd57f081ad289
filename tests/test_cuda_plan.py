"""Plans of a scan: every row of every query once, in shapes that fit the card, in the least time that is known."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exaln.cuda.plan import TargetFacts, long_length, plan_scan
from exaln.cuda.variants import SHAPES, Shape, block_bytes, block_shape, packed_limit

CARDS = {
    "sm_75": SimpleNamespace(n_sms=40, shared_bytes=65536),
    "sm_80": SimpleNamespace(n_sms=108, shared_bytes=166912),
    "sm_89": SimpleNamespace(n_sms=128, shared_bytes=101376),
    "sm_90": SimpleNamespace(n_sms=132, shared_bytes=232448),
}
STANDARD = [144, 189, 222, 375, 464, 567, 657, 729, 850, 1000, 1500, 2005]
STANDARD += [2504, 3005, 3564, 4061, 4548, 4743, 5147, 5478]


def swissprot(n_letters=20):
    return TargetFacts(570_000, 51_600_000, 25_800_000, 7000, n_letters)


def rows_of(strips, n_queries):
    """For each query the ranges of rows that are scored, in order."""
    ranges = [[] for _ in range(n_queries)]
    for strip in strips:
        for half in (strip.low, strip.high):
            if half is not None and half.n_rows:
                assert half.n_rows <= strip.shape.strip_rows
                ranges[half.query].append((half.first_row, half.first_row + half.n_rows))
    return ranges


def check(lengths, card, targets):
    strips = plan_scan(lengths, card, targets)
    for length, ranges in zip(lengths, rows_of(strips, len(lengths)), strict=True):
        edges = [edge for own in ranges for edge in own]
        assert edges[1:-1:2] == edges[2::2], "strips follow each other without a gap"
        assert (edges[0], edges[-1]) == (0, length) if length else edges == []
    for strip in strips:
        assert strip.shape.shared_bytes(targets.n_letters) <= card.shared_bytes
        assert (strip.high is None) == strip.shape.paired
        assert strip.has_top == (strip.low.first_row > 0)
        assert strip.split is None or (strip.has_top and strip.shape.paired)
    return strips


@pytest.mark.parametrize("name", CARDS)
@given(
    lengths=st.lists(st.integers(0, 9000), max_size=12),
    n_letters=st.integers(1, 100),
    n_targets=st.integers(1, 10**7),
    longest=st.integers(1, 50_000),
)
@settings(max_examples=60, deadline=None)
def test_every_row_of_every_query_is_scored_once(name, lengths, n_letters, n_targets, longest):
    tiles = n_targets * max(1, longest // 8)
    check(lengths, CARDS[name], TargetFacts(n_targets, tiles, tiles // 2 + 1, longest, n_letters))


def test_a_boundary_is_written_where_it_is_read():
    """A strip with rows above follows one of the same layout that kept its last row, or a split."""
    kept = None
    for strip in check(STANDARD, CARDS["sm_90"], swissprot()):
        if strip.split is not None:
            assert kept == (False, (strip.low.query, strip.low.first_row))
        elif strip.has_top:
            assert kept == (strip.shape.paired, (strip.low.query, strip.low.first_row))
        half = strip.low if strip.shape.paired or strip.high.n_rows == 0 else strip.high
        kept = None
        if strip.has_bottom:
            kept = (strip.shape.paired, (half.query, strip.low.first_row + strip.shape.strip_rows))
        if kept and not strip.shape.paired and strip.high.n_rows:
            kept = (False, (strip.low.query, kept[1][1])) if goes_on_packed(strip, STANDARD) else kept


def goes_on_packed(strip, lengths):
    return lengths[strip.low.query] > strip.low.first_row + strip.shape.strip_rows


def test_neighbours_by_length_are_packed_and_what_is_longer_goes_on_alone():
    strips = check([100, 5000, 5400, 100], CARDS["sm_90"], swissprot())
    together = {(s.low.query, s.high.query) for s in strips if s.high is not None}
    assert together == {(0, 3), (1, 2)}
    alone = [s for s in strips if s.high is None]
    assert {s.low.query for s in alone} == {2}
    assert [s.split for s in alone] == [1] + [None] * (len(alone) - 1)


def test_a_single_query_meets_pairs_of_targets():
    assert all(strip.shape.paired for strip in check([375], CARDS["sm_90"], swissprot()))


def test_an_alphabet_too_large_for_pairs_leaves_half_of_the_words_empty():
    strips = check([375], CARDS["sm_75"], swissprot(n_letters=100))
    assert [strip.high.n_rows for strip in strips] == [0] * len(strips)


def test_little_is_padded():
    strips = plan_scan(STANDARD, CARDS["sm_90"], swissprot())
    padded = sum(strip.shape.strip_rows * (1 if strip.shape.paired else 2) for strip in strips)
    assert sum(STANDARD) / padded > 0.96


def test_shapes_are_distinct_and_fit_the_registers():
    assert len(set(SHAPES)) == len(SHAPES)
    assert all(shape.threads * (2 * shape.rows + 44) <= 65536 for shape in SHAPES)


def test_few_long_targets_start_where_they_would_keep_the_others_waiting():
    random = np.random.default_rng(1)
    lengths = np.sort(np.append(random.lognormal(5.65, 0.7, 200_000).astype(int) + 1, [35_000, 35_213]))
    start = long_length(lengths, CARDS["sm_90"])
    assert 1000 < start < 35_000
    assert (lengths > start).sum() < 200
    assert long_length(lengths[:-2], CARDS["sm_90"]) <= lengths[-3]


@pytest.mark.parametrize(("lengths", "expected"), [([], 0), ([0], 0), ([7], 7), ([500] * 100_000, 500)])
def test_targets_of_one_length_are_not_long(lengths, expected):
    assert long_length(np.array(lengths, np.int64), CARDS["sm_90"]) == expected


@pytest.mark.parametrize("name", CARDS)
@pytest.mark.parametrize("n_letters", [1, 4, 20, 27, 100])
def test_a_block_fits_every_card(name, n_letters):
    threads, rows = block_shape(CARDS[name].shared_bytes, n_letters)
    assert block_bytes(threads, rows, n_letters) <= CARDS[name].shared_bytes


def test_limits_of_packed_scores():
    assert packed_limit(True, 11) == 32756
    assert packed_limit(False, 11) == 2037


def test_a_profile_has_a_word_for_each_symbol_and_row():
    assert Shape(8, 16, 512, paired=True).shared_bytes(20) == 21 * 21 * 128 * 4
    assert Shape(16, 24, 512, paired=False).shared_bytes(20) == 21 * 384 * 4
