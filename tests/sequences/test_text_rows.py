"""Rows of text in the core against their plain definition: counts, codes, the first misfit, references."""

import gc
import sys
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exaln._core import TextRows, isas
from exaln.sequences.alphabet import DNA, PROTEIN
from exaln.sequences.plain_rows import PlainRows
from strategies import alphabets, sequences

TASK_BYTES = 1 << 19
"""Of text_rows.cpp: what one thread takes at a time."""

USABLE = [name for name, is_usable in isas() if is_usable]

texts = st.text(st.sampled_from("ACGTNacgtn*-. \0é"), max_size=200)
codes = st.binary(max_size=100).map(lambda raw: np.frombuffer(raw, np.uint8) % 20)
items = st.lists(st.one_of(texts, texts.map(str.encode), codes), max_size=12)


def encoded(rows, alphabet, **options):
    """The codes of rows, or the first misfit."""
    out = np.empty(rows.n_bytes, np.uint8)
    return rows.encode(alphabet.table, len(alphabet.letters), out, **options) or out.tolist()


def both(add):
    """Rows of the core and plain rows, both filled by `add`."""
    native, plain = TextRows(), PlainRows()
    assert add(native) == add(plain)
    return native, plain


def require_equal(native, plain, alphabet, **options):
    assert len(native) == len(plain)
    assert native.n_bytes == plain.n_bytes
    assert native.has_codes == plain.has_codes
    assert native.offsets().tolist() == plain.offsets().tolist()
    assert [native.bytes_of(row) for row in range(len(native))] == [plain.bytes_of(row) for row in range(len(plain))]
    assert [native.is_codes(row) for row in range(len(native))] == [plain.is_codes(row) for row in range(len(plain))]
    for isa in USABLE:
        assert native.letter_counts(2, isa).tolist() == plain.letter_counts().tolist()
    assert encoded(native, alphabet, **options) == encoded(plain, alphabet)


@given(items, alphabets, st.integers(1, 3), st.sampled_from(USABLE))
def test_rows_of_items_are_as_defined(given_items, alphabet, threads, isa):
    native, plain = both(lambda rows: rows.add_items(given_items, np.ndarray))
    require_equal(native, plain, alphabet, threads=threads, isa=isa)


@pytest.mark.parametrize("isa", USABLE)
@settings(max_examples=50)
@given(data=st.data())
def test_letters_of_every_alphabet_are_encoded(isa, data):
    alphabet = data.draw(alphabets)
    listed = data.draw(st.lists(sequences(alphabet, max_size=300), min_size=1, max_size=4))
    native, plain = both(lambda rows: rows.add_items(listed, np.ndarray))
    require_equal(native, plain, alphabet, isa=isa)


@pytest.mark.parametrize("isa", USABLE)
@pytest.mark.parametrize("alphabet", [DNA, PROTEIN], ids=lambda one: one.name)
def test_every_byte_at_every_place_of_a_register(isa, alphabet):
    """Among letters only, so that a kernel meets each byte in each lane."""
    for place in (0, 1, 15, 16, 31, 32, 63, 64, 65, 127, 128, 129):
        listed = [b"A" * place + bytes([byte]) + b"C" * (129 - place) for byte in range(256)]
        for text in listed:
            native, plain = both(lambda rows, text=text: rows.add_items([text], np.ndarray))
            assert encoded(native, alphabet, isa=isa) == encoded(plain, alphabet)


