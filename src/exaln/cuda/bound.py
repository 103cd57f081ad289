"""What a card could reach at most: the cell update alone, in registers, measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exaln.cuda.compiler import Source

if TYPE_CHECKING:
    from exaln.cuda.card import Card

ROWS, THREADS, COLUMNS, PACKED = 24, 640, 4, 2
"""The tile of a thread and the block, with which the loop is fastest; pairs of cells are packed."""

FIRST_ROUNDS = 1 << 10
MIN_SECONDS = 0.05
REPEATS = 5


def bare_tcups(card: Card, gap_first: int, gap_extend: int) -> float:
    """1e12 cells per second of the fastest of some runs; the runs before it have brought the clock up."""
    constants = (("ROWS", ROWS), ("THREADS", THREADS), ("GAP_FIRST", gap_first), ("GAP_EXTEND", gap_extend))
    kernel = card.kernel(Source("bare.cu", constants), "bare_loop")
    out, stream = card.allocate(4), card.stream()
    begin, end = card.event(has_time=True), card.event(has_time=True)

    def seconds(n_rounds: int) -> float:
        card.record(begin, stream)
        card.launch(kernel, card.facts.n_sms, THREADS, stream, [n_rounds, out.address])
        card.wait(card.record(end, stream))
        return card.seconds(begin, end)

    n_rounds = FIRST_ROUNDS
    while seconds(n_rounds) < MIN_SECONDS:
        n_rounds *= 2
    cells = n_rounds * ROWS * COLUMNS * PACKED * THREADS * card.facts.n_sms
    fastest = min(seconds(n_rounds) for _ in range(REPEATS))
    out.free()
    return cells / fastest / 1e12
