"""Everything there is to compile, for tests and for benchmarks."""

from __future__ import annotations

from collections.abc import Iterator

from exaln.cuda import bound
from exaln.cuda.compiler import Source
from exaln.cuda.variants import BLOCK_SHAPES, PAIR_SHAPES, SHAPES
from exaln.lengths import N_BINS

N_LETTERS = 20
GAP_FIRST, GAP_EXTEND = 12, 1


def all_sources() -> Iterator[Source]:
    """Every kernel in every shape, with the gap costs and the number of letters of an ordinary protein search.

    Rows between strips are kept in every other shape.
    """
    gaps = (("GAP_FIRST", GAP_FIRST), ("GAP_EXTEND", GAP_EXTEND))
    for number, shape in enumerate(SHAPES):
        yield shape.source(N_LETTERS, GAP_FIRST, GAP_EXTEND, keeps_rows=number % 2 == 1)
    for threads, rows in BLOCK_SHAPES:
        yield Source("block.cu", (("THREADS", threads), ("ROWS", rows), ("LETTERS", N_LETTERS), *gaps))
    yield Source("bare.cu", (("ROWS", bound.ROWS), ("THREADS", bound.THREADS), *gaps))
    yield Source("expand.cu")
    for pair_shape in PAIR_SHAPES:
        for ends in ((1, 1, 1, 1, 1), (0, 0, 0, 0, 0), (0, 0, 0, 1, 1), (0, 1, 1, 1, 1)):
            mode = zip(("LOCAL", "QUERY_START", "QUERY_END", "TARGET_START", "TARGET_END"), ends, strict=True)
            tile = (("LANES", pair_shape.lanes), ("ROWS", pair_shape.rows), ("THREADS", pair_shape.threads))
            yield Source("pairs.cu", (*tile, ("LETTERS", 4), *gaps, *mode, ("PATHS", 1)))
    yield Source("letters.cu", ())
    yield Source("pack.cu", (("LETTERS", N_LETTERS),))
    yield Source("collect.cu", (("BINS", N_BINS),))
