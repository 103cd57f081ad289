"""State files: the JSON that exaln writes and reads again, with a hash of itself.

Databases, resume folders, work directories and part files each keep one JSON object that says what they hold. All of
them are read and written here, so a changed byte, a wrong type or a forged path is found in one place, and the error
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
from typing import Any

from exaln.errors import DatabaseError, ExalnError
from exaln.foundation.atomic_write import atomic_write, fsync_directory

MAX_BYTES = 1 << 30
"""Larger files are refused unread. A database of 1 TB has a manifest of 12 MB."""

MAX_INTEGER = (1 << 63) - 1
HASH_KEY = "xxh3_64"
_HASH = re.compile(r"[0-9a-f]{16}")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class StateFormat:
    """A kind of state file: its name and version, and what a user can do about a damaged one."""

    name: str
    version: int
    advice: str
    error: type[ExalnError] = DatabaseError

    def dump(self, content: dict[str, Any], *, indent: int | None = 1) -> str:
        """The text of a state file: the content with its format, its version and a hash of all that."""
        whole = {"format": self.name, "format_version": self.version, **content}
        whole[HASH_KEY] = content_hash(whole)
        return json.dumps(whole, indent=indent) + "\n"

    def load(self, text: str | bytes, file: str) -> Fields:
        """The content of a state file after all checks; an error names `file`."""
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
        """The content of the file at `path`, which is no symbolic link; FileNotFoundError if there is none."""
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
        """Replace the file at `path` as a whole, durably; OSError if that is not possible."""
        fsync_directory(path.parent)  # the files that the content names must be durable before it is
        with atomic_write(path) as file:
            file.write(self.dump(content, indent=indent).encode("ascii"))
        fsync_directory(path.parent)

    def damaged(self, file: str, problem: str) -> ExalnError:
        """The error for a file that is not what was written."""
        return self.error(f"{file}: damaged: {problem}; {self.advice}")

    def _parsed(self, text: str | bytes, file: str) -> Any:
        try:
            return json.loads(text, parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            raise self.damaged(file, f"not an {self.name}") from None

    def _hash_of(self, content: dict[str, Any], file: str) -> str:
        try:
            return content_hash(content)
        except RecursionError:  # writing takes a level more than reading
            raise self.damaged(file, f"not an {self.name}") from None


@dataclass(frozen=True)
class Fields:
    """The values of a JSON object. Each method returns a value of one type, or raises an error that names the file."""

    values: dict[str, Any]
    file: str
    form: StateFormat
    place: str = ""

    def integer(self, name: str, least: int = 0, most: int = MAX_INTEGER) -> int:
        """A whole number in [least, most]."""
        value = self._get(name)
        if type(value) is not int or not least <= value <= most:
            raise self.wrong(name, f"a whole number from {least} to {most}")
        return value

    def integers(self, name: str, least: int = 0, most: int = MAX_INTEGER) -> list[int]:
        """A list of whole numbers in [least, most]."""
        values = self._get(name)
        if not isinstance(values, list) or not all(type(one) is int and least <= one <= most for one in values):
            raise self.wrong(name, f"a list of whole numbers from {least} to {most}")
        return values

    def text(self, name: str) -> str:
        """A string."""
        value = self._get(name)
        if not isinstance(value, str):
            raise self.wrong(name, "text")
        return value

    def flag(self, name: str) -> bool:
        """True or false."""
        value = self._get(name)
        if not isinstance(value, bool):
            raise self.wrong(name, "true or false")
        return value

    def hash(self, name: str) -> str:
        """An xxh3_64 in hexadecimal digits."""
        value = self._get(name)
        if not isinstance(value, str) or _HASH.fullmatch(value) is None:
            raise self.wrong(name, "a hash of 16 hexadecimal digits")
        return value

    def file_name(self, name: str) -> str:
        """The name of a file beside this one: no folders, nothing hidden."""
        value = self._get(name)
        if not isinstance(value, str) or _PLAIN_NAME.fullmatch(value) is None:
            raise self.wrong(name, "the plain name of a file")
        return value

    def object(self, name: str) -> Fields:
        """An object within this one."""
        value = self._get(name)
        if not isinstance(value, dict):
            raise self.wrong(name, "an object")
        return Fields(value, self.file, self.form, f"{self.place}{name}.")

    def objects(self, name: str) -> Sequence[Fields]:
        """A list of objects."""
        values = self._get(name)
        if not isinstance(values, list) or not all(isinstance(one, dict) for one in values):
            raise self.wrong(name, "a list of objects")
        return [Fields(one, self.file, self.form, f"{self.place}{name}[{i}].") for i, one in enumerate(values)]

    def is_null(self, name: str) -> bool:
        """Whether a value that may be missing is."""
        return self._get(name) is None

    def wrong(self, name: str, expected: str) -> ExalnError:
        """The error for a value that is not what it must be."""
        return self.form.damaged(self.file, f"{self.place}{name} is not {expected}")

    def _get(self, name: str) -> Any:
        if name not in self.values:
            raise self.form.damaged(self.file, f"{self.place}{name} is missing")
        return self.values[name]


def open_beside(directory: Path, name: str) -> int:
    """A descriptor of the file that a state file in `directory` names, for reading.

    Only a regular file is opened: a symbolic link, a folder or a pipe is an OSError. Hash and use what this descriptor
    reads; a second look at the name may find another file.
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
    """The xxh3_64 of a JSON object, whatever the order of its keys."""
    import xxhash

    return xxhash.xxh3_64_hexdigest(json.dumps(content, sort_keys=True, separators=(",", ":")).encode("ascii"))


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
