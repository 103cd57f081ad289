"""Text of others in lines of ours: ids and titles that cannot break a format."""

from __future__ import annotations

import re

# Control characters, all that some reader takes for the end of a line, and lone surrogates, which no file can hold.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def one_line(text: str) -> str:
    r"""The text with a space for each control character.

    >>> one_line("tab\tand\r\nnewline")
    'tab and  newline'
    """
    return text if text.isprintable() else _UNSAFE.sub(" ", text)


def title(identifier: str, description: str) -> str:
    """Id and description as on a FASTA header line."""
    return one_line(f"{identifier} {description}") if description else one_line(identifier)


def csv_field(text: str) -> str:
    '''A field of a csv line, quoted if it must be.

    >>> print(csv_field('say "a, b"'), csv_field("plain"))
    "say ""a, b""" plain
    '''
    return '"' + text.replace('"', '""') + '"' if '"' in text or "," in text else text


def encodable(text: str) -> str:
    """The text with a question mark for each lone surrogate, for formats that keep all other characters."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
