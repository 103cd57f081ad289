"""The native FASTA reader against a plain Python one: any record, line width, line end and split of the input."""

import re
from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from exaln._core import FastaReader
from exaln.sequences.alphabet import DNA, PROTEIN, Alphabet

BLANKS = " \t\v\f"
LINE_ENDS = ["\n", "\r\n", "\r"]


@dataclass
class Row:
    """One record, as the reference understands it."""

    id: str
    description: str
    sequence: str
    mask: list[list[int]]


def reference(text: str) -> list[Row]:
    """FASTA by the book."""
    records: list[tuple[str, list[str]]] = []
    for line in re.split("\r\n|\n|\r", text):
        if line.startswith(">"):
            records.append((line[1:], []))
        elif line.strip(BLANKS):
            records[-1][1].append(re.sub(f"[{BLANKS}]", "", line))
    return [row(header, "".join(lines), place + 1) for place, (header, lines) in enumerate(records)]


def row(header: str, sequence: str, number: int = 1) -> Row:
    name, rest = re.fullmatch(r"([^\0-\x20\x7f]*)(.*)", header.strip(BLANKS), re.DOTALL).groups()  # type: ignore[union-attr]
    mask = [list(found.span()) for found in re.finditer("[a-z]+", sequence)]
    return Row(name or f"unnamed_{number}", rest.lstrip(BLANKS), sequence.upper(), mask)


def parse(data: bytes, cuts: list[int], alphabet: Alphabet = PROTEIN, strip_gaps: bool = False) -> FastaReader:
    reader = FastaReader(alphabet.table, strip_gaps)
    edges = [0, *sorted({cut % (len(data) + 1) for cut in cuts}), len(data)]
    for begin, end in pairwise(edges):
        reader.feed(data[begin:end])
    reader.finish()
    return reader


def rows(reader: FastaReader, alphabet: Alphabet = PROTEIN) -> list[Row]:
    id_data, id_ends, text, text_ends, codes, offsets, mask, mask_offsets, _ = (column for column in reader.take())
    n = len(offsets) - 1
    assert len(id_ends) == len(text_ends) == len(mask_offsets) == n + 1
    assert (offsets[-1], mask_offsets[-1]) == (len(codes), len(mask))
    assert (id_ends[-1], text_ends[-1]) == (len(id_data), len(text))
    return [
        Row(
            bytes(id_data[id_ends[i] : id_ends[i + 1]]).decode(),
            bytes(text[text_ends[i] : text_ends[i + 1]]).decode(),
            alphabet.decode(codes[offsets[i] : offsets[i + 1]]),
            mask[mask_offsets[i] : mask_offsets[i + 1]].tolist(),
        )
        for i in range(n)
    ]


headers = st.text(st.characters(exclude_characters="\r\n\0", codec="utf-8"), max_size=12)
letters = PROTEIN.letters + PROTEIN.letters.lower()
pieces = st.text(st.sampled_from(letters + BLANKS), max_size=20)
cut_places = st.lists(st.integers(0, 10_000), max_size=12)


@st.composite
def fasta_text(draw: st.DrawFn) -> str:
    lines = []
    for header in draw(st.lists(headers, min_size=1, max_size=6)):
        lines.append(">" + header)
        lines += draw(st.lists(pieces, max_size=5))
    text = "".join(line + draw(st.sampled_from(LINE_ENDS)) for line in lines)
    return text if draw(st.booleans()) else text.rstrip("\r\n")


