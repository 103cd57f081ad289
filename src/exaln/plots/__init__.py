"""Plots of one alignment: a dot plot, or for small pairs the score matrix. They need matplotlib."""
