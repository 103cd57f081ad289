"""Tables for notebooks. Everything is escaped: ids and descriptions are text of others."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence


def html_table(heading: str, names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table as HTML, with a line above it.

    >>> html_table("2 hits", ["id"], [["<b>"]])
    '<p>2 hits</p><table><thead><tr><th>id</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f"<p>{html.escape(heading)}</p>{table}"


def html_text(heading: str, text: str) -> str:
    """Text with its line breaks and blanks as HTML, with a line above it."""
    return f"<p>{html.escape(heading)}</p><pre>{html.escape(text)}</pre>"
