"""Sorting, moving and finding rows of variable length, against Python's own sorting."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exaln._core import argsort_bytes, argsort_stable, find_bytes, join_pieces, scatter_rows
from exaln.sequences.records import offsets_of

SHARED = [b"", b"sp|", b"synthetic_target_00000", b"\xc3\xbc" * 9]


def column(strings: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    return np.frombuffer(b"".join(strings), np.uint8), offsets_of(len(s) for s in strings)


def expected_order(strings: list[bytes]) -> list[int]:
    return sorted(range(len(strings)), key=lambda row: (strings[row], row))


@given(st.lists(st.integers(0, 2**62) | st.integers(0, 300)))
@settings(deadline=None)
def test_argsort_stable_keeps_the_order_of_equal_keys(keys: list[int]) -> None:
    order = argsort_stable(np.array(keys, np.int64))
    assert order.tolist() == sorted(range(len(keys)), key=lambda row: keys[row])


def test_negative_keys_are_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        argsort_stable(np.array([3, -1]))


@given(st.lists(st.binary(max_size=20)), st.sampled_from(SHARED))
@settings(deadline=None)
def test_argsort_bytes_sorts_and_counts_repeats(strings: list[bytes], prefix: bytes) -> None:
    strings = [prefix + s for s in strings]
    order, repeats = argsort_bytes(*column(strings))
    assert order.tolist() == expected_order(strings)
    assert repeats == len(strings) - len(set(strings))


@pytest.mark.parametrize(
    "make",
    [
        lambda i, r: b"sp|P%05d|NAME_%d" % (r.integers(0, 300), i),
        lambda i, r: [b"sp|", b"tr|A0A0B1C2D3"][i % 2] + b"%d" % r.integers(0, 1000),
        lambda i, r: b"same id",
        lambda i, r: b"x" * r.integers(0, 40),
        lambda i, r: b"nul" + b"\0" * r.integers(0, 30),
        lambda i, r: bytes(r.integers(0, 3, r.integers(0, 30)).astype(np.uint8)),
    ],
)
def test_argsort_bytes_of_many_strings(make) -> None:
    """More rows than are compared directly: ids with shared beginnings, repeats, ends inside the eight-byte key."""
    random = np.random.default_rng(1)
    strings = [make(i, random) for i in range(5000)]
    order, repeats = argsort_bytes(*column(strings))
    assert order.tolist() == expected_order(strings)
    assert repeats == len(strings) - len(set(strings))


def test_scatter_moves_each_row() -> None:
    data, offsets = column([b"one", b"", b"three", b"four"])
    out = np.zeros(12, np.uint8)
    scatter_rows(data, offsets, np.array([9, 0, 0, 5]), out)
    assert bytes(out) == b"threefourone"


@pytest.mark.parametrize(
    ("offsets", "starts"), [([0, 3, 99], [0, 3]), ([0, 3, 1], [0, 3]), ([0, 3, 6], [0, 4]), ([0, 3, 6], [-1, 3])]
)
def test_scatter_never_leaves_its_arrays(offsets: list[int], starts: list[int]) -> None:
    with pytest.raises(IndexError):
        scatter_rows(np.zeros(6, np.uint8), np.array(offsets), np.array(starts), np.zeros(6, np.uint8))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("sizes", [[], [0], [5, 0, 1 << 18, (1 << 19) + 3, 1]])
def test_scatter_joins_rows_from_several_pieces(sizes: list[int], threads: int) -> None:
    rng = np.random.default_rng(1)
    pieces = [rng.integers(0, 256, size).astype(np.uint8) for size in sizes]
    out = np.full(sum(sizes) + 2, 7, np.uint8)
    join_pieces(pieces, out, threads)
    assert bytes(out) == b"".join(map(bytes, pieces)) + bytes([7, 7])
    with pytest.raises(IndexError):
        join_pieces([*pieces, np.zeros(3, np.uint8)], out, threads)


@given(st.lists(st.text(alphabet="ab", max_size=4)), st.lists(st.text(alphabet="ab", max_size=4)))
@settings(deadline=None)
def test_find_bytes_gives_the_range_of_each_string(strings: list[str], wanted: list[str]) -> None:
    rows = [s.encode() for s in strings]
    order, _ = argsort_bytes(*column(rows))
    places = find_bytes(*column(rows), order, *column([w.encode() for w in wanted])).reshape(-1, 2)
    for want, (begin, end) in zip(wanted, places, strict=True):
        assert order[begin:end].tolist() == [row for row, s in enumerate(strings) if s == want]


def test_columns_that_are_not_aligned_in_memory() -> None:
    raw = np.zeros(8 * 4 + 1, np.uint8)
    keys = raw[1:].view(np.int64)
    keys[:] = [5, 3, 4, 3]
    assert argsort_stable(keys).tolist() == [1, 3, 2, 0]
