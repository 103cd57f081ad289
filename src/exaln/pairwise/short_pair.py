"""Short pairs: two texts to a score or an alignment in one call of the core, without records, tasks and engines.

`score` and `align` take what such a call can do, and return None for everything else: other forms of sequences, other
engines, long pairs, and whatever is wrong, from a letter to an option. That goes the general way (`pairs`), which gives
the same results and raises all errors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from exaln.alignments.aligned_pairs import AlignedPairs, PairList
from exaln.alignments.cigar import Paths
from exaln.engines.choice import means_cpu
from exaln.engines.cpu.short_pairs import short_pairs
from exaln.pairwise.alignment import Alignment, Alignments
from exaln.scoring.modes import Mode
from exaln.scoring.scoring import Scoring, ScoringLike, as_scoring
from exaln.sequences.alphabet import LETTER_CLASSES, PROTEIN, molecule_of
from exaln.sequences.inputs import as_records
from exaln.sequences.molecules import LEAST_RESIDUES

if TYPE_CHECKING:
    from exaln._core import ShortPairs

MAX_CELLS, LEAST_ROWS = 1 << 22, 512
"""From about MAX_CELLS cells on the general way is faster, on all threads. Fewer than LEAST_ROWS rows take as long as
LEAST_ROWS. Measured.
"""

STRANDS = {"plus": 0, "minus": 1, "both": 2}
"""As `Strand` in native/pairs/short_pair.hpp numbers them."""


def score(
    query: Any, target: Any, scoring: ScoringLike | None, mode: str | Mode, engine: str, threads: int | None
) -> int | float | None:
    """The score of two texts; None if they go the general way."""
    prepared = _prepared(query, target, scoring, mode, engine, threads)
    if prepared is None:
        return None
    rules, chosen, pairs = prepared
    found = pairs.score(query, target, chosen.flags)
    return None if found is None else rules.unscale(found)


def align(
    query: Any,
    target: Any,
    scoring: ScoringLike | None,
    mode: str | Mode,
    strand: str,
    engine: str,
    threads: int | None,
) -> Alignment | None:
    """The alignment of two texts; None if they go the general way."""
    prepared = _prepared(query, target, scoring, mode, engine, threads)
    if prepared is None or type(strand) is not str:
        return None
    rules, chosen, pairs = prepared
    found = pairs.align(query, target, chosen.flags, STRANDS.get(strand, -1))
    return None if found is None else Alignment(ShortPair(query, target, rules, chosen, *found))


def _prepared(
    query: Any, target: Any, scoring: ScoringLike | None, mode: str | Mode, engine: str, threads: int | None
) -> tuple[Scoring, Mode, ShortPairs] | None:
    """Scoring, mode and core for a short pair; None for other pairs."""
    if not _is_short(query, target) or not means_cpu(engine, threads):
        return None
    chosen = Mode.parse(mode)
    rules = _default_for(query, target) if scoring is None else as_scoring(scoring)
    pairs = None if rules is None else short_pairs(rules)
    return None if rules is None or pairs is None else (rules, chosen, pairs)


def _is_short(query: Any, target: Any) -> bool:
    """Whether both are texts, and short. "-" is not a sequence."""
    return (
        (type(query) is str or type(query) is bytes)
        and (type(target) is str or type(target) is bytes)
        and max(len(query), LEAST_ROWS) * len(target) <= MAX_CELLS
        and query != "-"
        and target != "-"
    )


class ShortPair(NamedTuple):
    """A short pair and what the core found: an `AlignmentSource` that makes columns when they are needed.

    numbers: as in `AlignmentSource._number_of`. operations: the bytes of uint32[n].
    """

    query: str | bytes
    target: str | bytes
    scoring: Scoring
    mode: Mode
    numbers: tuple[int, ...]
    operations: bytes

    def _number_of(self, row: int, place: int) -> int:
        """One of the numbers."""
        return self.numbers[place]

    def _runs_of(self, row: int) -> memoryview:
        """uint32[n]: the path."""
        return memoryview(self.operations).cast("I")

    def _as_columns(self) -> Alignments:
        """The columns that `align_many` returns for this pair."""
        alphabet = self.scoring.alphabet
        operations = np.frombuffer(self.operations, np.uint32).copy()
        aligned = AlignedPairs(
            np.array(self.numbers[:1], np.int64),
            np.array([self.numbers[1:5]], np.int64),
            np.array([self.numbers[5:11]], np.int32),
            Paths(operations, np.array([0, len(operations)], np.int64)),
        )
        only = PairList(np.zeros(1, np.int64), np.zeros(1, np.int64))
        records = [as_records([text], alphabet) for text in (self.query, self.target)]
        strands = np.array(self.numbers[11:], np.int8)
        return Alignments(records[0], records[1], only, aligned, self.scoring, self.mode, strands)


def _default_for(query: str | bytes, target: str | bytes) -> Scoring | None:
    """The default scoring of the alphabet of both texts; None if they are perhaps different molecules."""
    try:
        from exaln import _core
    except ImportError:
        return None
    counts = _core.class_counts(query, target, _MEMBERS)
    if counts is None:
        return None
    both, first, second = counts
    alphabet = molecule_of(both)
    if alphabet is PROTEIN and (_may_differ(query, first) or _may_differ(target, second)):
        return None
    return Scoring.default(alphabet)


def _may_differ(text: str | bytes, class_counts: tuple[int, ...]) -> bool:
    """Whether a text among proteins may be refused because it looks like nucleotides; see `require_molecule`."""
    return len(text) >= LEAST_RESIDUES and molecule_of(class_counts) is not PROTEIN


_MEMBERS = LETTER_CLASSES.astype(np.uint8).tobytes()
