"""Targets that have more alignments with their query than are considered: looks for them, and says so once."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

from exaln.errors import ExalnWarning
from exaln.foundation.plurals import number_of
from exaln.search.options import MOST_ALIGNMENTS
from exaln.sequences.byte_streams import printable

if TYPE_CHECKING:
    from exaln.alignments.query_hits import QueryHits


class CutTargets:
    """Counts the targets of which only the best MOST_ALIGNMENTS alignments are considered."""

    def __init__(self) -> None:
        self._n, self._example = 0, ""

    def among(self, hits: Iterator[QueryHits]) -> Iterator[QueryHits]:
        """Yield the hits unchanged, looking at each."""
        for some in hits:
            if len(some.cut_ordinals) and not self._n:
                row = some.ordinal.tolist().index(int(some.cut_ordinals[0]))
                self._example = f"{some.query_id} with {some.target_ids[row]}"
            self._n += len(some.cut_ordinals)
            yield some

    def message(self, option: str) -> str | None:
        """What to tell the user, in one line; None if nothing was cut. option: the name of what sets the number."""
        if not self._n:
            return None
        first = (
            self._example
            if self._n == 1
            else f"{number_of(self._n, 'pair')} of query and target, {self._example} first,"
        )
        verb = "has" if self._n == 1 else "have"
        return printable(
            f"{first} {verb} more than {MOST_ALIGNMENTS} alignments; only the best {MOST_ALIGNMENTS} are considered, "
            f"{option} sets another limit"
        )

    def warn(self) -> None:
        """Warn of them, in Python."""
        message = self.message("max_hsps")
        if message is not None:
            warnings.warn(message, ExalnWarning, stacklevel=3)
