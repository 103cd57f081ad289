"""The kernels of usual work, which `exaln warm` compiles ahead: the default scorings, for searches, pairs, long pairs.

Which shapes a scan uses follows from the lengths of its queries, so the planner is asked for queries of many lengths.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from exaln.engines.cuda.letters import fold_letters
from exaln.engines.cuda.long.shapes import long_shapes
from exaln.engines.cuda.pairs.shapes import PAIR_SHAPES
from exaln.engines.cuda.runtime.constants import COLUMNS
from exaln.engines.cuda.scan.collect import COLLECT
from exaln.engines.cuda.scan.shapes import BLOCK_SHAPES, Shape, block_source, fits_packed
from exaln.engines.cuda.scan.stream_scores import EXPAND, pack_source
from exaln.engines.cuda.scan.strips import StreamStatistics, plan_strips
from exaln.scoring.modes import GLOBAL, LOCAL
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import DNA, PROTEIN

if TYPE_CHECKING:
    from exaln.engines.cuda.runtime.compiler import Source
    from exaln.engines.cuda.runtime.device import DeviceProperties

LETTERS = {
    PROTEIN: ("ARNDCQEGHILKMFPSTWYV", "ARNDCQEGHILKMFPSTWYVBZXUO"),
    DNA: ("ACGT", "ACGTN"),
}
"""Letters that databases use: without odd ones, and with those of UniProt or of assemblies."""

QUERY_LENGTHS = (*range(8, 600, 8), *range(600, 1000, 40), *range(1000, 6000, 250))
N_TARGETS, MEAN_LENGTH, LONGEST = (200_000, 500_000), 360, 5000
"""Databases of usual size. Larger ones use the same shapes as the largest."""


def common_sources(properties: DeviceProperties) -> list[Source]:
    """Return what usual work on a device needs, each once."""
    sources: list[Source] = [COLLECT, EXPAND]
    for alphabet, used in LETTERS.items():
        scoring = Scoring.default(alphabet)
        numbers = sorted({_n_folded(scoring, letters) for letters in used})
        for n_letters in numbers:
            sources += _scan_sources(scoring, n_letters, properties, both_strands=alphabet.is_nucleotide)
        sources += _pair_sources(scoring, numbers[0])
        if alphabet.is_nucleotide:
            sources += (one for n_letters in numbers for one in _long_sources(scoring, n_letters, properties))
    return list(dict.fromkeys(sources))


def _n_folded(scoring: Scoring, letters: str) -> int:
    """Return the number of letters with scores of their own among these."""
    is_used = np.zeros(256, np.bool_)
    is_used[scoring.alphabet.encode(letters)] = True
    return fold_letters(scoring, is_used).n_letters


def _scan_sources(
    scoring: Scoring, n_letters: int, properties: DeviceProperties, *, both_strands: bool
) -> Iterator[Source]:
    yield pack_source(n_letters)
    for threads, rows in BLOCK_SHAPES:
        yield block_source(threads, rows, n_letters, scoring)
    if fits_packed(scoring, properties):
        for shape, keeps_rows in _stream_kinds(n_letters, properties, n_strands=1 + both_strands):
            yield shape.source(n_letters, scoring.gap_first, scoring.gap_extend, keeps_rows=keeps_rows)


def _stream_kinds(n_letters: int, properties: DeviceProperties, n_strands: int) -> dict[tuple[Shape, bool], None]:
    """Return the kinds of strips of one query of each length, of two queries, and of all lengths together."""
    counts = {n_strands, 2}
    searches = [*([length] * n for n in counts for length in QUERY_LENGTHS), [*QUERY_LENGTHS] * n_strands]
    databases = [_targets(n_targets, n_letters) for n_targets in N_TARGETS]
    plans = (plan_strips(lengths, properties, targets) for targets in databases for lengths in searches)
    return dict.fromkeys(strip.kind for strips in plans for strip in strips)


def _targets(n_targets: int, n_letters: int) -> StreamStatistics:
    n_tiles = n_targets * MEAN_LENGTH // COLUMNS
    return StreamStatistics(n_targets, n_tiles, n_tiles // 2, LONGEST, n_letters)


def _pair_sources(scoring: Scoring, n_letters: int) -> Iterator[Source]:
    for shape in PAIR_SHAPES:
        for mode in (LOCAL, GLOBAL):
            for paths in (True, False):
                yield shape.source(n_letters, scoring, mode, paths=paths)


def _long_sources(scoring: Scoring, n_letters: int, properties: DeviceProperties) -> Iterator[Source]:
    shapes = long_shapes(n_letters, 4, properties.shared_bytes, scoring if properties.dpx else None)
    for shape in shapes:
        for is_local, large_ends in ((True, False), (True, True), (False, False)):
            yield shape.source(n_letters, scoring, is_local=is_local, is_large=False, large_ends=large_ends)
