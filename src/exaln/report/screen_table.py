"""The table report: the hits of each query under headings, in lines that fit the screen.

Every alignment has a line, and only the first one of a target names it. The lines say where in the query and in the
target they are if a target has several, or is far longer or shorter than the query.
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
    from numpy.typing import NDArray

    from exaln.alignments.query_hits import QueryHits

WIDTH = 100
"""Characters per line if the output is not a terminal."""

MIN_DESCRIPTION = 12
"""Characters; without room for them there are no descriptions."""

SHORTEST_ID, LONGEST_ID = 16, 40
"""Characters; longer ids are cut to LONGEST_ID, or further, down to SHORTEST_ID, if a line is too long."""

FAR_LONGER = 10
"""A gene in a genome: one sequence has this many times the letters of the other."""

Columns = dict[str, list[str]]


def write_table(file: BinaryIO, hits: Iterable[QueryHits], width: int = WIDTH) -> None:
    """Write the tables of all queries; queries without hits are named too. width: characters per line."""
    for number, query_hits in enumerate(hits):
        file.write(("\n" * (number > 0) + "\n".join(_query(query_hits, width)) + "\n").encode())
        file.flush()


def _query(hits: QueryHits, width: int) -> Iterator[str]:
    n_hits = number_of(hits.n_targets, "hit") if len(hits) else "no hits"
    if len(hits) > hits.n_targets:
        n_hits += f", {number_of(len(hits), 'alignment')}"
    size = f" ({len(hits.query):,} {'nt' if hits.alphabet.is_nucleotide else 'aa'}): {n_hits}"
    yield f"{_shortened(title(hits.query_id, hits.query_description[:width]), width - len(size))}{size}"
    if len(hits):
        yield from _rows(hits, width)


def _rows(hits: QueryHits, width: int) -> Iterator[str]:
    """The headings, and a line for each alignment."""
    is_further = (hits.places_in_target > 0).tolist()
    names = ["target", *map(one_line, hits.target_ids)]
    numbers = _numbers(hits, width - min(SHORTEST_ID, max(map(len, names))) - 2)
    longest_id = max(SHORTEST_ID, min(LONGEST_ID, width - len(numbers[0]) - 2))
    names = [
        "" if further else _shortened(name, longest_id)
        for name, further in zip(names, [False, *is_further], strict=True)
    ]
    lines = [f"{name}  {fields}" for name, fields in zip(_justified(names, str.ljust), numbers, strict=True)]
    room = width - len(lines[0]) - 2
    if room < MIN_DESCRIPTION:
        yield from lines
        return
    described = zip(hits.target_descriptions, is_further, strict=True)
    texts = ["description", *("" if further else one_line(text[: 2 * room]) for text, further in described)]
    yield from (f"{line}  {_shortened(text, room)}".rstrip() for line, text in zip(lines, texts, strict=True))


def _numbers(hits: QueryHits, width: int) -> list[str]:
    """What a line says between the id and the description of a target; the headings first.

    With positions, lines of more than `width` characters have no coverage, which the position in the query shows too.
    """
    columns = _columns(hits)
    if len(hits) == hits.n_targets and not _is_far_longer(hits):
        return _lines(columns)
    columns |= _positions(hits)
    lines = _lines(columns)
    return lines if len(lines[0]) <= width else _lines({name: columns[name] for name in columns if name != "coverage"})


def _columns(hits: QueryHits) -> Columns:
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


def _is_far_longer(hits: QueryHits) -> bool:
    """Whether any target is far longer than the query, or far shorter."""
    query = len(hits.query)
    is_far = (hits.target_lengths >= FAR_LONGER * query) | (query >= FAR_LONGER * hits.target_lengths)
    return bool(is_far.any())


def _positions(hits: QueryHits) -> Columns:
    """Where in the query and in its target each alignment is, 1-based and inclusive, along the query."""
    forward = hits.strand > 0
    first = np.where(forward, hits.target_start + 1, hits.target_end)
    last = np.where(forward, hits.target_end, hits.target_start + 1)
    return {"in query": _ranges(hits.query_start + 1, hits.query_end), "in target": _ranges(first, last)}


def _ranges(first: NDArray[np.int64], last: NDArray[np.int64]) -> list[str]:
    return [f"{start:,}-{end:,}" for start, end in zip(first.tolist(), last.tolist(), strict=True)]


def _lines(columns: Columns) -> list[str]:
    justified = [_justified([heading, *texts], str.rjust) for heading, texts in columns.items()]
    return ["  ".join(fields) for fields in zip(*justified, strict=True)]


def _justified(texts: Sequence[str], justify: Callable[[str, int], str]) -> list[str]:
    width = max(map(len, texts))
    return [justify(text, width) for text in texts]


def _shortened(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(0, width - 3)] + "..."
