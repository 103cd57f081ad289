"""What goes to stderr: notes, warnings and errors, one line each."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import click


@dataclass
class Messages:
    """How much the user wants to be told."""

    quiet: bool = False
    verbose: bool = False
    debug: bool = False

    def note(self, text: str) -> None:
        """A line for those who did not ask for quiet."""
        if not self.quiet:
            say(text)

    def detail(self, text: str) -> None:
        """A line for those who asked for more."""
        if self.verbose:
            say(text)

    def details(self, texts: Iterable[str]) -> None:
        """Several such lines."""
        for text in texts:
            self.detail(text)

    @property
    def shows_progress(self) -> bool:
        """Whether a bar can be drawn: not in a pipe, and not if quiet is wanted."""
        return not self.quiet and is_terminal(sys.stderr)


pass_messages = click.make_pass_decorator(Messages, ensure=True)


def is_terminal(stream: Any) -> bool:
    """Whether somebody looks at it."""
    return stream is not None and bool(stream.isatty())


def say(text: str) -> None:
    """Print `exaln: text` on stderr, in one line whatever the text holds. Nothing happens if stderr is closed."""
    if sys.stderr is None:
        return
    try:
        # One write: print() writes the line end on its own, and rows of a pipe could come between.
        sys.stderr.write(f"exaln: {one_line(text)}\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        return


def one_line(text: str) -> str:
    """Text without line breaks and control characters.

    >>> one_line("two\\n  lines\\x1b")
    'two lines\\\\x1b'
    """
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in " ".join(text.split()))


@contextmanager
def warnings_as_messages() -> Iterator[None]:
    """Warnings of exaln become lines on stderr, each of them once; those of libraries go their usual way."""
    from exaln.errors import ExalnWarning

    said: set[str] = set()
    show_otherwise = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if not issubclass(category, ExalnWarning):
            show_otherwise(message, category, *place, **more)
        elif str(message) not in said:
            said.add(str(message))
            say(f"warning: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", ExalnWarning)
        warnings.showwarning = show
        yield
