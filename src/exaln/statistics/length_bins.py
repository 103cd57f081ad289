"""Length bins: the database counts its targets in them, and a search has one score cutoff per bin.

Each octave (a doubling of length) has eight bins of equal width, so a bin is at most an eighth wider than its shortest
length. Up to length 15 each length has its own bin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

BINS_PER_OCTAVE = 8
_SUB_BITS = 3

N_BINS = 400
"""Number of bins: enough for lengths below 2 ** 52."""


def length_bin(lengths: ArrayLike) -> NDArray[np.int64]:
    """int64[n]: the bin of each length.

    >>> length_bin([0, 1, 15, 16, 17, 18, 350])
    array([ 0,  1, 15, 16, 16, 17, 50])
    """
    values = np.asarray(lengths, np.int64)
    octave = np.maximum(np.frexp(values.astype(np.float64))[1].astype(np.int64) - 1 - _SUB_BITS, 0)
    bins: NDArray[np.int64] = octave * BINS_PER_OCTAVE + (values >> octave)
    return bins


def shortest_in_bin(bins: ArrayLike) -> NDArray[np.int64]:
    """int64[n]: the smallest length in each bin; `shortest_in_bin(b + 1) - 1` is the largest.

    >>> shortest_in_bin([0, 15, 16, 17, 50])
    array([  0,  15,  16,  18, 320])
    """
    values = np.asarray(bins, np.int64)
    octave = np.maximum(values // BINS_PER_OCTAVE - 1, 0)
    lengths: NDArray[np.int64] = (values - octave * BINS_PER_OCTAVE) << octave
    return lengths


def length_histogram(lengths: ArrayLike) -> NDArray[np.int64]:
    """int64[N_BINS]: the number of these lengths in each bin."""
    return np.bincount(length_bin(lengths), minlength=N_BINS)
