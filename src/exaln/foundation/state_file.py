"""State files: JSON that exaln writes and reads back, with a hash of its own content.

Databases, resume folders, work directories and part files each have one JSON object that describes their content. All
are read and written here, so a changed byte, a wrong type or a forged path is found in one place, with an error that
names the file and says what to do.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from exaln.errors import DatabaseError, ExalnError
from exaln.foundation.atomic_write import atomic_write, fsync_directory

MAX_BYTES = 1 << 30
"""Larger files are refused. The manifest of a database of 1 TB has 12 MB."""

MAX_INTEGER = (1 << 63) - 1
HASH_KEY = "xxh3_64"
T = TypeVar("T")
_HASH = re.compile(r"[0-9a-f]{16}")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class StateFormat:
    """A kind of state file: its name and version, advice for a damaged one, and the error class to raise."""

    name: str
    version: int
    advice: str
    error: type[ExalnError] = DatabaseError

    def dump(self, content: dict[str, Any], *, indent: int | None = 1) -> str:
        """The text of a state file: the content, its format and version, and a hash of these."""
        whole = {"format": self.name, "format_version": self.version, **content}
        whole[HASH_KEY] = content_hash(whole)
        return json.dumps(whole, indent=indent) + "\n"

    def load(self, text: str | bytes, file: str) -> Fields:
        """The content of a state file from its text. Raises `self.error`, which names `file`, if it is damaged."""
        content = self._parsed(text, file)
        if not isinstance(content, dict) or content.get("format", self.name) != self.name:
            raise self.damaged(file, f"not an {self.name}")
        version = content.get("format_version")
        if type(version) is not int:
            raise self.damaged(file, "it has no version")
        if version != self.version:
            found = f"{self.name} of format {version}, but this exaln reads format {self.version}"
            raise self.error(f"{file}: {found}; use the exaln that wrote it, or {self.advice}")
        if content.pop(HASH_KEY, None) != self._hash_of(content, file):
            raise self.damaged(file, "its hash differs from its content")
        return Fields(content, file, self)

    def read(self, path: Path) -> Fields:
        """The content of the file at `path`. Raises FileNotFoundError if there is none, and `self.error` if it is
        damaged, unreadable or a symbolic link.
        """
        try:
            with open(open_beside(path.parent, path.name), "rb") as file:
                if os.fstat(file.fileno()).st_size > MAX_BYTES:
                    raise self.damaged(str(path), f"larger than {MAX_BYTES:,} bytes")
                text = file.read(MAX_BYTES + 1)
        except FileNotFoundError:
            raise
        except (OSError, ValueError) as error:
            raise self.error(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
        return self.load(text, str(path))

    def write(self, path: Path, content: dict[str, Any], *, indent: int | None = 1) -> None:
        """Replace the file at `path` atomically and durably; OSError if that fails."""
        fsync_directory(path.parent)  # the files that the content names must be durable before it is
        with atomic_write(path) as file:
            file.write(self.dump(content, indent=indent).encode("ascii"))
        fsync_directory(path.parent)

    def damaged(self, file: str, problem: str) -> ExalnError:
        """The error for a damaged file, with the format's advice."""
        return self.error(f"{file}: damaged: {problem}; {self.advice}")

    def _parsed(self, text: str | bytes, file: str) -> Any:
        try:
            return json.loads(text, parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            raise self.damaged(file, f"not an {self.name}") from None

    def _hash_of(self, content: dict[str, Any], file: str) -> str:
        try:
            return content_hash(content)
        except RecursionError:  # dumping nests one level deeper than parsing
            raise self.damaged(file, f"not an {self.name}") from None


@dataclass(frozen=True)
class Fields:
    """The values of a JSON object. Each method returns one value of a type, or raises an error that names the file.

    file: its name in messages. place: path of this object within the file, such as "segments[3].".
    """

    values: dict[str, Any]
    file: str
    form: StateFormat
    place: str = ""

    def integer(self, name: str, least: int = 0, most: int = MAX_INTEGER) -> int:
        """A whole number from `least` to `most`."""
        value = self._get(name)
        if type(value) is not int or not least <= value <= most:
            raise self.wrong(name, f"a whole number from {least} to {most}")
        return value

    def integers(self, name: str, least: int = 0, most: int = MAX_INTEGER) -> list[int]:
        """A list of whole numbers from `least` to `most`."""
        values = self._get(name)
        if not isinstance(values, list) or not all(type(one) is int and least <= one <= most for one in values):
            raise self.wrong(name, f"a list of whole numbers from {least} to {most}")
        return values

    def text(self, name: str) -> str:
        """A string."""
        return self._typed(name, str, "text")

    def flag(self, name: str) -> bool:
        """A boolean."""
        return self._typed(name, bool, "true or false")

    def hash(self, name: str) -> str:
        """An xxh3_64 as 16 hexadecimal digits."""
        value = self._get(name)
        if not isinstance(value, str) or _HASH.fullmatch(value) is None:
            raise self.wrong(name, "a hash of 16 hexadecimal digits")
        return value

    def file_name(self, name: str) -> str:
        """The name of a file in the same folder: no path, not hidden."""
        value = self._get(name)
        if not isinstance(value, str) or _PLAIN_NAME.fullmatch(value) is None:
            raise self.wrong(name, "the plain name of a file")
        return value

    def object(self, name: str) -> Fields:
        """A nested object."""
        return Fields(self._typed(name, dict, "an object"), self.file, self.form, f"{self.place}{name}.")

    def objects(self, name: str) -> Sequence[Fields]:
        """A list of nested objects."""
        values = self._get(name)
        if not isinstance(values, list) or not all(isinstance(one, dict) for one in values):
            raise self.wrong(name, "a list of objects")
        return [Fields(one, self.file, self.form, f"{self.place}{name}[{i}].") for i, one in enumerate(values)]

    def is_null(self, name: str) -> bool:
        """Whether an optional value is null; the key itself must be there."""
        return self._get(name) is None

    def wrong(self, name: str, expected: str) -> ExalnError:
        """The error for a value that is not `expected`."""
        return self.form.damaged(self.file, f"{self.place}{name} is not {expected}")

    def _typed(self, name: str, kind: type[T], expected: str) -> T:
        value = self._get(name)
        if not isinstance(value, kind):
            raise self.wrong(name, expected)
        return value

    def _get(self, name: str) -> Any:
        if name not in self.values:
            raise self.form.damaged(self.file, f"{self.place}{name} is missing")
        return self.values[name]


def open_beside(directory: Path, name: str) -> int:
    """A descriptor for reading the file `name` in `directory`; OSError unless it is a regular file.

    Symbolic links, folders and pipes are refused. Hash and use what this descriptor reads: opening the name again may
    give another file.
    """
    try:
        descriptor = os.open(directory / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "a symbolic link, not a file", str(directory / name)) from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", str(directory / name))
    return descriptor


def content_hash(content: dict[str, Any]) -> str:
    """The xxh3_64 of a JSON object in hexadecimal digits, independent of the order of its keys."""
    import xxhash

    return xxhash.xxh3_64_hexdigest(json.dumps(content, sort_keys=True, separators=(",", ":")).encode("ascii"))


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
