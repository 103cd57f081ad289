"""FASTA parsed block by block on several threads, against a single reader: columns, problems, lines and warnings."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exaln._core import FastaBlocks, FastaReader
from exaln.errors import ExalnWarning, InputError
from exaln.sequences import chunk_parser, fasta
from exaln.sequences.alphabet import PROTEIN
from exaln.sequences.fasta import SequenceFile
from threads import all_threads, n_new_threads

LARGE = 1 << 40
TEXT = (
    b"\xef\xbb\xbf\n  \n>one first\nHEAGAWGHEE\n>\nMKV\r\n>two > three\r\nHE\n\nag\r>caf\xe9\rMK\n\n>empty\n>\n"
    b">x\x01y\nMKVLAagivg\nMKVLA\nMKVLA\n>last\nMK"
)


def tallied(reader: FastaReader | FastaBlocks) -> tuple[Any, Any]:
    """What a reader found besides records."""
    return reader.problem, reader.tallies()


def by_reader(text: bytes, strip_gaps: bool, limits: tuple[int, int]) -> tuple[list[list[Any]], tuple[Any, Any]]:
    """Rows, problem and tallies of a single reader. Records of a file with a problem are not compared."""
    reader = FastaReader(PROTEIN.table, strip_gaps, *limits)
    is_fine = reader.feed(text) and reader.finish()
    return rows(reader.take()) if is_fine else [], tallied(reader) if is_fine else (reader.problem, None)


def by_blocks(
    text: bytes, block_bytes: int, threads: int, strip_gaps: bool, limits: tuple[int, int]
) -> tuple[list[list[Any]], tuple[Any, Any]]:
    """Rows, problem and tallies of blocks."""
    with tempfile.TemporaryFile() as file:
        file.write(text)
        file.flush()
        blocks = FastaBlocks(file.fileno(), len(text), PROTEIN.table, strip_gaps, *limits, block_bytes, threads)
        found: list[list[Any]] = []
        while (columns := blocks.take()) is not None:
            found += rows(columns)
        blocks.stop()
        if blocks.problem is not None:
            return [], (blocks.problem, None)
        assert blocks.bytes_taken == len(text)
        return found, tallied(blocks)


def rows(columns: tuple[Any, ...]) -> list[list[Any]]:
    """Id, description, codes and mask of each record."""
    ids, id_ends, texts, text_ends, codes, ends, mask, mask_ends, _ = columns
    return [
        [
            data[offsets[i] : offsets[i + 1]].tolist()
            for data, offsets in ((ids, id_ends), (texts, text_ends), (codes, ends), (mask, mask_ends))
        ]
        for i in range(len(ends) - 1)
    ]


def check(text: bytes, block_bytes: int, threads: int, strip_gaps: bool = False, limits: Any = (LARGE, LARGE)) -> None:
    assert by_blocks(text, block_bytes, threads, strip_gaps, limits) == by_reader(text, strip_gaps, limits)


@pytest.mark.parametrize("threads", [1, 3])
def test_blocks_may_end_at_any_byte(threads: int) -> None:
    assert by_reader(TEXT, False, (LARGE, LARGE))[1][0] is None
    for block_bytes in range(1, len(TEXT) + 2):
        check(TEXT, block_bytes, threads)


@pytest.mark.parametrize("wrong", [b"MK!V", b"MK-V", b">nul \0 header", b"1"])
def test_the_first_problem_of_the_file_is_reported_with_its_line(wrong: bytes) -> None:
    for cut in (0, 1, 3, 6, 11):
        lines = TEXT.splitlines(keepends=True)
        text = b"".join([*lines[: 3 + cut], wrong + b"\n", *lines[3 + cut :], b"MK?\n"])
        assert by_reader(text, False, (LARGE, LARGE))[1][0] is not None
        for block_bytes in (1, 2, 3, 7, 20, 50, 1000):
            check(text, block_bytes, 2)


def test_limits_of_headers_and_records() -> None:
    text = b">a\nMKV\n>b\n" + b"MKVLA\n" * 30 + b">a long header\nMK\n"
    for limits in ((LARGE, 149), (LARGE, 150), (12, LARGE), (13, LARGE)):
        for block_bytes in (1, 5, 40, 1000):
            check(text, block_bytes, 3, limits=limits)


pieces = st.sampled_from(
    [
        b">",
        b">\n",
        b">a",
        b">b c\n",
        b"\n",
        b"\r",
        b"\r\n",
        b" ",
        b"MKV",
        b"mkv",
        b"MKVLAAGIVG\n",
        b"-",
        b"!",
        b"\xe9",
        b"\0",
    ]
)


@given(st.lists(pieces, max_size=40), st.integers(1, 30), st.integers(1, 4), st.booleans())
@settings(deadline=None)
def test_any_text_gives_what_one_reader_gives(text: list[bytes], block_bytes: int, threads: int, strip: bool) -> None:
    check(b">" + b"".join(text), block_bytes, threads, strip)


def test_a_record_longer_than_the_pieces_that_are_read() -> None:
    """A record ends far behind its block, and many blocks have none."""
    text = b">long\n" + b"MKVLAAGIVG" * 60_000 + b"\n>short\nMKV\n" + b">more\n" + b"MKV\n" * 100_000
    for block_bytes in (10_000, (1 << 18) - 1, 1 << 18, 1 << 20):
        check(text, block_bytes, 2)


# SequenceFile


@pytest.fixture
def no_small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small files are read as large ones are."""
    monkeypatch.setattr(fasta, "LEAST_DIVIDED_BYTES", 1)
    monkeypatch.setattr(fasta, "BLOCK_BYTES", 700)
    monkeypatch.setattr(chunk_parser, "BYTES_PARSED_AT_ONCE", 1)


