"""The kernel for many targets, run on the CPU, several strips in a launch: the scores of the reference, whatever the
lengths, and however few lanes, chunks and blocks there are."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import emulated_cuda
from exaln.engines.cuda.letters import FoldedScores
from exaln.engines.cuda.scan.shapes import Packing, Shape
from exaln.engines.cuda.scan.sizes import Sizes
from exaln.engines.cuda.scan.stream_layout import BOUNDARY_TILE_BYTES, stream_layout
from exaln.engines.cuda.scan.strips import Strip, cut_strips
from exaln.engines.reference.engine import local_score
from exaln.scoring.scoring import Scoring
from kernel_cases import random_codes, substituted

pytestmark = pytest.mark.skipif(emulated_cuda.COMPILER is None, reason="no g++")

N_LETTERS, ROWS, THREADS = 4, 4, 64
SCORING = Scoring(match=3, mismatch=-2, gap_open=4, gap_extend=1)
FOLDED = FoldedScores(np.arange(1, 257).astype(np.uint8), np.ascontiguousarray(SCORING.matrix[:4, :4], np.int16))


@dataclass
class Stream:
    """Targets, in ascending order of length, as stream.cu reads them."""

    words: np.ndarray
    chunks: np.ndarray
    n_ids: int

    @staticmethod
    def of(targets, packing):
        is_paired = packing != Packing.TWO_QUERIES
        layout = stream_layout(Sizes.of(np.array([len(target) for target in targets])), is_paired=is_paired)
        starts, step = layout.starts.expanded(), 1 + is_paired
        letters = np.zeros((step, 4 * layout.n_tiles), np.uint32)
        for number, target in enumerate(targets):
            begin = 4 * starts[number // step]
            letters[number % step, begin : begin + len(target)] = target + 1
        if packing == Packing.LETTER_PAIRS:
            bytes_of = (letters[0] * (N_LETTERS + 1) + letters[1]).astype(np.uint16).view(np.uint8)
        else:
            bytes_of = letters.reshape(step, -1, 4).swapaxes(0, 1).astype(np.uint8)
        tiles = bytes_of.reshape(layout.n_tiles, -1).copy()
        tiles[starts[1:] - 1, -1] |= 0x80
        chunks = np.stack((layout.chunk_tiles.expanded(), layout.chunk_ids.expanded()), axis=1).astype(np.uint32)
        return Stream(tiles, chunks, len(starts) - 1)


def scored(queries, targets, shape, blocks, *, separately=False, together=True):
    """int32[queries, targets]: by the kernel. together: blocks side by side; separately: a launch for each strip."""
    lengths = [len(query) for query in queries]
    stacks = ([0], [0]) if shape.is_paired else (list(range(0, len(queries), 2)), list(range(1, len(queries), 2)))
    n_lanes = max(sum(map(shape.lanes_for, (lengths[query] for query in stack))) for stack in stacks)
    strips = list(cut_strips(stacks, lengths, [shape] * -(-n_lanes // shape.lanes)))
    stream, offsets = Stream.of(targets, shape.packing), np.cumsum([0, *lengths])
    rows = np.stack([strip.lane_rows(offsets) for strip in strips])
    keeps_rows = any(strip.keeps_rows for strip in strips)
    source = shape.source(N_LETTERS, SCORING.gap_first, SCORING.gap_extend, keeps_rows=keeps_rows)
    kernel = emulated_cuda.library_of(source).launch_stream_scores
    n, row_stride = len(strips), len(targets) + 1
    tickets, n_done, passed = (np.zeros(size, np.uint32) for size in (n, n, stream.n_ids))
    kept = np.full(len(stream.words) * BOUNDARY_TILE_BYTES // 4, 0x7FFF7FFF, np.uint32)
    kept[: BOUNDARY_TILE_BYTES // 4] = 0
    scores = np.zeros((len(queries), row_stride), np.int32)
    for first in range(n) if separately else (0,):
        emulated_cuda.launch(
            kernel,
            stream.words,
            stream.chunks,
            len(stream.chunks) - 1,
            1 if separately else n,
            first,
            tickets[first:],
            n_done[first:],
            passed,
            rows[first:],
            np.concatenate(queries),
            FOLDED.packed(True),
            kept,
            scores,
            row_stride,
            blocks=blocks,
            threads=THREADS,
            shared=shape.profile_bytes(N_LETTERS),
            together=together,
        )
    return scores[:, :-1], strips


def related(query_lengths, target_lengths, seed=1):
    """Queries and targets, these in order, all of which have most of their letters in common."""
    random = np.random.default_rng(seed)
    whole = random_codes(random, max(*query_lengths, *target_lengths), N_LETTERS)
    sides = query_lengths, sorted(target_lengths)
    return tuple([substituted(random, whole[:length], N_LETTERS) for length in lengths] for lengths in sides)


def check(query_lengths, target_lengths, shape, blocks, seed=1, *, together=True):
    queries, targets = related(query_lengths, target_lengths, seed)
    found, strips = scored(queries, targets, shape, blocks, together=together)
    assert found.tolist() == [[local_score(query, target, SCORING) for target in targets] for query in queries]
    return strips


def shape_of(lanes, packing=Packing.TWO_QUERIES):
    return Shape(lanes, ROWS, THREADS, packing)


lengths = st.lists(st.one_of(st.integers(1, 12), st.integers(1, 130)), min_size=1, max_size=30)


@settings(max_examples=25)
@given(st.lists(st.integers(1, 200), min_size=2, max_size=5), lengths, st.sampled_from([8, 16, 32]), st.integers(1, 3))
def test_two_queries_in_a_word_score_as_the_reference(query_lengths, target_lengths, lanes, blocks):
    check(query_lengths, target_lengths, shape_of(lanes), blocks)


@settings(max_examples=15)
@given(
    st.integers(1, 300),
    lengths,
    st.sampled_from([8, 16, 32]),
    st.integers(1, 3),
    st.sampled_from([Packing.LETTER_PAIRS, Packing.MERGED]),
)
def test_two_targets_in_a_word_score_as_the_reference(query_length, target_lengths, lanes, blocks, packing):
    check([query_length], target_lengths, shape_of(lanes, packing), blocks)


@pytest.mark.parametrize("lanes", [8, 16, 32])
@pytest.mark.parametrize(
    "target_lengths",
    [[4], [300], [1] * 40, [300, *[5] * 20], [40] * 60],
    ids=["short", "long", "tiny", "mixed", "even"],
)
def test_many_strips_score_as_the_reference(lanes, target_lengths):
    """With one target that all strips wait for, more groups than chunks, and one target longer than all others."""
    strips = check([700, 650], target_lengths, shape_of(lanes), 3)
    assert len(strips) > 4
    assert all(strip.keeps_rows for strip in strips)


def test_a_short_last_chunk_is_counted_once():
    """It is looked up twice, and the strips below wait for its count."""
    check([700, 650], [3] * 90, shape_of(32), 1)


def test_blocks_that_come_late_find_nothing_to_do():
    check([300, 280, 90], [30] * 20 + [200], shape_of(16), 3, together=False)


@pytest.mark.parametrize("lanes", [8, 32])
def test_strips_without_rows_between_them(lanes):
    shape = shape_of(lanes)
    queries, targets = related([4 * lanes] * 6, [9] * 30 + [70, 80])
    found, strips = scored(queries, targets, shape, 2)
    assert not any(strip.keeps_rows for strip in strips)
    assert len(strips) == 3
    assert found.tolist() == [[local_score(query, target, SCORING) for target in targets] for query in queries]


def test_a_launch_for_each_strip_gives_the_same():
    queries, targets = related([300, 280, 90], [30] * 20 + [200])
    found, strips = scored(queries, targets, shape_of(16), 2, separately=True)
    assert len(strips) > 2
    assert isinstance(strips[0], Strip)
    np.testing.assert_array_equal(found, scored(queries, targets, shape_of(16), 2)[0])
