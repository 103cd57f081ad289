"""The second stage of a search with composition-based statistics: each candidate under scores of its own.

scan with the standard matrix, to `margin` times the E-value -> candidates, of which none is cut
        -> compositions of each pair -> its table of scores -> exact score -> E-value, filters, rank, best k
        -> alignments under the table of the pair

Stretches of low complexity of a target are masked first, as BLAST does it: they score as X and are no part of its
composition. A target that is nearly identical to the query in their best alignment stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from exaln.alignments.letter_counts import recounted
from exaln.engines.tasks import PairTables, PairTask
from exaln.foundation.resources import usable_threads
from exaln.masking.hard import fill, unknown_code
from exaln.masking.seg import SUBJECTS, seg_intervals
from exaln.pairwise.routing import align_pairs
from exaln.scoring.modes import LOCAL
from exaln.search.ranking import Ranked, empty_ranking, rank
from exaln.search.regions import Ends
from exaln.sequences.records import Records, offsets_of
from exaln.statistics.composition import SCALE, TABLES_AT_ONCE, Compositions, CompositionScores

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from exaln.alignments.aligned_pairs import AlignedPairs
    from exaln.engines.contracts import Engine
    from exaln.engines.tasks import QueryRows
    from exaln.search.evaluation import HitEvaluator
    from exaln.search.options import SearchOptions

    Read = Callable[[NDArray[np.int64], NDArray[np.int64]], tuple[Records, NDArray[np.int64]]]
    """The whole targets in these rows, with these lengths, and int64[n], which record is which."""

MOST_KEPT = 1 << 14
"""Tables that are kept from scoring for aligning: 48 MB for each block of queries."""

LEAST_IDENTITY, LEAST_COLUMNS, LEAST_BITS = 0.96, 50, 1.74
"""When a pair is nearly identical. Identities exceed LEAST_IDENTITY of the shorter aligned part. The part has at least
LEAST_COLUMNS letters, or all of a shorter query, and at least LEAST_BITS for each letter.
"""


def screening_options(options: SearchOptions) -> SearchOptions:
    """The options of the scan: what may be a hit once it is rescored."""
    limit = options.evalue * options.margin
    return replace(options, evalue=limit, comp_based_stats=0, min_bits=None, min_score=1)


@dataclass(frozen=True)
class RescoredPairs:
    """Pairs under their tables, int64[n] each: rows of the queries, and places among n_targets targets.

    task: its targets are the masked ones, then the same as stored. compositions: of these, which the tables are for.
    """

    task: PairTask
    place: NDArray[np.int64]
    n_targets: int
    compositions: Compositions

    def recounted(self, aligned: AlignedPairs, pair: NDArray[np.int64]) -> AlignedPairs:
        """Alignments of some of the pairs, with identities and positives of the letters as stored."""
        queries, targets = self.task.queries, self.task.targets
        query_codes, query_begins = queries.codes("cpu"), queries.offsets[self.task.query[pair]]
        stored = targets.offsets[self.place[pair] + self.n_targets]
        return recounted(aligned, (query_codes, query_begins), (targets.codes, stored), self.task.scoring)

    def slices(self, aligned: AlignedPairs, pair: NDArray[np.int64]) -> list[NDArray[np.uint8]]:
        """The aligned part of each target as stored, a copy."""
        return self._parts(aligned, self.place[pair] + self.n_targets)

    def adjustments(self, aligned: AlignedPairs, pair: NDArray[np.int64]) -> list[NDArray[np.uint8]]:
        """What shows the table of each alignment; see `adjustment`."""
        scored, stored = self._parts(aligned, self.task.target[pair]), self.slices(aligned, pair)
        counts = self.compositions.counts[self.task.target[pair]]
        return [adjustment(own, a != b) for own, a, b in zip(counts, scored, stored, strict=True)]

    def _parts(self, aligned: AlignedPairs, target: NDArray[np.int64]) -> list[NDArray[np.uint8]]:
        codes, first = self.task.targets.codes, self.task.targets.offsets[target]
        begins, ends = first + aligned.positions[:, 2], first + aligned.positions[:, 3]
        return [codes[begin:end].copy() for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]


class KeptTables:
    """Tables of pairs by their keys, MOST_KEPT at most."""

    def __init__(self) -> None:
        self._keys = np.empty(0, np.int64)
        self._tables: list[NDArray[np.int32]] = []

    def keep(self, keys: NDArray[np.int64], tables: NDArray[np.int32]) -> None:
        """Keep int32[n, letters, letters], the tables of pairs that have none yet, unless they are too many."""
        first = slice(0, max(0, MOST_KEPT - len(self._keys)))
        self._keys = np.concatenate([self._keys, keys[first]])
        self._tables.extend(tables[first])

    def write(self, keys: NDArray[np.int64], tables: NDArray[np.int32]) -> NDArray[np.int64]:
        """Write the tables of the pairs that are kept. Returns the places of the others."""
        order = np.argsort(self._keys)
        number = np.append(order, -1)[np.searchsorted(self._keys, keys, sorter=order)]
        is_kept = np.append(self._keys, -1)[number] == keys
        for place in np.flatnonzero(is_kept).tolist():
            tables[place] = self._tables[number[place]]
        return np.flatnonzero(~is_kept)


class Rescoring:
    """Rescores and aligns the candidates of one block of queries."""

    def __init__(
        self,
        scores: CompositionScores,
        engine: Engine,
        evaluators: tuple[HitEvaluator, HitEvaluator],
        queries: Records,
        rows: QueryRows,
        read: Read,
    ) -> None:
        """evaluators: of the scan, and of rescored pairs. read: reads targets."""
        self._scores, self._engine, self._queries, self._rows, self._read = scores, engine, queries, rows, read
        self._screen, self._evaluator = evaluators
        self._plain: NDArray[np.int64] = np.empty(0, np.int64)  # keys of nearly identical pairs
        self._kept = KeptTables()

    @property
    def _threads(self) -> int:
        tuning = self._engine.tuning
        return usable_threads(None) if tuning.scans_beside_cpu else tuning.workers

    @cached_property
    def _compositions(self) -> Compositions:
        return Compositions.of(self._queries.codes, self._queries.offsets)

    def rescored(self, candidates: Ranked) -> Ranked:
        """The candidates that pass the filters under their own scores, ranked. Scores are multiplied by SCALE.

        candidates: one for each target of a query, with its score under the standard matrix.
        """
        parts, plain = [empty_ranking()], []
        for first in range(0, len(candidates), TABLES_AT_ONCE):
            own = candidates.take(np.arange(first, min(first + TABLES_AT_ONCE, len(candidates))))
            stored, place = self._read(own.row, own.length)
            is_plain = self._nearly_identical(own, stored, place)
            plain.append(_keys(own)[is_plain])
            task = self._pairs(own, stored, place, is_plain).task
            parts.append(self._passed(own, task, self._engine.score(task)))
        self._plain = np.concatenate([self._plain, *plain])
        return rank(Ranked.joined(parts))

    def _passed(self, own: Ranked, task: PairTask, scores: NDArray[np.int64]) -> Ranked:
        """The pairs with these scores that pass the filters, whose tables are kept."""
        found = self._evaluator.evaluate(scores, self._queries.lengths[own.query], own.length)
        whole = replace(
            own,
            start=np.zeros(len(own), np.int64),
            end=own.length,
            score=scores.astype(np.int32),
            bits=found.bits,
            evalue=found.evalue,
        )
        passed = whole.take(found.passes)
        assert task.tables is not None
        self._kept.keep(_keys(passed), task.tables.scores[found.passes])
        return passed

    def ends(self, ranked: Ranked) -> Ends:
        """Whole targets: what an aligner is asked to align."""
        least = self._evaluator.least_scores(self._queries.lengths[ranked.query], ranked.length)
        best = ranked.score.astype(np.int64)
        upper = best - 1 if self._evaluator.alignments_per_target == 1 else least - 1
        return Ends(ranked, np.arange(len(ranked)), ranked.length, upper)

    def pairs(self, ranked: Ranked, known: NDArray[np.int64]) -> RescoredPairs:
        """Some rescored pairs, which have these scores."""
        stored, place = self._read(ranked.row, ranked.length)
        return self._pairs(ranked, stored, place, np.isin(_keys(ranked), self._plain), known)

    def _pairs(
        self,
        ranked: Ranked,
        stored: Records,
        place: NDArray[np.int64],
        is_plain: NDArray[np.bool_],
        known: NDArray[np.int64] | None = None,
    ) -> RescoredPairs:
        threads, n = self._threads, len(stored)
        masked = masked_codes(stored, threads)
        lengths = np.concatenate([stored.lengths, stored.lengths])
        codes = np.concatenate([masked, _own_codes(stored)])
        targets = Records.of_columns(stored.alphabet, codes, offsets_of(lengths))
        compositions = Compositions.of(targets.codes, targets.offsets)
        query, target = ranked.query, place + n * is_plain
        scoring, n_letters = self._scores.scoring, len(stored.alphabet.letters)
        scores = np.empty((len(ranked), n_letters, n_letters), np.int32)
        new = self._kept.write(_keys(ranked), scores)
        scores[new] = self._scores.tables(self._compositions, compositions, query[new], target[new], threads)
        tables = PairTables(scores, SCALE * scoring.gap_open, SCALE * scoring.gap_extend)
        task = PairTask(self._rows, targets, query, target, LOCAL, known_scores=known, tables=tables)
        return RescoredPairs(task, place, n, compositions)

    def _nearly_identical(self, own: Ranked, stored: Records, place: NDArray[np.int64]) -> NDArray[np.bool_]:
        """bool[n]: the pairs that are nearly identical in their best alignment under the standard matrix."""
        statistics = self._screen.statistics
        assert statistics is not None
        bits = statistics.lambda_ / np.log(2) * own.score
        shortest = np.minimum(self._queries.lengths[own.query], LEAST_COLUMNS)
        some = np.flatnonzero(bits >= LEAST_BITS * (shortest - 1))
        known = own.score[some].astype(np.int64)
        task = PairTask(self._rows, stored, own.query[some], place[some], LOCAL, known_scores=known)
        aligned = align_pairs(self._engine, task)
        spans = aligned.positions[:, 1::2] - aligned.positions[:, 0::2]
        shorter = spans.min(axis=1, initial=1 << 62)
        found = np.zeros(len(own), np.bool_)
        found[some] = (
            (spans[:, 1] + 1 >= shortest[some])
            & (bits[some] >= LEAST_BITS * shorter)
            & (aligned.counts[:, 0] > LEAST_IDENTITY * shorter)
        )
        return found


def _keys(pairs: Ranked) -> NDArray[np.int64]:
    """int64[n]: a number for each query and target of a block, which has few queries."""
    keys: NDArray[np.int64] = pairs.query << 48 | pairs.ordinal
    return keys


def _own_codes(records: Records) -> NDArray[np.uint8]:
    return records.codes[records.offsets[0] : records.offsets[-1]]


def masked_codes(records: Records, threads: int = 1) -> NDArray[np.uint8]:
    """uint8: the joined codes of proteins with X in place of letters of low complexity."""
    codes = _own_codes(records).copy()
    found = seg_intervals(records, SUBJECTS, threads=threads).merged()
    first = (records.offsets[:-1] - records.offsets[0])[found.rows]
    fill(codes, first + found.begins, first + found.ends, unknown_code(records.alphabet))
    return codes


def adjustment(counts: NDArray[np.int64], is_masked: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """uint8: what the table and the score of an alignment follow from, as bytes for parts of a search.

    counts: int64[20], the composition of the target as scored. is_masked: of the letters of its aligned part.
    """
    bits = np.packbits(is_masked) if is_masked.any() else np.empty(0, np.uint8)
    return np.concatenate([counts.astype("<i8").view(np.uint8), bits])
