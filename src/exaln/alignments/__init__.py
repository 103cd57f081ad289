"""Alignments as columns: paths, CIGAR and hits, the shapes that engines return and reports read."""
