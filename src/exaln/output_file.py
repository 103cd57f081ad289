"""Files that are written as a whole or not at all."""

from __future__ import annotations

import io
import os
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from exaln.errors import ExalnError, OutputError
from exaln.paths import checked_path


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
    Pipes and devices are written to directly.
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
def _stdout() -> Iterator[BinaryIO]:
    """Stdout for bytes. With PYTHONUNBUFFERED its `buffer` is a raw file, which may write less than it was given."""
    sys.stdout.flush()
    binary: BinaryIO = sys.stdout.buffer
    if not isinstance(binary, io.RawIOBase):
        yield binary
        return
    with open(binary.fileno(), "wb", closefd=False) as file:
        yield file


@contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
