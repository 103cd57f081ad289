"""The dot plot of a pair: where the sequences are similar, the path of the alignment, and the identity along it.

For small pairs, similarity is the mean score of a window along each diagonal; for large ones, the words that both
sequences contain, long enough that few are shared by chance. The size of the figure does not grow with the pair.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.alignments.cigar import DELETION, EQUAL, INSERTION
from exaln.plots.plotted_pair import IN_MILLIONS, IN_THOUSANDS, PlottedPair

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

PATH_COLOUR, DOT_COLOUR, GAP_COLOUR = "#d1495b", "#30638e", "#8d6a9f"
LARGEST_WINDOWED = 1 << 22
"""Pairs with more cells than this show shared words in place of windows."""

WINDOW = 9
SQUARES = 450
"""Shared words are drawn in squares, this many along the longer sequence."""

CHANCE_SQUARES = 0.005
"""Words are long enough that at most this fraction of the squares has a word in common by chance."""

MOST_WORDS = 1 << 23
"""Longer sequences are sampled: only words with a small hash are compared, the same ones in both sequences."""

WORDS_AT_ONCE = 1 << 20
FINEST = 2000
"""Resolution of the path along the longer side, and of gaps along the target."""

PAIRS_AT_ONCE = 4 << 20
HASH_BASE = np.uint64(0x9E3779B97F4A7C15)
SIZE = 6.0
"""Length of the longer side of the dot plot, in inches."""


def draw_dots(pair: PlottedPair) -> Figure:
    """A figure with the dot plot above and the identity below, both over the positions of the target."""
    from matplotlib.figure import Figure

    m, n = max(1, len(pair.query)), max(1, len(pair.target))
    ratio = min(1.6, max(0.35, m / n))
    width, height = (SIZE, SIZE * ratio) if ratio <= 1 else (SIZE / ratio, SIZE)
    width = max(width, 5.5)
    figure = Figure(figsize=(width + 1.2, height + 2.9), layout="constrained")
    dots, along = figure.subplots(2, 1, sharex=True, height_ratios=[height, 1.3])
    figure.suptitle(f"{pair.title}\n{pair.summary}", fontsize=11)
    unit, scale = _unit(pair)
    _draw_similarity(dots, pair, scale)
    _draw_path(dots, pair, scale)
    dots.set(xlim=(0, n / scale), ylim=(m / scale, 0), ylabel=f"{pair.query_label}, position ({unit})")
    dots.spines[["top", "right"]].set_visible(True)
    _draw_identity(along, pair, scale)
    along.set(xlabel=f"{pair.target_label}, position ({unit})", ylabel="identity (%)", ylim=(0, 104))
    return figure


def _unit(pair: PlottedPair) -> tuple[str, int]:
    """The unit of the axes and the number of letters in it."""
    longest = max(len(pair.query), len(pair.target))
    is_dna = pair.scoring.alphabet.is_nucleotide
    letters = "bp" if is_dna else "residues" if pair.scoring.alphabet.name == "protein" else "letters"
    if longest > IN_MILLIONS:
        return "Mb" if is_dna else f"million {letters}", 10**6
    if longest > IN_THOUSANDS:
        return "kb" if is_dna else f"thousand {letters}", 1000
    return letters, 1


def _draw_similarity(axes: Axes, pair: PlottedPair, scale: int) -> None:
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    m, n = len(pair.query), len(pair.target)
    if not m or not n:
        return
    image, note = windowed_scores(pair) if m * n <= LARGEST_WINDOWED else shared_words(pair)
    colours: Any = LinearSegmentedColormap.from_list("dots", ["#ffffff", DOT_COLOUR])
    extent = (0, n / scale, m / scale, 0)
    axes.imshow(image, cmap=colours, extent=extent, aspect="auto", vmin=0, vmax=1, interpolation="nearest")
    shown: list[Any] = [Patch(color=DOT_COLOUR, label=note)]
    if len(pair.operations):
        shown.append(Line2D([], [], color=PATH_COLOUR, label="the alignment"))
    axes.legend(handles=shown, loc="upper right", fontsize=8, framealpha=0.9)


def windowed_scores(pair: PlottedPair) -> tuple[NDArray[np.float64], str]:
    """The mean score of the window around each cell along its diagonal, and the text of its legend.

    float64[query, target] from 0 to 1: 1 is about half the score of equal letters, 0 what chance gives.
    """
    scores = pair.scoring.matrix[np.ix_(pair.query, pair.target)].astype(np.float64)
    m, n = scores.shape
    padded = np.pad(scores, WINDOW // 2)
    mean = sum(padded[d : d + m, d : d + n] for d in range(WINDOW)) / WINDOW
    equal = max(1.0, float(np.diag(pair.scoring.matrix)[pair.query].mean()))
    return np.asarray(np.clip((mean / equal - 0.08) / 0.45, 0, 1), np.float64), f"alike in a window of {WINDOW} letters"


def shared_words(pair: PlottedPair) -> tuple[NDArray[np.float64], str]:
    """The squares of the plot in which the sequences share a word, and the text of their legend.

    float64[rows, columns], 0 or 1.
    """
    m, n = len(pair.query), len(pair.target)
    n_letters = 4 if pair.scoring.alphabet.is_nucleotide else 16
    square = max(m, n) / SQUARES
    image = np.zeros((math.ceil(m / square), math.ceil(n / square)))
    k = min(
        m, n, max(_length_of(100 * min(m, n), n_letters), _length_of(m * n / image.size / CHANCE_SQUARES, n_letters))
    )
    step = -(-max(m, n) // MOST_WORDS)
    for rows, columns in _common(_squares(pair.query, k, square, step), _squares(pair.target, k, square, step)):
        image[rows, columns] = 1
    return image, f"words of {k} letters in common"


def _length_of(n_words: float, n_letters: int) -> int:
    """The shortest word length for which there are at least `n_words` different words."""
    return max(2, math.ceil(math.log(n_words) / math.log(n_letters)))


def _squares(
    codes: NDArray[np.uint8], k: int, square: float, step: int
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Distinct pairs of a word and the square of its middle, sorted by word; about one word in `step` is sampled."""
    words, positions = _sampled_words(codes, k, step)
    places = ((positions + k // 2) / square).astype(np.int64)
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
    """About one word in `step`, those with the smallest hashes, and the positions where they begin."""
    words, positions = [], []
    for first in range(0, max(1, len(codes) - k + 1), WORDS_AT_ONCE):
        some = _words(codes[first : first + WORDS_AT_ONCE + k - 1], k)
        taken = np.flatnonzero(some * HASH_BASE <= np.uint64((2**64 - 1) // step))
        words.append(some[taken])
        positions.append(first + taken)
    return np.concatenate(words), np.concatenate(positions)


def _words(codes: NDArray[np.uint8], k: int) -> NDArray[np.uint64]:
    """uint64: the hash of the word at each position, a polynomial modulo 2^64."""
    words = np.zeros(max(0, len(codes) - k + 1), np.uint64)
    for shift in range(k):
        words = words * HASH_BASE + codes[shift : shift + len(words)].astype(np.uint64) + np.uint64(1)
    return words


def _draw_path(axes: Axes, pair: PlottedPair, scale: int) -> None:
    if len(pair.operations):
        target, query = thinned_path(pair)
        axes.plot(target / scale, query / scale, color=PATH_COLOUR, linewidth=1.3, solid_capstyle="round")


def thinned_path(pair: PlottedPair) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Target and query positions of the path; of those that are drawn at one point, only the first and the last."""
    target, query = pair.corners()
    step = max(1.0, max(len(pair.query), len(pair.target)) / FINEST)
    places = (target / step).astype(np.int64), (query / step).astype(np.int64)
    moves = np.ones(len(target) + 1, np.bool_)
    moves[1:-1] = (places[0][1:] != places[0][:-1]) | (places[1][1:] != places[1][:-1])
    kept = moves[:-1] | moves[1:]
    return target[kept], query[kept]


def _draw_identity(axes: Axes, pair: PlottedPair, scale: int) -> None:
    """Draw the identity in a window of columns over the target, with gaps marked below."""
    axes.set_yticks([0, 50, 100])
    axes.grid(axis="y", color="#dddddd", linewidth=0.8)
    axes.set_axisbelow(True)
    if not len(pair.operations):
        return
    place, identity, window = windowed_identity(pair)
    axes.fill_between(place / scale, identity, color=PATH_COLOUR, alpha=0.25, linewidth=0)
    axes.plot(place / scale, identity, color=PATH_COLOUR, linewidth=1.2)
    gaps = [(begin / scale, (end - begin) / scale) for begin, end in gap_spans(pair)]
    axes.broken_barh(gaps, (0, 7), facecolor=GAP_COLOUR, edgecolor=GAP_COLOUR, linewidth=0.8)
    note = f"window of {window:,} columns" + ("; gaps marked below" if gaps else "")
    axes.set_title(note, fontsize=8, loc="right", color="#555555", pad=3)


def gap_spans(pair: PlottedPair) -> list[tuple[float, float]]:
    """The gaps of the path as target ranges; if there are very many, the ranges of the axis that have any."""
    target, _ = pair.corners()
    is_gap = np.isin(pair.operations & 15, (INSERTION, DELETION))
    begin, end = target[:-1][is_gap], target[1:][is_gap]
    if len(begin) <= FINEST:
        return list(zip(begin.tolist(), end.tolist(), strict=True))
    step = len(pair.target) / FINEST
    changes = np.zeros(FINEST + 2, np.int64)
    np.add.at(changes, np.minimum(begin / step, FINEST - 1).astype(np.int64), 1)
    np.add.at(changes, np.minimum(end / step, FINEST - 1).astype(np.int64) + 1, -1)
    edges = np.flatnonzero(np.diff(np.cumsum(changes) > 0, prepend=False))
    return [(first * step, last * step) for first, last in edges.reshape(-1, 2).tolist()]


def windowed_identity(pair: PlottedPair) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """Target position and percent identity of each window along the path, and the columns of a window."""
    lengths, codes = (pair.operations >> 4).astype(np.int64), pair.operations & 15
    column = np.concatenate([[0], np.cumsum(lengths)])  # at the ends of runs; linear in between
    target, _ = pair.corners()
    equal = np.concatenate([[0], np.cumsum(np.where(codes == EQUAL, lengths, 0))])
    n_columns = int(column[-1])
    window = int(min(n_columns, max(11, round(n_columns / 100))))
    first = np.unique(np.linspace(0, n_columns - window, FINEST).astype(np.int64))
    identity = 100 * (np.interp(first + window, column, equal) - np.interp(first, column, equal)) / window
    if len(first) == 1:
        return target[[0, -1]].astype(np.float64), np.repeat(identity, 2), window
    return np.interp(first + window // 2 + 1, column, target), identity, window
