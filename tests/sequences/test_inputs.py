"""Sequences in every form that users may pass: text, bytes, records, arrays, dicts and files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from Bio.Seq import Seq
from Bio.SeqRecord import SeqRecord

import exaln
from exaln.database.segment import Target
from exaln.errors import InputError
from exaln.sequences.alphabet import DNA, PROTEIN
from exaln.sequences.inputs import as_records


def test_strings_bytes_and_records_are_the_same_sequences(tmp_path: Path) -> None:
    fasta = tmp_path / "one.fasta"
    fasta.write_text(">x with words\nHEAGAWGHEE\n")
    record = SeqRecord(Seq("HEAGAWGHEE"), id="x", description="x with words")
    forms = [
        "HEAGAWGHEE",
        b"heagawghee",
        bytearray(b"HEAGAWGHEE"),
        Seq("HEAGAWGHEE"),
        ["HEAGAWGHEE"],
        Path(fasta),
        record,
        [record],
        as_records("HEAGAWGHEE"),
    ]
    for form in forms:
        found = as_records(form)
        assert found.alphabet == PROTEIN
        assert PROTEIN.decode(found.sequence(0)) == "HEAGAWGHEE"
        assert len(found) == 1
    for form in (Path(fasta), record):
        found = as_records(form)
        assert (found.ids[0], found.descriptions[0]) == ("x", "with words")


def test_several_records_of_biopython() -> None:
    found = as_records([SeqRecord(Seq("ACGT"), id="a"), "GGTT"])
    assert found.alphabet == DNA
    assert [found.ids[row] for row in range(2)] == ["a", "seq2"]


def test_no_sequences_are_no_records() -> None:
    assert len(as_records([])) == 0


def test_a_file_given_as_text_is_recognised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("queries.fasta").write_text(">x\nAAAA\n")
    with pytest.raises(InputError, match=r"pass pathlib\.Path\('queries\.fasta'\)"):
        as_records("queries.fasta")
    with pytest.raises(InputError, match="a sequence must be text, not int"):
        as_records([7])  # type: ignore[list-item]
    with pytest.raises(InputError, match="sequence 2: '1' at position 3"):
        as_records(["ACGT", "AC1T"], DNA)


def test_a_dict_is_a_set_of_named_sequences() -> None:
    found = as_records(
        {"one": "HEAGAWGHEE", "two": b"PAWHEAE", "three": SeqRecord(Seq("HEAG"), id="x", description="x y")}
    )
    assert found.ids.to_list() == ["one", "two", "three"]
    assert found.descriptions.to_list() == ["", "", "y"]
    assert found.lengths.tolist() == [10, 7, 4]
    pairs = exaln.align_many({"a": "HEAGAWGHEE", "b": "PAWHEAE"}, {"c": "PAWHEAE"})
    assert [(one.query_id, one.target_id, one.score) for one in pairs] == [("a", "c", 17), ("b", "c", 44)]
    assert exaln.score_many({"a": "HEAGAWGHEE"}, {"c": "PAWHEAE"}).tolist() == [17]
    hits = exaln.search({"mine": "HEAGAWGHEE"}, exaln.Database.in_memory([as_records({"t": "HEAGAWGHEE"})]))
    assert [(hit.query_id, hit.target_id) for hit in hits] == [("mine", "t")]
    with pytest.raises(InputError, match="queries: the key 1 is not an id; expected a dict from ids to sequences"):
        exaln.align_many({1: "HEAG"}, "HEAG")  # type: ignore[dict-item]


def test_a_target_is_a_sequence_anywhere() -> None:
    database = exaln.Database.in_memory([as_records({"x": "HEAGAWGHEE", "y": "PAWHEAE"})])
    target = database.fetch("y")[0]
    assert exaln.align(target, database[0]).score == exaln.align("PAWHEAE", "HEAGAWGHEE").score
    assert exaln.align(SeqRecord(Seq("PAWHEAE"), id="r"), target).target_id == "y"
    assert [one.query_id for one in exaln.align_many(database.fetch(["x", "y"]), target)] == ["x", "y"]
    assert exaln.search(target, database).of("y")[0].target_id == "y"
    assert exaln.search(database, database).of("x")[0].target_id == "x"
    described = Target("sp|1", "sp|1 again", "HEAG", 0)
    assert as_records(described).descriptions.to_list() == ["sp|1 again"]


@pytest.mark.parametrize(
    "sequences",
    [
        np.array(["ACGT", "GGTT"]),
        np.array(["ACGT", "GGTT"], object),
        np.array([b"ACGT", b"GGTT"]),
        pa.array(["ACGT", "GGTT"]),
        pa.chunked_array([["ACGT"], ["GGTT"]]),
        pd.Series(["ACGT", "GGTT"]),
        pl.Series(["ACGT", "GGTT"]),
        ("ACGT", b"GGTT"),
        (text for text in ("ACGT", "GGTT")),
        [bytearray(b"ACGT"), Seq("GGTT")],
    ],
    ids=lambda value: type(value).__module__.split(".")[0] + "." + type(value).__name__,
)
def test_columns_of_texts_are_sequences(sequences: Any) -> None:
    found = as_records(sequences)
    assert [DNA.decode(found.sequence(row)) for row in range(len(found))] == ["ACGT", "GGTT"]


class SkbioLike:
    """A sequence as scikit-bio has it: an iterable of sequences of one letter, with bytes as values."""

    def __init__(self, letters: str, **metadata: str) -> None:
        self.values = np.frombuffer(letters.encode(), "S1")
        self.metadata = metadata

    def __iter__(self) -> Iterator[SkbioLike]:
        return (SkbioLike(letter.decode()) for letter in self.values)


class BiotiteLike:
    """A sequence as biotite has it."""

    def __init__(self, letters: str) -> None:
        self.symbols = np.array(list(letters))

    def __iter__(self) -> Iterator[str]:
        return iter(self.symbols)

    def __str__(self) -> str:
        return "".join(self.symbols)


def test_sequences_of_scikit_bio_and_biotite() -> None:
    one = SkbioLike("ACGT", id="chr1", description="first")
    found = as_records([one, BiotiteLike("GGTTA")])  # type: ignore[list-item]
    assert (found.ids.to_list(), found.descriptions.to_list()) == (["chr1", "seq2"], ["first", ""])
    assert found.lengths.tolist() == [4, 5]
    assert as_records(one).lengths.tolist() == [4]  # type: ignore[arg-type]
    assert exaln.score(one, BiotiteLike("ACGT")) == 8  # type: ignore[arg-type]


def test_one_sequence_may_be_a_file_or_records_with_one(tmp_path: Path) -> None:
    one, two = tmp_path / "one.fasta", tmp_path / "two.fasta"
    one.write_text(">a\nACGT\n")
    two.write_text(">a\nACGT\n>b\nGGTT\n")
    assert exaln.align(one, {"x": "ACGT"}).query_id == "a"  # type: ignore[arg-type]
    with pytest.raises(InputError, match="target has 2 sequences; expected one"):
        exaln.score(one, two)  # type: ignore[arg-type]


@pytest.mark.parametrize("place", ["sequence", "id", "description"])
def test_a_lone_surrogate_is_named(place: str) -> None:
    parts = {"sequence": "ACGT", "id": "x", "description": "y"} | {place: "AC\udc80T"}
    record = Target(parts["id"], parts["description"], parts["sequence"], 0)
    with pytest.raises(InputError, match=rf"{place}.*'\\udc80' at position 3 is a lone surrogate, not a letter"):
        as_records([record], name="queries")


@pytest.mark.parametrize("length", [255, 256, 300, 4095, 5000])
def test_a_long_sequence_with_a_wrong_letter_is_an_input_error(length):
    with pytest.raises(InputError, match="'1' at position 1 is not a"):
        as_records(["1" * length], PROTEIN)
