"""The exceptions that exaln raises on purpose, each with the exit code of the command line (BLAST's numbers)."""

from __future__ import annotations

from collections.abc import Sequence


class ExalnError(Exception):
    """Base of all errors raised on purpose. The message is one line that says what is wrong and what to do."""

    exit_code = 255


class InputError(ExalnError, ValueError):
    """Sequences, options or a scoring that the user gave are wrong."""

    exit_code = 1


class DatabaseError(ExalnError):
    """A database is missing, damaged, locked or of another version."""

    exit_code = 2


class DatabaseProblems(DatabaseError):
    """Everything that `verify` found wrong with a database, one line per problem."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


class EngineError(ExalnError):
    """An engine is not available on this machine, or it failed."""

    exit_code = 3


class OutOfMemoryError(ExalnError, MemoryError):
    """The request does not fit into host or device memory, even with the smallest batches."""

    exit_code = 4


class OutputError(ExalnError, OSError):
    """A file could not be written: the disk is full, or a directory is missing or read-only."""

    exit_code = 6


class ExalnWarning(UserWarning):
    """Input was read, or work was done, in a way the user should know about; one line, once per file."""
