"""Arguments of the kernels that fill a region of one long pair, as a dataclass; kernels/long.cu describes each."""

from __future__ import annotations

from dataclasses import dataclass

from exaln.engines.cuda.runtime.arguments import Address, Int64, KernelArguments, UInt32, UInt64


@dataclass(slots=True)
class RegionArguments(KernelArguments):
    """A region of one table: kernels/long.cu and long_packed.cu."""

    kernels = ("fill_region", "fill_region_packed")
    columns: Address
    n_pieces: UInt32
    n_columns: UInt32
    query: Address
    strips: Address
    n_strips: UInt32
    table: Address
    top_H: Address  # noqa: N815
    top_F: Address  # noqa: N815
    left_H: Address  # noqa: N815
    left_E: Address  # noqa: N815
    queues: Address
    queue_pieces: UInt32
    consumed: Address
    n_channels: UInt32
    checkpoint_columns: Address
    row_H: Address  # noqa: N815
    row_F: Address  # noqa: N815
    column_H: Address  # noqa: N815
    column_E: Address  # noqa: N815
    n_rows: UInt64
    ends: Address
    gain: Int64
    control: Address
    patience: UInt64
    left_rows_ready: Address
    highest: Int64
    rows_left: Int64
    columns_left: Int64
