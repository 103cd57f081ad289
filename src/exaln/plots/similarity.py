"""Where the sequences of a dot plot are similar, on each strand of the target.

For small pairs, similarity is the mean score of a window along each diagonal; for large ones, the words that both
sequences contain, long enough that few are shared by chance. The images do not grow with the pair.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.plots.plotted_pair import PlottedPair

LARGEST_WINDOWED = 1 << 22
"""Pairs with more cells than this show shared words in place of windows."""

WINDOW = 9
SQUARES = 450
"""Shared words are drawn in squares, this many along the longer sequence."""

LEAST_SQUARES = 150
"""Squares along a far shorter sequence, which is drawn stretched."""

CHANCE_SQUARES = 0.005
"""Words are long enough that at most this fraction of the squares has a word in common by chance."""

MOST_WORDS = 1 << 23
"""Longer sequences are sampled: only words with a small hash are compared, the same ones in both sequences."""

WORDS_AT_ONCE = 1 << 20
PAIRS_AT_ONCE = 4 << 20
HASH_BASE = np.uint64(0x9E3779B97F4A7C15)


def similarity(pair: PlottedPair, strand: int) -> tuple[NDArray[np.float64], str]:
    """Where the query is similar to a strand of the target, and the text of its legend; neither sequence is empty.

    float64[rows, columns] from 0 to 1, query downwards, and to the right the target as given.
    """
    is_windowed = len(pair.query) * len(pair.target) <= LARGEST_WINDOWED
    return (windowed_scores if is_windowed else shared_words)(pair, strand)


def windowed_scores(pair: PlottedPair, strand: int = 1) -> tuple[NDArray[np.float64], str]:
    """The mean score of the window around each cell along its diagonal, and the text of its legend.

    float64[query, target] from 0 to 1: 1 is about half the score of equal letters, 0 what chance gives.
    """
    scores = pair.scoring.matrix[np.ix_(pair.query, pair.target_on(strand))].astype(np.float64)
    m, n = scores.shape
    padded = np.pad(scores, WINDOW // 2)
    mean = sum(padded[d : d + m, d : d + n] for d in range(WINDOW)) / WINDOW
    equal = max(1.0, float(np.diag(pair.scoring.matrix)[pair.query].mean()))
    image = np.asarray(np.clip((mean / equal - 0.08) / 0.45, 0, 1), np.float64)
    return image[:, ::strand], f"alike in a window of {WINDOW} letters"


def shared_words(pair: PlottedPair, strand: int = 1) -> tuple[NDArray[np.float64], str]:
    """The squares of the plot in which the sequences share a word, and the text of their legend.

    float64[rows, columns], 0 or 1.
    """
    m, n = len(pair.query), len(pair.target)
    height, width = _square(m, max(m, n)), _square(n, max(m, n))
    image = np.zeros((math.ceil(m / height), math.ceil(n / width)))
    n_letters = 4 if pair.scoring.alphabet.is_nucleotide else 16
    k = min(
        m, n, max(_length_of(100 * min(m, n), n_letters), _length_of(m * n / image.size / CHANCE_SQUARES, n_letters))
    )
    step = -(-max(m, n) // MOST_WORDS)
    of_query = _squares(*_sampled_words(pair.query, k, step), height)
    words, middles = _sampled_words(pair.target_on(strand), k, step)
    of_target = _squares(words, middles if strand > 0 else n - 1 - middles, width)
    for rows, columns in _common(of_query, of_target):
        image[rows, columns] = 1
    return image, f"words of {k} letters in common"


def _square(length: int, longest: int) -> float:
    """Letters in a square along a sequence of this length. longest: the length of the longer one."""
    return min(longest / SQUARES, max(1.0, length / LEAST_SQUARES))


def _length_of(n_words: float, n_letters: int) -> int:
    """The shortest word length for which there are at least `n_words` different words."""
    return max(2, math.ceil(math.log(n_words) / math.log(n_letters)))


def _squares(
    words: NDArray[np.uint64], middles: NDArray[np.int64], square: float
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Distinct pairs of a word and the square of its middle, sorted by word."""
    places = (middles / square).astype(np.int64)
    order = np.argsort(words, kind="stable")
    words, places = words[order], places[order]
    is_new = np.ones(len(words), np.bool_)
    is_new[1:] = (words[1:] != words[:-1]) | (places[1:] != places[:-1])
    return words[is_new], places[is_new]


def _common(
    first: tuple[NDArray[np.uint64], NDArray[np.int64]], second: tuple[NDArray[np.uint64], NDArray[np.int64]]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Pairs of squares that share a word, in pieces of bounded size: repeats have very many."""
    begin, end = (np.searchsorted(second[0], first[0], side=side) for side in ("left", "right"))
    found = np.flatnonzero(end > begin)
    total = np.cumsum((end - begin)[found])
    start = 0
    while start < len(found):
        done = int(total[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(total, done + PAIRS_AT_ONCE, side="right")))
        some = found[start:stop]
        counts = (end - begin)[some]
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        yield np.repeat(first[1][some], counts), second[1][np.repeat(begin[some], counts) + within]
        start = stop


def _sampled_words(codes: NDArray[np.uint8], k: int, step: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """About one word in `step`, those with the smallest hashes, and the positions of their middles."""
    words, middles = [], []
    for first in range(0, max(1, len(codes) - k + 1), WORDS_AT_ONCE):
        some = _words(codes[first : first + WORDS_AT_ONCE + k - 1], k)
        taken = np.flatnonzero(some * HASH_BASE <= np.uint64((2**64 - 1) // step))
        words.append(some[taken])
        middles.append(first + taken + k // 2)
    return np.concatenate(words), np.concatenate(middles)


def _words(codes: NDArray[np.uint8], k: int) -> NDArray[np.uint64]:
    """uint64: the hash of the word at each position, a polynomial modulo 2^64."""
    words = np.zeros(max(0, len(codes) - k + 1), np.uint64)
    for shift in range(k):
        words = words * HASH_BASE + codes[shift : shift + len(words)].astype(np.uint64) + np.uint64(1)
    return words
