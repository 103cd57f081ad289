"""BLAST's XML, format 5 (NCBI_BlastOutput.dtd): one document with an iteration for each query."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from exaln.report.blast_search import NO_HITS, REFERENCE, BlastSearch, Values, entries, query_values

if TYPE_CHECKING:
    from exaln.alignments.query_hits import QueryHits
    from exaln.report.summary import SearchSummary

HEAD = (
    '<?xml version="1.0"?>\n<!DOCTYPE BlastOutput PUBLIC "-//NCBI//NCBI BlastOutput/EN" '
    '"http://www.ncbi.nlm.nih.gov/dtd/NCBI_BlastOutput.dtd">\n<BlastOutput>\n'
)
TAIL = "</BlastOutput_iterations>\n</BlastOutput>\n"

# fmt: off
HSP = (
    "num", "bit_score", "score", "evalue", "query_from", "query_to", "hit_from", "hit_to", "query_frame", "hit_frame",
    "identity", "positive", "gaps", "align_len", "qseq", "hseq", "midline",
)
# fmt: on
"""The elements of an alignment, in the order of the DTD."""

QUERY = {"query_id": "query-ID", "query_title": "query-def", "query_len": "query-len"}

_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"}
_ESCAPED = re.compile("[&<>\"'\ufffe\uffff]")


def write_blast_xml(file: BinaryIO, hits: Iterable[QueryHits], summary: SearchSummary) -> None:
    """Write the document, query by query. The head names the first query, as in BLAST."""
    search = BlastSearch.of(summary, "BLAST's XML")
    is_first = True
    for query_hits in hits:
        if is_first:
            file.write(_head(search, query_values(query_hits)).encode())
        for piece in _iteration(query_hits, search):
            file.write(piece.encode())
        is_first = False
    if is_first:
        file.write(_head(search, {}).encode())
    file.write(TAIL.encode())


def _head(search: BlastSearch, query: Values) -> str:
    about = {
        "program": search.program,
        "version": search.version,
        "reference": REFERENCE,
        "db": search.database,
        **{QUERY[name]: value for name, value in query.items()},
    }
    parameters = _elements("Parameters", search.parameters(), 6)
    return (
        f"{HEAD}{_elements('BlastOutput', about, 2)}  <BlastOutput_param>\n    <Parameters>\n{parameters}"
        "    </Parameters>\n  </BlastOutput_param>\n<BlastOutput_iterations>\n"
    )


def _iteration(hits: QueryHits, search: BlastSearch) -> Iterator[str]:
    """The element of one query, in pieces: one alignment is written at a time."""
    query = {QUERY[name]: value for name, value in query_values(hits).items()}
    yield f"<Iteration>\n{_elements('Iteration', {'iter-num': hits.index + 1, **query}, 2)}<Iteration_hits>\n"
    is_first = True
    for entry in entries(hits):
        if entry.target is not None:
            yield ("" if is_first else HIT_END) + _hit_start(entry.target)
        yield f"    <Hsp>\n{_elements('Hsp', _alignment(entry.alignment, search), 6)}    </Hsp>\n"
        is_first = False
    space = _elements("Statistics", search.space(len(hits.query)), 6)
    yield "" if is_first else HIT_END
    yield f"</Iteration_hits>\n  <Iteration_stat>\n    <Statistics>\n{space}    </Statistics>\n  </Iteration_stat>\n"
    yield (_elements("Iteration", {"message": NO_HITS}, 2) if is_first else "") + "</Iteration>\n"


HIT_END = "  </Hit_hsps>\n</Hit>\n"


def _hit_start(target: Values) -> str:
    """The beginning of a hit. Entries that share the sequence follow in its title, each after `>`, as in BLAST."""
    first, *others = target["description"]
    names = {
        "num": target["num"],
        "id": first["id"],
        "def": " >".join([first["title"] or "No definition line", *(f"{one['id']} {one['title']}" for one in others)]),
        "accession": first["accession"],
        "len": target["len"],
    }
    return f"<Hit>\n{_elements('Hit', names, 2)}  <Hit_hsps>\n"


def _alignment(values: Values, search: BlastSearch) -> Values:
    """The values of an alignment in the order of the DTD. Proteins have the frame 0."""
    frames = (0, 0) if search.program == "blastp" else (1, values["strand"])
    framed = values | {"query_frame": frames[0], "hit_frame": frames[1]}
    return {name: framed[name] for name in HSP}


def _elements(kind: str, values: dict[str, Any], indent: int) -> str:
    """One line per value: the element kind_name."""
    lines = []
    for name, value in values.items():
        tag = f"{kind}_{name.replace('_', '-')}"
        lines.append(f"{'':{indent}}<{tag}>{_text(value)}</{tag}>\n")
    return "".join(lines)


def _text(value: Any) -> str:
    return _ESCAPED.sub(
        lambda found: _ESCAPES.get(found[0], " "), f"{value:g}" if isinstance(value, float) else str(value)
    )
