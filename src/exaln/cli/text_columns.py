"""Plain text tables for info and dbinfo."""

from __future__ import annotations

from collections.abc import Sequence


def aligned(rows: Sequence[Sequence[str]], indent: str = "") -> str:
    """The rows as text, with every column but the last padded to its widest cell.

    >>> print(aligned([("engine", "cpu"), ("isa", "avx2")]))
    engine  cpu
    isa     avx2
    """
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return "\n".join(f"{indent}{line}".rstrip() for line in lines)
