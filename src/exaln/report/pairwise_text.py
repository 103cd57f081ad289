"""The pairwise report, BLAST's format 0: for each query a table of its hits, then every alignment as text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, BinaryIO, cast

from exaln.alignments.query_hits import PairHits, QueryHits
from exaln.report.clean import one_line, title
from exaln.report.columns import number_text
from exaln.report.drawing import draw_all
from exaln.scoring.modes import LOCAL
from exaln.statistics.evalues import NucleotideStatistics, format_bits, format_evalue
from exaln.statistics.simulated import SimulatedParameters

if TYPE_CHECKING:
    from exaln.alignments.query_hits import AnyHits
    from exaln.report.summary import SearchSummary

LINE = 80
TITLE = 68
"""Widths of a line of text and of a title in the table of hits, in characters."""

NOTHING = b"***** No similarity *****\n\n\n"

LONGEST_TITLE = 100_000
"""Longer titles are cut, with a note of their length."""


def write_pairwise(file: BinaryIO, hits: Iterable[AnyHits], summary: SearchSummary, *, colour: bool = False) -> None:
    """Write the report of all queries; `colour`: with ANSI colours, for a terminal."""
    if summary.is_pairs:
        _write_pairs(file, hits, summary, colour)
        return
    file.write(_header(summary).encode())
    for query_hits in cast("Iterable[QueryHits]", hits):
        for text in _query(query_hits, summary, colour):
            file.write(text.encode())
    file.write(_footer(summary).encode())


def _write_pairs(file: BinaryIO, hits: Iterable[AnyHits], summary: SearchSummary, colour: bool) -> None:
    """Write pairs that the user has chosen: nothing was searched, so there is no database and no table of hits."""
    mode = None if summary.mode == LOCAL.name else summary.mode
    for some in hits:
        if isinstance(some, QueryHits):
            file.write(f"{_query_title(some.query_id, some.query_description, len(some.query))}\n".encode())
        if isinstance(some, QueryHits):
            for text in _targets(some, mode, colour):
                file.write(text.encode())
        for part in some.parts() if isinstance(some, PairHits) else ():
            for hit, picture in enumerate(draw_all(part, colour=colour)):
                query = (part.query_ids[hit], part.query_descriptions[hit], len(part.queries[hit]))
                file.write(f"{_query_title(*query)}\n".encode())
                drawn = _heading(part, hit) + _alignment(part, hit, picture, mode)
                file.write(drawn.encode() if part.columns[hit] else NOTHING)
        if isinstance(some, QueryHits) and not len(some):
            file.write(NOTHING)
        file.flush()


def _header(summary: SearchSummary) -> str:
    size = f"{summary.n_targets:,} sequences; {summary.n_residues:,} total letters"
    return f"{summary.program} {summary.version}\n\n\nDatabase: {one_line(summary.database)}\n           {size}\n\n\n"


def _footer(summary: SearchSummary) -> str:
    scoring = summary.scoring
    opening, extending = (
        number_text(float(Fraction(c, scoring.scale))) for c in (scoring.gap_open, scoring.gap_extend)
    )
    what = f"Matrix: {one_line(scoring.name)}"
    if scoring.match is not None:
        what = f"Matrix: match {scoring.match[0]}, mismatch {scoring.match[1]}"
    return (
        f"  Database: {one_line(summary.database)}\n"
        f"  Number of letters in database: {summary.n_residues:,}\n"
        f"  Number of sequences in database: {summary.n_targets:,}\n\n\n"
        f"{what}\nGap Penalties: Existence: {opening}, Extension: {extending}\n"
    )


def _query(hits: QueryHits, summary: SearchSummary, colour: bool) -> Iterator[str]:
    yield "\n" + _query_title(hits.query_id, hits.query_description, len(hits.query))
    if len(hits):
        yield from _table(hits)
        yield "\n\n"
        yield from _targets(hits, None, colour)
    else:
        yield "\n\n***** No hits found *****\n\n\n"
    yield _query_footer(hits, summary)


def _targets(hits: QueryHits, mode: str | None, colour: bool) -> Iterator[str]:
    """The alignments of a query, target by target: the heading of a target comes before its first alignment."""
    before = None
    for part in hits.parts():
        for row, drawn in enumerate(draw_all(part, colour=colour)):
            yield (_heading(part, row) if part.ordinal[row] != before else "") + _alignment(part, row, drawn, mode)
            before = part.ordinal[row]


def _query_title(name: str, description: str, length: int) -> str:
    return f"Query= {_wrapped(title(name, description))}\n\nLength={length}\n"


def _table(hits: QueryHits) -> Iterator[str]:
    heading = "Sequences producing significant alignments:"
    if _has_statistics(hits, 0):
        yield f"{'':<{TITLE}}  Score     E\n{heading:<{TITLE}} (Bits)  Value\n\n"
    else:
        yield f"{'':<{TITLE}}  Score\n{heading:<{TITLE}}  (raw)\n\n"
    for hit in hits.target_offsets[:-1].tolist():
        name = title(hits.target_ids[hit], hits.target_descriptions[hit][: 2 * TITLE])
        shown = name if len(name) <= TITLE else name[: TITLE - 3] + "..."
        if _has_statistics(hits, hit):
            yield f"{shown:<{TITLE}}  {format_bits(hits.bits[hit]):<6}  {_expect(hits, hit)}\n"
        else:
            yield f"{shown:<{TITLE}}  {_raw(hits, hit)}\n"


def _heading(hits: AnyHits, hit: int) -> str:
    name = title(hits.target_ids[hit], hits.target_descriptions[hit])
    return f">{_wrapped(name)}\nLength={hits.target_lengths[hit]}\n\n"


def _alignment(hits: AnyHits, hit: int, drawn: str, mode: str | None) -> str:
    return "\n".join([*_numbers(hits, hit, mode), "", drawn]) + "\n\n\n"


def _numbers(hits: AnyHits, hit: int, mode: str | None) -> Iterator[str]:
    columns, gaps = int(hits.columns[hit]), int(hits.gaps[hit])
    if _has_statistics(hits, hit):
        bits, expect = format_bits(hits.bits[hit]), _expect(hits, hit)
        yield f" Score = {bits} bits ({_raw(hits, hit)}),  Expect = {expect}"
    else:
        yield f" Score = {_raw(hits, hit)}" + (f" ({mode})" if mode else "")
    parts = [f"Identities = {_share(int(hits.identities[hit]), columns)}"]
    if not hits.alphabet.is_nucleotide:
        parts.append(f"Positives = {_share(int(hits.positives[hit]), columns)}")
    yield " " + ", ".join([*parts, f"Gaps = {_share(gaps, columns)}"])
    if hits.alphabet.is_nucleotide:
        yield f" Strand=Plus/{'Plus' if hits.strand[hit] > 0 else 'Minus'}"


def _query_footer(hits: QueryHits, summary: SearchSummary) -> str:
    statistics = summary.statistics
    if statistics is None:
        return "\n"
    values = "  ".join(f"{value:<8.3g}" for value in (statistics.lambda_, statistics.k, statistics.h)).rstrip()
    text = f"\n{'Lambda':<8}  {'K':<8}  H\n{values}\n\n"
    if isinstance(statistics.parameters, SimulatedParameters):
        text += f"By simulation: {statistics.origin}\n\n"
    if isinstance(statistics, NucleotideStatistics):
        text += f"Effective search space used: {round(statistics.search_space(len(hits.query)))}\n\n"
    return text + "\n"


def _share(part: int, whole: int) -> str:
    """A count as `75/143 (52%)`; as in BLAST, only all of them are 100%."""
    percent = 100 if part == whole else min(99, int(0.5 + 100 * part / whole))
    return f"{part}/{whole} ({percent}%)"


def _has_statistics(hits: AnyHits, hit: int) -> bool:
    return bool(hits.evalue[hit] == hits.evalue[hit])


def _expect(hits: AnyHits, hit: int) -> str:
    """The E-value with one digit; tables have three."""
    return format_evalue(float(hits.evalue[hit]), digits=0)


def _raw(hits: AnyHits, hit: int) -> str:
    return number_text(hits.scoring.unscale(int(hits.score[hit])))


def _wrapped(text: str) -> str:
    """A title wrapped to LINE; further lines are indented, so that none looks like the start of a hit."""
    if len(text) <= LINE:
        return text
    if len(text) > LONGEST_TITLE:
        text = f"{text[:LONGEST_TITLE]}... ({len(text):,} characters)"
    return "\n".join(textwrap.wrap(text, LINE, subsequent_indent=" ", break_on_hyphens=False))
