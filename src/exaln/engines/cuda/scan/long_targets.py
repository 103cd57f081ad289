"""Which targets are long, so that block.cu scores them one by one instead of stream.cu in a stream."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from exaln.engines.cuda.scan.shapes import BLOCK_SHAPES, Packing, Shape, smallest_block
from exaln.engines.cuda.scan.sizes import tiles_of
from exaln.engines.cuda.scan.strips import LAUNCH_SECONDS, TAIL_STEPS, Part, Strip
from exaln.foundation.distinct import distinct

if TYPE_CHECKING:
    from exaln.engines.cuda.runtime.device import DeviceProperties
    from exaln.engines.cuda.scan.sizes import Sizes

BLOCK_TILE_SECONDS, BUSY_TILE_SECONDS = 0.4e-6, 0.6e-6
"""A step of block.cu, which waits for the step before; and a step of every block of a full multiprocessor."""

LENGTH_CLASSES = 16
"""Length classes of the rows of a streamed batch: short targets keep all groups of lanes busy to its end."""

TYPICAL_ROWS = 400
TYPICAL_SHAPE = Shape(8, 16, 512, Packing.LETTER_PAIRS)
TYPICAL_STRIPS = tuple(
    Strip(TYPICAL_SHAPE, (part,), (part,), has_bottom=part.end_row < TYPICAL_ROWS)
    for first in range(0, TYPICAL_ROWS, TYPICAL_SHAPE.strip_rows)
    for part in (Part(0, first, min(TYPICAL_SHAPE.strip_rows, TYPICAL_ROWS - first), 0),)
)
"""Strips for which the length is chosen in resident batches, whatever the queries."""


def long_length(lengths: Sizes, device: DeviceProperties, strips: Sequence[Strip] = TYPICAL_STRIPS) -> int:
    """Return the length above which targets are long. strips: those that score the others.

    In a stream, a target of n residues keeps a group of lanes busy for n / 4 steps, even after all others are done. A
    block of its own computes it more slowly, but nothing waits for it. The result has the least sum of both times.
    """
    if not len(lengths):
        return 0
    n, before = len(lengths), lengths.tiles().prefix_sums()
    places = distinct(np.linspace(0, n, 257).astype(np.int64))
    places = distinct(np.concatenate([places, n - np.arange(min(64, n))]))
    places = places[(places > 0) & (places <= n)]
    tiles, last_tiles = before.at(places), tiles_of(lengths.at(places - 1))
    stream_seconds = np.zeros(len(places))
    for shape, n_strips in Counter(strip.shape for strip in strips).items():
        n_steps = tiles / (1 + shape.is_paired) / shape.n_groups(device.n_sms)
        stream_seconds += n_strips * shape.step_seconds * np.maximum(n_steps, last_tiles)
    passes = block_passes(_rows_of_queries(strips))
    block_seconds = (before.total - tiles) * (passes * BLOCK_TILE_SECONDS / device.n_sms)
    return int(lengths.at(places[np.argmin(stream_seconds + block_seconds)] - 1))


def streamed_long_length(
    lengths: Sizes, device: DeviceProperties, strips: Sequence[Strip], n_batches: int
) -> tuple[int, float]:
    """Return the length above which targets of a streamed database are long, and the seconds of the whole scan.

    Long targets have batches of their own. n_batches: those of the other targets; each has targets of all lengths, and
    its longest targets differ a little from those of the next batch.
    """
    if not len(lengths):
        return 0, 0.0
    n, before = len(lengths), lengths.tiles().prefix_sums()
    n_most = min(n, max(64, n // 20))
    places = distinct(n - np.geomspace(1, n_most, 128).astype(np.int64) + 1)
    tiles = before.at(places)
    tops = 1 - np.arange(n_batches) / (LENGTH_CLASSES * n_batches)
    ends = before.first_at_least(np.ceil(tiles[:, None] * tops).astype(np.int64))
    longest = tiles_of(lengths.at(ends - 1))
    seconds = (before.total - tiles) * busy_block_seconds(_rows_of_queries(strips), device)
    for (shape, keeps_rows), n_strips in Counter(strip.kind for strip in strips).items():
        n_steps = tiles / (n_batches * (1 + shape.is_paired) * shape.n_groups(device.n_sms))
        # The next strip starts with the longest target, which must have left the last lane.
        n_steps = np.maximum(n_steps[:, None], longest + shape.lanes * keeps_rows).sum(axis=1)
        n_steps += n_batches * (shape.lanes + TAIL_STEPS)
        seconds += n_strips * (n_steps * shape.step_seconds + n_batches * LAUNCH_SECONDS)
    best = int(np.argmin(seconds))
    return int(lengths.at(places[best] - 1)), float(seconds[best])


def busy_block_seconds(query_lengths: Sequence[int], device: DeviceProperties) -> float:
    """Return the seconds of block.cu per tile of a target, for all queries, where blocks fill the device."""
    passes, share = block_passes(query_lengths), _block_share(query_lengths)
    return passes * share * BUSY_TILE_SECONDS / device.n_sms


def block_passes(query_lengths: Iterable[int]) -> int:
    """Return how often a block passes over a target for queries of these lengths."""
    threads, rows = BLOCK_SHAPES[0]
    return sum(-(-n_rows // (threads * rows)) for n_rows in query_lengths)


def _block_share(query_lengths: Iterable[int]) -> float:
    """Return the share of a multiprocessor that one block takes: short queries have small blocks."""
    threads, _ = smallest_block(BLOCK_SHAPES, max(query_lengths, default=0))
    return threads / BLOCK_SHAPES[0][0]


def _rows_of_queries(strips: Sequence[Strip]) -> list[int]:
    """Return the lengths of the queries in the strips."""
    ends: dict[int, int] = {}
    for part in (part for strip in strips for part in strip.parts):
        ends[part.query] = max(part.end_row, ends.get(part.query, 0))
    return list(ends.values())
