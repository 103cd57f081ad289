"""The oracle: textbook Smith-Waterman with affine gaps (Gotoh 1982) on plain Python numbers.

It shares no code with the package, fills the whole matrix, and is never optimised.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

NEVER = float("-inf")


def smith_waterman(
    query: Sequence[Any],
    target: Sequence[Any],
    scores: Mapping[Any, Any] | Sequence[Any],
    gap_open: float,
    gap_extend: float,
) -> float:
    """The best local score; `scores[query letter][target letter]`, a gap of length k costs gap_open + k * gap_extend.

    >>> scores = {a: {b: 2 if a == b else -1 for b in "ACGT"} for a in "ACGT"}
    >>> smith_waterman("AGCACACA", "ACACACTA", scores, gap_open=0, gap_extend=1)
    12
    """
    rows, columns = len(query) + 1, len(target) + 1
    h = [[0] * columns for _ in range(rows)]
    e = [[NEVER] * columns for _ in range(rows)]  # ends in a gap that consumes the target
    f = [[NEVER] * columns for _ in range(rows)]  # ends in a gap that consumes the query
    for i in range(1, rows):
        for j in range(1, columns):
            e[i][j] = max(e[i][j - 1] - gap_extend, h[i][j - 1] - gap_open - gap_extend)
            f[i][j] = max(f[i - 1][j] - gap_extend, h[i - 1][j] - gap_open - gap_extend)
            h[i][j] = max(0, h[i - 1][j - 1] + scores[query[i - 1]][target[j - 1]], e[i][j], f[i][j])
    return max(max(row) for row in h)


def aligned_score(
    query: Sequence[Any],
    target: Sequence[Any],
    scores: Mapping[Any, Any] | Sequence[Any],
    gap_open: float,
    gap_extend: float,
    free: Collection[str],
) -> float:
    """The best end-to-end score; unaligned letters cost nothing at the ends in `free` (qs, qe, ts, te).

    >>> scores = {a: {b: 2 if a == b else -1 for b in "ACGT"} for a in "ACGT"}
    >>> aligned_score("ACG", "TTACG", scores, 1, 1, free=""), aligned_score("ACG", "TTACG", scores, 1, 1, free=["ts"])
    (3, 6)
    """
    rows, columns = len(query) + 1, len(target) + 1
    h = [[NEVER] * columns for _ in range(rows)]
    e = [[NEVER] * columns for _ in range(rows)]
    f = [[NEVER] * columns for _ in range(rows)]
    for i in range(rows):
        for j in range(columns):
            starts = (i == j == 0) or (i == 0 and "ts" in free) or (j == 0 and "qs" in free)
            if j > 0:
                e[i][j] = max(e[i][j - 1] - gap_extend, h[i][j - 1] - gap_open - gap_extend)
            if i > 0:
                f[i][j] = max(f[i - 1][j] - gap_extend, h[i - 1][j] - gap_open - gap_extend)
            matched = h[i - 1][j - 1] + scores[query[i - 1]][target[j - 1]] if i > 0 and j > 0 else NEVER
            h[i][j] = max(0 if starts else NEVER, matched, e[i][j], f[i][j])
    ends = [h[-1][-1]]
    if "te" in free:
        ends += h[-1]
    if "qe" in free:
        ends += [row[-1] for row in h]
    return max(ends)
