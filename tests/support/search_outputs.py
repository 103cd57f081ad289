"""Reports of one search over several forms of one database, to be compared byte by byte."""

import gzip
import io
import re
from collections.abc import Sequence
from pathlib import Path

from exaln.__main__ import run
from exaln.database.database import Database

FORMATS = ["6 std score cigar btop", "7", "10 std qseq sseq", "0", "json", "fasta aligned", "parquet", "arrow"]


def split_fasta(path: Path, n_parts: int, folder: Path) -> list[Path]:
    """The records of a file in n files, in order, of about equal sizes."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        records = re.split(r"^>", file.read(), flags=re.MULTILINE)[1:]
    edges = [len(records) * part // n_parts for part in range(n_parts + 1)]
    parts = [folder / f"part{number}.fasta" for number in range(n_parts)]
    for part, first, end in zip(parts, edges[:-1], edges[1:], strict=True):
        part.write_text("".join(f">{record}" for record in records[first:end]))
    return parts


def databases(path: Path, folder: Path) -> dict[str, Path]:
    """The file itself, a database of one segment, and a database of nine."""
    one, nine = folder / "one.exaln", folder / "nine.exaln"
    Database.build(path, one)
    first, *others = split_fasta(path, 9, folder)
    Database.build(first, nine)
    for other in others:
        Database.open(nine).append(other)
    assert len(Database.open(nine).segments) == 9
    return {"fasta": path, "one": one, "nine": nine}


def found(out: Path, query: object, database: Path, outfmt: str, options: Sequence[object]) -> bytes:
    """The report of a search, with the name of the database replaced by DB."""
    arguments = ["search", "--query", query, "--db", database, "--out", out, "--outfmt", outfmt, "--quiet", *options]
    assert run([str(argument) for argument in arguments]) == 0
    content = out.read_bytes()
    out.unlink()
    if outfmt == "parquet":
        return parquet_rows(content)
    return content.replace(str(database).encode(), b"DB")


def parquet_rows(content: bytes) -> bytes:
    """The rows of a Parquet file without its metadata, which contain the name of the database."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(io.BytesIO(content)).replace_schema_metadata(None).combine_chunks()
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()
