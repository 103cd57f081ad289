"""Pairs of sequences: score and alignment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from exaln.alignment import Alignment
from exaln.alphabet import Alphabet
from exaln.engines import choose_engine
from exaln.engines.base import Engine, Pairs, Placement
from exaln.queries import as_records, detect_alphabet
from exaln.records import Records
from exaln.scoring import Scoring

if TYPE_CHECKING:
    from numpy.typing import NDArray


class PairTarget:
    """One sequence as a database of one target."""

    def __init__(self, records: Records) -> None:
        self.alphabet: Alphabet = records.alphabet
        self.codes: NDArray[np.uint8] = records.codes
        self.offsets: NDArray[np.int64] = records.offsets
        self.ordinals: NDArray[np.int64] = np.zeros(1, np.int64)
        self.segments = (self,)
        self.n_targets = 1
        self.n_residues = records.n_residues


def score(
    query: str | bytes,
    target: str | bytes,
    *,
    scoring: Scoring | None = None,
    engine: str = "auto",
    threads: int | None = None,
) -> int | float:
    """The exact local score of two sequences; a float only if the scoring has fractions.

    >>> score("HEAGAWGHEE", "PAWHEAE", scoring=Scoring("BLOSUM50", gap_open=0, gap_extend=8))
    28
    >>> score("AGCACACA", "ACACACTA", scoring=Scoring(match=2, mismatch=-1, gap_open=0, gap_extend=1))
    12
    """
    scoring = scoring or _default_scoring(query, target)
    pair = as_records([query], scoring.alphabet), as_records([target], scoring.alphabet)
    return scoring.unscale(pair_score(*pair, scoring, choose_engine(engine, threads, for_pairs=True)))


def align(
    query: str | bytes,
    target: str | bytes,
    *,
    scoring: Scoring | None = None,
    engine: str = "auto",
    threads: int | None = None,
) -> Alignment:
    """The optimal local alignment of two sequences; among co-optimal ones always the same.

    >>> alignment = align("HEAGAWGHEE", "PAWHEAE", scoring=Scoring("BLOSUM50", gap_open=0, gap_extend=8))
    >>> alignment.score, alignment.cigar, alignment.query_start, alignment.target_start
    (28, '2M1I2M', 4, 1)
    >>> print(alignment)
    score 28, identities 4/5 (80%), gaps 1
    <BLANKLINE>
    Query  5  AWGHE  9
              AW HE
    Sbjct  2  AW-HE  5
    """
    scoring = scoring or _default_scoring(query, target)
    pair = as_records([query], scoring.alphabet), as_records([target], scoring.alphabet)
    return align_records(*pair, scoring, choose_engine(engine, threads, for_pairs=True))


def pair_score(query: Records, target: Records, scoring: Scoring, engine: Engine) -> int:
    """The score, multiplied by `scoring.scale`, of the only sequences of two records."""
    return int(engine.scores(query, Placement(PairTarget(target)), scoring)[0, 0])


def align_records(query: Records, target: Records, scoring: Scoring, engine: Engine) -> Alignment:
    """The alignment of the only sequences of two records."""
    best = pair_score(query, target, scoring, engine)
    positions, counts, operations = (0,) * 4, (0,) * 6, np.empty(0, np.uint32)
    if best > 0:
        first = np.zeros(1, np.int64)
        traces = engine.align(query, target, Pairs(first, first, np.array([best], np.int32)), scoring)
        positions, counts = tuple(traces.positions[0].tolist()), tuple(traces.counts[0].tolist())
        operations = traces.paths[0]
    sequences = query.sequence(0), target.sequence(0)
    return Alignment(scoring.unscale(best), *positions, *counts, *sequences, operations, scoring)


def _default_scoring(query: str | bytes, target: str | bytes) -> Scoring:
    raw = [text.encode() if isinstance(text, str) else text for text in (query, target)]
    return Scoring.default(detect_alphabet(raw))
