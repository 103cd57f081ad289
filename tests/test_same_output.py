"""One search, one answer: threads, kind of input and segments never change a byte of the output."""

import gzip
import io
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import real_data
from exaln.__main__ import run
from exaln.database import Database
from golden_data import GOLDEN

FORMATS = ["6 std score cigar btop", "7", "10 std qseq sseq", "0", "json", "fasta aligned", "parquet", "arrow"]


def split_fasta(path: Path, n_parts: int, folder: Path) -> list[Path]:
    """The records of a file in n files, in order, the sizes as even as they can be."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        records = re.split(r"^>", file.read(), flags=re.MULTILINE)[1:]
    edges = [len(records) * part // n_parts for part in range(n_parts + 1)]
    parts = [folder / f"part{number}.fasta" for number in range(n_parts)]
    for part, first, end in zip(parts, edges[:-1], edges[1:], strict=True):
        part.write_text("".join(f">{record}" for record in records[first:end]))
    return parts


def databases(path: Path, folder: Path) -> dict[str, Path]:
    """The file itself, a database of one segment, and one of nine."""
    one, nine = folder / "one.exaln", folder / "nine.exaln"
    Database.build(path, one)
    first, *others = split_fasta(path, 9, folder)
    Database.build(first, nine)
    for other in others:
        Database.open(nine).append(other)
    assert len(Database.open(nine).segments) == 9
    return {"fasta": path, "one": one, "nine": nine}


def found(out: Path, query: object, database: Path, outfmt: str, options: Sequence[object]) -> bytes:
    """The report, with the name of the database, which some formats tell, made the same."""
    arguments = ["search", "--query", query, "--db", database, "--out", out, "--outfmt", outfmt, "--quiet", *options]
    assert run([str(argument) for argument in arguments]) == 0
    content = out.read_bytes()
    out.unlink()
    if outfmt == "parquet":
        return parquet_rows(content)
    return content.replace(str(database).encode(), b"DB")


def parquet_rows(content: bytes) -> bytes:
    """The rows without the file's metadata, which has the name of the database."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(io.BytesIO(content)).replace_schema_metadata(None).combine_chunks()
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


@pytest.mark.parametrize("outfmt", FORMATS)
def test_golden_data(tmp_path: Path, outfmt: str, monkeypatch: pytest.MonkeyPatch) -> None:
    queries, out = GOLDEN / "cudasw4q_part.fasta", tmp_path / "out"
    given = databases(GOLDEN / "scop20_part.fasta", tmp_path)
    if outfmt == "arrow":  # its bytes are compared as they are, so the name has to be the same length
        given.pop("fasta")
        given["one"] = given["one"].rename(tmp_path / "uno1.exaln")
    for options in (["--evalue", "100"], ["--evalue", "1e9", "--max-target-seqs", 5, "--min-identity", 20]):
        expected = found(out, queries, given["one"], outfmt, [*options, "--threads", 1])
        assert len(expected) > 1000
        for database in given.values():
            for threads in (1, 2):
                assert found(out, queries, database, outfmt, [*options, "--threads", threads]) == expected
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(queries.read_bytes())))
        assert found(out, "-", given["nine"], outfmt, options) == expected


@real_data.needs_real_data
@pytest.mark.parametrize("options", [["--evalue", "10"], ["--evalue", "1e6"]], ids=["few", "many"])
def test_real_data(tmp_path: Path, options: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve queries against 20,000 proteins: 1 and 2 threads, FASTA, database of 1 and of 9 segments, stdin, twice."""
    outfmt = "6 std score cigar btop"
    queries = split_fasta(real_data.FOLDER / "protein/mmseqs_QUERY.fasta.gz", 40, tmp_path)[0]
    queries = queries.rename(tmp_path / "queries.fasta")
    given = databases(real_data.FOLDER / "protein/mmseqs_DB.fasta.gz", tmp_path)
    out = tmp_path / "out"
    expected = found(out, queries, given["one"], outfmt, [*options, "--threads", 1])
    assert expected.count(b"\n") > 500
    for database in given.values():
        assert found(out, queries, database, outfmt, [*options, "--threads", 2]) == expected
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(queries.read_bytes())))
    assert found(out, "-", given["nine"], outfmt, options) == expected
