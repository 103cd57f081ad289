"""Malformed and unusual files in tests/badinput, each with the outcome in EXPECTED.tsv."""

import csv
import gzip
import warnings
from pathlib import Path

import pytest

from exaln.errors import ExalnWarning, InputError
from exaln.sequences.alphabet import Alphabet
from exaln.sequences.fasta import read_records
from exaln.sequences.records import Records

FOLDER = Path(__file__).parents[1] / "badinput"
with (FOLDER / "EXPECTED.tsv").open(newline="") as table:
    CASES = list(csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE))


def strings(records: Records) -> list[str]:
    return [records.alphabet.decode(records.sequence(row)) for row in range(len(records))]


def test_every_file_has_an_expected_outcome() -> None:
    assert {case["file"] for case in CASES} == {path.name for path in FOLDER.iterdir()} - {"EXPECTED.tsv"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["file"])
def test_each_bad_file_is_read_or_refused_as_expected(case: dict[str, str]) -> None:
    path = FOLDER / case["file"]
    alphabet = Alphabet.named(case["alphabet"]) if case["alphabet"] else None
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        if case["outcome"] == "error":
            with pytest.raises(InputError) as error:
                read_records(path, alphabet=alphabet)
            messages = [str(error.value)]
        else:
            records = read_records(path, alphabet=alphabet)
            assert [records.ids[row] for row in range(len(records))] == case["ids"].split(" ")
            assert records.lengths.tolist() == [int(length) for length in case["lengths"].split(" ")]
            messages = [str(warning.message) for warning in raised]
            assert all(warning.category is ExalnWarning for warning in raised)
    assert len(messages) == (case["outcome"] != "ok")
    for message in messages:
        assert message.startswith(f"{path}: ")
        assert case["says"] in message
        assert "\n" not in message


SAME_AS_OK_TWO = (
    "crlf cr_only bom no_final_newline blank_between blank_inside space_after_gt lower dup_ids tab_header pipe_ids"
)


@pytest.mark.parametrize("name", SAME_AS_OK_TWO.split())
def test_variants_of_a_file_give_the_same_sequences(name: str) -> None:
    assert strings(read_records(FOLDER / f"{name}.fa")) == strings(read_records(FOLDER / "ok_two.fa"))


def test_a_record_without_residues_shifts_nothing() -> None:
    with pytest.warns(ExalnWarning, match="1 record without residues.*line 5"):
        records = read_records(FOLDER / "zero_len_middle.fa")
    first, second = strings(read_records(FOLDER / "ok_two.fa"))
    assert strings(records) == [first, "", second]


def test_gaps_are_stripped_on_request() -> None:
    with pytest.warns(ExalnWarning, match="3 gap characters removed .first in line 7"):
        records = read_records(FOLDER / "gap_chars.fa", strip_gaps=True)
    assert strings(records) == strings(read_records(FOLDER / "ok_two.fa"))


def test_tabs_stay_in_the_description() -> None:
    records = read_records(FOLDER / "tab_header.fa")
    assert (records.ids[0], records.descriptions[0], records.descriptions[1]) == ("ubi", "ubiquitin\tx", "a\tb")


def test_latin1_headers_become_utf8() -> None:
    with pytest.warns(ExalnWarning, match="1 header not in UTF-8, read as Latin-1 .first in line 1"):
        records = read_records(FOLDER / "latin1_header.fa")
    assert records.descriptions[0] == "Hämoglobin? nein"


def test_a_final_stop_is_kept() -> None:
    assert all(sequence.endswith("*") for sequence in strings(read_records(FOLDER / "stop_terminal.fa")))


def test_lower_case_is_kept_as_mask() -> None:
    records = read_records(FOLDER / "lower.fa")
    assert records.mask.tolist() == [[0, 76], [0, 81]]
    assert records.mask_offsets.tolist() == [0, 1, 2]


@pytest.mark.parametrize("name", ["ok_two.fa.gz", "gzip_named_plain.fa"])
def test_gzip_is_known_by_content(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(gzip.compress((FOLDER / "ok_two.fa").read_bytes()))
    assert strings(read_records(tmp_path / name)) == strings(read_records(FOLDER / "ok_two.fa"))


def test_plain_text_is_known_by_content(tmp_path: Path) -> None:
    (tmp_path / "plain.gz").write_bytes((FOLDER / "ok_two.fa").read_bytes())
    assert strings(read_records(tmp_path / "plain.gz")) == strings(read_records(FOLDER / "ok_two.fa"))


def test_truncated_gzip_is_an_error(tmp_path: Path) -> None:
    whole = gzip.compress((FOLDER / "ok_two.fa").read_bytes())
    (tmp_path / "cut.fa.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"cut\.fa\.gz: truncated or damaged gzip data"):
        read_records(tmp_path / "cut.fa.gz")
