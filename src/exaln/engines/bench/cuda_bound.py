"""The speed bound of a device, measured: the cell update alone, in registers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from exaln.engines.cuda.runtime.arguments import Address, KernelArguments, UInt32
from exaln.engines.cuda.runtime.compiler import Source

if TYPE_CHECKING:
    from exaln.engines.cuda.runtime.device import Device

ROWS, THREADS, COLUMNS, PACKED = 24, 640, 4, 2
"""Rows per thread, threads per block, columns per tile and cells per word with which the loop is fastest."""

FIRST_ROUNDS = 1 << 10
MIN_SECONDS = 0.05
REPEATS = 5


@dataclass(slots=True)
class BareLoopArguments(KernelArguments):
    """The arguments of kernels/recurrence_bound.cu, the cell update in a loop."""

    kernels = ("bare_loop",)
    n: UInt32
    out: Address


def bare_tcups(device: Device, gap_first: int, gap_extend: int) -> float:
    """The speed of the fastest of several runs, in 1e12 cells per second. The first runs bring the clock up."""
    constants = (("ROWS", ROWS), ("THREADS", THREADS), ("GAP_FIRST", gap_first), ("GAP_EXTEND", gap_extend))
    kernel = device.kernel(Source("recurrence_bound.cu", constants), "bare_loop")
    out, stream = device.allocate(4), device.stream()
    begin, end = device.event(has_time=True), device.event(has_time=True)

    def seconds(n_rounds: int) -> float:
        arguments = BareLoopArguments(n_rounds, out.address)
        device.record(begin, stream)
        device.launch(kernel, device.properties.n_sms, THREADS, stream, arguments)
        device.wait(device.record(end, stream))
        return device.seconds(begin, end)

    n_rounds = FIRST_ROUNDS
    while seconds(n_rounds) < MIN_SECONDS:
        n_rounds *= 2
    cells = n_rounds * ROWS * COLUMNS * PACKED * THREADS * device.properties.n_sms
    fastest = min(seconds(n_rounds) for _ in range(REPEATS))
    out.free()
    return cells / fastest / 1e12
