"""SAM, the format of read mappers, with one line per alignment.

The target is the reference. A line has the whole query, with unaligned ends as S in the CIGAR, and its base qualities
if they were read from FASTQ. CIGARs have M, or = and X with `extended`. On the minus strand the query is written as its
reverse complement and the CIGAR runs along the target.

Exactly one SAM line of a query is primary: the first hit of a search, or the best-scoring one of pairs (the first of
equals). Further alignments with the same target are supplementary (2048), those with other targets are secondary (256).
The tag SA names the supplementary lines in the primary one, and the primary line in each of them. A query without an
alignment has one line with the flag 4.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import IO, TYPE_CHECKING, BinaryIO

import numpy as np

from exaln.alignments.query_hits import QueryHits
from exaln.errors import InputError
from exaln.report.columns import query_lengths
from exaln.report.mapped import UNKNOWN_QUALITY, tags, target_cigars
from exaln.sequences.strands import reverse_complement

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.alignments.query_hits import AnyHits
    from exaln.report.summary import SearchSummary
    from exaln.sequences.alphabet import Alphabet

IN_MEMORY = 64 << 20
"""SAM lines wait for the header in memory up to this many bytes, then in a temporary file."""

LONGEST_NAME = 254
UNMAPPED, MINUS, SECONDARY, SUPPLEMENTARY = 4, 16, 256, 2048
COPY_BYTES = 1 << 20

_NOT_IN_QUERY_NAME = re.compile(r"[^!-?A-~]")
_NOT_IN_TARGET_NAME = re.compile(r"[^0-9A-Za-z!#$%&*+./:;=?@^_|~-]")
_SEQUENCE = re.compile(r"[A-Za-z=.]+")


def write_sam(file: BinaryIO, hits: Iterable[AnyHits], summary: SearchSummary, *, extended: bool) -> None:
    """Write header and lines. The header names all targets, so the lines wait for it."""
    lengths: dict[str, int] = {}
    with tempfile.SpooledTemporaryFile(max_size=IN_MEMORY) as body:
        reads = _Reads(body, extended, first_is_best=not summary.is_pairs)
        for some in hits:
            _add_targets(some, lengths)
            reads.add(some)
        reads.end_read()
        targets = "".join(f"@SQ\tSN:{name}\tLN:{length}\n" for name, length in lengths.items())
        program = f"@PG\tID:{summary.program}\tPN:{summary.program}\tVN:{summary.version}\n"
        file.write(f"@HD\tVN:1.6\tSO:unknown\n{targets}{program}".encode("ascii"))
        reads.copy_to(file)


def _add_targets(hits: AnyHits, lengths: dict[str, int]) -> None:
    """Add the aligned targets to `lengths`; InputError if two of different lengths have the same name in SAM."""
    targets = zip(hits.target_ids, hits.target_lengths.tolist(), hits.columns.tolist(), strict=True)
    for identifier, length, n_columns in targets:
        name = _target_name(identifier)
        if n_columns and length and lengths.setdefault(name, length) != length:
            raise InputError(f"two targets of different lengths are named {name!r}; SAM needs distinct names")


@dataclass
class _Read:
    """A query as SAM writes it, and its primary line so far.

    place: byte offset of that line, -1 before the first line; score: of that line.
    """

    index: int
    identifier: str
    codes: NDArray[np.uint8]
    quality: NDArray[np.uint8] | None
    alphabet: Alphabet
    place: int = -1
    score: int = 0

    @cached_property
    def name(self) -> str:
        return _query_name(self.identifier)

    @cached_property
    def plus(self) -> str:
        """Letters and qualities as given, as two columns of a line."""
        return self._columns(self.codes, self.quality)

    @cached_property
    def minus(self) -> str:
        """Letters and qualities of the reverse complement, as two columns of a line."""
        quality = None if self.quality is None else self.quality[::-1]
        return self._columns(reverse_complement(self.codes, self.alphabet), quality)

    def _columns(self, codes: NDArray[np.uint8], quality: NDArray[np.uint8] | None) -> str:
        """The two columns; `*` for both if SAM does not allow one of the letters, such as a stop codon."""
        letters = self.alphabet.decode(codes)
        if not _SEQUENCE.fullmatch(letters):
            return "*\t*"
        return f"{letters}\t{'*' if quality is None else quality.tobytes().decode('ascii')}"


class _Reads:
    """The lines of all reads, collected in a temporary file. A read may continue in the next piece of hits.

    The best alignment of a read is known when the read ends. A line that was primary until a better one came becomes
    secondary when the lines are copied. There is at most one such line per piece of hits.
    """

    def __init__(self, body: IO[bytes], extended: bool, *, first_is_best: bool) -> None:
        self._body, self._extended, self._first_is_best = body, extended, first_is_best
        self._read: _Read | None = None
        self._lines: list[str] = []
        self._n_bytes = 0
        self._demoted: list[int] = []

    def add(self, hits: AnyHits) -> None:
        """Add the lines of these hits."""
        together: dict[int, str] = {}
        if isinstance(hits, QueryHits):
            self.end_read()
            self._read = _Read(hits.index, hits.query_id, hits.query, hits.query_quality, hits.alphabet)
            together = _chimeric(hits, self._best(hits), self._extended)
        first = 0
        for part in hits.parts():
            self._add_part(part, {row - first: tag for row, tag in together.items()})
            self._flush()
            first += len(part)

    def _best(self, hits: QueryHits) -> int:
        """The row of the primary line of a query; -1 if it has none."""
        rows = np.flatnonzero(hits.target_end > hits.target_start)
        if not len(rows):
            return -1
        return int(rows[0] if self._first_is_best else rows[np.argmax(hits.score[rows])])

    def end_read(self) -> None:
        """End the current read; one without an alignment gets its line with the flag 4."""
        if self._read is not None and self._read.place < 0:
            self._put(f"{self._read.name}\t{UNMAPPED}\t*\t0\t{UNKNOWN_QUALITY}\t*\t*\t0\t0\t{self._read.plus}\n")
        self._read = None

    def copy_to(self, file: BinaryIO) -> None:
        """Copy all lines to the file, with demoted lines as secondary."""
        self._flush()
        self._body.seek(0)
        at = 0
        for place in self._demoted:
            _copy(self._body, file, place - at)
            name, flag, rest = self._body.readline().split(b"\t", 2)
            file.write(b"%s\t%d\t%s" % (name, int(flag) | SECONDARY, rest))
            at = self._body.tell()
        shutil.copyfileobj(self._body, file)

    def _add_part(self, part: AnyHits, together: dict[int, str]) -> None:
        """Add the lines of a part. together: the tag SA of its rows that belong to the primary line, by row."""
        indices = np.asarray(part.indices, np.int64)
        edges = [0, *(np.flatnonzero(np.diff(indices)) + 1).tolist(), len(part)]
        is_line = part.target_end > part.target_start  # gaps alone have no position in the target
        columns = _sam_columns(part, self._extended)
        for first, end in pairwise(edges):
            read = self._read
            if read is None or read.index != indices[first]:
                self.end_read()
                read = self._read = _read_of(part, first)
            rows = (first + np.flatnonzero(is_line[first:end])).tolist()
            primary = self._primary(read, rows, part.score)
            for row in rows:
                if row == primary:
                    self._make_primary(read, int(part.score[row]))
                other = SUPPLEMENTARY if row in together else SECONDARY
                self._put(_line(read, columns[row], 0 if row == primary else other, together.get(row, "")))

    def _primary(self, read: _Read, rows: list[int], scores: NDArray[np.int64]) -> int:
        """The row of the best alignment of the read so far; -1 if it is among the lines already added."""
        if not rows or (self._first_is_best and read.place >= 0):
            return -1
        best = rows[0] if self._first_is_best else rows[int(np.argmax(scores[rows]))]
        return best if read.place < 0 or int(scores[best]) > read.score else -1

    def _make_primary(self, read: _Read, score: int) -> None:
        """Record that the next line is the best of its read so far."""
        if read.place >= 0:
            self._demoted.append(read.place)
        read.place, read.score = self._n_bytes, score

    def _put(self, line: str) -> None:
        self._lines.append(line)
        self._n_bytes += len(line)

    def _flush(self) -> None:
        self._body.write("".join(self._lines).encode("ascii"))
        self._lines.clear()


def _copy(source: IO[bytes], file: BinaryIO, n_bytes: int) -> None:
    """Copy `n_bytes` bytes from the position of `source`."""
    while n_bytes > 0:
        piece = source.read(min(n_bytes, COPY_BYTES))
        file.write(piece)
        n_bytes -= len(piece)


def _read_of(hits: AnyHits, row: int) -> _Read:
    query = (hits.query_ids[row], hits.queries[row], hits.query_qualities[row])
    return _Read(hits.indices[row], *query, hits.alphabet)


def _sam_columns(hits: AnyHits, extended: bool) -> list[_Columns]:
    """For each hit: target id, target start, unaligned query letters before and after, is minus, CIGAR and tags."""
    columns = (
        hits.target_ids,
        hits.target_start.tolist(),
        hits.query_start.tolist(),
        (query_lengths(hits) - hits.query_end).tolist(),
        (hits.strand < 0).tolist(),
        target_cigars(hits, extended),
        tags(hits),
    )
    return list(zip(*columns, strict=True))


_Columns = tuple[str, int, int, int, bool, str, str]


def _line(read: _Read, hit: _Columns, kind: int, chimeric: str) -> str:
    """The SAM line of one alignment. hit: a row of `_sam_columns`; kind: flags; chimeric: the tag SA, or nothing."""
    target, start, _, _, is_minus, _, tag = hit
    flag = MINUS * is_minus + kind
    place = f"{flag}\t{_target_name(target)}\t{start + 1}\t{UNKNOWN_QUALITY}\t{_clipped(hit)}"
    return f"{read.name}\t{place}\t*\t0\t0\t{read.minus if is_minus else read.plus}\t{tag}{chimeric}\n"


def _clipped(hit: _Columns) -> str:
    """The CIGAR along the target, with the unaligned ends of the query."""
    _, _, before, after, is_minus, path, _ = hit
    if is_minus:
        before, after = after, before
    return f"{f'{before}S' if before else ''}{path}{f'{after}S' if after else ''}"


def _chimeric(hits: QueryHits, primary: int, extended: bool) -> dict[int, str]:
    """The tag SA, with its tab, of the primary line and of further alignments with its target, by row."""
    offsets = hits.target_offsets
    number = int(np.searchsorted(offsets, primary, side="right")) - 1
    if primary < 0 or offsets[number + 1] - offsets[number] == 1:
        return {}
    first, end = int(offsets[number]), int(offsets[number + 1])
    places = {first + row: _place(hit) for row, hit in enumerate(_sam_columns(hits.part(first, end), extended))}
    to_primary = f"\tSA:Z:{places.pop(primary)}"
    return {primary: f"\tSA:Z:{''.join(places.values())}", **dict.fromkeys(places, to_primary)}


def _place(hit: _Columns) -> str:
    """One alignment as an entry of SA: target, position, strand, CIGAR, mapping quality, NM."""
    target, start, _, _, is_minus, _, tag = hit
    edits = tag.split("\t", 1)[0].rsplit(":", 1)[1]
    strand = "-" if is_minus else "+"
    return f"{_target_name(target)},{start + 1},{strand},{_clipped(hit)},{UNKNOWN_QUALITY},{edits};"


def _query_name(identifier: str) -> str:
    return _NOT_IN_QUERY_NAME.sub("_", identifier)[:LONGEST_NAME] or "*"


def _target_name(identifier: str) -> str:
    name = _NOT_IN_TARGET_NAME.sub("_", identifier)
    return "_" + name[1:] if name[:1] in ("*", "=", "") else name
