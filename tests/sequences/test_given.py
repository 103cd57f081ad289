"""Sequences in every form against the plain definition: `Alphabet.encode` for each; the errors; chunks and slices."""

import threading
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from Bio.Seq import Seq
from Bio.SeqRecord import SeqRecord
from hypothesis import given, settings
from hypothesis import strategies as st

import exaln
from exaln.errors import InputError
from exaln.sequences import given as given_module
from exaln.sequences.alphabet import DNA, PROTEIN, RNA, detect
from exaln.sequences.given import look_at
from exaln.sequences.inputs import as_records, common_alphabet
from exaln.sequences.plain_rows import PlainRows

FORMS = {
    "list": list,
    "tuple": tuple,
    "bytes": lambda texts: [text.encode() for text in texts],
    "mixed": lambda texts: [text.encode() if place % 2 else text for place, text in enumerate(texts)],
    "bytearrays": lambda texts: [bytearray(text.encode()) for text in texts],
    "Seq": lambda texts: [Seq(text) for text in texts],
    "one Seq": lambda texts: [Seq(text) if place == 1 else text for place, text in enumerate(texts)],
    "codes": lambda texts: [DNA.encode(text) for text in texts],
    "codes with gaps": lambda texts: [np.repeat(DNA.encode(text), 2)[::2] for text in texts],
    "codes and text": lambda texts: [DNA.encode(text) if place % 2 else text for place, text in enumerate(texts)],
    "generator": lambda texts: (text for text in texts),
    "numpy S": lambda texts: np.array([text.encode() for text in texts], "S"),
    "numpy U": lambda texts: np.array(texts, "U"),
    "numpy big-endian U": lambda texts: np.array(texts, ">U60"),
    "numpy strided S": lambda texts: np.repeat(np.array([text.encode() for text in texts], "S"), 2)[::2],
    "numpy 3-D U": lambda texts: np.array(texts, "U").reshape(1, -1, 1),
    "numpy 2-D S": lambda texts: np.array([text.encode() for text in texts], "S").reshape(-1, 1),
    "numpy objects": lambda texts: np.array([*texts, None], object)[:-1],
    "numpy StringDType": lambda texts: np.array(texts, np.dtypes.StringDType()),
    "string": lambda texts: pa.array(texts, pa.string()),
    "large_string": lambda texts: pa.array(texts, pa.large_string()),
    "string_view": lambda texts: pa.array(texts, pa.string_view()),
    "binary": lambda texts: pa.array([text.encode() for text in texts], pa.binary()),
    "large_binary": lambda texts: pa.array([text.encode() for text in texts], pa.large_binary()),
    "binary_view": lambda texts: pa.array([text.encode() for text in texts], pa.binary_view()),
    "dictionary": lambda texts: pa.array(texts, pa.string()).dictionary_encode(),
    "slice": lambda texts: pa.array(["XX", *texts, "YY"], pa.string())[1:-1],
    "slice of views": lambda texts: pa.array(["X" * 20, *texts, "YY"], pa.string_view())[1:-1],
    "chunks": lambda texts: pa.chunked_array([texts[:1], [], texts[1:]], pa.string()),
    "chunks of views": lambda texts: pa.chunked_array([texts[:2], texts[2:]], pa.string_view())[0:],
    "polars": lambda texts: pl.Series(texts, dtype=pl.String),
    "polars slice": lambda texts: pl.Series(["X" * 20, *texts], dtype=pl.String)[1:],
    "polars chunks": lambda texts: pl.Series(texts[:1], dtype=pl.String).append(pl.Series(texts[1:], dtype=pl.String)),
    "polars binary": lambda texts: pl.Series([text.encode() for text in texts], dtype=pl.Binary),
    "polars categories": lambda texts: pl.Series(texts, dtype=pl.Categorical),
    "pandas": lambda texts: pd.Series(texts, dtype="str"),
    "pandas of Arrow": lambda texts: pd.Series(texts, dtype=pd.ArrowDtype(pa.large_string())),
    "pandas objects": lambda texts: pd.Series(texts, dtype=object),
    "pandas with odd labels": lambda texts: pd.Series(texts, index=[f"seq{n or ''}" for n in range(len(texts))]),
    "capsules": lambda texts: CapsuleArray(pa.array(texts, pa.string_view())),
}


class CapsuleArray:
    """A column that has only Arrow's interface."""

    def __init__(self, array):
        self.array = array

    def __arrow_c_array__(self, requested_schema=None):
        return self.array.__arrow_c_array__(requested_schema)


