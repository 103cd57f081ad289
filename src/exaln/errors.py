"""Errors a user can cause or meet. Each carries the exit code of the command line, as BLAST assigns them."""

from __future__ import annotations

from collections.abc import Sequence


class ExalnError(Exception):
    """Base of all errors raised on purpose; the message is one line that says what to do."""

    exit_code = 255


class InputError(ExalnError, ValueError):
    """Something is wrong with sequences, options or scoring that the user gave."""

    exit_code = 1


class DatabaseError(ExalnError):
    """A database is missing, damaged, locked or of another version."""

    exit_code = 2


class DatabaseProblems(DatabaseError):
    """All that is wrong with a database, one line each."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


class EngineError(ExalnError):
    """An engine is not usable here or failed."""

    exit_code = 3


class OutOfMemoryError(ExalnError, MemoryError):
    """The request does not fit into host or device memory, even after batches were shrunk."""

    exit_code = 4


class OutputError(ExalnError, OSError):
    """A result could not be written: the disk is full, a directory is missing or read-only."""

    exit_code = 6


class ExalnWarning(UserWarning):
    """Something was read or done in a way the user should know about; one line, once per file."""
