"""Open output files: written atomically, compressed by name, and refused if the name promises another format."""

from __future__ import annotations

import gzip
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import BinaryIO, cast

from exaln.errors import ExalnError, InputError, OutputError
from exaln.foundation.atomic_write import atomic_write
from exaln.foundation.paths import checked_path

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
OTHER_COMPRESSIONS = (".bz2", ".xz", ".zip", ".lz4", ".7z", ".z")


@contextmanager
def output_errors(name: str | os.PathLike[str]) -> Iterator[None]:
    """Turn an OSError raised in the block into an OutputError that names the file `name`."""
    try:
        yield
    except OSError as error:
        if isinstance(error, ExalnError | BrokenPipeError):
            raise
        raise OutputError(f"{name}: cannot be written: {error.strerror or error}") from error


@contextmanager
def open_output(out: str | os.PathLike[str] | BinaryIO) -> Iterator[BinaryIO]:
    """A binary file to write to; `out` is a path, "-" for stdout, or an open file.

    A path gets its new content when the block ends without an error; otherwise it keeps the old one. A replaced file
    keeps its mode and, where the system allows it, its owner; other hard links keep the old content. Pipes and devices
    are written directly. Raises OutputError.
    """
    if isinstance(out, str | os.PathLike) and out != "-":
        out = checked_path(out, "the output")
    if not isinstance(out, str | os.PathLike):
        with output_errors(getattr(out, "name", "output")):
            yield out
    elif out == "-":
        with output_errors("<stdout>"), _stdout() as file:
            yield file
            file.flush()
    elif Path(out).exists() and not Path(out).is_file():
        with output_errors(out), Path(out).open("wb") as file:
            yield file
    else:
        with output_errors(out), atomic_write(Path(out).resolve()) as file:
            yield file


@contextmanager
def open_text_output(out: str | os.PathLike[str] | BinaryIO) -> Iterator[BinaryIO]:
    """As `open_output`, for text: it is compressed if the name ends in .gz or .zst."""
    compression = compression_of(out) if isinstance(out, str | os.PathLike) else None
    with open_output(out) as file, _compressed(file, compression) as sink:
        yield sink


def compression_of(out: str | os.PathLike[str]) -> str | None:
    """The compression that a file name asks for: "gzip", "zstd" or None; InputError for others such as .bz2."""
    extension = PurePath(out).suffix.lower()
    if extension in OTHER_COMPRESSIONS:
        raise InputError(f"{out}: text is compressed as .gz or .zst, not as {extension}")
    return COMPRESSIONS.get(extension)


def extension_of(out: str | os.PathLike[str]) -> str:
    """The extension that tells the format of a file, in lower case and without .gz or .zst.

    >>> extension_of("hits.TSV.gz"), extension_of("hits"), extension_of("-")
    ('.tsv', '', '')
    """
    path = PurePath(out)
    if path.suffix.lower() in COMPRESSIONS:
        path = path.with_suffix("")
    return path.suffix.lower()


def require_extension(out: str | os.PathLike[str] | BinaryIO, what: str, allowed: tuple[str, ...]) -> None:
    """Raise InputError if the extension promises another format than `what`; `hits` and `hits.v2` promise none."""
    if not isinstance(out, str | os.PathLike) or os.fspath(out) == "-":
        return
    extension = extension_of(out)
    if extension not in allowed and extension in KNOWN_EXTENSIONS:
        raise InputError(f"{out}: the output is {what}; use a name that ends in {' or '.join(allowed)}")


KNOWN_EXTENSIONS = frozenset(
    (
        *(".tsv", ".tab", ".csv", ".txt", ".json", ".parquet", ".arrow", ".feather", ".fasta", ".fa", ".faa", ".fna"),
        *(".fastq", ".fq", ".sam", ".bam", ".cram", ".paf", ".bed", ".gff", ".gff3", ".gtf", ".vcf", ".maf", ".xml"),
        *(".html", ".htm", ".pdf", ".svg", ".png", ".xls", ".xlsx", ".ods", ".doc", ".docx", ".md", ".tex", ".yaml"),
        *(".yml", ".toml", ".jsonl", ".ndjson", ".sqlite", ".duckdb", ".h5", ".hdf5", ".npy", ".npz", ".asn", ".asn1"),
        *(".a3m", ".a2m", ".sto", ".stk", ".aln", ".msf", ".phy", ".tar", ".exaln", ".orc", ".avro", ".pkl", ".rds"),
        *(".daa", ".psl", ".axt", ".chain", ".gb", ".gbk", ".rma6"),
    )
)
"""Extensions that promise a format. Another format is not written under such a name unless the user asks for it."""


@contextmanager
def _compressed(file: BinaryIO, compression: str | None) -> Iterator[BinaryIO]:
    """The file, or a stream that compresses into it. No time or name is stored, so equal text gives equal bytes."""
    if compression == "gzip":
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0, compresslevel=6) as sink:
            yield cast(BinaryIO, sink)
    elif compression == "zstd":
        import zstandard

        with zstandard.ZstdCompressor(level=3).stream_writer(file, closefd=False) as sink:
            yield cast(BinaryIO, sink)
    else:
        yield file


@contextmanager
def _stdout() -> Iterator[BinaryIO]:
    """Stdout as a binary file. With PYTHONUNBUFFERED `buffer` is a raw file, whose writes may be partial."""
    if sys.stdout is None:
        raise OutputError("<stdout>: closed; nothing can be written there")
    sys.stdout.flush()
    binary: BinaryIO = sys.stdout.buffer
    if not isinstance(binary, io.RawIOBase):
        yield binary
        return
    with open(binary.fileno(), "wb", closefd=False) as file:
        yield file
