"""The plan of batches of pairs for a GPU in NumPy: the definition of what native/pairs/device_plan.cpp does."""

import numpy as np

from exaln.engines.cuda.pairs.shapes import PAIR_SHAPES
from exaln.sequences.records import offsets_of

COLUMNS = 4
PAIR = np.dtype([("query", "u8"), ("target", "u8"), ("m", "u4"), ("n", "u4")])
PARTS = ("rows", "tiles", "directions", "columns", "last_row", "bests", "boundary")
LAYOUT = np.dtype([*((name, "u8") for name in PARTS), ("n_tiles", "u4"), ("n_strips", "u4")])
POSITIONS = ("query_start", "query_end", "target_start", "target_end")
COUNTS = ("identities", "positives", "mismatches", "gap_opens", "gap_columns", "columns")
RESULT = np.dtype([*((name, "i4") for name in ("score", *POSITIONS, *COUNTS)), ("n_runs", "u4"), ("first_run", "u4")])
"""PAIR, LAYOUT and RESULT are structs of kernels/pairs_table.cuh."""


def part_bytes(shape, n_strips, n_tiles, tables):
    """int64[k] for each part of the arena: its bytes for a couple."""
    is_local, has_last_row, has_paths = tables
    n_rows = n_strips * shape.strip_rows
    return {
        "rows": 4 * n_rows,
        "tiles": 16 * n_tiles,
        "directions": 2 * n_rows * (n_tiles + shape.lanes - 1) * COLUMNS // 2 * has_paths,
        "columns": 8 * n_rows * (not is_local),
        "last_row": 32 * n_tiles * has_last_row,
        "bests": 16 * n_strips * shape.lanes * is_local,
        "boundary": 32 * n_tiles * (n_strips > 1),
    }


def couple_bytes(shape, m, n, tables):
    """int64[k]: bytes of the arena for a couple of pairs of m rows and n columns."""
    return sum(part_bytes(shape, -(-m // shape.strip_rows), -(-n // COLUMNS), tables).values())


def batches(m, n, tables, limits, n_sms, sends):
    """Yield the number of the shape of each batch, and the indices of its pairs.

    Each pair gets the shape with the lowest cost. Batches have an even number of pairs, except the last of a shape.
    """
    n_tiles = -(-n // COLUMNS)
    steps = np.stack([-(-m // shape.strip_rows) * (n_tiles + shape.lanes - 1) for shape in PAIR_SHAPES])
    best = np.argmin(steps * np.array([[shape.step_cost(len(m), n_sms)] for shape in PAIR_SHAPES]), axis=0)
    for number, shape in enumerate(PAIR_SHAPES):
        own = np.flatnonzero(best == number)
        own = own[np.lexsort((m[own], n_tiles[own]))]
        arena = couple_bytes(shape, m[own], n[own], tables) // 2 + 8 * (m[own] + n[own] + 2)
        fixed = PAIR.itemsize + LAYOUT.itemsize // 2 + 8 + RESULT.itemsize
        block = fixed + sends[0] * m[own] + sends[1] * n[own] + tables[2] * (4 * (m[own] + n[own]) // 3)
        begin = 0
        while begin < len(own):
            ends = [
                int(np.searchsorted(np.cumsum(bytes_of[begin:]), limit, side="right"))
                for bytes_of, limit in zip((arena, block), limits, strict=True)
            ]
            end = begin + min(ends)
            end = end if end == len(own) else min(len(own), max(begin + 2, end - end % 2))
            yield number, own[begin:end]
            begin = end


def layouts_of(shape, m, n, tables):
    """LAYOUT[n_couples], the offsets of the parts of each couple, and the bytes of the arena."""
    even = len(m) + len(m) % 2
    rows, columns = np.zeros(even, np.int64), np.zeros(even, np.int64)
    rows[: len(m)], columns[: len(n)] = m, n
    n_strips = -(-rows.reshape(-1, 2).max(axis=1) // shape.strip_rows)
    n_tiles = -(-columns.reshape(-1, 2).max(axis=1) // COLUMNS)
    layouts = np.zeros(len(n_tiles), LAYOUT)
    layouts["n_tiles"], layouts["n_strips"] = n_tiles, n_strips
    sizes = np.stack(list(part_bytes(shape, n_strips, n_tiles, tables).values()), axis=1)
    ends = offsets_of(sizes.reshape(-1))
    for place, name in enumerate(PARTS):
        layouts[name] = ends[:-1].reshape(sizes.shape)[:, place]
    return layouts, int(ends[-1])
