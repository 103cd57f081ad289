"""The FASTA report: the sequences of the targets, whole or only their aligned parts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, BinaryIO

from exaln.report.aligned_rows import aligned_targets
from exaln.report.clean import title

if TYPE_CHECKING:
    from exaln.alignments.query_hits import QueryHits

LINE = 60


def write_fasta(file: BinaryIO, hits: Iterable[QueryHits], *, aligned: bool = False) -> None:
    """Write each target of a query once, best first; `aligned`: only the aligned part, as `>id:start-end`.

    An aligned part on the minus strand is written as its reverse complement, which is what the query aligns with. Its
    start is then larger than its end, as in tabular reports.
    """
    for query_hits in hits:
        seen: set[int] = set()
        for part in query_hits.parts():
            codes = aligned_targets(part) if aligned else part.targets
            for hit, ordinal in enumerate(part.ordinal.tolist()):
                if ordinal not in seen:
                    seen.add(ordinal)
                    name = title(_name(part, hit, aligned), part.target_descriptions[hit])
                    _write(file, name, part.alphabet.decode(codes[hit]))


def _name(hits: QueryHits, hit: int, aligned: bool) -> str:
    if not aligned:
        return hits.target_ids[hit]
    start, end = int(hits.target_start[hit]) + 1, int(hits.target_end[hit])
    return f"{hits.target_ids[hit]}:" + (f"{start}-{end}" if hits.strand[hit] > 0 else f"{end}-{start}")


def _write(file: BinaryIO, header: str, letters: str) -> None:
    lines = [letters[start : start + LINE] for start in range(0, len(letters), LINE)]
    file.write("\n".join([f">{header}", *lines, ""]).encode())
