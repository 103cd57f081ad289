"""A search in BLAST's words: the values that its XML (format 5) and its JSON (format 15) have in common.

An entry of a hit or an alignment is a dict with the names that JSON has; XML has the same names with hyphens.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.alignments.cigar import strings
from exaln.errors import InputError
from exaln.report.aligned_rows import rows_of
from exaln.report.clean import one_line, title
from exaln.report.columns import TITLE_SEPARATOR
from exaln.report.drawing import column_kinds, middle_line
from exaln.sequences.accessions import accession
from exaln.sequences.records import Text
from exaln.statistics.evalues import LEAST_EVALUE

if TYPE_CHECKING:
    from exaln.alignments.query_hits import QueryHits
    from exaln.report.summary import SearchSummary
    from exaln.statistics.evalues import Statistics

REFERENCE = "exaln: exact Smith-Waterman search; every cell of every pair was computed"
NO_HITS = "No hits found"

Values = dict[str, Any]


@dataclass(frozen=True)
class BlastSearch:
    """A search whose hits have E-values."""

    summary: SearchSummary
    statistics: Statistics

    @staticmethod
    def of(summary: SearchSummary, what: str) -> BlastSearch:
        """The search. Raises InputError if it has no E-values, or is no search. what: the format, for the message."""
        if summary.is_pairs:
            raise InputError(f"{what} describes a search; write pairs as json")
        if summary.statistics is None:
            raise InputError(f"{what} needs E-values, and there are none for {summary.scoring.describe()}; use json")
        return BlastSearch(summary, summary.statistics)

    @property
    def program(self) -> str:
        """The program of BLAST that compares the same kinds of sequences."""
        return "blastn" if self.summary.scoring.alphabet.is_nucleotide else "blastp"

    @property
    def version(self) -> str:
        """What made the report."""
        return f"{self.summary.program} {self.summary.version}"

    @property
    def database(self) -> str:
        """The name of the database."""
        return one_line(self.summary.database)

    def parameters(self) -> Values:
        """The scoring and the limit of the E-value."""
        scoring = self.summary.scoring
        found: Values = {}
        if not scoring.alphabet.is_nucleotide:
            found["matrix"] = one_line(scoring.name)
        if self.summary.max_evalue is not None and math.isfinite(self.summary.max_evalue):
            found["expect"] = _number(self.summary.max_evalue)
        if scoring.match is not None:
            found |= {"sc_match": _number(scoring.match[0]), "sc_mismatch": _number(scoring.match[1])}
        gaps = {"gap_open": scoring.gap_open, "gap_extend": scoring.gap_extend}
        found |= {name: _number(Fraction(cost, scoring.scale)) for name, cost in gaps.items()}
        return found | {"filter": "F"}

    def space(self, query_length: int) -> Values:
        """The search space of a query, and the parameters of the statistics."""
        of = self.statistics
        return {
            "db_num": of.db_targets,
            "db_len": of.db_residues,
            "hsp_len": of.length_adjustment(max(query_length, 1)),
            "eff_space": round(of.search_space(query_length)),
            "kappa": of.k,
            "lambda": of.lambda_,
            "entropy": of.h,
        }


def query_values(hits: QueryHits) -> Values:
    """The query: BLAST numbers queries, and its title is the whole header."""
    name = title(hits.query_id, hits.query_description)
    return {"query_id": f"Query_{hits.index + 1}", "query_title": name, "query_len": len(hits.query)}


def target_descriptions(identifier: str, description: str) -> list[Values]:
    """Id, accession and title of each sequence that shares the entry of a target, the first one first."""
    first, *others = description.split(TITLE_SEPARATOR)
    pairs = [(identifier, first), *((*other.split(None, 1), "")[:2] for other in others if other.split())]
    return [
        {"id": one_line(name), "accession": accession(one_line(name)), "title": one_line(text)} for name, text in pairs
    ]


@dataclass(frozen=True)
class Entry:
    """An alignment of a query. target: the hit that begins with it; None if it is a further one of the same target."""

    target: Values | None
    alignment: Values


def entries(hits: QueryHits) -> Iterator[Entry]:
    """The alignments of a query, target by target, in parts of bounded size."""
    starts = hits.target_offsets[:-1]
    number = np.searchsorted(starts, np.arange(len(hits)), side="right").tolist()
    first_rows = starts.tolist()
    row = 0
    for part in hits.parts():
        for alignment in _alignments(part):
            first = first_rows[number[row] - 1]
            target = _target(hits, row, number[row]) if row == first else None
            yield Entry(target, {"num": row - first + 1, **alignment})
            row += 1


def _target(hits: QueryHits, row: int, number: int) -> Values:
    described = target_descriptions(hits.target_ids[row], hits.target_descriptions[row])
    return {"num": number, "description": described, "len": int(hits.target_lengths[row])}


def _alignments(hits: QueryHits) -> Iterator[Values]:
    """The values of each row. Positions are 1-based and inclusive; on the minus strand hit_from > hit_to."""
    rows = rows_of(hits)
    middle = middle_line(rows, column_kinds(rows, hits.scoring), hits.scoring)
    evalues = np.where(hits.evalue < LEAST_EVALUE, 0, hits.evalue)
    forward = hits.strand > 0
    columns: dict[str, Any] = {
        "bit_score": map(_six_digits, hits.bits.tolist()),
        "score": (_number(hits.scoring.unscale(score)) for score in hits.score.tolist()),
        "evalue": map(_six_digits, evalues.tolist()),
        "identity": hits.identities.tolist(),
        "positive": hits.positives.tolist(),
        "query_from": (hits.query_start + 1).tolist(),
        "query_to": hits.query_end.tolist(),
        "hit_from": np.where(forward, hits.target_start + 1, hits.target_end).tolist(),
        "hit_to": np.where(forward, hits.target_end, hits.target_start + 1).tolist(),
        "strand": hits.strand.tolist(),
        "align_len": hits.columns.tolist(),
        "gaps": hits.gaps.tolist(),
        "qseq": strings(Text(rows.query, rows.offsets)),
        "hseq": strings(Text(rows.target, rows.offsets)),
        "midline": strings(Text(middle, rows.offsets)),
    }
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))


def _six_digits(value: float) -> int | float:
    """A number as BLAST rounds it in XML and JSON."""
    return _number(float(f"{value:.6g}"))


def _number(value: Any) -> int | float:
    """An int if the number is whole and exact as one; otherwise a float."""
    return int(value) if value == int(value) and abs(value) < 1e15 else float(value)
