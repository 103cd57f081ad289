"""Masks of queries and targets in a search, hard and soft.

Hard: masked letters are the unknown letter, wherever sequences are scored, aligned and reported.
Soft: masked letters are unknown in a first pass, the screen. The pairs that reach the cutoff there are scored again as
they are, and scores, E-values and alignments are those of the unmasked sequences.

    queries, targets --hard masks--> given --soft masks--> screened
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from exaln.foundation import arguments
from exaln.masking.hard import hard_masked, unknown_code
from exaln.masking.intervals import Intervals
from exaln.masking.methods import LOWERCASE, Masking

if TYPE_CHECKING:
    from exaln.sequences.alphabet import Alphabet
    from exaln.sequences.records import Records

NONE, HARD, SOFT = "none", "hard", "soft"
MASKINGS = (NONE, HARD, SOFT)


@dataclass(frozen=True)
class SearchMasks:
    """What a search masks. target: hard or soft masks of the database's own intervals, or none.

    query_methods: what finds masks in queries, as `Masking.parse` reads it, several separated by commas; none for no
    masks. query: hard or soft.
    """

    query_methods: str = NONE
    query: str = HARD
    target: str = NONE

    def __post_init__(self) -> None:
        """Raise InputError for what is no method and no kind of mask."""
        _ = self.methods
        arguments.choice("query_masking", self.query, (HARD, SOFT))
        arguments.choice("target_mask", self.target, MASKINGS)

    @cached_property
    def methods(self) -> tuple[Masking, ...]:
        """The methods for queries; empty for none."""
        text = arguments.text("query_mask", self.query_methods, "none, or seg, dust, tantan or lowercase")
        if text == NONE:
            return ()
        return tuple(Masking.parse(part.strip()) for part in text.split(","))

    @property
    def is_soft(self) -> bool:
        """Whether a screen is needed."""
        return self.target == SOFT or (bool(self.methods) and self.query == SOFT)

    def require_fit(self, alphabet: Alphabet) -> None:
        """Raise InputError if sequences of this alphabet cannot be masked like this."""
        if self.methods or self.target != NONE:
            unknown_code(alphabet)
        for masking in self.methods:
            masking.require_fit(alphabet)

    @property
    def found(self) -> SearchMasks:
        """The same for queries that `with_found` has returned."""
        return replace(self, query_methods=LOWERCASE) if self.methods else self

    def with_found(self, queries: Records, *, threads: int = 1) -> Records:
        """The queries with everything that masks them found: hard masks in place, soft ones as their masks.

        For queries that travel, or are compared with hits: methods look at the letters, and must see them once.
        """
        if not self.methods:
            return queries
        return self.given(queries, threads=threads) if self.query == HARD else self._found(queries, threads)

    def given(self, queries: Records, *, threads: int = 1) -> Records:
        """The queries as they are scored, aligned and reported."""
        if not self.methods or self.query == SOFT:
            return queries
        return self._masked(queries, threads)

    def screened(self, queries: Records, *, threads: int = 1) -> Records:
        """The queries as the screen scores them, from those of `given`."""
        if not self.methods or self.query == HARD:
            return queries
        return self._masked(queries, threads)

    def _masked(self, queries: Records, threads: int) -> Records:
        return hard_masked(self._found(queries, threads))

    def _found(self, queries: Records, threads: int) -> Records:
        """The queries with what the methods find as their masks."""
        is_kept = any(masking.method == LOWERCASE for masking in self.methods)
        found = Intervals.of_records(queries) if is_kept else Intervals.none(len(queries))
        for masking in self.methods:
            if masking.method != LOWERCASE:
                found = found.joined(masking.find(queries, threads=threads))
        return found.masks(queries)
