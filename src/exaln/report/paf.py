"""PAF, minimap2's format: one line per alignment, with the CIGAR as cg:Z and the tags NM and AS.

The target is the reference. CIGARs have M, or = and X with `extended`, and run along the target on both strands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, BinaryIO

from exaln.report.clean import one_line
from exaln.report.mapped import UNKNOWN_QUALITY, tags, target_cigars

if TYPE_CHECKING:
    from exaln.alignments.query_hits import AnyHits


def write_paf(file: BinaryIO, hits: Iterable[AnyHits], *, extended: bool) -> None:
    """Write one line per alignment, with the CIGAR as cg:Z; queries without an alignment have none."""
    for some in hits:
        for part in some.parts():
            file.write("".join(_paf_lines(part, extended)).encode())


def _paf_lines(hits: AnyHits, extended: bool) -> Iterator[str]:
    minus = hits.strand < 0
    columns = zip(
        hits.query_ids,
        map(len, hits.queries),
        hits.query_start.tolist(),
        hits.query_end.tolist(),
        minus.tolist(),
        hits.target_ids,
        hits.target_lengths.tolist(),
        hits.target_start.tolist(),
        hits.target_end.tolist(),
        hits.identities.tolist(),
        hits.columns.tolist(),
        tags(hits),
        target_cigars(hits, extended),
        strict=True,
    )
    for name, size, start, end, is_minus, target, length, first, last, identities, n_columns, tag, path in columns:
        query = f"{one_line(name) or '*'}\t{size}\t{start}\t{end}\t{'-' if is_minus else '+'}"
        place = f"{one_line(target) or '*'}\t{length}\t{first}\t{last}"
        yield f"{query}\t{place}\t{identities}\t{n_columns}\t{UNKNOWN_QUALITY}\t{tag}\tcg:Z:{path}\n"
