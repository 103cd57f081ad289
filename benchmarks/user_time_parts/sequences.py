"""Random pairs of sequences in every form that users pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

LETTERS = {"dna": b"ACGT", "protein": b"ARNDCQEGHILKMFPSTWYV"}
CHANGED = 0.1
MIXED_LENGTHS = (30, 5000)
"""Lengths of "mixed" are drawn between these, evenly by their logarithm."""

BLOCK_LETTERS = 1 << 20


def random_pairs(n: int, length: int | str, molecule: str) -> tuple[Any, Any]:
    """Codes of n queries, and of targets in which a tenth of the letters is drawn again: two matrices with one sequence
    per row, or two lists of arrays if the length is "mixed".
    """
    if length != "mixed":
        queries, targets = _letters(n * int(length), molecule)
        return queries.reshape(n, -1), targets.reshape(n, -1)
    low, high = np.log(MIXED_LENGTHS)
    ends = np.cumsum(np.exp(np.random.default_rng(0).uniform(low, high, n)).astype(np.int64))
    queries, targets = _letters(int(ends[-1]), molecule)
    return np.split(queries, ends[:-1]), np.split(targets, ends[:-1])


_DRAWN: dict[str, tuple[Any, Any]] = {}
"""Letters of queries and targets by molecule; a call takes the first of them."""


def _letters(n: int, molecule: str) -> tuple[Any, Any]:
    """The first n letters of an endless text, and of its changed copy. They do not depend on earlier calls."""
    nothing = np.empty(0, np.uint8)
    queries, targets = _DRAWN.get(molecule, (nothing, nothing))
    if len(queries) < n:
        blocks = [_block(number, len(LETTERS[molecule])) for number in range(-(-n // BLOCK_LETTERS))]
        queries, targets = (np.concatenate(sides) for sides in zip(*blocks, strict=True))
        _DRAWN[molecule] = queries, targets
    return queries[:n], targets[:n]


def _block(number: int, n_letters: int) -> tuple[Any, Any]:
    random = np.random.default_rng(number)
    queries, others = random.integers(0, n_letters, (2, BLOCK_LETTERS), np.uint8)
    return queries, np.where(random.random(BLOCK_LETTERS, np.float32) < CHANGED, others, queries)


def _texts(codes: Any, molecule: str) -> list[bytes]:
    """The letters of every sequence."""
    letters = np.frombuffer(LETTERS[molecule], np.uint8)
    whole = letters[codes.reshape(-1) if isinstance(codes, np.ndarray) else np.concatenate(codes)].tobytes()
    ends = np.cumsum([len(one) for one in codes]).tolist()
    return [whole[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]


def _strings(codes: Any, molecule: str) -> list[str]:
    return [text.decode() for text in _texts(codes, molecule)]


def _arrow(codes: Any, molecule: str) -> Any:
    import pyarrow

    return pyarrow.array(_strings(codes, molecule), pyarrow.large_string())


def _polars(codes: Any, molecule: str) -> Any:
    import polars

    return polars.Series(_strings(codes, molecule))


def _mixed(codes: Any, molecule: str) -> list[Any]:
    """str, bytes and NumPy codes in turn."""
    texts, n = _texts(codes, molecule), len(codes)
    return [(texts[i].decode(), texts[i], np.ascontiguousarray(codes[i]))[i % 3] for i in range(n)]


FORMS: dict[str, Callable[[Any, str], Any]] = {
    "str": _strings,
    "bytes": _texts,
    "numpy": lambda codes, _: codes,
    "numpy S": lambda codes, molecule: np.array(_texts(codes, molecule)),
    "numpy U": lambda codes, molecule: np.array(_strings(codes, molecule)),
    "codes in a list": lambda codes, _: [np.ascontiguousarray(one) for one in codes],
    "arrow": _arrow,
    "polars": _polars,
    "mixed": _mixed,
}
"""Each form, from codes and the name of the molecule. "numpy": codes as a matrix, or as a list if lengths differ."""
