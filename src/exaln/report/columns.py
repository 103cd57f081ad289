"""The columns of tabular reports under BLAST's names.

Positions are 1-based and inclusive, and percentages are rounded as BLAST rounds them. A column is computed for all hits
at once, of one query or of many, and has one text per hit. To add a column, add an entry to `_ALL`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from exaln.alignments.cigar import cigar_list, strings
from exaln.errors import InputError
from exaln.report.aligned_rows import Rows, btops, rows_of
from exaln.report.clean import one_line
from exaln.sequences.accessions import accession, accession_with_version
from exaln.sequences.records import Text
from exaln.statistics.evalues import format_bits, format_evalue

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.alignments.query_hits import AnyHits

Texts = list[str]


@dataclass(frozen=True)
class Column:
    """A column: its name in --outfmt, its heading in the comment lines of format 7, and its texts, one per hit."""

    name: str
    heading: str
    texts: Callable[[AnyHits], Texts]


# fmt: off
STD = (
    "qseqid", "sseqid", "pident", "length", "mismatch", "gapopen",
    "qstart", "qend", "sstart", "send", "evalue", "bitscore",
)
# fmt: on

# fmt: off
NAMES_AND_TITLES = (
    "qseqid", "qacc", "qaccver", "qtitle",
    "sseqid", "sallseqid", "sacc", "saccver", "sallacc", "stitle", "salltitles",
)
# fmt: on
"""Columns with text from sequence files, which CSV protects against formulas."""

_NO_GI = "GI numbers were retired by NCBI; use qaccver and saccver"
_NO_TAXONOMY = "a FASTA file carries no taxonomy; join on sseqid or saccver instead"
REFUSED = {
    **dict.fromkeys(("qgi", "sgi", "sallgi"), _NO_GI),
    **dict.fromkeys(("staxid", "ssciname", "scomname", "sblastname", "sskingdom"), _NO_TAXONOMY),
    **dict.fromkeys(("staxids", "sscinames", "scomnames", "sblastnames", "sskingdoms"), _NO_TAXONOMY),
}
"""BLAST's columns that cannot be provided, and why."""

TITLE_SEPARATOR = "\x01"
"""Separates the headers of identical sequences in NCBI's non-redundant databases."""


def parse_columns(names: Iterable[str]) -> tuple[Column, ...]:
    """The columns with these names; `std` stands for the twelve standard ones and is the default.

    >>> [column.name for column in parse_columns(["qseqid", "btop"])]
    ['qseqid', 'btop']
    """
    chosen: list[Column] = []
    for name in list(names) or ["std"]:
        chosen.extend(COLUMNS[one] for one in (STD if name == "std" else [_require_known(name)]))
    return tuple(chosen)


def _require_known(name: str) -> str:
    if name in REFUSED:
        raise InputError(f"column {name!r} is not available: {REFUSED[name]}")
    if name not in COLUMNS:
        raise InputError(f"unknown column {name!r}; the columns are std {' '.join(COLUMNS)}")
    return name


def number_text(value: float) -> str:
    """A score as text: 344, or 293.5 if the scoring has fractions.

    >>> number_text(293.5), number_text(12.0), number_text(344)
    ('293.5', '12', '344')
    """
    return str(int(value)) if value == int(value) else str(value)


def _integers(values: NDArray[np.integer]) -> Texts:
    return list(map(str, values.tolist()))


def _repeated(text: str, hits: AnyHits) -> Texts:
    return [text] * len(hits)


def _scores(hits: AnyHits) -> Texts:
    if hits.scoring.scale == 1:
        return _integers(hits.score)
    return [number_text(hits.scoring.unscale(score)) for score in hits.score.tolist()]


def _floats(form: Callable[[float], str], values: NDArray[np.float64]) -> Texts:
    return list(map(form, values.tolist()))


def _evalues2(hits: AnyHits) -> Texts:
    return _repeated("", hits) if hits.evalue2 is None else _floats(format_evalue, hits.evalue2)


def _percent(part: NDArray[np.int32], whole: NDArray[np.int32], decimals: int) -> Texts:
    form = f"%.{decimals}f"
    return [form % value for value in (100.0 * part / whole).tolist()]


def _coverage(covered: NDArray[np.int64], length: NDArray[np.int64]) -> Texts:
    """Coverage in whole percent. As in BLAST, only full coverage is 100."""
    percent = 100.0 * covered / np.maximum(length, 1)
    return _integers(np.where(percent < 99, percent + 0.5, percent).astype(np.int64))


def query_lengths(hits: AnyHits) -> NDArray[np.int64]:
    """int64[n]: the length of each whole query."""
    return np.fromiter(map(len, hits.queries), np.int64, len(hits))


def _query_coverage(hits: AnyHits) -> Texts:
    return _coverage(hits.query_end - hits.query_start, query_lengths(hits))


def _coverage_by_target(hits: AnyHits) -> Texts:
    """qcovs: the part of the query in any alignment with the target."""
    return _coverage(hits.query_covered, query_lengths(hits))


def _coverage_of_unique(hits: AnyHits) -> Texts:
    """qcovus, which BLAST computes only for nucleotides."""
    return _coverage_by_target(hits) if hits.alphabet.is_nucleotide else _repeated("N/A", hits)


def _target_coverage(hits: AnyHits) -> Texts:
    return _coverage(hits.target_end - hits.target_start, hits.target_lengths)


def _target_from(hits: AnyHits) -> Texts:
    return _integers(np.where(hits.strand > 0, hits.target_start + 1, hits.target_end))


def _target_to(hits: AnyHits) -> Texts:
    return _integers(np.where(hits.strand > 0, hits.target_end, hits.target_start + 1))


