"""Every kernel in every shape, for tests and benchmarks of the compiler."""

from __future__ import annotations

from collections.abc import Iterator

from exaln.engines.bench import cuda_bound
from exaln.engines.cuda.long.shapes import LONG_SHAPES, MAX_LARGE_ROWS, PACKED_SHAPES
from exaln.engines.cuda.pairs.shapes import PAIR_SHAPES
from exaln.engines.cuda.runtime.compiler import Source
from exaln.engines.cuda.scan.shapes import BLOCK_SHAPES, SHAPES
from exaln.scoring.scoring import Scoring
from exaln.statistics.length_bins import N_BINS

N_LETTERS = 20
GAP_FIRST, GAP_EXTEND = 12, 1


def all_sources() -> Iterator[Source]:
    """Yield every kernel in every shape, with the gap costs and the number of letters of a typical protein search.

    Every other shape of stream.cu keeps boundary rows.
    """
    gaps = (("GAP_FIRST", GAP_FIRST), ("GAP_EXTEND", GAP_EXTEND))
    for number, shape in enumerate(SHAPES):
        yield shape.source(N_LETTERS, GAP_FIRST, GAP_EXTEND, keeps_rows=number % 2 == 1)
    for threads, rows in BLOCK_SHAPES:
        yield Source("block.cu", (("THREADS", threads), ("ROWS", rows), ("LETTERS", N_LETTERS), *gaps))
    yield Source("recurrence_bound.cu", (("ROWS", cuda_bound.ROWS), ("THREADS", cuda_bound.THREADS), *gaps))
    yield Source("expand.cu")
    for pair_shape in PAIR_SHAPES:
        for ends in ((1, 1, 1, 1, 1), (0, 0, 0, 0, 0), (0, 0, 0, 1, 1), (0, 1, 1, 1, 1)):
            mode = zip(("LOCAL", "QUERY_START", "QUERY_END", "TARGET_START", "TARGET_END"), ends, strict=True)
            tile = (("LANES", pair_shape.lanes), ("ROWS", pair_shape.rows), ("THREADS", pair_shape.threads))
            yield Source("pairs.cu", (*tile, ("LETTERS", 4), *gaps, *mode, ("PATHS", 1)))
    costs = Scoring(match=1, mismatch=-3, gap_open=3, gap_extend=2)
    for long_shape in LONG_SHAPES:
        for is_local in (False, True):
            yield long_shape.source(4, costs, is_local=is_local, is_large=False, large_ends=False)
            if long_shape.rows <= MAX_LARGE_ROWS:
                yield long_shape.source(4, costs, is_local=is_local, is_large=True, large_ends=False)
        yield long_shape.source(4, costs, is_local=True, is_large=False, large_ends=True)
    for packed_shape in PACKED_SHAPES:
        for n_letters, is_local in ((4, True), (4, False), (5, True), (5, False)):
            yield packed_shape.source(n_letters, costs, is_local=is_local, is_large=False, large_ends=False)
    yield Source("pack.cu", (("LETTERS", N_LETTERS),))
    yield Source("collect.cu", (("BINS", N_BINS),))
