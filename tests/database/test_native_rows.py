"""Sorting, moving and finding rows of variable length, against Python's own sorting."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exaln._core import (
    argsort_bytes,
    argsort_stable,
    find_bytes,
    length_runs,
    letters_in,
    problem_of_offsets,
    take_rows,
)
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


def test_taken_rows_are_joined_in_the_order_asked_for() -> None:
    data, offsets = column([b"one", b"", b"three", b"four"])
    rows = np.array([3, 1, 0, 3])
    assert bytes(take_rows(data, offsets[rows], offsets[rows + 1])) == b"fouronefour"
    assert len(take_rows(data, offsets[:0], offsets[:0])) == 0


@pytest.mark.parametrize(("begin", "end"), [(-1, 3), (4, 3), (0, 7), (7, 8), (-(1 << 63), 2), (0, (1 << 63) - 1)])
def test_rows_outside_the_data_are_not_taken(begin: int, end: int) -> None:
    with pytest.raises(IndexError):
        take_rows(np.zeros(6, np.uint8), np.array([0, begin]), np.array([2, end]))


@given(st.binary(max_size=2000))
@settings(deadline=None)
def test_letters_are_those_that_occur(codes: bytes) -> None:
    found = np.frombuffer(letters_in(np.frombuffer(codes, np.uint8)), np.bool_)
    assert np.flatnonzero(found).tolist() == sorted(set(codes))


@pytest.mark.parametrize("rare", [0, 19, 20, 26, 255])
@pytest.mark.parametrize("place", [0, 255, 256, 70_000, 99_999])
def test_a_letter_that_occurs_once_is_found_anywhere(rare: int, place: int) -> None:
    codes = np.resize(np.arange(20, dtype=np.uint8), 100_000)
    codes[place] = rare
    found = np.frombuffer(letters_in(codes), np.bool_)
    assert np.flatnonzero(found).tolist() == sorted({*range(20), rare})


@given(st.lists(st.integers(0, 5), max_size=60))
def test_lengths_of_sorted_rows_are_run_length_encoded(lengths: list[int]) -> None:
    lengths = sorted(lengths)
    values, firsts = length_runs(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))
    assert values.tolist() == sorted(set(lengths))
    assert firsts.tolist() == [lengths.index(value) for value in values.tolist()]


def test_lengths_that_decrease_are_an_error() -> None:
    with pytest.raises(ValueError, match="sorted"):
        length_runs(np.array([0, 3, 5]))


FINE, OUTSIDE, UNSORTED = 0, 1, 2


@pytest.mark.parametrize(
    ("offsets", "problem"),
    [
        ([0], FINE),
        ([0, 0, 2, 6], FINE),
        ([0, 0, 2, 7], OUTSIDE),
        ([1, 2, 6], OUTSIDE),
        ([0, 3, 2, 6], OUTSIDE),
        ([0, 3, 5, 6], UNSORTED),
        ([0, 9, 2, 6], OUTSIDE),
        ([0, (1 << 63) - 1, -(1 << 63), 6], OUTSIDE),
        ([], OUTSIDE),
    ],
)
def test_offsets_that_break_a_rule_are_found(offsets: list[int], problem: int) -> None:
    assert problem_of_offsets(np.array(offsets, np.int64), 6, True) == problem
    assert problem_of_offsets(np.array(offsets, np.int64), 6, False) == (FINE if problem == UNSORTED else problem)


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
