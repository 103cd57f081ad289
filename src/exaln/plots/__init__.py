"""Plots of one alignment. They need matplotlib."""
