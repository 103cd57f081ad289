"""Plans of scans as they are defined: with arrays that have one number for each target, instead of one for each length.

The functions have the names of those in engines/cuda/scan that they define.
"""

from itertools import pairwise

import numpy as np

from exaln.engines.cuda.scan.division import LENGTH_CLASSES, MAX_CUTS_PER_ROW
from exaln.engines.cuda.scan.long_targets import (
    BLOCK_TILE_SECONDS,
    TYPICAL_STRIPS,
    _rows_of_queries,
    block_passes,
    busy_block_seconds,
)
from exaln.engines.cuda.scan.sizes import tiles_of
from exaln.engines.cuda.scan.strips import LAUNCH_SECONDS, TAIL_STEPS


def prefix_sums(numbers):
    return np.concatenate([[0], np.cumsum(numbers)]).astype(np.int64)


def weights(lengths, long, per_row, per_residue, per_tile, per_breakpoint):
    """int64[n + 1]: the weight of all rows before each."""
    tiles = np.where(lengths <= long, tiles_of(lengths), 0)
    is_longer = np.diff(lengths, prepend=-1) > 0
    return prefix_sums(per_row + per_residue * lengths + per_tile * tiles + per_breakpoint * is_longer)


def even_edges(sums, n_pieces):
    """sums: int64[n_rows + 1], the weight of all rows before each."""
    n_rows = len(sums) - 1
    if not n_rows:
        return np.zeros(1, np.int64)
    n_pieces = min(n_pieces, MAX_CUTS_PER_ROW * n_rows)
    goals = sums[-1] * np.arange(1, n_pieces) // max(1, n_pieces)
    return np.unique(np.concatenate([[0], np.searchsorted(sums, goals), [n_rows]]))


def long_length(lengths, device, strips=TYPICAL_STRIPS):
    n, tiles = len(lengths), tiles_of(lengths)
    before = prefix_sums(tiles)
    places = {int(place) for place in np.linspace(0, n, 257)} | set(range(n - min(64, n) + 1, n + 1))
    best = None
    for place in sorted(place for place in places if 0 < place <= n):
        shapes = [strip.shape for strip in strips]
        stream = sum(
            shapes.count(shape)
            * shape.step_seconds
            * max(before[place] / (1 + shape.is_paired) / shape.n_groups(device.n_sms), tiles[place - 1])
            for shape in dict.fromkeys(shapes)
        )
        passes = block_passes(_rows_of_queries(strips))
        seconds = stream + (before[-1] - before[place]) * (passes * BLOCK_TILE_SECONDS / device.n_sms)
        if best is None or seconds < best[0]:
            best = seconds, int(lengths[place - 1])
    return 0 if best is None else best[1]


def streamed_long_length(lengths, device, strips, n_batches):
    if not len(lengths):
        return 0, 0.0
    tiles = tiles_of(lengths)
    before = prefix_sums(tiles)
    n_most = min(len(tiles), max(64, len(tiles) // 20))
    places = np.unique(len(tiles) - np.geomspace(1, n_most, 128).astype(np.int64) + 1)
    tops = 1 - np.arange(n_batches) / (LENGTH_CLASSES * n_batches)
    longest = tiles[np.searchsorted(before, before[places][:, None] * tops, side="left") - 1]
    seconds = (before[-1] - before[places]) * busy_block_seconds(_rows_of_queries(strips), device)
    kinds = [strip.kind for strip in strips]
    for shape, keeps_rows in dict.fromkeys(kinds):
        n_steps = before[places] / (n_batches * (1 + shape.is_paired) * shape.n_groups(device.n_sms))
        n_steps = np.maximum(n_steps[:, None], longest + shape.lanes * keeps_rows).sum(axis=1)
        n_steps += n_batches * (shape.lanes + TAIL_STEPS)
        seconds += kinds.count((shape, keeps_rows)) * (n_steps * shape.step_seconds + n_batches * LAUNCH_SECONDS)
    best = int(np.argmin(seconds))
    return int(lengths[places[best] - 1]), float(seconds[best])


def edges_of_batches(lengths, long, weight, limit, max_residues, *, is_resident):
    """Where the rows of a segment are cut, before the pieces are dealt to batches, and where long targets are cut."""
    n_mixed = len(lengths) if is_resident else int(np.searchsorted(lengths, long, side="right"))
    sums, residues = weights(lengths, long, *weight), prefix_sums(lengths)
    n_batches = max(1, -(-int(sums[n_mixed]) // limit), -(-int(residues[n_mixed]) // max_residues))
    n_pieces = n_batches if is_resident or n_batches == 1 else n_batches * LENGTH_CLASSES
    pieces = list(pairwise(even_edges(sums[: n_mixed + 1], n_pieces).tolist()))
    if n_mixed < len(lengths):
        own = residues[n_mixed:] - residues[n_mixed]
        share = max(1, min(limit // 2, int(residues[n_mixed]) // n_batches))
        pieces += list(pairwise((n_mixed + even_edges(own, -(-int(own[-1]) // share))).tolist()))
    return pieces
