"""Numbers that all kernels share: the size of a warp and of a tile, and limits of packed 16-bit numbers and memory."""

from __future__ import annotations

WARP = 32
"""Threads of a warp."""

WARP_BLOCK_THREADS = 256
"""Threads of a block in kernels that give each item a warp."""

COLUMNS = 4
"""Columns of a tile."""

MIN_MEMORY = 16 << 20
"""Bytes of device memory below which nothing can be scored."""

MAX_PACKED = {True: 32767, False: 2048}
"""With and without DPX: the largest number that a half of a 32-bit word holds exactly."""

MAX_COST = {True: 8192, False: 1024}
"""With and without DPX: the largest score or gap cost for packed numbers; kernels/packed.cuh has the proof."""


def blocks_of_warps(n: int) -> int:
    """Return the number of blocks of WARP_BLOCK_THREADS that give each of n items a warp.

    >>> [blocks_of_warps(n) for n in (0, 1, 8, 9)]
    [1, 1, 1, 2]
    """
    return max(1, -(-n * WARP // WARP_BLOCK_THREADS))


def packed_limit(dpx: bool, max_score: int) -> int:
    """Return the highest best score that is exact in packed numbers; kernels/packed.cuh has the proof.

    >>> packed_limit(dpx=True, max_score=11)
    32756
    """
    return MAX_PACKED[dpx] - max_score
