"""Every shape of stream.cu, and strips of different shapes one below the other.

The engine's own plans for small databases use few shapes. Here each is forced, with queries around its height.
"""

from itertools import pairwise

import numpy as np
import pytest

import cuda_cases
from cuda_cases import assert_as_cpu, engine_of_shapes, mixed_targets, random_letters, random_scoring
from cuda_plans import shapes
from exaln.engines.cuda.scan.shapes import SHAPES, Packing
from kernel_cases import mutated

pytestmark = pytest.mark.gpu

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
        cubins(kinds, Device(0).properties.arch)


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
def test_every_shape_scores_as_the_cpu(shape):
    assert_as_cpu(engine_of_shapes(shape), *case(around(shape), seed=shape.strip_rows), FOUR_LETTERS)


IN_TURNS = [
    (one, other)
    for packing in Packing
    for one, other in pairwise([shapes(packing)[place] for place in (0, -1, 9, 20, 3)])
]


@pytest.mark.parametrize(("one", "other"), IN_TURNS, ids=lambda s: f"{s.lanes}x{s.rows}-{s.packing.name.lower()}")
def test_strips_of_different_shapes_in_turn_score_as_the_cpu(one, other):
    """Queries continue from one strip to the next in each half, in both, in none; odd numbers of targets, queries."""
    engine = engine_of_shapes(one, other)
    low, high = sorted((one.strip_rows, other.strip_rows))
    lengths = [5, high + 1, high + low, low // 2, high, 3 * low + 7, 2 * high]
    queries, targets = case(lengths, seed=high)
    assert_as_cpu(engine, queries, targets, FOUR_LETTERS)
    assert_as_cpu(engine, queries[:2], targets[:-1], FOUR_LETTERS)


@pytest.mark.parametrize("gap_open", [0, 15, 16, 40])
@pytest.mark.parametrize("packing", Packing)
def test_boundary_rows_between_strips_with_any_gap_costs(gap_open, packing):
    """Up to some costs F is stored in few bits."""
    scoring = random_scoring(4, 9, gap_open, 2)
    queries, targets = case([200, 150, 90, 333, 64], seed=gap_open)
    assert_as_cpu(engine_of_shapes(shapes(packing)[1]), queries, targets, scoring)
