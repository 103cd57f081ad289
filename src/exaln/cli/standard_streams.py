"""Standard streams that the caller closed, as in `exaln search ... 2>&-`, and safe text on a terminal.

A closed descriptor is dangerous: the next file that the process opens gets its number, and whatever prints to the
stream writes into that file. So `take_closed_descriptors` occupies each one before anything else is opened. Messages
to a closed stderr are dropped. Reading a closed stdin, or writing results to a closed stdout, is an error.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys
from typing import Any, BinaryIO

from exaln.errors import OutputError

STDIN, STDOUT, STDERR = 0, 1, 2


def take_closed_descriptors() -> None:
    """Open /dev/null on each of the descriptors 0, 1 and 2 that is closed. Must run before any file is opened."""
    closed = [descriptor for descriptor in (STDIN, STDOUT, STDERR) if not _is_open(descriptor)]
    for descriptor in closed:  # in ascending order: a new descriptor gets the lowest free number
        # Read-only for stdout, so that writing fails; write-only for stdin, so that reading fails.
        taken = os.open(os.devnull, os.O_RDONLY if descriptor == STDOUT else os.O_WRONLY)
        assert taken == descriptor
    if STDOUT in closed:
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(_ClosedStdout(STDOUT, "w", closefd=False)), encoding="utf-8")
    if STDERR in closed:
        sys.stderr = open(STDERR, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


class TerminalText(io.RawIOBase):
    """A binary file that writes UTF-8 text to a terminal, with control characters other than line ends removed."""

    name = "<stdout>"

    def __init__(self, terminal: BinaryIO) -> None:
        self._terminal = terminal
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        from exaln.report.clean import safe_lines

        self._terminal.write(safe_lines(self._decoder.decode(bytes(data))).encode())
        return len(data)

    def flush(self) -> None:
        self._terminal.flush()


class _ClosedStdout(io.FileIO):
    """The closed stdout: writing to it raises OutputError."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            if error.errno == errno.EBADF:
                raise OutputError("<stdout>: closed; nothing can be written there") from None
            raise


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True
