"""Several local alignments of each pair, on one strand of the targets or on both."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from exaln.alignments.aligned_pairs import AlignedPairs, PairList, SeveralAligned
from exaln.alignments.cigar import Paths
from exaln.alignments.strands import positions_as_given, reverse_paths
from exaln.engines.tasks import QueryRows, SeveralTask
from exaln.errors import InputError
from exaln.foundation import arguments
from exaln.pairwise.alignment import Alignments
from exaln.pairwise.routing import batches
from exaln.scoring.scoring import require_scores_for
from exaln.sequences.records import offsets_of
from exaln.sequences.strands import other_strand, require_strand

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.contracts import Engine
    from exaln.engines.tasks import PairTask, Progress
    from exaln.pairwise.long.options import LongOptions
    from exaln.scoring.modes import Mode
    from exaln.scoring.scoring import Scoring
    from exaln.sequences.records import Records


MOST_ALIGNMENTS = 1_000_000
"""Of a pair."""


@dataclass(frozen=True)
class Several:
    """How many alignments of a pair are wanted: at most `most`, each with a scaled score of at least `least`."""

    most: int
    least: int

    @staticmethod
    def of(
        max_hsps: object, min_score: float | None, scoring: Scoring, mode: Mode, options: LongOptions
    ) -> Several | None:
        """The limits that a user gave; None for the one alignment that every pair has.

        Raises InputError if several alignments make no sense, as in global mode, or with options of long pairs.
        """
        most = arguments.integer("max_hsps", max_hsps, least=1, most=MOST_ALIGNMENTS)
        if most == 1:
            if min_score is not None:
                raise InputError("min_score limits further alignments; set max_hsps to how many of a pair are wanted")
            return None
        if not mode.is_local:
            raise InputError(f"max_hsps is {most}, but in mode {mode} a pair has one alignment; several are local")
        for name in ("work_dir", "memory"):
            if getattr(options, name) is not None:
                raise InputError(
                    f"max_hsps is {most}, but {name} is for pairs with one alignment; leave out one of them"
                )
        least = 0.0 if min_score is None else arguments.number("min_score", min_score, above=0)
        return Several(most, max(1, int(np.ceil(least * scoring.scale))))


def align_several(
    engine: Engine, queries: Records, task: PairTask, strand: str, several: Several, progress: Progress | None = None
) -> Alignments:
    """Up to `several.most` alignments of each pair of a task, pair by pair, the best first.

    They share no aligned pair of letters. Those of both strands are ordered by score, plus before minus. A pair without
    any has one empty alignment. queries: those of the task; strand, progress: as in `pairs.align_strand`.
    """
    require_strand(strand, queries.alphabet)
    require_scores_for(task.scoring, task.mode)
    wanted = ("plus", "minus") if strand == "both" else (strand,)
    strands = wanted if queries.alphabet.is_nucleotide else ("plus",)
    parts = [_on_strand(engine, queries, task, one, several, progress) for one in strands]
    found = SeveralAligned.joined(parts)
    signs = np.concatenate(
        [np.full(len(part), 1 if one == "plus" else -1, np.int8) for one, part in zip(strands, parts, strict=True)]
    )
    signs = signs[np.argsort(np.concatenate([part.pair for part in parts]), kind="stable")]
    order = np.lexsort((-found.aligned.scores, found.pair))
    order = order[_place_in_pair(found.pair[order]) < several.most]
    found, signs = found.taken(order), signs[order]
    found, signs = _with_empty(found, signs, len(task))
    pairs = PairList(task.query[found.pair], task.target[found.pair])
    return Alignments(queries, task.targets, pairs, found.aligned, task.scoring, task.mode, signs)


def _on_strand(
    engine: Engine, queries: Records, task: PairTask, strand: str, several: Several, progress: Progress | None
) -> SeveralAligned:
    """The alignments of all pairs on one strand of the targets; positions refer to the queries as given."""
    is_minus = strand == "minus"
    if is_minus:
        task = replace(task, queries=QueryRows.of_sequences(other_strand(queries), task.scoring))
    parts, cells = [], task.cells
    for first, end in batches(cells):
        own = np.arange(first, end)
        found = engine.align_several(SeveralTask(task.taken(own), several.most, np.full(len(own), several.least)))
        parts.append(found.of_pairs(own))
        if progress is not None:
            progress(int(cells[:end].sum()))
    joined = SeveralAligned.joined(parts)
    if not is_minus:
        return joined
    aligned, which = joined.aligned, np.ones(len(joined), np.bool_)
    positions = positions_as_given(aligned.positions, queries.lengths[task.query[joined.pair]], which)
    return replace(joined, aligned=replace(aligned, positions=positions, paths=reverse_paths(aligned.paths, which)))


def _place_in_pair(pair: NDArray[np.int64]) -> NDArray[np.int64]:
    """int64[k]: how many alignments of its pair come before each. pair: ascending."""
    return np.arange(len(pair)) - np.searchsorted(pair, pair)


def _with_empty(
    found: SeveralAligned, signs: NDArray[np.int8], n_pairs: int
) -> tuple[SeveralAligned, NDArray[np.int8]]:
    """The alignments, with an empty one for each pair that has none."""
    missing = np.setdiff1d(np.arange(n_pairs), found.pair)
    if not len(missing):
        return found, signs
    n = len(missing)
    empty = AlignedPairs(
        np.zeros(n, np.int64),
        np.zeros((n, 4), np.int64),
        np.zeros((n, 6), np.int32),
        Paths(np.empty(0, np.uint32), offsets_of(np.zeros(n, np.int64))),
    )
    order = np.argsort(np.concatenate([found.pair, missing]), kind="stable")
    joined = SeveralAligned.joined([found, SeveralAligned(missing, empty)])
    return joined, np.concatenate([signs, np.ones(n, np.int8)])[order]
