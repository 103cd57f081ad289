"""Messages on stderr: notes, warnings and errors, one line each."""

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
    """How much is printed on stderr: --quiet, --verbose and --debug."""

    quiet: bool = False
    verbose: bool = False
    debug: bool = False

    def note(self, text: str) -> None:
        """Print a line, unless --quiet is given."""
        if not self.quiet:
            say(text)

    def notes(self, texts: Iterable[str]) -> None:
        """Print several lines, unless --quiet is given."""
        for text in texts:
            self.note(text)

    def detail(self, text: str) -> None:
        """Print a line if --verbose is given."""
        if self.verbose:
            say(text)

    def details(self, texts: Iterable[str]) -> None:
        """Print several lines if --verbose is given."""
        for text in texts:
            self.detail(text)

    @property
    def shows_progress(self) -> bool:
        """True if progress bars are drawn: stderr is a terminal and --quiet is not given."""
        return not self.quiet and is_terminal(sys.stderr)


pass_messages = click.make_pass_decorator(Messages, ensure=True)


def is_terminal(stream: Any) -> bool:
    """True if the stream is a terminal."""
    return stream is not None and bool(stream.isatty())


def say(text: str) -> None:
    """Print `exaln: text` on stderr, always as one line. Does nothing if stderr is closed."""
    if sys.stderr is None:
        return
    try:
        # One write: print() would write the line end separately, and rows from a pipe could come in between.
        sys.stderr.write(f"exaln: {one_line(text)}\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        return


def one_line(text: str) -> str:
    """The text without line breaks, and with control characters escaped.

    >>> one_line("two\\n  lines\\x1b")
    'two lines\\\\x1b'
    """
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in " ".join(text.split()))


@contextmanager
def warnings_as_messages() -> Iterator[None]:
    """Within the block, print each warning of exaln once as a line on stderr; others are shown as usual."""
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
