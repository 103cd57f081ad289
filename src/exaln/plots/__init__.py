"""Plots of the alignments of a pair: a dot plot, or the score matrix of a small pair. They need matplotlib."""
