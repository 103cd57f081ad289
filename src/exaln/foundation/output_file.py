"""Files that are written as a whole or not at all, and what their names say of their content."""

from __future__ import annotations

import fcntl
import gzip
import io
import os
import re
import shutil
import stat
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath
from typing import BinaryIO, cast

from exaln.errors import ExalnError, InputError, OutputError
from exaln.foundation.paths import checked_path

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
OTHER_COMPRESSIONS = (".bz2", ".xz", ".zip", ".lz4", ".7z", ".z")
LONGEST_STEM = 180
"""Bytes of a file's name that its temporary name repeats: a name has 255 bytes at most."""


@contextmanager
def output_errors(name: str | os.PathLike[str]) -> Iterator[None]:
    """Turns an error of the operating system while writing `name` into an OutputError that names it."""
    try:
        yield
    except OSError as error:
        if isinstance(error, ExalnError | BrokenPipeError):
            raise
        raise OutputError(f"{name}: cannot be written: {error.strerror or error}") from error


@contextmanager
def open_output(out: str | os.PathLike[str] | BinaryIO) -> Iterator[BinaryIO]:
    """A binary file to write to: a path, "-" for stdout, or a file that is open already.

    A path gets its content when the block ends without an error; until then, and after an error, what was there stays.
    A file that is replaced keeps its mode and, where the system allows it, its owner; other hard links keep the old
    content. Pipes and devices are written to directly.
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
        with output_errors(out), _replacing(Path(out).resolve()) as file:
            yield file


@contextmanager
def open_text_output(out: str | os.PathLike[str] | BinaryIO) -> Iterator[BinaryIO]:
    """As `open_output`, for text: a name that ends in .gz or .zst compresses it."""
    compression = compression_of(out) if isinstance(out, str | os.PathLike) else None
    with open_output(out) as file, _compressed(file, compression) as sink:
        yield sink


def compression_of(out: str | os.PathLike[str]) -> str | None:
    """How a file of this name is compressed: `gzip`, `zstd` or None; other compressions are refused."""
    extension = PurePath(out).suffix.lower()
    if extension in OTHER_COMPRESSIONS:
        raise InputError(f"{out}: text is compressed as .gz or .zst, not as {extension}")
    return COMPRESSIONS.get(extension)


def extension_of(out: str | os.PathLike[str]) -> str:
    """The extension that says what a file holds, in lower case and without that of a compression.

    >>> extension_of("hits.TSV.gz"), extension_of("hits"), extension_of("-")
    ('.tsv', '', '')
    """
    path = PurePath(out)
    if path.suffix.lower() in COMPRESSIONS:
        path = path.with_suffix("")
    return path.suffix.lower()


def require_extension(out: str | os.PathLike[str] | BinaryIO, what: str, allowed: tuple[str, ...]) -> None:
    """Refuses a name whose extension promises another format than `what`; `hits` and `hits.v2` promise nothing."""
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
    )
)
"""Extensions that promise a format. A file of such a name never holds another one unless the user asked for it."""


@contextmanager
def _compressed(file: BinaryIO, compression: str | None) -> Iterator[BinaryIO]:
    """The file, or what compresses into it; equal text gives equal bytes, so no time and no name is stored."""
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
    """Stdout for bytes. With PYTHONUNBUFFERED its `buffer` is a raw file, which may write less than it was given."""
    if sys.stdout is None:
        raise OutputError("<stdout>: closed; nothing can be written there")
    sys.stdout.flush()
    binary: BinaryIO = sys.stdout.buffer
    if not isinstance(binary, io.RawIOBase):
        yield binary
        return
    with open(binary.fileno(), "wb", closefd=False) as file:
        yield file


@contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    """A file that gets the name `path` when the block ends without an error."""
    _sweep(path)
    descriptor, temporary = _new_file(path)
    try:
        with os.fdopen(descriptor, "wb") as file:
            with suppress(OSError):  # some file systems have no locks
                fcntl.flock(descriptor, fcntl.LOCK_EX)  # `_sweep` leaves it alone as long as this process lives
            yield file
            file.flush()
            os.fsync(descriptor)
            before = _stat(path)
            if before is not None:
                _keep_owner_and_mode(descriptor, before)
            if temporary is None:
                temporary = _named(descriptor, path, is_new=before is None)
            if temporary is not None:
                temporary.replace(path)
    except BaseException:
        if temporary is not None:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
        raise


def _new_file(path: Path) -> tuple[int, Path | None]:
    """A new file in the folder of `path`, and its name: None where the file system has files without a name.

    Such a file is gone when the process is killed. A file that replaces another one is private until it gets the mode
    of the old one.
    """
    mode = 0o666 if _stat(path) is None else 0o600
    if Path("/proc/self/fd").is_dir():
        with suppress(OSError):
            return os.open(path.parent, os.O_RDWR | os.O_TMPFILE | os.O_CLOEXEC, mode), None
    temporary = _temporary_name(path)
    return os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), temporary


def _named(descriptor: int, path: Path, *, is_new: bool) -> Path | None:
    """Give a name to a file without one: `path` itself if that is free (then None), else a temporary name."""
    if is_new:
        with suppress(OSError):  # above all FileExistsError
            _link(descriptor, path)
            return None
    temporary = _temporary_name(path)
    try:
        _link(descriptor, temporary)
    except OSError:  # a file system that has files without a name, but cannot name them
        _copy(descriptor, temporary)
    return temporary


def _link(descriptor: int, path: Path) -> None:
    """linkat with AT_SYMLINK_FOLLOW; without src_dir_fd Python calls link, which does not follow."""
    os.link(f"/proc/self/fd/{descriptor}", path, src_dir_fd=descriptor, follow_symlinks=True)


def _copy(descriptor: int, to: Path) -> None:
    os.lseek(descriptor, 0, os.SEEK_SET)
    with (
        open(descriptor, "rb", closefd=False) as source,
        os.fdopen(os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file,
    ):
        _keep_owner_and_mode(file.fileno(), os.fstat(descriptor))
        shutil.copyfileobj(source, file, 1 << 20)
        file.flush()
        os.fsync(file.fileno())


def _keep_owner_and_mode(descriptor: int, before: os.stat_result) -> None:
    with suppress(OSError):  # only root may give files away
        os.fchown(descriptor, before.st_uid, before.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(before.st_mode) & 0o777)


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _temporary_name(path: Path) -> Path:
    return path.with_name(f"{_temporary_prefix(path)}{uuid.uuid4().hex}")


def _temporary_prefix(path: Path) -> str:
    return f".{os.fsencode(path.name)[:LONGEST_STEM].decode(errors='ignore')}."


def _sweep(path: Path) -> None:
    """Remove what a killed process left of an earlier attempt to write `path`; living ones hold a lock."""
    pattern = re.compile(re.escape(_temporary_prefix(path)) + "[0-9a-f]{32}")
    with suppress(OSError):
        for entry in os.scandir(path.parent):
            if pattern.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                _remove_if_unlocked(entry.path)


def _remove_if_unlocked(name: str) -> None:
    with suppress(OSError):
        descriptor = os.open(name, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            Path(name).unlink()
        finally:
            os.close(descriptor)
