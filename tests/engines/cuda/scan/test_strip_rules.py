"""Strips of the cuda engine, planned and forced by tests: each continues where the one before ends."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuda_plans import assert_complete, plan_of_shapes, shapes
from exaln.engines.cuda.scan.shapes import SHAPES, Packing
from exaln.engines.cuda.scan.strips import StreamStatistics, plan_strips

SHARED = {"sm_75": 65_536, "sm_80": 166_912, "sm_86": 101_376, "sm_90": 232_448, "sm_120": 101_376}

devices = st.builds(
    lambda arch, n_sms: SimpleNamespace(n_sms=n_sms, shared_bytes=SHARED[arch]),
    st.sampled_from(sorted(SHARED)),
    st.integers(1, 200),
)
query_lengths = st.lists(st.integers(0, 6000) | st.sampled_from([0, 1, 127, 128, 129, 640, 1280]), max_size=12)


@st.composite
def target_statistics(draw):
    longest = draw(st.integers(0, 40_000))
    n_targets = draw(st.sampled_from([1, 2, 300, 60_000, 5_000_000]))
    n_tiles = n_targets * draw(st.integers(1, 1 + longest // 4))
    return StreamStatistics(
        n_targets, n_tiles, n_tiles // 2 + 1, longest, draw(st.sampled_from([1, 4, 15, 20, 24, 31]))
    )


@given(query_lengths, devices, target_statistics())
def test_planned_strips_are_complete(lengths, device, targets):
    plan = plan_strips(lengths, device, targets)
    assert_complete(plan, lengths)
    for shape in {strip.shape for strip in plan}:
        assert shape.shared_bytes(targets.n_letters) <= device.shared_bytes


DEVICE_AND_TARGETS = SimpleNamespace(n_sms=132, shared_bytes=SHARED["sm_90"]), StreamStatistics(100, 999, 555, 99, 4)


@given(query_lengths, st.sampled_from(Packing), st.data())
def test_forced_strips_are_complete(lengths, packing, data):
    in_turn = data.draw(st.lists(st.sampled_from(shapes(packing)), min_size=1, max_size=3))
    assert_complete(plan_of_shapes(*in_turn)(lengths, *DEVICE_AND_TARGETS), lengths)


def test_every_shape_fits_the_devices_that_need_it():
    """With four letters all of them fit an H200, so that tests can use them."""
    assert max(shape.shared_bytes(4) for shape in SHAPES) <= SHARED["sm_90"]


@pytest.mark.parametrize("n_letters", range(1, 32))
def test_every_number_of_letters_can_be_searched(n_letters):
    for shared_bytes in SHARED.values():
        device = SimpleNamespace(n_sms=30, shared_bytes=shared_bytes)
        plan = plan_strips([1, 700, 5000], device, StreamStatistics(1000, 50_000, 26_000, 900, n_letters))
        assert_complete(plan, [1, 700, 5000])
