"""Where targets lie in streams, how letters are folded, and how long targets are cut: against plain definitions."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exaln.engines.cuda.letters import fold_letters
from exaln.engines.cuda.scan.sizes import Sizes
from exaln.engines.cuda.scan.stream_layout import CHUNK_TILES, stream_layout
from exaln.engines.cuda.scan.target_parts import alignment_span, pair_items
from exaln.engines.reference.engine import local_score
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import DNA, PROTEIN

BLOSUM62 = Scoring()
lengths_of_targets = st.lists(st.one_of(st.integers(0, 12), st.integers(0, 400)), max_size=90).map(
    lambda lengths: np.array(sorted(lengths), np.int64)
)


def plain_layout(lengths, is_paired):
    """First tiles of targets or pairs, first ids of chunks; one after the other."""
    step = 2 if is_paired else 1
    longest = [max(lengths[i : i + step]) for i in range(0, len(lengths), step)]
    starts = [1]
    for length in longest:
        starts.append(starts[-1] + max(1, -(-length // 4)))
    chunks = [0]
    for end in range(1, len(longest) + 1):
        if starts[end] - starts[chunks[-1]] >= CHUNK_TILES or end == len(longest):
            chunks.append(end)
    return starts, chunks


@given(lengths_of_targets, st.booleans())
def test_a_stream_is_laid_out_as_if_target_by_target(lengths, is_paired):
    layout = stream_layout(Sizes.of(lengths), is_paired=is_paired)
    starts, chunks = plain_layout(lengths.tolist(), is_paired)
    assert layout.starts.expanded().tolist() == starts
    assert layout.chunk_ids.expanded().tolist() == chunks
    assert layout.chunk_tiles.expanded().tolist() == [starts[first] for first in chunks]
    assert (layout.n_tiles, layout.n_chunks) == (starts[-1], len(chunks) - 1)
    assert layout.n_bytes == starts[-1] * (8 if is_paired else 4)


def test_many_targets_of_few_lengths_have_few_breakpoints():
    lengths = np.repeat(np.arange(20, 40), 1000)
    layout = stream_layout(Sizes.of(lengths), is_paired=False)
    assert len(Sizes.of(lengths).sums().breakpoints) == 20
    assert len(layout.starts.breakpoints) == 6
    assert len(layout.chunk_ids.breakpoints) <= 8


@given(lengths_of_targets, st.integers(0, 5), st.data())
def test_sizes_of_a_range_of_rows(lengths, begin, data):
    first = data.draw(st.integers(0, len(lengths)))
    end = data.draw(st.integers(first, len(lengths)))
    sizes, own = Sizes.of(lengths).rows(first, end), lengths[first:end]
    assert sizes.sums(begin).expanded().tolist() == [begin, *(begin + np.cumsum(own)).tolist()]
    assert sizes.total == own.sum()
    assert np.repeat(sizes.values, np.diff(sizes.firsts, append=sizes.n)).tolist() == own.tolist()


@given(st.sets(st.integers(0, len(PROTEIN.letters) - 1)))
def test_folded_letters_score_the_same(used):
    is_used = np.zeros(256, np.bool_)
    is_used[list(used)] = True
    folded = fold_letters(BLOSUM62, is_used)
    codes = np.array(sorted(used), np.int64)
    assert folded.table.dtype == np.int16
    assert folded.table.shape == (len(PROTEIN.letters), folded.n_letters)
    assert set(folded.fold[codes].tolist()) == (set(range(1, folded.n_letters + 1)) if used else set())
    np.testing.assert_array_equal(folded.table[:, folded.fold[codes] - 1], BLOSUM62.matrix[:, codes])
    assert len({tuple(column) for column in folded.table.T.tolist()}) == folded.n_letters


@pytest.mark.parametrize("dpx", [True, False])
def test_packed_scores_are_the_scores_and_impossible_where_there_is_no_letter(dpx):
    folded = fold_letters(BLOSUM62, np.ones(256, bool))
    packed = folded.packed(dpx)
    assert packed.shape[1] % 8 == 0
    numbers = packed.view(np.int16 if dpx else np.float16)
    n_letters = folded.n_letters
    np.testing.assert_array_equal(numbers[1:, 1 : 1 + n_letters], folded.table)
    least = -32768 if dpx else -np.inf
    assert (numbers[0] == least).all()
    assert (numbers[:, 0] == least).all()


def test_letters_with_equal_scores_are_folded():
    everything = np.ones(256, np.bool_)
    assert fold_letters(Scoring.default(DNA), everything).n_letters < len(DNA.letters)
    assert fold_letters(BLOSUM62, everything).n_letters < len(PROTEIN.letters)


def items_of(lengths, query_lengths, scoring, n_blocks, is_idle=False):
    rows, lengths = np.arange(5, 5 + len(lengths)), np.array(lengths, np.int64)
    found = list(pair_items(rows, lengths, query_lengths, scoring, n_blocks, is_idle=is_idle))
    return np.concatenate([np.empty((0, 4), np.uint32), *found]).astype(int)


@given(
    st.lists(st.integers(0, 5000), min_size=1, max_size=8).map(sorted),
    st.lists(st.integers(0, 60), min_size=1, max_size=5),
    st.integers(1, 100),
    st.booleans(),
)
def test_parts_of_targets_hold_every_alignment(lengths, query_lengths, n_blocks, is_idle):
    scoring = Scoring(match=1, mismatch=-3, gap_open=5, gap_extend=2)
    items = items_of(lengths, query_lengths, scoring, n_blocks, is_idle)
    for query, query_length in enumerate(query_lengths):
        span = alignment_span(query_length, scoring)
        for row, length in enumerate(lengths, start=5):
            parts = sorted(items[(items[:, 0] == query) & (items[:, 1] == row)][:, 2:].tolist())
            if not query_length:
                assert parts == []
                continue
            assert parts[0][0] == 0
            assert parts[-1][0] + parts[-1][1] == length
            for (begin, n), (after, _) in pairwise(parts):
                assert after + span <= begin + n


def test_one_long_target_is_cut_so_that_all_blocks_have_work():
    items = items_of([250_000_000], [1000], Scoring.default(DNA), n_blocks=132)
    assert 132 <= len(items) <= 132 * 8
    assert items[:, 3].sum() < 1.1 * 250_000_000


def test_idle_blocks_share_long_targets():
    lengths = [3000] * 100 + [35_000]
    busy, idle = (items_of(lengths, [375], Scoring(), 132, is_idle)[:, 3].max() for is_idle in (False, True))
    assert 2 * idle < busy


def test_free_gaps_can_span_anything_so_nothing_is_cut():
    scoring = Scoring(match=1, mismatch=-1, gap_open=3, gap_extend=0)
    assert alignment_span(10, scoring) is None
    assert items_of([40, 1_000_000], [10], scoring, 100).tolist() == [[0, 6, 0, 1_000_000], [0, 5, 0, 40]]


@given(st.integers(1, 6), st.integers(0, 3), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_alignment_span_bounds_every_alignment(n, gap_open, gap_extend, seed):
    scoring = Scoring(match=4, mismatch=-4, gap_open=gap_open, gap_extend=gap_extend)
    random = np.random.default_rng(seed)
    query, target = (random.integers(0, 2, size).astype(np.uint8) for size in (n, 60))
    span = alignment_span(n, scoring)
    whole = local_score(query, target, scoring)
    assert whole == max(local_score(query, target[begin : begin + span], scoring) for begin in range(len(target)))


def test_long_lists_of_pairs_come_in_pieces(monkeypatch):
    monkeypatch.setattr("exaln.engines.cuda.scan.target_parts.MAX_ITEMS", 10)
    lengths = np.arange(1, 26)
    found = list(pair_items(np.arange(25), lengths, [3, 0, 9], Scoring(), 1))
    assert max(map(len, found)) < 20
    assert sorted(map(tuple, np.concatenate(found)[:, :2].tolist())) == [(q, row) for q in (0, 2) for row in range(25)]
    assert found[0][0].tolist() == [2, 9, 0, 10]