def test_the_first_misfit_is_found_whatever_the_threads():
    rng = np.random.default_rng(1)
    lengths = rng.integers(0, 3 * TASK_BYTES // 2, 9)
    texts_of_many_tasks = [bytearray(rng.choice(np.frombuffer(b"ACGTacgtN", np.uint8), n)) for n in lengths]
    places = [(8, 5), (8, 4), (6, 300_000), (6, 299_999), (5, int(lengths[5]) - 1), (2, 0)]
    for row, position in places:
        texts_of_many_tasks[row][position] = ord("x")
        rows = TextRows()
        assert not rows.add_items([bytes(text) for text in texts_of_many_tasks], np.ndarray)
        assert {encoded(rows, DNA, threads=threads) for threads in (1, 2, 5)} == {(row, position, ord("x"))}


def test_many_threads_encode_and_count_the_same():
    letters = np.random.default_rng(2).choice(np.frombuffer(b"ACGTacgtN", np.uint8), 5 * TASK_BYTES + 3)
    pieces = np.split(letters, [0, 7, 7, TASK_BYTES, 2 * TASK_BYTES + 1])
    rows = TextRows()
    assert not rows.add_items([piece.tobytes() for piece in pieces], np.ndarray)
    counts = np.bincount(np.frombuffer(letters.tobytes().upper(), np.uint8), minlength=256)
    for threads in (1, 2, 4):
        out = np.empty(len(letters), np.uint8)
        assert rows.encode(DNA.table, len(DNA.letters), out, threads) is None
        assert np.array_equal(out, DNA.table[letters])
        assert np.array_equal(rows.letter_counts(threads), counts)


@given(st.lists(texts.filter(str.isascii), max_size=8), st.integers(1, 3))
def test_rows_of_fixed_width_are_as_defined(listed, threads):
    for kind in "SU":
        array = np.array([text.encode() if kind == "S" else text for text in listed], kind)
        unit = np.uint8 if kind == "S" else np.uint32
        matrix = array.view(unit).reshape(len(array), -1) if len(array) else np.empty((0, 4), unit)

        def add(rows, matrix=matrix, kind=kind):
            return rows.add_matrix(matrix) if kind == "S" else rows.add_wide_matrix(matrix, threads)

        require_equal(*both(add), DNA)


def test_wide_characters_beyond_ascii_are_refused():
    matrix = np.array(["ACGT", "ACé"]).view(np.uint32).reshape(2, 4)
    native, plain = both(lambda rows: rows.add_wide_matrix(matrix))
    assert (len(native), len(plain)) == (0, 0)
    assert not native.add_wide_matrix(np.full((2, TASK_BYTES), 0x10041, np.uint32), 2)


@given(st.lists(texts, max_size=8), st.sampled_from([np.int32, np.int64]), st.integers(0, 3))
def test_rows_of_columns_are_as_defined(listed, offset_type, n_before):
    raw = [text.encode() for text in listed]
    data = np.frombuffer(b"x" * n_before + b"".join(raw), np.uint8)
    offsets = np.cumsum([n_before, *map(len, raw)]).astype(offset_type)
    require_equal(*both(lambda rows: rows.add_column(data, offsets)), DNA)


@pytest.mark.parametrize("offsets", [[0, 5], [0, 3, 2], [-1, 2], [2, 1, 4]])
def test_offsets_that_lead_astray_are_errors(offsets):
    for rows in (TextRows(), PlainRows()):
        with pytest.raises(IndexError, match="outside the data"):
            rows.add_column(np.zeros(4, np.uint8), np.array(offsets))


def view_of(text, number=0, offset=0, length=None):
    """A view of Arrow's string_view layout."""
    head = np.int32(len(text) if length is None else length).tobytes()
    if len(text) <= 12 and length is None:
        return head + text.ljust(12, b"\0")
    return head + text[:4] + np.array([number, offset], np.int32).tobytes()


def test_views_hold_short_texts_and_point_to_long_ones():
    long = b"ACGTACGTACGTA"
    views = np.frombuffer(b"".join([view_of(b"ACGT"), view_of(long, 1, 2), view_of(b""), view_of(long[:12])]), np.uint8)
    buffers = [np.empty(0, np.uint8), np.frombuffer(b"xx" + long, np.uint8)]
    native, plain = both(lambda rows: rows.add_views(views, buffers))
    assert [native.bytes_of(row) for row in range(4)] == [b"ACGT", long, b"", long[:12]]
    require_equal(native, plain, DNA)


@pytest.mark.parametrize(
    "view", [view_of(b"A" * 13, 1), view_of(b"A" * 13, -1), view_of(b"A" * 13, 0, 1), view_of(b"A" * 13, 0, -1)]
)
def test_views_that_lead_astray_are_errors(view):
    for rows in (TextRows(), PlainRows()):
        with pytest.raises(IndexError, match="outside its buffer"):
            rows.add_views(np.frombuffer(view, np.uint8), [np.zeros(13, np.uint8)])


def test_a_view_of_negative_length_is_an_error():
    for rows in (TextRows(), PlainRows()):
        with pytest.raises(IndexError, match="a view has a negative length"):
            rows.add_views(np.frombuffer(view_of(b"ACGT", length=-1), np.uint8), [np.zeros(13, np.uint8)])


def test_items_that_are_no_texts_are_told():
    strided = np.zeros(8, np.uint8)[::2]
    given_items = ["A", bytearray(b"A"), 7, None, "\ud800", strided, np.zeros(3, np.int64), np.zeros((2, 2), np.uint8)]
    native, plain = both(lambda rows: rows.add_items(given_items, np.ndarray))
    assert native.add_items(given_items, np.ndarray) == [1, 2, 3, 4, 5, 6, 7]
    assert len(plain) == 8


class Letters(str):
    """Text that can be watched."""


def test_items_live_as_long_as_the_rows():
    """Even if the list is emptied meanwhile, as another thread may do."""
    listed = [Letters("ACGT" * 1000) for _ in range(100)]
    watched = [weakref.ref(one) for one in listed]
    rows = TextRows()
    rows.add_items(listed, np.ndarray)
    listed.clear()
    gc.collect()
    assert encoded(rows, DNA) == [0, 1, 2, 3] * 100_000
    assert all(one() is not None for one in watched)
    del rows
    assert all(one() is None for one in watched)


def test_arrays_and_buffers_live_as_long_as_the_rows():
    array, data = np.zeros(5, np.uint8), np.frombuffer(b"ACGT", np.uint8).copy()
    matrix = np.frombuffer(b"ACGT", np.uint8).copy().reshape(2, 2)
    before = [sys.getrefcount(one) for one in (array, data, matrix)]
    rows = TextRows()
    rows.add_items([array], np.ndarray)
    rows.add_column(data, np.array([0, 4]))
    rows.add_matrix(matrix)
    assert all(sys.getrefcount(one) > n for one, n in zip((array, data, matrix), before, strict=True))
    del rows
    assert [sys.getrefcount(one) for one in (array, data, matrix)] == before


def test_rows_that_do_not_exist_and_wrong_sizes_are_errors():
    rows = TextRows()
    rows.add_items(["ACGT"], np.ndarray)
    for row in (-1, 1):
        with pytest.raises(IndexError):
            rows.bytes_of(row)
        with pytest.raises(IndexError):
            rows.is_codes(row)
    with pytest.raises(ValueError, match="codes have another size"):
        rows.encode(DNA.table, 16, np.empty(3, np.uint8))
    with pytest.raises(ValueError, match="n_codes must be from 1 to 32"):
        rows.encode(DNA.table, 33, np.empty(4, np.uint8))
    with pytest.raises(ValueError, match="threads must be at least 1"):
        rows.letter_counts(0)
