"""Pairs of sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from exaln.alphabet import Alphabet
from exaln.engines import choose_engine
from exaln.engines.base import Placement
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
    if scoring is None:
        raw = [text.encode() if isinstance(text, str) else text for text in (query, target)]
        scoring = Scoring.default(detect_alphabet(raw))
    records = as_records([query], scoring.alphabet)
    placement = Placement(PairTarget(as_records([target], scoring.alphabet)))
    exact = choose_engine(engine, threads).scores(records, placement, scoring)
    return scoring.unscale(int(exact[0, 0]))
