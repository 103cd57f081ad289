"""Engines compute exact scores and alignments: their contracts, the choice of one, and a folder for each."""
