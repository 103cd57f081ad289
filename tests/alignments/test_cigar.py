"""CIGARs of a whole column equal those of the definition, path by path."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exaln import _core
from exaln.alignments import cigar as module
from exaln.alignments.cigar import OPERATIONS, Paths, cigar, cigar_list, cigars, merged, strings, taken
from exaln.sequences.records import Text, offsets_of

RUNS = st.lists(
    st.tuples(st.integers(0, 8), st.one_of(st.integers(0, 12), st.sampled_from([99, 100, 999, 1000, 12_345_678]))),
    max_size=12,
)


def paths_of(lists):
    runs = [np.array([length << 4 | code for code, length in own], np.uint32) for own in lists]
    return Paths(np.concatenate([np.empty(0, np.uint32), *runs]), offsets_of(len(own) for own in runs))


@given(st.lists(RUNS, max_size=8), st.booleans())
def test_texts_are_those_of_single_paths(lists, extended):
    paths = paths_of(lists)
    expected = [cigar(paths[row], extended=extended) for row in range(len(paths))]
    assert cigar_list(paths, extended=extended) == expected
    assert cigars(paths, extended=extended).to_list() == expected


@given(st.lists(RUNS, min_size=1, max_size=8))
def test_merged_paths_print_the_same(lists):
    paths = paths_of(lists)
    assert cigar_list(merged(paths), extended=True) == cigar_list(paths)


def test_paths_in_the_middle_of_a_larger_set():
    paths = paths_of([[(7, 3)], [(7, 2), (8, 1)], [(1, 4)]])
    assert cigar_list(Paths(paths.operations, paths.offsets[1:])) == ["3M", "4I"]
    assert cigars(Paths(paths.operations, paths.offsets[1:3]), extended=True).to_list() == ["2=1X"]
    assert cigar_list(Paths(paths.operations[:0], paths.offsets[:1])) == []


@pytest.mark.parametrize("extended", [False, True])
def test_many_paths_on_several_threads(monkeypatch, extended):
    monkeypatch.setattr(module, "THREAD_RUNS", 1000)
    monkeypatch.setattr(module, "usable_threads", lambda _: 4)
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 60, 9000)
    codes = rng.choice([0, 1, 2, 7, 8], counts.sum())
    operations = (rng.integers(0, 3000, counts.sum()) << 4 | codes).astype(np.uint32)
    paths = Paths(operations, offsets_of(counts))
    found = cigar_list(paths, extended=extended)
    assert found == [cigar(paths[row], extended=extended) for row in range(len(paths))]
    assert cigars(paths, extended=extended).to_list() == found
    rows = rng.permutation(len(paths))[:5000]
    some = taken(paths, rows)
    assert cigar_list(some, extended=extended) == [found[row] for row in rows]


@pytest.mark.parametrize("threads", [1, 3])
def test_an_operation_that_sam_does_not_have_is_an_error(threads):
    operations = np.full(200_000, 5 << 4 | 7, np.uint32)
    operations[150_000] = 5 << 4 | len(OPERATIONS)
    offsets = np.arange(0, 200_001, 100)
    for function in (_core.cigar_column, _core.cigar_list):
        with pytest.raises(ValueError, match="an operation that SAM does not have"):
            function(operations, offsets, False, threads)


def test_ascii_text_as_strings():
    text = Text(np.frombuffer(b"abcde", np.uint8), np.array([1, 1, 3, 5]))
    assert strings(text) == ["", "bc", "de"]
    with pytest.raises(UnicodeDecodeError):
        strings(Text(np.frombuffer("é".encode(), np.uint8), np.array([0, 2])))
