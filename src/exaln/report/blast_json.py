"""BLAST's JSON, format 15: one document with a report for each query, under the names that blastp and blastn write."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from exaln.report.blast_search import NO_HITS, REFERENCE, BlastSearch, Values, entries, query_values

if TYPE_CHECKING:
    from exaln.alignments.query_hits import QueryHits
    from exaln.report.summary import SearchSummary

STRANDS = {1: "Plus", -1: "Minus"}


def write_blast_json(file: BinaryIO, hits: Iterable[QueryHits], summary: SearchSummary) -> None:
    """Write the document, query by query."""
    search = BlastSearch.of(summary, "BLAST's JSON")
    file.write(b'{"BlastOutput2": [')
    for number, query_hits in enumerate(hits):
        file.write(b",\n" if number else b"\n")
        for piece in _report(query_hits, search):
            file.write(piece)
    file.write(b"\n]}\n")


def _report(hits: QueryHits, search: BlastSearch) -> Iterator[bytes]:
    """The report of one query, in pieces: one alignment is written at a time."""
    about = {
        "program": search.program,
        "version": search.version,
        "reference": REFERENCE,
        "search_target": {"db": search.database},
        "params": search.parameters(),
    }
    query = _dump(query_values(hits))
    yield b'{"report": ' + _dump(about)[:-1] + b', "results": {"search": ' + query[:-1] + b', "hits": ['
    is_first = True
    for entry in entries(hits):
        if entry.target is not None:
            yield (b"\n" if is_first else b"]},\n") + _dump(entry.target)[:-1] + b', "hsps": [\n'
        else:
            yield b",\n"
        yield _dump(_alignment(entry.alignment, search))
        is_first = False
    end = {"stat": search.space(len(hits.query)), **({"message": NO_HITS} if is_first else {})}
    yield (b"" if is_first else b"]}") + b"], " + _dump(end)[1:] + b"}}}"


def _alignment(values: Values, search: BlastSearch) -> Values:
    """The values of an alignment under BLAST's names: strands for nucleotides, positives for proteins."""
    if search.program == "blastp":
        return {name: value for name, value in values.items() if name != "strand"}
    found: Values = {}
    for name, value in values.items():
        if name == "strand":
            continue
        if name != "positive":
            found[name] = value
        if name == "query_to":
            found["query_strand"] = "Plus"
        if name == "hit_to":
            found["hit_strand"] = STRANDS[values["strand"]]
    return found


def _dump(value: Any) -> bytes:
    return json.dumps(value, allow_nan=False).encode("ascii")