texts = st.lists(st.text(st.sampled_from("ACGTNRYacgtn"), max_size=40), max_size=7)


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=25, deadline=None)
@given(texts)
def test_every_form_is_the_same_records(form, listed):
    found = as_records(FORMS[form](listed), DNA)
    assert [found.sequence(row).tolist() for row in range(len(found))] == [DNA.encode(one).tolist() for one in listed]
    assert found.alphabet is DNA
    assert found.codes.dtype == np.uint8
    assert found.offsets.dtype == np.int64
    assert found.ids.to_list() == [f"seq{number}" for number in range(1, len(listed) + 1)]
    assert found.descriptions.to_list() == [""] * len(listed)
    assert found.mask_offsets.tolist() == [0] * (len(listed) + 1)


@pytest.mark.parametrize("form", [form for form in FORMS if "codes" not in form])
def test_every_form_has_the_same_alphabet(form):
    for listed, alphabet in ((["ACGT", "GGT"], DNA), (["ACGU", "GGU"], RNA), (["HEAG", "AW"], PROTEIN)):
        assert as_records(FORMS[form](listed)).alphabet == alphabet


@pytest.mark.parametrize("form", [form for form in FORMS if form not in ("codes", "codes with gaps")])
def test_every_form_names_the_same_wrong_letter(form):
    listed = ["ACGT", "AC", "ACxT", "x"] if form != "codes and text" else ["ACGT", "AC", "ACxT"]
    make = FORMS[form] if form != "codes and text" else lambda texts: [DNA.encode("A"), *texts[1:]]
    with pytest.raises(InputError) as raised:
        as_records(make(listed), DNA, "queries")
    assert str(raised.value) == "queries, sequence 3: 'x' at position 3 is not a dna letter"


def test_a_wrong_letter_in_the_last_of_many_is_named():
    many = ["ACGTACGT"] * 100_000
    many[99_999] = "ACGTxCGT"
    for call in (exaln.align_many, exaln.score_many):
        with pytest.raises(InputError, match="queries, sequence 100000: 'x' at position 5 is not a dna letter"):
            call(many, many, scoring=exaln.Scoring("NUC.4.4"))
    many[500] = "x"
    with pytest.raises(InputError, match="targets, sequence 501: 'x' at position 1 is not a dna letter"):
        exaln.score_many("ACGT", many, scoring=exaln.Scoring("NUC.4.4"))


def test_the_hint_for_a_file_is_given_in_every_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my.fasta").write_text(">x\nAAAA\n")
    for form in ("list", "bytes", "numpy U", "string_view", "polars"):
        with pytest.raises(InputError, match=r"sequence 2: '\.' at .* pass pathlib\.Path\('my\.fasta'\)$"):
            as_records(FORMS[form](["AC", "my.fasta"]), PROTEIN)


@pytest.mark.parametrize("form", ["list", "numpy U", "string", "string_view", "pandas objects"])
def test_a_letter_beyond_ascii_is_named_by_its_first_byte(form):
    with pytest.raises(InputError, match="sequence 2: byte 0xc3 at position 3 is not a dna letter"):
        as_records(FORMS[form](["ACGT", "GTé"]), DNA)


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["ACGT", "A", None, None]),
        pa.array(["X", "ACGT", "A", None], pa.string_view())[1:],
        pa.chunked_array([["ACGT"], ["A", None]]),
        pa.array(["ACGT", "A", None]).dictionary_encode(),
        pl.Series(["ACGT", "A", None]),
        pd.Series(["ACGT", "A", None], dtype="str"),
    ],
    ids=lambda column: type(column).__module__.split(".")[0] + "." + type(column).__name__,
)
def test_a_null_is_named(column):
    with pytest.raises(InputError, match="queries, sequence 3: a sequence must be text, not null"):
        as_records(column, DNA, "queries")


def test_damaged_columns_are_errors():
    offsets = pa.py_buffer(np.array([0, 400, 8], np.int32))
    column = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"ACGTACGT")])
    with pytest.raises(InputError, match="queries: the Arrow column is damaged: offsets lead outside the data"):
        as_records(column, DNA, "queries")


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 2]),
        pa.array([["A"]]),
        pl.Series([1, 2]),
        pd.Series([1, 2]),
        pa.table({"x": ["A"]}),
        pl.Series([[1]]),
    ],
    ids=lambda column: type(column).__module__.split(".")[0] + "." + type(column).__name__,
)
def test_columns_of_other_values_are_refused(column):
    with pytest.raises(InputError, match="sequences, sequence 1: a sequence must be text, not "):
        as_records(column, DNA)


def test_columns_without_chunks_are_no_sequences():
    for column in (pa.chunked_array([], pa.string()), pa.array([], pa.string_view()), pl.Series([], dtype=pl.String)):
        assert len(as_records(column, DNA)) == 0


