"""The kernel for one pair at a time, run on the CPU: the scores of the reference, whatever the lengths and parts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import emulated_cuda
from exaln.engines.cuda.runtime.compiler import Source
from exaln.engines.reference.engine import local_score
from exaln.scoring.scoring import Scoring
from kernel_cases import random_codes, substituted

pytestmark = pytest.mark.skipif(emulated_cuda.COMPILER is None, reason="no g++")

N_LETTERS, ROWS = 4, 4
SCORING = Scoring(match=3, mismatch=-2, gap_open=4, gap_extend=1)
lengths = st.lists(st.one_of(st.integers(1, 12), st.integers(1, 330)), min_size=1, max_size=3)


def scored(queries, targets, items, threads):
    """int32[queries, targets]: the best score of the items of each pair."""
    gaps = (("GAP_FIRST", SCORING.gap_first), ("GAP_EXTEND", SCORING.gap_extend))
    source = Source("block.cu", (("THREADS", threads), ("ROWS", ROWS), ("LETTERS", N_LETTERS), *gaps))
    kernel = emulated_cuda.library_of(source).launch_block_scores
    blocks, longest = 3, max(map(len, targets))
    n_strips = -(-max(map(len, queries)) // (threads * ROWS))
    fold = np.arange(1, 257).astype(np.uint8)
    table = np.ascontiguousarray(SCORING.matrix[:N_LETTERS, :N_LETTERS], np.int16)
    scores = np.zeros((len(queries), len(targets)), np.int32)
    emulated_cuda.launch(
        kernel,
        np.concatenate(targets),
        np.cumsum([0, *map(len, targets)]),
        fold,
        np.array(items, np.uint32),
        len(items),
        np.zeros(1, np.uint32),
        np.concatenate(queries),
        np.cumsum([0, *map(len, queries)]),
        table,
        n_strips,
        np.zeros((len(items), longest, 2), np.int32),
        longest,
        np.zeros((len(items), n_strips), np.uint32),
        scores,
        len(targets),
        2**31 - 1 - SCORING.max_score,
        np.zeros(1, np.uint32),
        blocks=blocks,
        threads=threads,
        shared=(N_LETTERS + 1) * threads * ROWS * 4,
    )
    return scores


@settings(max_examples=30)
@given(lengths, lengths, st.sampled_from([32, 64]), st.integers(0, 2**32 - 1))
def test_block_kernel_scores_as_the_reference_with_any_strips_and_warps(query_lengths, target_lengths, threads, seed):
    random = np.random.default_rng(seed)
    whole = random_codes(random, 400, N_LETTERS)
    queries = [whole[:length] for length in query_lengths]
    targets = [substituted(random, whole[:length], N_LETTERS) for length in target_lengths]
    items = [(q, t, 0, len(target)) for q in range(len(queries)) for t, target in enumerate(targets)]
    expected = [[local_score(query, target, SCORING) for target in targets] for query in queries]
    np.testing.assert_array_equal(scored(queries, targets, items, threads), expected)


def test_parts_of_a_target_are_combined():
    random = np.random.default_rng(1)
    target = random_codes(random, 200, N_LETTERS)
    query = target[60:190].copy()
    found = scored([query], [target], [(0, 0, 0, 150), (0, 0, 50, 150)], 32)
    assert found == [[local_score(query, target, SCORING)]]
