"""The source of hits: with the queries and the database, rows of a hit table become alignments and reports again.

A hit table has no sequences. Those of the queries stay in memory; those of targets are read from the database when they
are needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.alignments.aligned_pairs import AlignedPairs, PairList
from exaln.alignments.biopython import as_runs, with_equality
from exaln.alignments.cigar import DELETION, INSERTION, MATCH, Paths
from exaln.alignments.hit_columns import COUNTS, POSITIONS
from exaln.alignments.query_hits import QueryHits
from exaln.database.gather import target_slices, whole_targets
from exaln.foundation.mapped_file import read_unchanged
from exaln.pairwise.alignment import Alignments
from exaln.scoring.modes import LOCAL
from exaln.sequences.records import Records, offsets_of
from exaln.sequences.strands import reverse_complement

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.database.database import Database
    from exaln.report.summary import SearchSummary

_RUN = re.compile(r"([0-9]+)([MID])")
_CODE = {"M": MATCH, "I": INSERTION, "D": DELETION}


@dataclass(frozen=True, slots=True)
class HitColumns:
    """One row of a hit table; `report.hit_columns` describes the columns."""

    query_index: int
    query_id: str
    query_length: int
    target_ordinal: int
    target_id: str
    target_description: str
    target_length: int
    strand: int
    query_start: int
    query_end: int
    target_start: int
    target_end: int
    score: int | float
    bits: float | None
    evalue: float | None
    percent_identity: float
    percent_query_coverage: float
    percent_target_coverage: float
    identities: int
    positives: int
    mismatches: int
    gap_opens: int
    gaps: int
    columns: int
    cigar: str
    evalue2: float | None = None


@dataclass(frozen=True)
class HitSource:
    """The queries, the database and the summary of a search. is_whole: whether the hits are all that the search found,
    so that reports also name queries without hits.
    """

    queries: Records
    database: Database
    summary: SearchSummary
    is_whole: bool = True

    def alignments(self, hits: Sequence[HitColumns]) -> Alignments:
        """The alignments of one query with one target, with the bits and the E-values of the search."""
        first, scoring = hits[0], self.summary.scoring
        (target,) = self.whole_targets(np.array([first.target_ordinal], np.int64))
        query = self.queries.sequence(first.query_index)
        runs = [
            self._runs(
                hit.cigar, query[hit.query_start : hit.query_end], target[hit.target_start : hit.target_end], hit.strand
            )
            for hit in hits
        ]
        aligned = AlignedPairs(
            np.array([round(hit.score * scoring.scale) for hit in hits], np.int64),
            np.array([[getattr(hit, name) for name in POSITIONS] for hit in hits], np.int64),
            np.array([[getattr(hit, name) for name in COUNTS] for hit in hits], np.int32),
            Paths(np.concatenate(runs), offsets_of(map(len, runs))),
        )
        return Alignments(
            self.queries,
            Records.of(self.database.alphabet, [target], [first.target_id], [first.target_description]),
            PairList(np.full(len(hits), first.query_index), np.zeros(len(hits), np.int64)),
            aligned,
            scoring,
            LOCAL,
            np.array([hit.strand for hit in hits], np.int8),
            (_real_or_nan([hit.bits for hit in hits]), _real_or_nan([hit.evalue for hit in hits])),
        )

    def whole_targets(self, ordinals: NDArray[np.int64]) -> list[NDArray[np.uint8]]:
        """The codes of whole targets; ordinals: int64[n]."""
        return whole_targets(self.database, ordinals)

    def query_hits(self, table: Any) -> Iterator[QueryHits]:
        """Yield the hits of a table (see `report.arrow`), query by query, as reports take them."""
        return read_unchanged(self.database.require_unchanged, self._query_hits(table))

    def _query_hits(self, table: Any) -> Iterator[QueryHits]:
        index = table["query_index"].to_numpy()
        begins = np.flatnonzero(np.diff(index, prepend=-1)).tolist()
        parts = {int(index[begin]): (begin, end) for begin, end in pairwise([*begins, len(index)])}
        if self.is_whole:
            for query in range(len(self.queries)):
                yield self._one_query(query, table.slice(*_start_and_length(parts.get(query, (0, 0)))))
            return
        for begin, end in pairwise([*begins, len(index)]):
            yield self._one_query(int(index[begin]), table.slice(begin, end - begin))

    def _one_query(self, query: int, table: Any) -> QueryHits:
        columns = {name: table[name] for name in table.column_names}
        codes = self.queries.sequence(query)
        ordinal = columns["target_ordinal"].to_numpy()
        scoring = self.summary.scoring
        numbers = {name: columns[name].to_numpy() for name in (*POSITIONS, *COUNTS, "strand")}
        targets = target_slices(self.database, ordinal, numbers["target_start"], numbers["target_end"])
        places = (numbers[name].tolist() for name in ("query_start", "query_end", "strand"))
        runs = [
            self._runs(path, codes[start:end], target, strand)
            for path, target, start, end, strand in zip(columns["cigar"].to_pylist(), targets, *places, strict=True)
        ]
        return QueryHits(
            index=query,
            query_id=self.queries.ids[query],
            query_description=self.queries.descriptions[query],
            query=codes,
            query_quality=self.queries.quality(query),
            alphabet=self.database.alphabet,
            scoring=scoring,
            target_ids=columns["target_id"].to_pylist(),
            target_descriptions=columns["target_description"].to_pylist(),
            target_slices=targets,
            target_lengths=columns["target_length"].to_numpy(),
            ordinal=ordinal,
            score=np.rint(columns["score"].to_numpy() * scoring.scale).astype(np.int64),
            bits=_real(columns["bits"]),
            evalue=_real(columns["evalue"]),
            evalue2=_real(columns["evalue2"]) if "evalue2" in columns else None,
            paths=Paths(np.concatenate([np.empty(0, np.uint32), *runs]), offsets_of(map(len, runs))),
            **numbers,
        )

    def _runs(self, path: str, query: NDArray[np.uint8], target: NDArray[np.uint8], strand: int) -> NDArray[np.uint32]:
        """uint32[n], as in `Paths`: the path of a CIGAR. query, target: codes of the aligned parts, as given."""
        part = target if strand > 0 else reverse_complement(target, self.database.alphabet)
        runs = _RUN.findall(path)
        codes, lengths = [_CODE[letter] for _, letter in runs], [int(length) for length, _ in runs]
        columns = np.repeat(np.array(codes, np.uint32), lengths)
        return as_runs(with_equality(columns, query, part))


def _start_and_length(part: tuple[int, int]) -> tuple[int, int]:
    """A range (start, end) as (start, length)."""
    return part[0], part[1] - part[0]


def _real_or_nan(values: Sequence[float | None]) -> NDArray[np.float64]:
    """float64[n]: the values, NaN for None."""
    return np.array([np.nan if value is None else value for value in values])


def _real(column: Any) -> NDArray[np.float64]:
    """float64[n]: the values of a column, NaN for null."""
    return np.asarray(column.to_numpy(), np.float64)