def test_embedded_nul_bytes_are_letters_and_those_at_the_end_are_padding():
    with pytest.raises(InputError, match="sequence 1: byte 0x00 at position 2 is not a dna letter"):
        as_records(np.array([b"A\0C"]), DNA)
    assert as_records(np.array([b"A\0\0", b"", b"ACG"]), DNA).lengths.tolist() == [1, 0, 3]


def test_a_text_array_of_no_dimension_is_one_sequence():
    assert as_records(np.array("ACGT")).lengths.tolist() == [4]


def test_codes_are_copied():
    codes = [DNA.encode("ACGT"), DNA.encode("GG")]
    for form in (codes, np.array([[0, 1], [2, 3]], np.uint8), codes[0]):
        found = as_records(form, DNA)
        before = found.codes.copy()
        for array in [form] if isinstance(form, np.ndarray) else form:
            array[...] = 3
        assert np.array_equal(found.codes, before)


def test_codes_outside_the_alphabet_are_errors():
    expected = "queries: 40 is not a code of dna, which has 16 letters"
    for form in ([DNA.encode("AC"), np.array([17, 40, 3], np.uint8)], np.array([[1, 20], [40, 2]], np.uint8)):
        with pytest.raises(InputError) as raised:
            as_records(form, DNA, "queries")
        assert str(raised.value) == expected
    with pytest.raises(InputError, match="codes must be uint8 arrays, not int64 with 1 dimensions"):
        as_records([np.array([1, 2])], DNA)
    with pytest.raises(InputError, match="the alphabet of codes is unknown; pass a scoring with them"):
        as_records([np.array([1, 2], np.uint8), "ACGT"])


def test_a_matrix_of_codes_may_have_gaps_and_no_letters():
    matrix = np.arange(24, dtype=np.uint8).reshape(4, 6) % 16
    assert as_records(matrix.T, DNA).codes.tolist() == matrix.T.ravel().tolist()
    assert as_records(matrix[::2, ::2], DNA).offsets.tolist() == [0, 3, 6]
    assert as_records(matrix[:, :0], DNA).lengths.tolist() == [0] * 4
    assert len(as_records(matrix[:0], DNA)) == 0


def test_records_among_texts_keep_their_names():
    found = as_records(["ACGT", SeqRecord(Seq("GG"), id="mine", description="mine of old"), b"A", DNA.encode("C")], DNA)
    assert found.ids.to_list() == ["seq1", "mine", "seq3", "seq4"]
    assert found.descriptions.to_list() == ["", "of old", "", ""]


def test_without_the_core_the_records_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = ["ACGT", "", "GGTTA" * 9]
    expected = as_records(listed, DNA)
    monkeypatch.setattr(given_module, "new_rows", PlainRows)
    for form, make in FORMS.items():
        found = as_records(make(listed), DNA)
        assert np.array_equal(found.codes, expected.codes), form
        assert np.array_equal(found.offsets, expected.offsets), form


def test_the_alphabet_of_both_sides_is_common():
    assert exaln.align_many(["ACG"], ["ACGU"])[0].scoring.alphabet == RNA
    assert exaln.align_many(pa.array(["ACGT"]), np.array(["HEAG"]))[0].scoring.alphabet == PROTEIN


@given(st.lists(st.text(st.sampled_from("ACGTNUREFacgte*-1"), max_size=30), max_size=5), st.integers(0, 5))
def test_the_alphabet_is_that_of_all_letters(listed, cut):
    letters = np.frombuffer("".join(listed).encode(), np.uint8)
    expected = detect(np.bincount(letters, minlength=256))
    assert look_at(listed, "x").detected() == expected
    sides = look_at(listed[:cut], "x"), look_at(listed[cut:], "y")
    assert common_alphabet(*sides) == expected


def test_a_list_may_change_while_it_is_encoded():
    """Another thread empties and refills it; every call sees one state of it."""
    states = [["ACGT" * 50] * 3000, ["GG" * 100] * 3000]
    listed, is_done = list(states[0]), threading.Event()

    def change() -> None:
        while not is_done.is_set():
            for state in states:
                listed[:] = ["".join(one) for one in state]

    other = threading.Thread(target=change)
    other.start()
    try:
        for _ in range(30):
            found = as_records(listed, DNA)
            assert found.n_residues in {0, 600_000}
            assert len({found.sequence(row).tobytes() for row in range(len(found))}) <= 1
    finally:
        is_done.set()
        other.join()


def test_threads_make_no_difference():
    listed = ["ACGTN" * 30_000, "", "acgt" * 100_000, "GG"]
    first, *others = (as_records(listed, threads=threads) for threads in (1, 2, 16, None))
    for found in others:
        assert np.array_equal(found.codes, first.codes)
        assert np.array_equal(found.offsets, first.offsets)
