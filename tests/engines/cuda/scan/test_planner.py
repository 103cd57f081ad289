"""Plans of a scan, made without a GPU: what they contain, and that they follow the rules that are passed in."""

from dataclasses import fields

import numpy as np
import pytest

from cuda_plans import IN_STREAMS, assert_complete, plan_of_shapes
from exaln.engines.cuda.runtime.device import DeviceProperties
from exaln.engines.cuda.scan.buffers import BOUNDARIES, RESULT_BUFFERS, SLOTS, STREAMS
from exaln.engines.cuda.scan.division import Requirements
from exaln.engines.cuda.scan.plan import PlannedKernel
from exaln.engines.cuda.scan.planner import Planner
from exaln.engines.cuda.scan.planner import plan_scan as plan_sizes
from exaln.engines.cuda.scan.shapes import Packing, Shape
from exaln.engines.cuda.scan.sizes import Sizes
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import PROTEIN

H200 = DeviceProperties(n_sms=132, shared_bytes=232448, dpx=True, arch="sm_90")
T4 = DeviceProperties(n_sms=40, shared_bytes=65536, dpx=False, arch="sm_75")
LARGE, SMALL = 100 << 30, 16 << 20
QUERIES = [144, 189, 0, 375, 1000, 5478]
TOO_LARGE = Scoring(match=9000, mismatch=-9, gap_open=20, gap_extend=3, alphabet=PROTEIN)


def lengths(*sizes):
    """Ascending target lengths of segments, as in Swiss-Prot, with one long target each."""
    random = np.random.default_rng(1)
    drawn = [random.lognormal(5.65, 0.7, size).astype(np.int64) for size in sizes]
    return [np.sort(np.append(own, 30_000)) for own in drawn]


def plan_scan(segments, *arguments, **options):
    return plan_sizes([Sizes.of(own) for own in segments], *arguments, **options)


def rows_of(batch):
    return batch.rows.segment_rows(np.arange(len(batch.rows)))


def check(plan, segments, query_lengths):
    """Batches have all targets once, groups all queries, and strips all rows of all queries."""
    rows = [np.concatenate([rows_of(one) for one in plan.batches if one.rows.segment == number])
            for number in range(len(segments))]  # fmt: skip
    assert [np.sort(own).tolist() for own in rows] == [list(range(len(own))) for own in segments]
    edges = [(group.first, group.end) for group in plan.groups]
    assert [first for first, _ in edges] + [len(query_lengths)] == [0, *(end for _, end in edges)]
    for batch in plan.batches:
        assert batch.rows.n_residues == segments[batch.rows.segment][rows_of(batch)].sum()
        for group, strips in zip(plan.groups, batch.strips, strict=True):
            assert bool(strips) == (batch.targets is not None and any(group.lengths))
            if strips:
                assert_complete(strips, group.lengths)
    assert plan.estimated_seconds > 0
    assert all(buffer.n_bytes > 0 for buffer in plan.buffers)


@pytest.mark.parametrize("budget", [LARGE, SMALL])
@pytest.mark.parametrize("n_devices", [1, 3])
@pytest.mark.parametrize("device", [H200, T4], ids=lambda device: device.arch)
def test_a_plan_has_every_target_and_every_query_once(budget, n_devices, device):
    segments = lengths(20_000, 7000)
    plan = plan_scan(segments, QUERIES, Scoring(), device, budget, n_devices)
    assert plan.is_resident == (budget == LARGE)
    check(plan, segments, QUERIES)


def test_a_resident_plan_needs_no_scratch_sizes_and_names_its_memory():
    plan = plan_scan(lengths(20_000), QUERIES, Scoring(), H200, LARGE)
    assert plan.scratch == {}
    names = ["residues and offsets", "streams of tiles", "boundary rows between strips", "scores and counters"]
    assert [buffer.name for buffer in plan.buffers] == names


