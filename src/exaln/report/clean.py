"""Ids and titles from sequence files, made safe for each format: no line breaks, control characters or formulas."""

from __future__ import annotations

import re

# Control characters, everything that some reader takes for a line break, controls of writing direction, which can
# disguise a line, and lone surrogates, which cannot be encoded.
UNSAFE = "\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff"
_UNSAFE = re.compile(f"[{UNSAFE}]")
_UNSAFE_IN_LINES = re.compile(f"(?!\n)[{UNSAFE}]")
_FORMULA = ("=", "+", "-", "@")


def one_line(text: str) -> str:
    r"""The text with a space in place of each control character and each control of writing direction.

    >>> one_line("tab\tand\r\nnewline")
    'tab and  newline'
    """
    return text if text.isprintable() else _UNSAFE.sub(" ", text)


def safe_lines(text: str) -> str:
    r"""Text of several lines with a space in place of each unsafe character (see `one_line`); line breaks stay.

    >>> safe_lines(">a\x1b[2J\nACGT\n")
    '>a [2J\nACGT\n'
    """
    return _UNSAFE_IN_LINES.sub(" ", text)


def title(identifier: str, description: str) -> str:
    """Id and description as on a FASTA header line."""
    return one_line(f"{identifier} {description}") if description else one_line(identifier)


def csv_field(text: str) -> str:
    '''A field of a CSV line, quoted if it contains a comma or a quote.

    >>> print(csv_field('say "a, b"'), csv_field("plain"))
    "say ""a, b""" plain
    '''
    return '"' + text.replace('"', '""') + '"' if '"' in text or "," in text else text


def no_formula(text: str) -> str:
    """An id or title for a CSV file, with an apostrophe in front if a spreadsheet would take it for a formula.

    >>> no_formula("=1+1"), no_formula("P69905")
    ("'=1+1", 'P69905')
    """
    return f"'{text}" if text.startswith(_FORMULA) else text


def encodable(text: str) -> str:
    """The text with a question mark in place of each lone surrogate, for formats that keep all other characters."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
