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
from exaln.query_hits import QueryHits
from exaln.report.clean import one_line
from exaln.report.columns import number_text, query_lengths
from exaln.strands import reverse_complement, reverse_paths

if TYPE_CHECKING:
    from exaln.query_hits import AnyHits, PairHits
    from exaln.report.summary import SearchSummary

IN_MEMORY = 64 << 20
"""Lines of a SAM file that wait for its header beyond so many bytes are kept in a temporary file."""

LONGEST_NAME = 254
UNKNOWN_QUALITY = 255
UNMAPPED, MINUS, SECONDARY = 4, 16, 256
_NOT_IN_QUERY_NAME = re.compile(r"[^!-?A-~]")
_NOT_IN_TARGET_NAME = re.compile(r"[^0-9A-Za-z!#$%&*+./:;=?@^_|~-]")
_SEQUENCE = re.compile(r"[A-Za-z=.]+")


def write_sam(file: BinaryIO, hits: Iterable[AnyHits], summary: SearchSummary, *, extended: bool) -> None:
    """Header and lines, one for each hit of `PairHits`. The header names the targets, so the lines wait for it."""
    lengths: dict[str, int] = {}
    with tempfile.SpooledTemporaryFile(max_size=IN_MEMORY) as body:
        for some in hits:
            _note_targets(some, lengths)
            lines = (
                _query_lines(some, summary, extended) if isinstance(some, QueryHits) else _pair_lines(some, extended)
            )
            body.write("".join(lines).encode("ascii"))
        targets = "".join(f"@SQ\tSN:{name}\tLN:{length}\n" for name, length in lengths.items())
        program = f"@PG\tID:{summary.program}\tPN:{summary.program}\tVN:{summary.version}\n"
        file.write(f"@HD\tVN:1.6\tSO:unknown\n{targets}{program}".encode("ascii"))
        body.seek(0)
        shutil.copyfileobj(body, file)


def _note_targets(hits: AnyHits, lengths: dict[str, int]) -> None:
    """Add the targets to the header; different ones must have different names there."""
    for identifier, target, n_columns in zip(hits.target_ids, hits.targets, hits.columns.tolist(), strict=True):
        name, length = _target_name(identifier), len(target)
        if n_columns and length and lengths.setdefault(name, length) != length:
            raise InputError(f"two targets of different length are called {name!r}; SAM needs one name for each")


def _pair_lines(hits: PairHits, extended: bool) -> Iterator[str]:
    """A line for each pair; all of them are on the plus strand."""
    for part in hits.parts():
        texts = zip(
            part.query_ids, part.queries, part.target_ids, cigar_list(part.paths, extended=extended), strict=True
        )
        clips = (part.query_start.tolist(), (query_lengths(part) - part.query_end).tolist())
        places = zip(part.target_start.tolist(), part.target_end.tolist(), *clips, _tags(part), strict=True)
        for (name, query, target, path), (start, end, before, after, tags) in zip(texts, places, strict=True):
            name, letters = _query_name(name), _writable(part.alphabet.decode(query))
            yield (
                _line(name, 0, target, start, (before, path, after), letters, tags)
                if end > start
                else _unmapped(name, letters)
            )


def _query_lines(hits: QueryHits, summary: SearchSummary, extended: bool) -> Iterator[str]:
    name, whole = _query_name(hits.query_id), _letters(hits, 1)
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
            cigar = (after, path, before) if is_minus else (before, path, after)
            yield _line(name, flag, target, start, cigar, reverse if is_minus else whole, tags)
            n_lines += 1
    if not n_lines:
        yield _unmapped(name, whole)


def _line(name: str, flag: int, target: str, start: int, cigar: tuple[int, str, int], letters: str, tags: str) -> str:
    """One alignment. cigar: letters of the query before it, its path, and letters after it."""
    before, path, after = cigar
    clipped = f"{f'{before}S' if before else ''}{path}{f'{after}S' if after else ''}"
    place = f"{flag}\t{_target_name(target)}\t{start + 1}\t{UNKNOWN_QUALITY}\t{clipped}"
    return f"{name}\t{place}\t*\t0\t0\t{letters}\t*\t{tags}\n"


def _unmapped(name: str, letters: str) -> str:
    return f"{name}\t{UNMAPPED}\t*\t0\t{UNKNOWN_QUALITY}\t*\t*\t0\t0\t{letters}\t*\n"


def write_paf(file: BinaryIO, hits: Iterable[AnyHits], *, extended: bool) -> None:
    """One line per alignment, with the CIGAR as cg:Z; nothing for queries without one."""
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
        map(len, hits.targets),
        hits.target_start.tolist(),
        hits.target_end.tolist(),
        hits.identities.tolist(),
        hits.columns.tolist(),
        _tags(hits),
        _target_cigars(hits, extended),
        strict=True,
    )
    for name, size, start, end, is_minus, target, length, first, last, identities, n_columns, tags, path in columns:
        query = f"{one_line(name) or '*'}\t{size}\t{start}\t{end}\t{'-' if is_minus else '+'}"
        place = f"{one_line(target) or '*'}\t{length}\t{first}\t{last}"
        yield f"{query}\t{place}\t{identities}\t{n_columns}\t{UNKNOWN_QUALITY}\t{tags}\tcg:Z:{path}\n"


def _target_cigars(hits: AnyHits, extended: bool) -> list[str]:
    """The path of each hit along the target."""
    minus = hits.strand < 0
    paths = reverse_paths(aligned(hits.paths), minus) if minus.any() else hits.paths
    return cigar_list(paths, extended=extended)


def _tags(hits: AnyHits) -> list[str]:
    """NM and AS of each hit; a score is a float only where the scoring has fractions."""
    kind = "i" if hits.scoring.scale == 1 else "f"
    edits = (hits.mismatches + hits.gaps).tolist()
    scores = [number_text(hits.scoring.unscale(score)) for score in hits.score.tolist()]
    return [f"NM:i:{edit}\tAS:{kind}:{score}" for edit, score in zip(edits, scores, strict=True)]


def _letters(hits: QueryHits, strand: int) -> str:
    """The query; nothing where SAM has no place for its letters, as for the stop codon of proteins."""
    codes = hits.query if strand > 0 else reverse_complement(hits.query, hits.alphabet)
    return _writable(hits.alphabet.decode(codes))


def _writable(letters: str) -> str:
    return letters if _SEQUENCE.fullmatch(letters) else "*"


def _query_name(identifier: str) -> str:
    return _NOT_IN_QUERY_NAME.sub("_", identifier)[:LONGEST_NAME] or "*"


def _target_name(identifier: str) -> str:
    name = _NOT_IN_TARGET_NAME.sub("_", identifier)
    return "_" + name[1:] if name[:1] in ("*", "=", "") else name
