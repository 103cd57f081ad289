"""Write FASTA with many short random proteins to stdout, to test databases with very many targets.

python benchmarks/make_short_targets.py --targets 50000000 --length 20 > short.fasta
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

AMINO_ACIDS = np.frombuffer(b"ARNDCQEGHILKMFPSTWYV", np.uint8)
ID_DIGITS = 10
TARGETS_PER_BLOCK = 1 << 18


def block(first: int, n: int, length: int, random: np.random.Generator) -> bytes:
    """n records `>t0000000001`, numbered from `first`, as text. All have the same length: they are rows of a matrix."""
    text = np.empty((n, 2 + ID_DIGITS + 1 + length + 1), np.uint8)
    text[:, :2] = np.frombuffer(b">t", np.uint8)
    powers = 10 ** np.arange(ID_DIGITS - 1, -1, -1)
    text[:, 2 : 2 + ID_DIGITS] = ord("0") + (np.arange(first, first + n)[:, None] // powers) % 10
    text[:, 2 + ID_DIGITS] = ord("\n")
    text[:, 3 + ID_DIGITS : -1] = AMINO_ACIDS[random.integers(0, len(AMINO_ACIDS), (n, length), np.uint8)]
    text[:, -1] = ord("\n")
    return text.tobytes()


def main() -> None:
    """Write the requested records."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", type=int, default=50_000_000)
    parser.add_argument("--length", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    random = np.random.default_rng(options.seed)
    for first in range(0, options.targets, TARGETS_PER_BLOCK):
        n = min(TARGETS_PER_BLOCK, options.targets - first)
        sys.stdout.buffer.write(block(first, n, options.length, random))


if __name__ == "__main__":
    main()
