"""The composition of proteins in general, which statistics assume."""

from __future__ import annotations

# fmt: off
ROBINSON = {
    "A": 7805, "C": 1925, "D": 5364, "E": 6295, "F": 3856, "G": 7377, "H": 2199, "I": 5142, "K": 5744, "L": 9019,
    "M": 2243, "N": 4487, "P": 5203, "Q": 4264, "R": 5129, "S": 7120, "T": 5841, "V": 6441, "W": 1330, "Y": 3216,
}
# fmt: on
"""Amino acids in 100,000 residues. Source: Robinson and Robinson, PNAS 88 (1991) 8880, as in NCBI's blast_stat.c."""
