"""The table report: the hits of each query under headings, in lines that fit the screen.

Every alignment has a line. If a target has several, the lines say where in the target they are, and only the first one
names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from exaln.foundation.plurals import number_of
from exaln.report.clean import one_line, title
from exaln.report.columns import number_text
from exaln.statistics.evalues import format_bits, format_evalue

if TYPE_CHECKING:
    from exaln.alignments.query_hits import QueryHits

WIDTH = 100
"""Characters per line if the output is not a terminal."""

MIN_DESCRIPTION = 20
LONGEST_ID = 40

Columns = dict[str, list[str]]


def write_table(file: BinaryIO, hits: Iterable[QueryHits], width: int = WIDTH) -> None:
    """Write the tables of all queries; queries without hits are named too. width: characters per line."""
    for number, query_hits in enumerate(hits):
        file.write(("\n" * (number > 0) + "\n".join(_query(query_hits, width)) + "\n").encode())
        file.flush()


def _query(hits: QueryHits, width: int) -> Iterator[str]:
    n_hits = number_of(hits.n_targets, "hit") if len(hits) else "no hits"
    is_several = len(hits) > hits.n_targets
    if is_several:
        n_hits += f", {number_of(len(hits), 'alignment')}"
    size = f" ({len(hits.query):,} {'nt' if hits.alphabet.is_nucleotide else 'aa'}): {n_hits}"
    yield f"{_shortened(title(hits.query_id, hits.query_description[:width]), width - len(size))}{size}"
    if len(hits) == 0:
        return
    is_further = (hits.places_in_target > 0).tolist()
    numbers = _numbers(hits) | (_positions(hits) if is_several else {})
    names = [_shortened(one_line(name), LONGEST_ID) for name in hits.target_ids]
    names = ["" if further else name for name, further in zip(names, is_further, strict=True)]
    lines = [
        f"{name}  {fields}"
        for name, fields in zip(_justified(["target", *names], str.ljust), _lines(numbers), strict=True)
    ]
    room = max(MIN_DESCRIPTION, width - len(lines[0]) - 2)
    described = zip(hits.target_descriptions, is_further, strict=True)
    texts = ["description", *("" if further else one_line(text[: 2 * room]) for text, further in described)]
    yield from (f"{line}  {_shortened(text, room)}".rstrip() for line, text in zip(lines, texts, strict=True))


def _numbers(hits: QueryHits) -> Columns:
    """The columns between the id and the description of a target, by heading."""
    columns: Columns = {}
    if np.isnan(hits.evalue).any():
        columns["score"] = [number_text(hits.scoring.unscale(score)) for score in hits.score.tolist()]
    else:
        columns["E-value"] = [format_evalue(evalue) for evalue in hits.evalue.tolist()]
        columns["bits"] = [format_bits(bits) for bits in hits.bits.tolist()]
    columns["identity"] = [f"{percent:.1f}%" for percent in 100 * hits.identities / hits.columns]
    covered = (hits.query_end - hits.query_start) / max(1, len(hits.query))
    columns["coverage"] = [f"{percent:.0f}%" for percent in 100 * covered]
    if hits.alphabet.is_nucleotide:
        columns["strand"] = ["plus" if strand > 0 else "minus" for strand in hits.strand.tolist()]
    return columns


def _positions(hits: QueryHits) -> Columns:
    """Where in its target each alignment is, 1-based and inclusive, along the query."""
    forward = hits.strand > 0
    first = np.where(forward, hits.target_start + 1, hits.target_end).tolist()
    last = np.where(forward, hits.target_end, hits.target_start + 1).tolist()
    return {"position": [f"{start:,}-{end:,}" for start, end in zip(first, last, strict=True)]}


def _lines(columns: Columns) -> list[str]:
    justified = [_justified([heading, *texts], str.rjust) for heading, texts in columns.items()]
    return ["  ".join(fields) for fields in zip(*justified, strict=True)]


def _justified(texts: Sequence[str], justify: Callable[[str, int], str]) -> list[str]:
    width = max(map(len, texts))
    return [justify(text, width) for text in texts]


def _shortened(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(0, width - 3)] + "..."
