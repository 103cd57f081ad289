"""Notes on stderr about alignments that a report does not show.

Further ones in long targets, those of queries too short for the E-value, and those on the other strand.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeVar

from exaln.foundation.plurals import number_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from exaln.alignments.query_hits import PairHits, QueryHits
    from exaln.cli.messages import Messages
    from exaln.engines.contracts import Engine
    from exaln.pairwise.alignment import Alignments
    from exaln.search.evaluation import HitEvaluator
    from exaln.search.options import SearchOptions

    AnyHits = TypeVar("AnyHits", QueryHits, PairHits, QueryHits | PairHits)

FAR_LONGER = 20
LONG_TARGET = 50_000
"""A target is far longer than its query if it has FAR_LONGER times its residues, and at least LONG_TARGET."""

HINT_CELLS = 1 << 30
"""The other strand is scored for the first pairs of a command, up to this many cells, a fraction of a second."""

CLEARLY_BETTER = 2
LEAST_MATCHES = 10
"""The other strand is clearly better with CLEARLY_BETTER times the score, and at least LEAST_MATCHES equal letters."""


class LongTargets:
    """Looks for hits in targets that are far longer than their query, where the one alignment may not be all."""

    def __init__(self, advice: str) -> None:
        """advice: what shows further alignments."""
        self._found: tuple[str, int, int] | None = None
        self._advice = advice

    def among(self, hits: Iterator[AnyHits]) -> Iterator[AnyHits]:
        """Yield the hits unchanged, looking at each."""
        for some in hits:
            if self._found is None:
                self._look(some)
            yield some

    def tell(self, messages: Messages) -> None:
        """Print one note if there was such a hit."""
        if self._found is not None:
            name, length, query = self._found
            messages.note(
                f"note: target {name} is far longer than its query ({length:,} and {number_of(query, 'residue')}); "
                f"only the best alignment is shown, {self._advice}"
            )

    def _look(self, hits: QueryHits | PairHits) -> None:
        from exaln.report.columns import query_lengths

        queries, targets = query_lengths(hits), hits.target_lengths
        is_long = (targets >= LONG_TARGET) & (targets >= FAR_LONGER * queries) & (hits.columns > 0)
        if is_long.any():
            row = int(is_long.argmax())
            self._found = hits.target_ids[row], int(targets[row]), int(queries[row])


class HitNotes:
    """Looks at the hits of a search for alignments that the report leaves out without having been asked to."""

    def __init__(self, options: SearchOptions, evaluator: HitEvaluator) -> None:
        from exaln.search.cut_targets import CutTargets
        from exaln.search.short_queries import ShortQueries

        has_one = options.max_hsps is None and not evaluator.has_cap
        self._cut = CutTargets()
        self._short = ShortQueries(evaluator.statistics, options.evalue)
        self._long = LongTargets("--max-hsps N or --min-score S shows more") if has_one else None

    def among(self, hits: Iterator[QueryHits]) -> Iterator[QueryHits]:
        """Yield the hits unchanged, looking at each."""
        hits = self._short.among(self._cut.among(hits))
        return hits if self._long is None else self._long.among(hits)

    def tell(self, messages: Messages) -> None:
        """Print a note if there was something to tell."""
        if self._long is not None:
            self._long.tell(messages)
        for message in (self._cut.message("--max-hsps"), self._short.message("--evalue", "--task ")):
            if message is not None:
                messages.note(f"note: {message}")


class OtherStrand:
    """Looks for nucleotide pairs that align clearly better on the other strand."""

    def __init__(self) -> None:
        self._n_cells = self._n_pairs = self._n_better = self._n_all = 0
        self._example = ""

    def look(self, found: Alignments, engine: Engine) -> None:
        """Score the minus strand of pairs that were aligned on the plus strand, up to HINT_CELLS in all."""
        import numpy as np

        from exaln.alignments.aligned_pairs import PairList
        from exaln.pairwise.pairs import other_strand_scores, pair_task

        self._n_all += len(found)
        if not found.queries.alphabet.is_nucleotide or self._n_cells > HINT_CELLS:
            return
        cells = found.queries.lengths[found.pairs.query] * found.targets.lengths[found.pairs.target]
        n_pairs = int(np.searchsorted(self._n_cells + np.cumsum(cells), HINT_CELLS, side="right"))
        self._n_cells += int(cells.sum())
        pairs = PairList(found.pairs.query[:n_pairs], found.pairs.target[:n_pairs])
        if n_pairs:
            task = pair_task(found.queries, found.targets, pairs, found.scoring, found.mode)
            other = other_strand_scores(engine, found.queries, task)
            self._compare(found, found.scaled_scores[:n_pairs], other)

    def _compare(self, found: Alignments, own: NDArray[np.int64], other: NDArray[np.int64]) -> None:
        least = LEAST_MATCHES * int(found.scoring.matrix.max())
        better = (other >= least) & (other >= CLEARLY_BETTER * own)
        if better.any() and not self._n_better:
            row = int(better.argmax())
            query, target = int(found.pairs.query[row]), int(found.pairs.target[row])
            scores = found.scoring.unscale(int(other[row])), found.scoring.unscale(int(own[row]))
            names = f"{found.queries.ids[query]} with {found.targets.ids[target]}"
            self._example = f"{names}: score {scores[0]} instead of {scores[1]}"
        self._n_pairs += len(own)
        self._n_better += int(better.sum())

    def tell(self, messages: Messages) -> None:
        """Print one note if there were such pairs."""
        if self._n_better:
            first = "the first " if self._n_pairs < self._n_all else ""
            verb = "aligns" if self._n_better == 1 else "align"
            of = f"{self._n_better:,} of {first}{number_of(self._n_pairs, 'pair')} {verb}"
            messages.note(
                f"note: {of} clearly better on the other strand ({self._example}); --strand both takes the better one"
            )
