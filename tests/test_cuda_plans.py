"""Every shape of the cuda engine's kernel for many targets, and every change from two queries to two targets in a word.

The engine's own plans for small databases use few shapes: here each is forced, with queries around its height.
"""

from itertools import cycle, pairwise

import numpy as np
import pytest

import cuda_cases
from cuda_cases import assert_as_cpu, mixed_targets, random_letters, random_scoring, replace_plan, shared_engine
from cuda_plans import plan_of_one_shape, plan_with_split, shapes
from exaln.cuda.variants import SHAPES
from kernel_cases import mutated

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("streams")]

FOUR_LETTERS = random_scoring(4, 9, 5, 2)
"""Few letters, so that every shape fits the shared memory of a card."""


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """All kernels at once, on all cores: one by one they would take a minute."""
    if cuda_cases.IS_CUDA and cuda_cases.unavailable_reason() is None:
        from exaln.cuda.card import Card
        from exaln.cuda.compiler import cubins

        gaps = FOUR_LETTERS.gap_first, FOUR_LETTERS.gap_extend
        cubins([shape.source(4, *gaps) for shape in SHAPES], Card(0).facts.arch)


def case(lengths, seed, n_targets=121):
    rng = np.random.default_rng(seed)
    whole = random_letters(rng, max(lengths), FOUR_LETTERS)
    queries = [mutated(rng, whole, 4, 0.05)[: max(1, length)] for length in lengths]
    queries = [np.resize(query, length) for query, length in zip(queries, lengths, strict=True)]
    return queries, mixed_targets(rng, n_targets, FOUR_LETTERS, queries, longest=700)


def around(height):
    """Lengths of queries for strips of a height: within one, exactly one, several."""
    return [max(1, height - 1), height, height + 1, 2 * height, 2 * height + 3, max(1, height // 3), 3]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: f"{s.lanes}x{s.rows}-{'targets' if s.paired else 'queries'}")
def test_every_shape(monkeypatch, shape):
    replace_plan(monkeypatch, "plan_scan", plan_of_one_shape(shape))
    assert_as_cpu(shared_engine(), *case(around(shape.strip_rows), seed=shape.strip_rows), FOUR_LETTERS)


SPLITS = list(zip(shapes(paired=False)[::2], cycle(shapes(paired=True)[::-3])))


@pytest.mark.parametrize(("both", "rest"), SPLITS, ids=lambda s: f"{s.lanes}x{s.rows}")
def test_rows_beyond_the_partner(monkeypatch, both, rest):
    """The longer query first and second, by a little and by several strips; odd numbers of targets and of queries."""
    replace_plan(monkeypatch, "plan_scan", plan_with_split(both, rest))
    height = both.strip_rows
    lengths = [5, height + 1, height + rest.strip_rows, height // 2, height, 3 * height + 7, 2 * rest.strip_rows]
    queries, targets = case(lengths, seed=height)
    assert_as_cpu(shared_engine(), queries, targets, FOUR_LETTERS)
    assert_as_cpu(shared_engine(), queries[:2], targets[:-1], FOUR_LETTERS)


def test_splits_meet_every_kind_of_strip():
    """Of the pairs above: taller below, taller above, equal lanes or not."""
    heights = [(both.strip_rows, rest.strip_rows) for both, rest in SPLITS]
    assert any(both < rest for both, rest in heights)
    assert any(both > rest for both, rest in heights)
    assert all(first != second for first, second in pairwise(heights))
