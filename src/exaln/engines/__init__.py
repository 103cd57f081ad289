"""Engines compute exact scores and alignments: the contracts, the choice of an engine, and one folder per engine."""
