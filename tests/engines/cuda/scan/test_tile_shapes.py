"""Every shape of the cuda engine's kernel for many targets, and strips of different shapes one below the other.

The engine's own plans for small databases use few shapes: here each is forced, with queries around its height.
"""

from itertools import pairwise

import numpy as np
import pytest

import cuda_cases
from cuda_cases import assert_as_cpu, mixed_targets, random_letters, random_scoring, replace_plan, shared_engine
from cuda_plans import plan_of_shapes, shapes
from exaln.engines.cuda.scan.variants import SHAPES, Packing
from kernel_cases import mutated

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("streams")]

FOUR_LETTERS = random_scoring(4, 9, 5, 2)
"""Few letters, so that every shape fits the shared memory of a device."""


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """All kernels at once, on all cores: one by one they would take a minute."""
    if cuda_cases.IS_CUDA and cuda_cases.unavailable_reason() is None:
        from exaln.engines.cuda.runtime.compiler import cubins
        from exaln.engines.cuda.runtime.device import Device

        gaps = FOUR_LETTERS.gap_first, FOUR_LETTERS.gap_extend
        kinds = [shape.source(4, *gaps, keeps_rows=keeps) for shape in SHAPES for keeps in (False, True)]
        cubins(kinds, Device(0).facts.arch)


def case(lengths, seed, n_targets=61):
    rng = np.random.default_rng(seed)
    whole = random_letters(rng, max(lengths), FOUR_LETTERS)
    queries = [mutated(rng, whole, 4, 0.05)[: max(1, length)] for length in lengths]
    queries = [np.resize(query, length) for query, length in zip(queries, lengths, strict=True)]
    return queries, mixed_targets(rng, n_targets, FOUR_LETTERS, queries, longest=700)


def around(shape):
    """Lengths of queries for strips of a shape: within a lane, exactly one, within a strip, exactly one, several."""
    height, rows = shape.strip_rows, shape.rows
    return [
        max(1, height - 1),
        height,
        height + 1,
        3,
        rows,
        2 * height,
        rows + 1,
        2 * height + 3,
        2 * rows,
        height // 3,
    ]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: f"{s.lanes}x{s.rows}-{s.packing.name.lower()}")
def test_every_shape(monkeypatch, shape):
    replace_plan(monkeypatch, "plan_scan", plan_of_shapes(shape))
    assert_as_cpu(shared_engine(), *case(around(shape), seed=shape.strip_rows), FOUR_LETTERS)


IN_TURNS = [
    (one, other)
    for packing in Packing
    for one, other in pairwise([shapes(packing)[place] for place in (0, -1, 9, 20, 3)])
]


@pytest.mark.parametrize(("one", "other"), IN_TURNS, ids=lambda s: f"{s.lanes}x{s.rows}-{s.packing.name.lower()}")
def test_strips_of_different_shapes_in_turns(monkeypatch, one, other):
    """Queries that go on from one to the other in each half, in both, in none; odd numbers of targets, queries."""
    replace_plan(monkeypatch, "plan_scan", plan_of_shapes(one, other))
    low, high = sorted((one.strip_rows, other.strip_rows))
    lengths = [5, high + 1, high + low, low // 2, high, 3 * low + 7, 2 * high]
    queries, targets = case(lengths, seed=high)
    assert_as_cpu(shared_engine(), queries, targets, FOUR_LETTERS)
    assert_as_cpu(shared_engine(), queries[:2], targets[:-1], FOUR_LETTERS)


@pytest.mark.parametrize("gap_open", [0, 15, 16, 40])
@pytest.mark.parametrize("packing", Packing)
def test_rows_between_strips_with_any_gap_costs(monkeypatch, gap_open, packing):
    """Up to some costs F is kept in few bits."""
    scoring = random_scoring(4, 9, gap_open, 2)
    replace_plan(monkeypatch, "plan_scan", plan_of_shapes(shapes(packing)[1]))
    queries, targets = case([200, 150, 90, 333, 64], seed=gap_open)
    assert_as_cpu(shared_engine(), queries, targets, scoring)
