"""What a device could reach at most: the cell update alone, in registers, measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exaln.engines.cuda.runtime.compiler import Source

if TYPE_CHECKING:
    from exaln.engines.cuda.runtime.device import Device

ROWS, THREADS, COLUMNS, PACKED = 24, 640, 4, 2
"""The tile of a thread and the block, with which the loop is fastest; pairs of cells are packed."""

FIRST_ROUNDS = 1 << 10
MIN_SECONDS = 0.05
REPEATS = 5


def bare_tcups(device: Device, gap_first: int, gap_extend: int) -> float:
    """1e12 cells per second of the fastest of some runs; the runs before it have brought the clock up."""
    constants = (("ROWS", ROWS), ("THREADS", THREADS), ("GAP_FIRST", gap_first), ("GAP_EXTEND", gap_extend))
    kernel = device.kernel(Source("recurrence_bound.cu", constants), "bare_loop")
    out, stream = device.allocate(4), device.stream()
    begin, end = device.event(has_time=True), device.event(has_time=True)

    def seconds(n_rounds: int) -> float:
        device.record(begin, stream)
        device.launch(kernel, device.facts.n_sms, THREADS, stream, [n_rounds, out.address])
        device.wait(device.record(end, stream))
        return device.seconds(begin, end)

    n_rounds = FIRST_ROUNDS
    while seconds(n_rounds) < MIN_SECONDS:
        n_rounds *= 2
    cells = n_rounds * ROWS * COLUMNS * PACKED * THREADS * device.facts.n_sms
    fastest = min(seconds(n_rounds) for _ in range(REPEATS))
    out.free()
    return cells / fastest / 1e12
