"""Queries too short to reach the E-value with the scoring of a search: looks for them, and says so once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from exaln.foundation.plurals import number_of
from exaln.scoring.scoring import Scoring
from exaln.scoring.tasks import SHORT_TASKS
from exaln.sequences.byte_streams import printable
from exaln.statistics.evalues import Statistics, format_evalue
from exaln.statistics.length_bins import length_bin

if TYPE_CHECKING:
    from exaln.alignments.query_hits import QueryHits
    from exaln.sequences.alphabet import Alphabet


class ShortQueries:
    """Counts the queries without hits that could have none: with their best possible score they miss the E-value."""

    def __init__(self, statistics: Statistics | None, max_evalue: float) -> None:
        self._statistics, self._max_evalue = statistics, max_evalue
        self._n, self._first, self._advice = 0, "", ""

    def among(self, hits: Iterator[QueryHits]) -> Iterator[QueryHits]:
        """Yield the hits unchanged, looking at each query without any."""
        for some in hits:
            if self._statistics is not None and not some.n_targets:
                self._look(some, self._statistics)
            yield some

    def message(self, option: str, task: str) -> str | None:
        """What to tell the user, in one line; None if there was no such query.

        option: the name of what sets the highest E-value; task: what precedes the name of a task.
        """
        if not self._n:
            return None
        who = f"{self._first} is" if self._n == 1 else f"{number_of(self._n, 'query')}, {self._first} first, are"
        return printable(
            f"{who} too short for {option} {self._max_evalue:g}: {self._advice.format(task=task)}; "
            f"a larger {option} shows more"
        )

    def _look(self, query: QueryHits, statistics: Statistics) -> None:
        cuts = statistics.minimum_scores(len(query.query), self._max_evalue)
        best = _best_score(query, query.scoring)
        if not 0 < best < cuts[length_bin(len(query.query)) :].min():
            return
        self._n += 1
        if self._n == 1:
            self._first = f"{query.query_id} ({number_of(len(query.query), 'residue')})"
            self._advice = _advice(query, statistics)


def _best_score(query: QueryHits, scoring: Scoring) -> int:
    """The score of the query with the target that suits it best."""
    return int(scoring.matrix.max(axis=1)[query.query].sum())


def _advice(query: QueryHits, statistics: Statistics) -> str:
    """The E-value of a perfect match, and that with the scoring for short queries if it is lower."""
    own = _best_evalue(query, query.scoring, statistics)
    text = f"a perfect match has an E-value of {format_evalue(own)}"
    other = _short_scoring(query.alphabet)
    if other is None:
        return text
    task, scoring = other
    of_task = Statistics.of(scoring, db_residues=statistics.db_residues, db_targets=statistics.db_targets)
    evalue = own if of_task is None else _best_evalue(query, scoring, of_task)
    return f"{text}, with {{task}}{task} one of {format_evalue(evalue)}" if evalue < own else text


def _best_evalue(query: QueryHits, scoring: Scoring, statistics: Statistics) -> float:
    mean_target = max(statistics.db_residues // max(statistics.db_targets, 1), len(query.query))
    return float(statistics.evalues(_best_score(query, scoring), len(query.query), mean_target))


def _short_scoring(alphabet: Alphabet) -> tuple[str, Scoring] | None:
    """The task for short queries in this alphabet, and its scoring."""
    task = SHORT_TASKS.get("nucleotide" if alphabet.is_nucleotide else alphabet.name)
    return None if task is None else (task, Scoring.of_task(task, alphabet))
