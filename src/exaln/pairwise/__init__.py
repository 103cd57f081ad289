"""Pairs of sequences: scores and alignments in every mode, and pairs of any length."""
