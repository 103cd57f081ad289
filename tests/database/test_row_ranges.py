"""Row ranges and query blocks: every row and every query once, in order, within the size limit."""

from types import SimpleNamespace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from exaln.database.row_ranges import query_blocks, row_ranges

segments = st.lists(
    st.lists(st.integers(0, 1000), max_size=40).map(lambda sizes: np.concatenate([[0], np.cumsum(sizes)]).astype(int)),
    max_size=4,
)


@given(segments, st.integers(1, 50))
def test_every_row_is_in_one_range(offsets, max_rows):
    ranges = list(row_ranges([SimpleNamespace(offsets=o) for o in offsets], max_rows))
    rows = [(r.segment, row) for r in ranges for row in range(r.first, r.end)]
    assert rows == [(number, row) for number, o in enumerate(offsets) for row in range(len(o) - 1)]
    assert all(0 < len(r) <= max_rows for r in ranges)
    assert all(r.n_residues == offsets[r.segment][r.end] - offsets[r.segment][r.first] for r in ranges)
    for number in range(len(offsets)):
        sizes = [len(r) for r in ranges if r.segment == number]
        assert not sizes or max(sizes) - min(sizes) <= 1


@given(st.integers(0, 100), st.integers(-1, 30))
def test_every_query_is_in_one_block(n_queries, max_queries):
    blocks = list(query_blocks(n_queries, max_queries))
    assert [query for first, end in blocks for query in range(first, end)] == list(range(n_queries))
    assert all(0 < end - first <= max(1, max_queries) for first, end in blocks)


def test_a_limit_below_one_row_still_makes_progress():
    ranges = list(row_ranges([SimpleNamespace(offsets=np.array([0, 5, 9]))], 0))
    assert [(r.first, r.end, r.n_residues) for r in ranges] == [(0, 1, 5), (1, 2, 4)]
