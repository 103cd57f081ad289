"""HTML for notebooks. All text is escaped, because ids and descriptions come from sequence files."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence


def html_table(heading: str, names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """An HTML table with a heading line above it.

    >>> html_table("2 hits", ["id"], [["<b>"]])
    '<p>2 hits</p><table><thead><tr><th>id</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f"<p>{html.escape(heading)}</p>{table}"


def html_text(heading: str, text: str) -> str:
    """Preformatted text as HTML with a heading line above it."""
    return f"<p>{html.escape(heading)}</p><pre>{html.escape(text)}</pre>"