LETTERS = np.frombuffer(b"ACDEFGHIKLMNPQRSTVWYacd", np.uint8)


def many_records(n: int = 400) -> bytes:
    random = np.random.default_rng(1)
    return b"".join(b">s%d %s\n%s\n" % (i, b"x" * (i % 7), random.choice(LETTERS, i % 90).tobytes()) for i in range(n))


def content(source: Path, threads: int) -> list[Any]:
    """All ids and lengths, and what the file counts."""
    with SequenceFile(source, threads=threads, batch_residues=1000) as file:
        found = [row for records in file for row in zip(records.ids.to_list(), records.lengths.tolist(), strict=True)]
        return [*found, file.n_records, file.n_residues, file.n_empty, file.bytes_read]


@pytest.mark.usefixtures("no_small_files")
@pytest.mark.parametrize("name", ["plain", "packed"])
def test_records_and_counts_do_not_depend_on_threads(tmp_path: Path, name: str) -> None:
    import gzip

    path = tmp_path / name
    path.write_bytes(many_records() if name == "plain" else gzip.compress(many_records()))
    found = []
    for threads in (1, 2, 3, 16):
        with pytest.warns(ExalnWarning, match=r"residues, kept with length 0 \(first in line 1\)"):
            found.append(content(path, threads))
    assert found[0][-4] == 400
    assert found == found[:1] * 4


@pytest.mark.usefixtures("no_small_files")
@pytest.mark.parametrize("threads", [1, 2, 16])
@pytest.mark.parametrize("name", ["plain", "packed"])
def test_errors_do_not_depend_on_threads(tmp_path: Path, threads: int, name: str) -> None:
    import gzip

    path = tmp_path / name
    text = many_records().replace(b">s300 ", b"12\n>s300 ").replace(b">s350 ", b"?\n>s350 ")
    path.write_bytes(text if name == "plain" else gzip.compress(text))
    line = text[: text.index(b"12\n")].count(b"\n") + 1
    with pytest.raises(InputError) as raised:
        content(path, threads)
    assert str(raised.value).startswith(f"{path}: record 's299' (line {line}): '1' is not a protein letter")


@pytest.mark.usefixtures("no_small_files")
def test_a_fastq_file_is_not_divided(tmp_path: Path) -> None:
    path = tmp_path / "reads.fq"
    path.write_bytes(b"@a\nACGT\n+\n>III\n" * 100)
    with SequenceFile(path, threads=4) as file:
        assert sum(len(records) for records in file) == 100


@pytest.mark.usefixtures("no_small_files")
def test_a_file_that_is_closed_early_leaves_no_thread(tmp_path: Path) -> None:
    path = tmp_path / "some.fa"
    path.write_bytes(many_records())

    before = all_threads()
    with SequenceFile(path, threads=4, batch_residues=1000) as file:
        next(file)
        assert all_threads() - before
    assert n_new_threads(before) == 0
    with pytest.raises(ValueError, match="closed"):
        next(file)
