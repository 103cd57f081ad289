"""Sequences with SCOP labels: reading, choosing and writing them."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True)
class Sequence:
    """A sequence with its label, class.fold.superfamily.family."""

    id: str
    label: str
    letters: str


def read_labelled(path: Path) -> list[Sequence]:
    """The records of a FASTA file compressed by gzip; the second word of a header is the label."""
    with gzip.open(path, "rt", encoding="ascii") as file:
        records = f"\n{file.read()}".split("\n>")[1:]
    found = []
    for record in records:
        header, _, letters = record.partition("\n")
        name, label = header.split()[:2]
        found.append(Sequence(name, label, letters.replace("\n", "").strip()))
    return found


def every_nth(items: list[Item], n: int) -> list[Item]:
    """N of the items, evenly spaced in their order; all if there are fewer.

    >>> every_nth(list(range(10)), 4)
    [0, 2, 5, 7]
    """
    return items if n >= len(items) else [items[place * len(items) // n] for place in range(n)]


def write_fasta(path: Path, sequences: list[Sequence]) -> None:
    """Write sequences with their ids alone."""
    path.write_text("".join(f">{one.id}\n{one.letters}\n" for one in sequences), encoding="ascii")
