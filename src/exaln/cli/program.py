"""Runs a command line and turns every outcome into an exit code and at most one line."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from contextlib import suppress

import click

from exaln.cli.ending import INTERRUPTED, TERMINATED, Terminated, raised_by_signal
from exaln.cli.main_group import cli
from exaln.cli.messages import Messages, say, warnings_as_messages
from exaln.errors import DatabaseProblems, ExalnError, OutOfMemoryError, OutputError

USAGE = 1
UNEXPECTED = 255
PIPE_CLOSED = 128 + 13  # SIGPIPE

PLAIN_NUMBERS = {"integer range": "whole number", "float range": "number", "integer": "whole number", "float": "number"}
"""What Click calls the kinds of numbers, and what users do."""


def run_command_line(arguments: list[str]) -> int:
    """Run a command line and return its exit code. Raises nothing but SystemExit."""
    messages = Messages()
    try:
        with warnings_as_messages():
            code = _invoke(arguments, messages)
            if sys.stdout is not None:
                sys.stdout.flush()
            return code
    except SystemExit:
        raise
    except BaseException as raised:
        error = raised_by_signal(raised)
        code = _report(error)
        if messages.debug and code not in (USAGE, PIPE_CLOSED):
            import traceback

            traceback.print_exc()
        return code


def _invoke(arguments: list[str], messages: Messages) -> int:
    try:
        with cli.make_context("exaln", arguments, obj=messages) as ctx:
            cli.invoke(ctx)
    except click.exceptions.Exit as end:  # --help and --version
        return end.exit_code
    return 0


def _report(error: BaseException) -> int:
    """Print what happened in one line and return the exit code."""
    for kind, handle in HANDLERS:
        if isinstance(error, kind):
            return handle(error)
    say(f"error: unexpected {type(error).__name__}: {error}; this is a bug, --debug shows the traceback")
    return UNEXPECTED


def _exaln_error(error: BaseException) -> int:
    assert isinstance(error, ExalnError)
    for line in error.problems if isinstance(error, DatabaseProblems) else [str(error)]:
        say(f"error: {line}")
    if isinstance(error, OutputError):
        _forget_stdout()
    return error.exit_code


def _usage_error(error: BaseException) -> int:
    assert isinstance(error, click.ClickException)
    text = error.format_message().rstrip(".")
    for kind, plain in PLAIN_NUMBERS.items():
        text = text.replace(f"is not a valid {kind}", f"is not a {plain}")
    context = getattr(error, "ctx", None)
    hint = f" (see {context.command_path} --help)" if context is not None else ""
    say(f"error: {text[:1].lower()}{text[1:]}{hint}")
    return USAGE


def _interrupted(error: BaseException) -> int:
    say("interrupted")
    return INTERRUPTED


def _terminated(error: BaseException) -> int:
    say("terminated")
    return TERMINATED


def _pipe_closed(error: BaseException) -> int:
    """The reader of our output has closed the pipe, as `head` does: end without a message."""
    _forget_stdout()
    return PIPE_CLOSED


def _out_of_memory(error: BaseException) -> int:
    say("error: out of memory; use fewer or shorter queries, or a machine with more memory")
    return OutOfMemoryError.exit_code


def _system_error(error: BaseException) -> int:
    assert isinstance(error, OSError)
    name = f"{error.filename}: " if error.filename is not None else ""
    say(f"error: {name}{error.strerror or error}")
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS):
        _forget_stdout()
        return OutputError.exit_code
    return UNEXPECTED


HANDLERS: tuple[tuple[type[BaseException], Callable[[BaseException], int]], ...] = (
    (ExalnError, _exaln_error),
    (click.ClickException, _usage_error),
    (KeyboardInterrupt, _interrupted),
    (click.Abort, _interrupted),
    (Terminated, _terminated),
    (BrokenPipeError, _pipe_closed),
    (MemoryError, _out_of_memory),
    (OSError, _system_error),
)


def _forget_stdout() -> None:
    """Point stdout at /dev/null: the interpreter must not write the rest of its buffer when it exits."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