@given(fasta_text(), cut_places)
@example(">\n", [])
@example("\n \n>a\r\rAC\n\r>b", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
@example(">a\x01b\nAC", [])
def test_columns_equal_those_of_a_plain_python_reader(text: str, cuts: list[int]) -> None:
    reader = parse(text.encode(), cuts)
    assert reader.problem is None
    assert rows(reader) == reference(text)


@given(fasta_text())
def test_feeding_byte_by_byte_changes_nothing(text: str) -> None:
    data = text.encode()
    assert rows(parse(data, list(range(len(data))))) == reference(text)


@given(fasta_text(), st.integers(1, 40))
def test_taking_early_changes_nothing(text: str, size: int) -> None:
    data, taken = text.encode(), []
    reader = FastaReader(PROTEIN.table)
    for begin in range(0, len(data), size):
        assert reader.feed(data[begin : begin + size])
        taken += rows(reader)
    assert reader.finish()
    assert taken + rows(reader) == reference(text)


reads = st.tuples(headers, st.text(st.sampled_from("ACGTNacgtn"), max_size=30))
qualities = st.sampled_from("@+!>~IJ")


def wrap(draw: st.DrawFn, text: str) -> list[str]:
    """Lines of random length; an empty text is one empty line."""
    lines, begin = [], 0
    while begin < len(text):
        end = begin + draw(st.integers(1, len(text)))
        lines.append(text[begin:end])
        begin = end
    return lines or [""]


@st.composite
def fastq_text(draw: st.DrawFn) -> tuple[str, list[Row]]:
    lines, expected = [], []
    for number, (header, sequence) in enumerate(draw(st.lists(reads, min_size=1, max_size=5))):
        quality = draw(st.text(qualities, min_size=len(sequence), max_size=len(sequence)))
        plus = "+" + draw(st.sampled_from(["", header]))
        blank_lines = draw(st.lists(st.just(""), max_size=2))
        lines += ["@" + header, *wrap(draw, sequence), plus, *wrap(draw, quality), *blank_lines]
        expected.append(row(header, sequence, number + 1))
    text = "".join(line + draw(st.sampled_from(LINE_ENDS)) for line in lines)
    return text, expected


@given(fastq_text(), cut_places)
def test_fastq_with_lines_of_any_length(text_and_rows: tuple[str, list[Row]], cuts: list[int]) -> None:
    text, expected = text_and_rows
    reader = parse(text.encode(), cuts, DNA)
    assert reader.problem is None
    assert rows(reader, DNA) == expected


@given(fastq_text(), st.data())
def test_a_truncated_fastq_is_never_accepted(text_and_rows: tuple[str, list[Row]], data: st.DataObject) -> None:
    text, expected = text_and_rows
    whole = text.rstrip("\r\n")
    cut = data.draw(st.integers(1, len(whole)))
    reader = parse(whole[:cut].encode(), [], DNA)
    found = rows(reader, DNA)
    if reader.problem is not None:
        assert reader.problem[0] == "truncated_fastq"
        assert found == expected[: len(found)]
    else:
        assert [r.sequence for r in found] == [r.sequence for r in expected[: len(found)]]


structure = st.sampled_from([b">", b"@", b"+", b"\n", b"\r", b"A", b"ac", b" ", b"-", b"\0", b"\xef\xbb\xbf", b"\xff"])
soup = st.lists(st.one_of(structure, st.binary(max_size=3)), max_size=60).map(b"".join)
starts = st.sampled_from([b"", b">", b"@", b"\xef\xbb\xbf", b"@r\nAC\n+\nII\n", b">x\nAC\n"])


@settings(max_examples=500)
@given(starts, soup, cut_places, st.booleans())
def test_any_bytes_give_columns_or_a_problem(start: bytes, rest: bytes, cuts: list[int], strip_gaps: bool) -> None:
    data = start + rest
    whole, cut = parse(data, [], strip_gaps=strip_gaps), parse(data, cuts, strip_gaps=strip_gaps)
    assert whole.problem == cut.problem
    assert whole.tallies() == cut.tallies()
    assert rows(whole) == rows(cut)


@settings(max_examples=300)
@given(st.sampled_from([b"@", b"@r\nAC\n+\nII\n"]), soup, cut_places, st.integers(0, 30))
def test_every_letter_has_its_quality(start: bytes, rest: bytes, cuts: list[int], taken_at: int) -> None:
    """In whichever pieces the file comes, and whenever records are taken."""
    data, found = start + rest, []
    for places in ([], [*cuts, taken_at]):
        reader = FastaReader(PROTEIN.table, True, keep_qualities=True)
        edges = [0, *sorted({place % (len(data) + 1) for place in places}), len(data)]
        codes, qualities = b"", b""
        for begin, end in pairwise(edges):
            reader.feed(data[begin:end])
            columns = reader.take()  # no qualities as long as nobody knows whether this is FASTQ
            codes, qualities = codes + bytes(columns[4]), qualities + bytes(b"" if columns[8] is None else columns[8])
        reader.finish()
        columns = reader.take()
        codes, qualities = codes + bytes(columns[4]), qualities + bytes(b"" if columns[8] is None else columns[8])
        assert len(codes) == len(qualities)
        found.append((codes, qualities, reader.problem))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("data", "kind", "line", "byte", "record"),
    [
        (b"\n\nx>a\nA\n", "leading_text", 3, ord("x"), ""),
        (b" >a\nA\n", "leading_text", 1, ord(">"), ""),
        (b"\xef\xbbA", "leading_text", 1, 0xEF, ""),
        (b"\xef\xbb", "leading_text", 1, 0xEF, ""),
        (b"\xff\xfe>\0", "utf16", 1, 0xFF, ""),
        (b"\xfe\xff\0>", "utf16", 1, 0xFE, ""),
        (b">a\rAC\r\n\nA1\n", "letter", 4, ord("1"), "a"),
        (b">a\nAC\n>b\nA\0C\n", "letter", 4, 0, "b"),
        (b">a\nAC\xc3\xa9\n", "letter", 2, 0xC3, "a"),
        (b">a\nAC;comment\n", "letter", 2, ord(";"), "a"),
        (b">a\nAC\n>b\n\nA-C\n", "gap", 5, ord("-"), "b"),
        (b">a\0\nAC\n", "header_nul", 1, 0, "a"),
        (b"@a\nAC\n@b\nAC\n", "missing_plus", 3, ord("@"), "a"),
        (b"@a\nAC\n+\nII\nI\n", "trailing_text", 5, ord("I"), "a"),
        (b"@a\nAC\n+\nII\n>b\nAC\n", "trailing_text", 5, ord(">"), "a"),
        (b"@a\nAC\n+\nIII\n", "quality_length", 4, 0, "a"),
        (b"@a\nAC\n+\nI\x1f\n", "quality_byte", 4, 0x1F, "a"),
        (b"@a\nAC\n+\nI\n", "truncated_fastq", 1, 0, "a"),
        (b"@a\nAC\n+\nII\n@b", "truncated_fastq", 5, 0, "b"),
    ],
)
@pytest.mark.parametrize("step", [1, 1000])
def test_problems_have_line_byte_and_record(
    data: bytes, kind: str, line: int, byte: int, record: str, step: int
) -> None:
    reader = parse(data, list(range(0, len(data), step)))
    assert reader.problem == (kind, line, byte, record)
    assert not reader.feed(b">later\nAC\n")
    assert not reader.finish()


