"""Arguments of the kernels for batches of pairs, as dataclasses; kernels/pairs.cu describes each parameter."""

from __future__ import annotations

from dataclasses import dataclass

from exaln.engines.cuda.runtime.arguments import Address, KernelArguments, UInt32


@dataclass(slots=True)
class PackCouplesArguments(KernelArguments):
    """Letters of two pairs into one word."""

    kernels = ("pack_couples",)
    queries: Address
    targets: Address
    pairs: Address
    n_pairs: UInt32
    layouts: Address
    fold: Address
    arena: Address


@dataclass(slots=True)
class FillCouplesArguments(KernelArguments):
    """Tables of two pairs at a time."""

    kernels = ("fill_couples",)
    pairs: Address
    n_pairs: UInt32
    layouts: Address
    table: Address
    counters: Address
    arena: Address


@dataclass(slots=True)
class TracebackArguments(KernelArguments):
    """Paths and what they count."""

    kernels = ("trace_back",)
    queries: Address
    targets: Address
    pairs: Address
    n_pairs: UInt32
    layouts: Address
    fold: Address
    table: Address
    run_starts: Address
    runs_of_all: Address
    counters: Address
    results: Address
    operations: Address
    arena: Address
