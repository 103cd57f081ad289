"""E-values from shuffled targets: a second opinion on hits, which looks at the target itself.

reported targets -> shuffled copies of each -> scores of the query with them -> Gumbel law -> evalue2 of its alignments

A copy has the letters of its target in another order, so a biased composition gives the copies high scores as well.
Copies depend on the seed and the ordinal of the target alone, and the law of a query and a target on nothing but
their scores, so that every engine, thread count, shard and cluster has the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from exaln.engines.tasks import PairTask
from exaln.foundation.distinct import run_offsets
from exaln.pairwise.routing import score_pairs
from exaln.scoring.modes import LOCAL
from exaln.search.aligning import rows_on_strands
from exaln.sequences.records import Records, offsets_of
from exaln.statistics.gumbel_scores import GumbelLaws

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.search.aligning import TargetAlignments
    from exaln.search.pipeline import Block, Search
    from exaln.search.ranking import Ranked

ROUND_LETTERS = 1 << 24
ROUND_PAIRS = 1 << 21
"""Limits of what is scored together: letters of copies, unless one copy has more, and pairs, unless those of one
target with all queries are more.
"""

LETTER_BITS = 8
"""Of a key, the lowest bits, which have the letter."""


class ShuffledTarget:
    """A stream of shuffled copies of one target.

    seed, ordinal: what the copies depend on. window: letters move within windows of this many letters; 0 for anywhere.
    """

    def __init__(self, codes: NDArray[np.uint8], seed: int, ordinal: int, window: int = 0) -> None:
        from xxhash import xxh3_64_intdigest

        both = np.array([seed, ordinal], "<i8")
        self._bits, self._codes = np.random.PCG64(xxh3_64_intdigest(both.tobytes())), codes
        width = window or max(len(codes), 1)
        number = np.arange(len(codes), dtype=np.uint64) // np.uint64(width)
        n_bits = (max(len(codes), 1) - 1) // width
        self._n_window_bits = np.uint64(n_bits.bit_length())
        self._fixed = codes.astype(np.uint64)
        if self._n_window_bits:
            self._fixed |= number << (np.uint64(64) - self._n_window_bits)

    def copies(self, n: int) -> NDArray[np.uint8]:
        """uint8[n, letters]: the next n copies.

        Letters are sorted by keys: the number of their window, random bits, and the letter itself, which decides
        between equal random bits and makes the order independent of how it is sorted.
        """
        raw = np.asarray(self._bits.random_raw(n * len(self._codes)), np.uint64).reshape(n, len(self._codes))
        raw >>= self._n_window_bits + np.uint64(LETTER_BITS)
        raw <<= np.uint64(LETTER_BITS)
        raw |= self._fixed
        raw.sort(axis=1)
        return raw.astype(np.uint8)


class Shuffling:
    """E-values from shuffled targets for one block of queries of a search."""

    def __init__(self, search: Search, block: Block) -> None:
        self._search, self._block, self._options = search, block, search.options

    def evalues(self, ranked: Ranked, found: TargetAlignments) -> NDArray[np.float64]:
        """float64[n]: the E-value of each alignment among shuffled copies of its target; NaN if all score the same.

        An E-value is the number of alignments with this score that a database of such targets has. The query is on the
        strand of the alignment. There are four digits: more depend on the sample, and the last ones on the machine.
        """
        targets, score = ranked.take(found.hit), found.aligned.scores
        query_row = rows_on_strands(self._block.rows, len(self._block.queries), targets.query, found.strand)
        order = np.lexsort((query_row, targets.row))
        edges = run_offsets(targets.row[order], query_row[order])
        pair = np.empty(len(order), np.int64)
        pair[order] = np.repeat(np.arange(len(edges) - 1), np.diff(edges))
        first = order[edges[:-1]]  # an alignment of each pair
        law = GumbelLaws(np.full(len(first), np.nan), np.full(len(first), np.nan))
        for own in self._rounds(targets, first):
            laws = GumbelLaws.fit(self._scores(targets.take(first[own]), query_row[first[own]]))
            law.lambda_[own], law.mu[own] = laws.lambda_, laws.mu
        residues = self._options.dbsize or self._search.database.search_space.n_residues
        evalues = law.chances(pair, score) * (residues / targets.length)
        return np.array([float(f"{value:.3e}") for value in evalues.tolist()])

    def _rounds(self, targets: Ranked, pairs: NDArray[np.int64]) -> Iterator[slice]:
        """Ranges of pairs, all of a target together. pairs: int64, an alignment of each, target by target."""
        n, edges = self._options.shuffles, run_offsets(targets.row[pairs])
        letters = n * targets.length[pairs[edges[:-1]]]
        first = n_letters = 0
        for number, (begin, end) in enumerate(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)):
            n_letters += int(letters[number])
            if begin > first and (n_letters > ROUND_LETTERS or n * (end - first) > ROUND_PAIRS):
                yield slice(first, begin)
                first, n_letters = begin, int(letters[number])
        if first < len(pairs):
            yield slice(first, len(pairs))

    def _scores(self, targets: Ranked, query_row: NDArray[np.int64]) -> NDArray[np.int64]:
        """int64[n, shuffles]: the scores of queries with the copies of their targets, one of each for each pair."""
        n, options = self._options.shuffles, self._options
        records, place = self._search.whole_targets(targets.row, targets.length)
        ordinals = np.empty(len(records), np.int64)
        ordinals[place] = targets.ordinal
        streams = [
            ShuffledTarget(records.sequence(number), options.seed, ordinal, options.shuffle_window)
            for number, ordinal in enumerate(ordinals.tolist())
        ]
        at_once = int(max(1, min(n, ROUND_LETTERS // max(int(records.lengths.sum()), 1))))
        scores = np.empty((len(targets), n), np.int64)
        for begin in range(0, n, at_once):
            n_copies = min(at_once, n - begin)
            copies = [stream.copies(n_copies).reshape(-1) for stream in streams]
            lengths = np.repeat(records.lengths, n_copies)
            shuffled = Records.of_columns(records.alphabet, np.concatenate(copies), offsets_of(lengths))
            target = (place[:, np.newaxis] * n_copies + np.arange(n_copies)).reshape(-1)
            task = PairTask(self._block.rows, shuffled, np.repeat(query_row, n_copies), target, LOCAL)
            scores[:, begin : begin + n_copies] = score_pairs(self._search.engine, task).reshape(-1, n_copies)
        return scores