def _strand_names(hits: AnyHits) -> Texts:
    if not hits.alphabet.is_nucleotide:
        return _repeated("N/A", hits)
    return ["plus" if strand > 0 else "minus" for strand in hits.strand.tolist()]


def _query_frame(hits: AnyHits) -> Texts:
    return _repeated("1", hits)


def _target_frame(hits: AnyHits) -> Texts:
    return _integers(hits.strand)


def _frames(hits: AnyHits) -> Texts:
    return [f"{query}/{target}" for query, target in zip(_query_frame(hits), _target_frame(hits), strict=True)]


def _lines(texts: Sequence[str]) -> Texts:
    return [one_line(text) for text in texts]


def _first_titles(hits: AnyHits) -> Texts:
    return [one_line(text.split(TITLE_SEPARATOR, 1)[0]) for text in hits.target_descriptions]


def _all_titles(hits: AnyHits) -> Texts:
    return [one_line(text.replace(TITLE_SEPARATOR, "<>")) for text in hits.target_descriptions]


def _all_ids(hits: AnyHits) -> Texts:
    return [";".join(_ids(*both)) for both in zip(hits.target_ids, hits.target_descriptions, strict=True)]


def _all_accessions(hits: AnyHits) -> Texts:
    both = zip(hits.target_ids, hits.target_descriptions, strict=True)
    return [";".join(map(accession, _ids(*texts))) for texts in both]


def _ids(first: str, description: str) -> Texts:
    others = (entry.split(None, 1) for entry in description.split(TITLE_SEPARATOR)[1:])
    return [one_line(first), *(one_line(words[0]) for words in others if words)]


def _row_texts(row: Callable[[Rows], NDArray[np.uint8]]) -> Callable[[AnyHits], Texts]:
    def texts(hits: AnyHits) -> Texts:
        rows = rows_of(hits)
        return strings(Text(row(rows), rows.offsets))

    return texts


_ALL = [
    Column("qseqid", "query id", lambda hits: _lines(hits.query_ids)),
    Column("qacc", "query acc.", lambda hits: list(map(accession, _lines(hits.query_ids)))),
    Column("qaccver", "query acc.ver", lambda hits: list(map(accession_with_version, _lines(hits.query_ids)))),
    Column("qtitle", "query title", lambda hits: _lines(hits.query_descriptions)),
    Column("qlen", "query length", lambda hits: _integers(query_lengths(hits))),
    Column("qordinal", "query ordinal", lambda hits: [str(index + 1) for index in hits.indices]),
    Column("sseqid", "subject id", lambda hits: _lines(hits.target_ids)),
    Column("sallseqid", "subject ids", _all_ids),
    Column("sacc", "subject acc.", lambda hits: [accession(one_line(text)) for text in hits.target_ids]),
    Column(
        "saccver", "subject acc.ver", lambda hits: [accession_with_version(one_line(text)) for text in hits.target_ids]
    ),
    Column("sallacc", "subject accs.", _all_accessions),
    Column("stitle", "subject title", _first_titles),
    Column("salltitles", "subject titles", _all_titles),
    Column("slen", "subject length", lambda hits: _integers(hits.target_lengths)),
    Column("sordinal", "subject ordinal", lambda hits: _integers(hits.ordinal + 1)),
    Column("qstart", "q. start", lambda hits: _integers(hits.query_start + 1)),
    Column("qend", "q. end", lambda hits: _integers(hits.query_end)),
    Column("sstart", "s. start", _target_from),
    Column("send", "s. end", _target_to),
    Column("evalue", "evalue", lambda hits: _floats(format_evalue, hits.evalue)),
    Column("evalue2", "evalue2", _evalues2),
    Column("bitscore", "bit score", lambda hits: _floats(format_bits, hits.bits)),
    Column("score", "score", _scores),
    Column("length", "alignment length", lambda hits: _integers(hits.columns)),
    Column("pident", "% identity", lambda hits: _percent(hits.identities, hits.columns, 3)),
    Column("nident", "identical", lambda hits: _integers(hits.identities)),
    Column("mismatch", "mismatches", lambda hits: _integers(hits.mismatches)),
    Column("positive", "positives", lambda hits: _integers(hits.positives)),
    Column("ppos", "% positives", lambda hits: _percent(hits.positives, hits.columns, 2)),
    Column("gapopen", "gap opens", lambda hits: _integers(hits.gap_opens)),
    Column("gaps", "gaps", lambda hits: _integers(hits.gaps)),
    Column("qcovs", "% query coverage per subject", _coverage_by_target),
    Column("qcovhsp", "% query coverage per hsp", _query_coverage),
    Column("qcovus", "% query coverage per uniq subject", _coverage_of_unique),
    Column("scovhsp", "% subject coverage per hsp", _target_coverage),
    Column("hsp", "hsp", lambda hits: _integers(hits.places_in_target + 1)),
    Column("qframe", "query frame", _query_frame),
    Column("sframe", "sbjct frame", _target_frame),
    Column("frames", "query/sbjct frames", _frames),
    Column("sstrand", "subject strand", _strand_names),
    Column("qseq", "query seq", _row_texts(lambda rows: rows.query)),
    Column("sseq", "subject seq", _row_texts(lambda rows: rows.target)),
    Column("btop", "BTOP", btops),
    Column("cigar", "CIGAR", lambda hits: cigar_list(hits.paths)),
    Column("cigarx", "extended CIGAR", lambda hits: cigar_list(hits.paths, extended=True)),
]
COLUMNS = {column.name: column for column in _ALL}
