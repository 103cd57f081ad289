"""SAM and PAF: alignments as programs for reads write them, one line each.

The target is the reference. SAM has the letters of the whole query, of which S in the CIGAR are not aligned; both have
NM, mismatches and gap columns, and AS, the score. CIGARs have M, or = and X with `extended`. On the minus strand the
query is written as its reverse complement, and the CIGAR runs along the target, as both formats demand.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, BinaryIO

from exaln.cigar import aligned, cigar_list
from exaln.errors import InputError
from exaln.report.clean import one_line
from exaln.report.columns import number_text
from exaln.strands import reverse_complement, reverse_paths

if TYPE_CHECKING:
    from exaln.query_hits import QueryHits
    from exaln.report.summary import SearchSummary

IN_MEMORY = 64 << 20
"""Lines of a SAM file that wait for its header beyond so many bytes are kept in a temporary file."""

LONGEST_NAME = 254
UNKNOWN_QUALITY = 255
UNMAPPED, MINUS, SECONDARY = 4, 16, 256
_NOT_IN_QUERY_NAME = re.compile(r"[^!-?A-~]")
_NOT_IN_TARGET_NAME = re.compile(r"[^0-9A-Za-z!#$%&*+./:;=?@^_|~-]")
_SEQUENCE = re.compile(r"[A-Za-z=.]+")


def write_sam(file: BinaryIO, hits: Iterable[QueryHits], summary: SearchSummary, *, extended: bool) -> None:
    """Header and lines. The header names the targets that have an alignment, so the lines wait for it."""
    lengths: dict[str, int] = {}
    with tempfile.SpooledTemporaryFile(max_size=IN_MEMORY) as body:
        for query_hits in hits:
            _note_targets(query_hits, lengths)
            body.write("".join(_sam_lines(query_hits, summary, extended)).encode("ascii"))
        targets = "".join(f"@SQ\tSN:{name}\tLN:{length}\n" for name, length in lengths.items())
        program = f"@PG\tID:{summary.program}\tPN:{summary.program}\tVN:{summary.version}\n"
        file.write(f"@HD\tVN:1.6\tSO:unknown\n{targets}{program}".encode("ascii"))
        body.seek(0)
        shutil.copyfileobj(body, file)


def _note_targets(hits: QueryHits, lengths: dict[str, int]) -> None:
    """Add the targets to the header; different ones must have different names there."""
    for identifier, target in zip(hits.target_ids, hits.targets, strict=True):
        name, length = _target_name(identifier), len(target)
        if length and lengths.setdefault(name, length) != length:
            raise InputError(f"two targets of different length are called {name!r}; SAM needs one name for each")


def _sam_lines(hits: QueryHits, summary: SearchSummary, extended: bool) -> Iterator[str]:
    name = _NOT_IN_QUERY_NAME.sub("_", hits.query_id)[:LONGEST_NAME] or "*"
    whole = _letters(hits, 1)
    n_lines = 0
    for part in hits.parts():
        minus = part.strand < 0
        reverse = _letters(hits, -1) if minus.any() else "*"
        columns = zip(
            part.target_ids,
            part.target_start.tolist(),
            part.target_end.tolist(),
            part.query_start.tolist(),
            (len(hits.query) - part.query_end).tolist(),
            minus.tolist(),
            _target_cigars(part, extended),
            _tags(part),
            strict=True,
        )
        for target, start, end, before, after, is_minus, path, tags in columns:
            if start == end:  # gaps alone: there is no position in the target
                continue
            flag = MINUS * is_minus + SECONDARY * (n_lines > 0 and not summary.is_pairs)
            clips = [f"{n}S" if n else "" for n in ((after, before) if is_minus else (before, after))]
            cigar = f"{clips[0]}{path}{clips[1]}"
            place = f"{flag}\t{_target_name(target)}\t{start + 1}\t{UNKNOWN_QUALITY}\t{cigar}"
            yield f"{name}\t{place}\t*\t0\t0\t{reverse if is_minus else whole}\t*\t{tags}\n"
            n_lines += 1
    if not n_lines:
        yield f"{name}\t{UNMAPPED}\t*\t0\t{UNKNOWN_QUALITY}\t*\t*\t0\t0\t{whole}\t*\n"


def write_paf(file: BinaryIO, hits: Iterable[QueryHits], *, extended: bool) -> None:
    """One line per alignment, with the CIGAR as cg:Z; nothing for queries without one."""
    for query_hits in hits:
        for part in query_hits.parts():
            file.write("".join(_paf_lines(part, extended)).encode())


def _paf_lines(hits: QueryHits, extended: bool) -> Iterator[str]:
    name, size = one_line(hits.query_id) or "*", len(hits.query)
    minus = hits.strand < 0
    columns = zip(
        hits.query_start.tolist(),
        hits.query_end.tolist(),
        minus.tolist(),
        hits.target_ids,
        map(len, hits.targets),
        hits.target_start.tolist(),
        hits.target_end.tolist(),
        hits.identities.tolist(),
        hits.columns.tolist(),
        _tags(hits),
        _target_cigars(hits, extended),
        strict=True,
    )
    for start, end, is_minus, target, length, first, last, identities, n_columns, tags, path in columns:
        query = f"{name}\t{size}\t{start}\t{end}\t{'-' if is_minus else '+'}"
        place = f"{one_line(target) or '*'}\t{length}\t{first}\t{last}"
        yield f"{query}\t{place}\t{identities}\t{n_columns}\t{UNKNOWN_QUALITY}\t{tags}\tcg:Z:{path}\n"


def _target_cigars(hits: QueryHits, extended: bool) -> list[str]:
    """The path of each hit along the target."""
    minus = hits.strand < 0
    paths = reverse_paths(aligned(hits.paths), minus) if minus.any() else hits.paths
    return cigar_list(paths, extended=extended)


def _tags(hits: QueryHits) -> list[str]:
    """NM and AS of each hit; a score is a float only where the scoring has fractions."""
    kind = "i" if hits.scoring.scale == 1 else "f"
    edits = (hits.mismatches + hits.gaps).tolist()
    scores = [number_text(hits.scoring.unscale(score)) for score in hits.score.tolist()]
    return [f"NM:i:{edit}\tAS:{kind}:{score}" for edit, score in zip(edits, scores, strict=True)]


def _letters(hits: QueryHits, strand: int) -> str:
    """The query; nothing where SAM has no place for its letters, as for the stop codon of proteins."""
    codes = hits.query if strand > 0 else reverse_complement(hits.query, hits.alphabet)
    text = hits.alphabet.decode(codes)
    return text if _SEQUENCE.fullmatch(text) else "*"


def _target_name(identifier: str) -> str:
    name = _NOT_IN_TARGET_NAME.sub("_", identifier)
    return "_" + name[1:] if name[:1] in ("*", "=", "") else name
