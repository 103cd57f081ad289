"""How much each part of user_time.py measures."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Sizes:
    """pairs, length: of align_many and score_many. few: of their short call. targets: of a search. copies: of these
    targets, in each large database. shape_seconds, shape_cells: limits of the grid of shapes and of one of its calls.
    """

    repeats: int = 3
    pairs: int = 100_000
    few: int = 1000
    length: int = 512
    million: int = 1_000_000
    million_length: int = 100
    targets: int = 570_000
    copies: tuple[int, ...] = (25, 100)
    shape_seconds: float = 200.0
    shape_pairs: int = 1_000_000
    is_quick: bool = False

    @staticmethod
    def of(options: argparse.Namespace) -> Sizes:
        """The sizes that the command line asks for."""
        sizes = Sizes(repeats=options.repeats, shape_seconds=options.seconds)
        if options.quick:
            sizes = replace(
                sizes, repeats=1, pairs=2000, few=100, million=20_000, targets=5000, copies=(2,), shape_seconds=20.0,
                shape_pairs=1000, is_quick=True,
            )  # fmt: skip
        given = {"pairs": options.pairs, "targets": options.targets}
        sizes = replace(sizes, **{name: value for name, value in given.items() if value is not None})
        if options.copies is not None:
            sizes = replace(sizes, copies=tuple(int(number) for number in options.copies.split(",")))
        return sizes
