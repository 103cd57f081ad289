"""Arguments of the kernels for batches of pairs, as dataclasses; the kernels' files describe each parameter."""

from __future__ import annotations

from dataclasses import dataclass

from exaln.engines.cuda.runtime.arguments import Address, KernelArguments, UInt32, UInt64


@dataclass(slots=True)
class LetterArguments(KernelArguments):
    """Which letters occur: kernels/used_letters.cu."""

    kernels = ("mark_letters",)
    codes: Address
    n: UInt64
    found: Address


@dataclass(slots=True)
class PackCouplesArguments(KernelArguments):
    """Letters of two pairs into one word: kernels/pairs.cu."""

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
    """Tables of two pairs at a time: kernels/pairs.cu."""

    kernels = ("fill_couples",)
    pairs: Address
    n_pairs: UInt32
    layouts: Address
    table: Address
    ticket: Address
    arena: Address


@dataclass(slots=True)
class TracebackArguments(KernelArguments):
    """Paths and what they count: kernels/pairs.cu."""

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
    results: Address
    n_wrong: Address
    arena: Address


@dataclass(slots=True)
class GatherArguments(KernelArguments):
    """Paths one after the other: kernels/pairs.cu."""

    kernels = ("gather_runs",)
    runs: Address
    run_starts: Address
    offsets: Address
    n_pairs: UInt32
    operations: Address
