"""Pairs of sequences: scores and alignments in every mode, at any length."""
