"""GFF3: one feature per alignment on the target, for genome browsers and for tools that compare intervals.

The target is the reference, and the feature has its strand. `Target` names the aligned part of the query, and `Gap` is
the path, which runs along the query. The score is the E-value, as the specification recommends for similarity.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, BinaryIO

from exaln.alignments.cigar import cigar_list
from exaln.report.columns import number_text
from exaln.statistics.evalues import format_bits, format_evalue

if TYPE_CHECKING:
    from re import Match

    from exaln.alignments.query_hits import AnyHits
    from exaln.report.summary import SearchSummary

_NOT_IN_SEQID = re.compile(r"[^a-zA-Z0-9.:^*$@!+_?|-]")
_NOT_IN_VALUE = re.compile(r"[\x00-\x20\x7f%;=&,]")
_STEP = re.compile("([0-9]+)([MID])")


def write_gff(file: BinaryIO, hits: Iterable[AnyHits], summary: SearchSummary) -> None:
    """Write the version line and one line per alignment."""
    file.write(b"##gff-version 3\n")
    for some in hits:
        kind = "nucleotide_match" if some.alphabet.is_nucleotide else "protein_match"
        for part in some.parts():
            file.write("".join(_lines(part, f"{summary.program}\t{kind}")).encode())


def _lines(hits: AnyHits, kind: str) -> Iterator[str]:
    columns = zip(
        hits.target_ids,
        (hits.target_start + 1).tolist(),
        hits.target_end.tolist(),
        hits.evalue.tolist(),
        hits.strand.tolist(),
        hits.query_ids,
        (hits.query_start + 1).tolist(),
        hits.query_end.tolist(),
        cigar_list(hits.paths),
        (hits.scoring.unscale(score) for score in hits.score.tolist()),
        hits.bits.tolist(),
        (100.0 * hits.identities / hits.columns).tolist(),
        strict=True,
    )
    for target, start, end, evalue, strand, query, first, last, path, score, bits, identity in columns:
        if end < start:  # gaps alone have no place on the target
            continue
        place = f"{start}\t{end}\t{format_evalue(evalue) or '.'}\t{'+' if strand > 0 else '-'}\t."
        gap = _STEP.sub(r" \2\1", path)[1:]
        numbers = f"score={number_text(score)};bits={format_bits(bits)};identity={identity:.3f}"
        if bits != bits:
            numbers = f"score={number_text(score)};identity={identity:.3f}"
        name = _escaped(_NOT_IN_VALUE, query)
        about = f"Name={name};Target={name} {first} {last};Gap={gap};{numbers}"
        yield f"{_seqid(target)}\t{kind}\t{place}\t{about}\n"


def _seqid(identifier: str) -> str:
    """A name for the first column, which must not begin with `>`."""
    return _escaped(_NOT_IN_SEQID, identifier) or "."


def _escaped(forbidden: re.Pattern[str], text: str) -> str:
    """The text with each forbidden character as the percent codes of its UTF-8 bytes."""
    return forbidden.sub(_percent, text)


def _percent(found: Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode("utf-8", "replace"))