@pytest.mark.parametrize(
    ("header", "text"),
    [
        (b"caf\xe9", "café"),
        ("café".encode(), "café"),
        (b"\xc0\xaf", "\xc0\xaf"),
        (b"\xed\xa0\x80", "\xed\xa0\x80"),
        (b"\xf4\x90\x80\x80", "\xf4\x90\x80\x80"),
        (b"\xe2\x82", "\xe2\x82"),
        ("\U0001d6fc-\u03b2".encode(), "\U0001d6fc-\u03b2"),
    ],
)
def test_headers_are_utf8_or_latin1(header: bytes, text: str) -> None:
    reader = parse(b">ok\nA\n>" + header + b" " + header + b"\nAC\n", [])
    found = rows(reader)[1]
    assert (found.id, found.description) == (text, text)
    assert reader.tallies()["latin1"] == ((1, 3) if text.encode() != header else (0, 0))


def test_stripped_gaps_have_qualities_and_no_place_in_the_mask() -> None:
    reader = parse(b"@a\nA-c.g\n+\nIIIII\n", [], DNA, strip_gaps=True)
    assert rows(reader, DNA) == [Row("a", "", "ACG", [[1, 3]])]
    assert reader.tallies()["gaps"] == (2, 2)


def test_an_open_record_survives_take() -> None:
    reader = FastaReader(PROTEIN.table)
    reader.feed(b">a\nAC\n>b\nacDE")
    assert rows(reader) == [Row("a", "", "AC", [])]
    assert (reader.n_complete, reader.n_residues) == (0, 4)
    assert rows(reader) == []
    reader.feed(b"Fgh\n")
    assert reader.finish()
    assert rows(reader) == [Row("b", "", "ACDEFGH", [[0, 2], [5, 7]])]


def test_columns_outlive_the_reader() -> None:
    reader = parse(b">a\nACDEF\n", [])
    codes = reader.take()[4]
    del reader
    assert PROTEIN.decode(codes) == "ACDEF"
    codes[0] = 0
