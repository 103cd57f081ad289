"""Native code of the studies: score tables filled as the papers fill them (studies/native)."""

import numpy as np
from numpy.typing import NDArray

def table_size(layout: str, m: int, n: int) -> int:
    """Number of cells of a table for m query letters and n target letters, border included."""

def fill_table(
    query: NDArray[np.uint8],
    target: NDArray[np.uint8],
    matrix: NDArray[np.int32],
    gap: int,
    layout: str,
    threads: int,
    chunk: int,
    table: NDArray[np.int32],
) -> None:
    """Fill `table` with local scores, linear gaps.

    layout: 'by rows' (one thread), 'rotated' or 'by diagonals'. chunk: cells of a diagonal that a thread takes at a
    time. table: int32[table_size(layout, m, n)].
    """

def time_empty_steps(threads: int, n_steps: int) -> float:
    """Seconds that `n_steps` steps without work take, with a barrier of all threads after each."""

def fill_tiles(
    query: NDArray[np.uint8],
    target: NDArray[np.uint8],
    matrix: NDArray[np.int32],
    gap_first: int,
    gap_extend: int,
    threads: int,
    side: int,
    H: NDArray[np.int32],  # noqa: N803
    E: NDArray[np.int32],  # noqa: N803
    F: NDArray[np.int32],  # noqa: N803
) -> list[float]:
    """Fill H, E and F (by rows, affine gaps) in tiles of side x side cells; seconds that each thread waited."""

def align_pairs(
    queries: NDArray[np.uint8], targets: NDArray[np.uint8], matrix: NDArray[np.int32], gap: int
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.uint8], NDArray[np.int64], float, float]:
    """Align queries[i] with targets[i], uint8[n_pairs, length], with linear gaps on one thread.

    Returns scores int32[n_pairs]; ends int64[2 * n_pairs]; the steps of all paths, each from its end; their offsets
    int64[n_pairs + 1]; seconds of filling and of traceback.
    """
