"""Arguments of the kernels that a scan launches, as dataclasses; the kernels' files describe each parameter."""

from __future__ import annotations

from dataclasses import dataclass

from exaln.engines.cuda.runtime.arguments import Address, Int32, KernelArguments, UInt32, UInt64


@dataclass(slots=True)
class ExpandArguments(KernelArguments):
    """Breakpoints to columns: kernels/expand.cu."""

    kernels = ("expand",)
    breakpoints: Address
    columns: Address


@dataclass(slots=True)
class PackArguments(KernelArguments):
    """Residue codes to a stream of tiles: kernels/pack.cu."""

    kernels = ("pack_singles", "pack_pairs", "pack_merged")
    codes: Address
    offsets: Address
    starts: Address
    n_targets: UInt32
    fold: Address
    stream: Address


@dataclass(slots=True)
class StreamArguments(KernelArguments):
    """Strips of queries against a stream of targets: kernels/stream.cu."""

    kernels = ("stream_scores",)
    stream: Address
    chunks: Address
    n_chunks: UInt32
    n_strips: UInt32
    n_strips_before: UInt32
    tickets: Address
    chunks_done: Address
    target_flags: Address
    stacks: Address
    queries: Address
    table: Address
    boundary: Address
    scores: Address
    row_stride: UInt64


@dataclass(slots=True)
class BlockArguments(KernelArguments):
    """Single pairs in 32 bits: kernels/block.cu."""

    kernels = ("block_scores",)
    codes: Address
    offsets: Address
    fold: Address
    items: Address
    n_items: UInt32
    ticket: Address
    queries: Address
    query_offsets: Address
    table: Address
    n_strips: UInt32
    boundary: Address
    boundary_stride: UInt64
    n_written: Address
    scores: Address
    row_stride: UInt64
    limit: Int32
    overflows: Address


@dataclass(slots=True)
class OverflowArguments(KernelArguments):
    """Pairs whose packed score may be wrong: kernels/collect.cu."""

    kernels = ("find_overflows",)
    scores: Address
    row_stride: UInt64
    n_queries: UInt32
    n_targets: UInt32
    limit: Int32
    capacity: UInt32
    count: Address
    offsets: Address
    items: Address


@dataclass(slots=True)
class CutArguments(KernelArguments):
    """Scores at or above their cutoff: kernels/collect.cu."""

    kernels = ("cut",)
    scores: Address
    row_stride: UInt64
    first_query: UInt32
    n_queries: UInt32
    n_targets: UInt32
    offsets: Address
    minimum: Address
    capacity: UInt32
    count: Address
    candidates: Address
