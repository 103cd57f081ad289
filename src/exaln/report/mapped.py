"""What SAM and PAF have in common: CIGARs along the target, and the tags NM and AS."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from exaln.alignments.cigar import EQUAL, aligned, cigar_list
from exaln.alignments.strands import reverse_paths
from exaln.report.aligned_rows import rows_of
from exaln.report.columns import number_text
from exaln.sequences.strands import complements

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.alignments.query_hits import AnyHits

UNKNOWN_QUALITY = 255
NEVER_EQUAL = "NU"
"""Nucleotide letters that samtools counts as different from themselves in NM; BAM has no U."""


def target_cigars(hits: AnyHits, extended: bool) -> list[str]:
    """The CIGAR of each hit, running along the target."""
    minus = hits.strand < 0
    paths = reverse_paths(aligned(hits.paths), minus) if minus.any() else hits.paths
    return cigar_list(paths, extended=extended)


def tags(hits: AnyHits) -> list[str]:
    """The tags NM and AS of each hit; AS is a float only if the scoring has fractions."""
    kind = "i" if hits.scoring.scale == 1 else "f"
    edits = (hits.mismatches + hits.gaps + _never_equal(hits)).tolist()
    scores = [number_text(hits.scoring.unscale(score)) for score in hits.score.tolist()]
    return [f"NM:i:{edit}\tAS:{kind}:{score}" for edit, score in zip(edits, scores, strict=True)]


def _never_equal(hits: AnyHits) -> NDArray[np.int64]:
    """int64[n]: columns of each hit whose letters are equal but count as different in NM.

    As in samtools, N differs from N, and the other ambiguity codes equal themselves.
    """
    counts = np.zeros(len(hits), np.int64)
    if not hits.alphabet.is_nucleotide:
        return counts
    odd = np.isin(np.arange(len(hits.alphabet.letters)), hits.alphabet.encode(NEVER_EQUAL))
    odd_minus = odd[complements(hits.alphabet)]  # on the minus strand the complement of the query is written
    queries = dict(zip(hits.indices, hits.queries, strict=True))
    if not any((odd | odd_minus)[query].any() for query in queries.values()):
        return counts
    rows = rows_of(hits)
    codes, is_letter = hits.alphabet.table[rows.query], rows.operation == EQUAL
    minus = np.repeat(hits.strand < 0, np.diff(rows.offsets))
    is_odd = np.zeros(len(codes), np.int64)
    is_odd[is_letter] = np.where(minus[is_letter], odd_minus[codes[is_letter]], odd[codes[is_letter]])
    return np.diff(np.concatenate([np.zeros(1, np.int64), np.cumsum(is_odd)])[rows.offsets])
