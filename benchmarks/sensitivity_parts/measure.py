"""The measure: which share of a query's relatives is ranked before the first false positive."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

LEVELS = ("family", "superfamily", "fold")
N_FIELDS = {"family": 4, "superfamily": 3, "fold": 2}
"""Fields of a SCOP label, class.fold.superfamily.family, that two relatives share on a level."""


@dataclass(frozen=True)
class Row:
    """A target in the ranking of a query, with its E-value and score as the program prints them."""

    target: str
    evalue: float
    score: str


@dataclass(frozen=True)
class Found:
    """Of one query: relatives before the first false positive by level, and whether there was a false positive."""

    counts: dict[str, int]
    has_false_positive: bool


def prefix(label: str, level: str) -> str:
    """The fields of a label that members of a level share.

    >>> prefix("c.37.1.8", "fold"), prefix("c.37.1.8", "family")
    ('c.37', 'c.37.1.8')
    """
    return ".".join(label.split(".")[: N_FIELDS[level]])


def relation(one: str, other: str) -> str | None:
    """The finest level that two labels share; None for different folds.

    >>> relation("a.1.1.2", "a.1.1.1"), relation("a.1.1.2", "a.1.2.2"), relation("a.1.1.2", "a.2.1.2")
    ('superfamily', 'fold', None)
    """
    return next((level for level in LEVELS if prefix(one, level) == prefix(other, level)), None)


def numbers_of_relatives(labels: Iterable[str], targets: Iterable[str], *, is_target: bool) -> list[dict[str, int]]:
    """For each query label, the number of target labels on each level. is_target: the query is a target too.

    A target counts on the finest level that it shares with the query.

    >>> numbers_of_relatives(["a.1.1.2"], ["a.1.1.2", "a.1.1.2", "a.1.1.1", "a.1.3.1", "b.1.1.2"], is_target=True)
    [{'family': 1, 'superfamily': 1, 'fold': 1}]
    """
    targets = list(targets)
    sizes = {level: Counter(prefix(label, level) for label in targets) for level in LEVELS}
    numbers = []
    for label in labels:
        family, superfamily, fold = (sizes[level][prefix(label, level)] for level in LEVELS)
        numbers.append(
            {"family": family - int(is_target), "superfamily": superfamily - family, "fold": fold - superfamily}
        )
    return numbers


def found_before_false_positive(query: str, label: str, rows: Sequence[Row], labels: Mapping[str, str]) -> Found:
    """Relatives of each level that a ranking has before its first target of another fold.

    rows: best first; they are sorted by E-value, which keeps the order of equal ones. Of several rows for a target the
    first counts, and the query itself is left out. Relatives with the E-value and the score of the first false positive
    count as ranked after it.
    """
    ranked: dict[str, Row] = {}
    for row in sorted(rows, key=lambda row: row.evalue):
        if row.target != query:
            ranked.setdefault(row.target, row)
    levels = {target: relation(label, labels[target]) for target in ranked}
    false = next((row for target, row in ranked.items() if levels[target] is None), None)
    counts = dict.fromkeys(LEVELS, 0)
    for target, row in ranked.items():
        level = levels[target]
        if level is None:
            break
        if false is None or (row.evalue, row.score) != (false.evalue, false.score):
            counts[level] += 1
    return Found(counts, false is not None)


def shares(found: Sequence[Found], relatives: Sequence[Mapping[str, int]], level: str) -> list[float]:
    """The share of relatives found, for each query that has relatives on this level."""
    pairs = zip(found, relatives, strict=True)
    return [of.counts[level] / numbers[level] for of, numbers in pairs if numbers[level]]


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """The mean and its standard error; NaN without enough values.

    >>> mean_and_error([0.0, 1.0, 1.0, 0.0])
    (0.5, 0.28867513459481287)
    """
    n = len(values)
    if n < 2:
        return (values[0] if n else math.nan), math.nan
    mean = sum(values) / n
    return mean, math.sqrt(sum((value - mean) ** 2 for value in values) / (n - 1) / n)
