"""Length bins: their edges, their widths and histograms."""

import numpy as np

from exaln.statistics.length_bins import BINS_PER_OCTAVE, N_BINS, length_bin, length_histogram, shortest_in_bin


def test_every_length_lies_in_its_bin() -> None:
    lengths = np.concatenate([np.arange(100_000), 2 ** np.arange(17, 52), 2 ** np.arange(17, 52) - 1])
    bins = length_bin(lengths)
    assert np.all(shortest_in_bin(bins) <= lengths)
    assert np.all(lengths < shortest_in_bin(bins + 1))
    assert bins.max() < N_BINS


def test_a_bin_is_at_most_an_eighth_wider_than_its_shortest_length() -> None:
    starts = shortest_in_bin(np.arange(N_BINS))
    assert starts[:16].tolist() == list(range(16))
    assert np.all(np.diff(starts) * BINS_PER_OCTAVE <= np.maximum(starts[:-1], BINS_PER_OCTAVE))


def test_histogram_counts_everything() -> None:
    histogram = length_histogram([0, 0, 7, 350, 351, 400])
    assert histogram.shape == (N_BINS,)
    assert histogram.dtype == np.int64
    assert (histogram[0], histogram[7], histogram[length_bin(350)], histogram.sum()) == (2, 1, 2, 6)