def test_the_buffers_of_a_streamed_plan_fit_the_budget():
    plan = plan_scan(lengths(50_000), QUERIES, Scoring(), H200, SMALL)
    assert sum(buffer.n_bytes for buffer in plan.buffers) == sum(plan.scratch.values()) < SMALL
    needed = {*SLOTS, *(buffers.launch_state for buffers in RESULT_BUFFERS)}
    needed |= {STREAMS[packing] for packing in Packing if plan.requirements.streams[packing]}
    needed |= {BOUNDARIES[is_paired] for is_paired in (0, 1) if plan.requirements.boundaries[is_paired]}
    assert set(plan.scratch) == needed
    assert plan.requirements == Requirements.of(plan.batches[0].strips[0])


def test_scores_that_do_not_fit_packed_numbers_are_scored_one_by_one():
    segments = lengths(3000)
    for budget in (LARGE, 1 << 20):
        plan = plan_scan(segments, QUERIES, TOO_LARGE, H200, budget)
        check(plan, segments, QUERIES)
        assert plan.long_length == 0
        shortest, longest = segments[0][0], segments[0][-1]
        assert plan.kernels == (PlannedKernel("block", 7, 5, (144, 5478), (max(1, shortest), longest)),)


def test_kernels_are_listed_by_shape():
    in_turn = Shape(8, 16, 512, Packing.TWO_QUERIES)
    planner = Planner(strips=plan_of_shapes(in_turn), **IN_STREAMS)
    segments = [np.array([10, 20, 300])]
    plan = plan_scan(segments, [100, 0, 128, 500], Scoring(), H200, LARGE, planner=planner)
    assert plan.kernels == (PlannedKernel("8 x 16 two queries", 5, 3, (100, 500), (10, 300)),)


def test_twice_the_queries_take_about_twice_as_long_and_two_devices_half():
    segments = lengths(200_000)
    one, two = (plan_scan(segments, [1000] * n, Scoring(), H200, LARGE) for n in (20, 40))
    assert 1.8 < two.estimated_seconds / one.estimated_seconds < 2.2
    shared = plan_scan(segments, [1000] * 40, Scoring(), H200, LARGE, n_devices=2)
    assert 0.8 < 2 * shared.estimated_seconds / two.estimated_seconds < 1.3


def test_an_h200_is_estimated_near_its_measured_speed():
    segments = lengths(200_000)
    plan = plan_scan(segments, [1000] * 40, Scoring(), H200, LARGE)
    cells = 40_000 * int(segments[0].sum())
    assert 6e12 < cells / plan.estimated_seconds < 8e12


class Used(Exception):
    pass


@pytest.mark.parametrize("rule", [field.name for field in fields(Planner)])
def test_every_rule_that_is_passed_in_is_used(rule):
    """Otherwise tests of the GPU would test less than they say."""

    def used(*arguments):
        raise Used

    rules = {"divide_resident": lambda *arguments: None, rule: used}
    with pytest.raises(Used):
        plan_scan(lengths(1000), QUERIES, Scoring(), H200, LARGE, planner=Planner(**rules))


def test_queries_are_grouped_by_the_memory_of_their_scores():
    plan = plan_scan([np.full(100_000, 50)], [30] * 2000, Scoring(), H200, LARGE)
    assert {len(group) for group in plan.groups} == {500}
    small = plan_scan([np.full(100_000, 50)], [30] * 2000, Scoring(), H200, 512 << 20)
    assert max(len(group) for group in small.groups) * 8 * 100_001 <= (512 << 20) // 8


def test_no_queries_and_no_targets_have_an_empty_plan():
    assert plan_scan([np.array([5])], [], Scoring(), H200, LARGE).groups == ()
    nothing = plan_scan([np.empty(0, np.int64)], [5], Scoring(), H200, LARGE)
    assert (nothing.batches, nothing.kernels, nothing.estimated_seconds) == ((), (), 0)
