"""Alignments of exaln to and from Biopython; `alignments.biopython` has the conversion of paths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.alignments.aligned_pairs import AlignedPairs, PairList
from exaln.alignments.biopython import as_runs, coordinates_of, letters_of, make_alignment, with_equality
from exaln.alignments.cigar import DELETION, DIFFERENT, EQUAL, INSERTION, Paths
from exaln.foundation import arguments
from exaln.pairwise.alignment import Alignment, Alignments
from exaln.scoring.modes import GLOBAL, LOCAL
from exaln.scoring.scoring import Scoring, ScoringLike, as_scoring
from exaln.sequences.given import look_at
from exaln.sequences.records import Records

if TYPE_CHECKING:
    from numpy.typing import NDArray


def to_biopython(alignment: Alignment) -> Any:
    """A Bio.Align.Alignment; see `Alignment.to_biopython`."""
    query = alignment.query_sequence, alignment.query_id
    target = alignment.target_sequence, alignment.target_id
    is_plus, operations = alignment.strand > 0, alignment.operations
    place = alignment.query_start if is_plus else alignment.query_end, alignment.target_start
    operations = operations if is_plus else operations[::-1]
    return make_alignment(query, target, operations, *place, alignment.score, strand=alignment.strand)


def from_biopython(alignment: Any, scoring: ScoringLike | None) -> Alignment:
    """The path of a Bio.Align.Alignment, scored here; see `Alignment.from_biopython`."""
    query, target = letters_of(alignment)
    texts = [arguments.encoded("alignment", letters) for letters, _ in (query, target)]
    rules = Scoring.default(look_at(texts, "alignment").detected()) if scoring is None else as_scoring(scoring)
    codes = [rules.alphabet.encode(letters) for letters, _ in (query, target)]
    path = coordinates_of(alignment)
    query_end = path.query_start + int(path.query_steps.sum())
    target_end = path.target_start + int(path.target_steps.sum())
    positions = [path.query_start, query_end, path.target_start, target_end]
    query_part, target_part = codes[0][path.query_start : query_end], codes[1][path.target_start : target_end]
    columns = with_equality(path.columns(), query_part, target_part)
    runs = as_runs(columns)
    score, counts = _rescored(columns, runs, query_part, target_part, rules)
    mode = GLOBAL if positions == [0, len(codes[0]), 0, len(codes[1])] else LOCAL
    paths = Paths(runs, np.array([0, len(runs)], np.int64))
    aligned = AlignedPairs(score, np.array([positions], np.int64), counts, paths)
    first = PairList(np.zeros(1, np.int64), np.zeros(1, np.int64))
    queries, targets = (
        Records.of(rules.alphabet, [one], [name or "seq1"])
        for one, (_, name) in zip(codes, (query, target), strict=True)
    )
    return Alignments(queries, targets, first, aligned, rules, mode)[0]


def _rescored(
    columns: NDArray[np.uint32],
    runs: NDArray[np.uint32],
    query: NDArray[np.uint8],
    target: NDArray[np.uint8],
    scoring: Scoring,
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The score of a path, int64[1], and its counts, int32[1, 6], as in `AlignedPairs`."""
    is_pair = (columns != INSERTION) & (columns != DELETION)
    pairs = scoring.matrix[query[is_pair[columns != DELETION]], target[is_pair[columns != INSERTION]]]
    gap_opens = int(np.isin(runs & 15, (INSERTION, DELETION)).sum())
    gaps = int((~is_pair).sum())
    score = int(pairs.sum(dtype=np.int64)) - gap_opens * scoring.gap_open - gaps * scoring.gap_extend
    equal, different = int((columns == EQUAL).sum()), int((columns == DIFFERENT).sum())
    counts = [equal, int((pairs > 0).sum()), different, gap_opens, gaps, len(columns)]
    return np.array([score], np.int64), np.array([counts], np.int32)
