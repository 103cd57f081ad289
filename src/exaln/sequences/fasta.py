"""Read FASTA and FASTQ files into records.

    with SequenceFile("proteins.fasta.gz") as file:
        for batch in file:
            print(file.alphabet.name, len(batch), batch.n_residues)

Lines end with LF, CR LF or CR. Blank lines, blanks within sequence lines and a UTF-8 byte order mark are skipped. The
id is the header up to the first blank or control character, and the description is the rest. Headers that are not UTF-8
are read as Latin-1, with a warning. Lower case is read as upper case and kept as a mask. Records without residues are
kept, with a warning. FASTQ qualities are checked, and kept on demand. Any other character that is not a letter is an
error with file, record and line.

The size of a record is limited, because a small compressed file can expand without end. `max_record_size` limits both
the memory that a record takes and the length of its header. Without it, a header may have 64 MiB, far more than the
merged headers of NCBI's nr, and a record may take half of the free memory but at most 16 GiB, enough for the longest
known chromosomes. A record of more than 1 GiB also needs a file of some size: the limit is 1 GiB plus 100 times the
bytes read of the file as stored. (DNA hardly compresses to less than a fifth.)
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Generator, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.errors import ExalnWarning, InputError
from exaln.foundation import arguments
from exaln.foundation.plurals import number_of
from exaln.foundation.resources import available_memory, usable_threads
from exaln.sequences.alphabet import BLANK, Alphabet, as_alphabet, detect
from exaln.sequences.byte_streams import CHUNK_BYTES, ByteStream, Source
from exaln.sequences.chunk_parser import ChunkParser
from exaln.sequences.fasta_problems import ALLOW_MORE, TOO_LARGE, WARNINGS, explanation_of, place_of
from exaln.sequences.molecules import require_molecule
from exaln.sequences.other_databases import other_database
from exaln.sequences.records import Records, Text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln._core import FastaBlocks, FastaReader

BATCH_RESIDUES = 16 << 20
SAMPLE_RESIDUES = 1 << 20
SAMPLE_BYTES = 8 << 20
"""The alphabet is detected from this much sequence, or this much text if headers are longer than sequences."""

SAMPLE_BYTES_WITHOUT_LETTERS = 128 << 20
"""Detection gives up after this much text without a sequence letter."""

MAX_HEADER_BYTES = 64 << 20
MAX_RECORD_BYTES = 16 << 30
RECORD_BYTES_OF_ANY_FILE = 1 << 30
RECORD_BYTES_PER_STORED_BYTE = 100
"""Limits for a header and a record if `max_record_size` is not given; see above."""

BLOCK_BYTES = 4 << 20
"""How much of a large file a thread parses at a time."""

LEAST_DIVIDED_BYTES = 8 << 20
"""Smaller files are parsed before threads would have started."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
BLANKS = b" \t\v\f\r\n"
SAMPLE_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ*"


class SequenceFile:
    """An iterator over a FASTA or FASTQ file, in `Records` of about `batch_residues` residues each.

    source: a path, "-" for stdin, or a file open in binary mode, plain or compressed.
    alphabet: detected from the first part of the file if not given.
    like: an alphabet that was inferred and not stated, such as that of the database. The sequences are read in it, and
    a record that looks like another molecule is an InputError.
    strip_gaps: remove gap characters, which otherwise are an InputError.
    max_record_size: bytes, see above; a larger record is an InputError.
    keep_qualities: keep the qualities of FASTQ.
    threads: for large files; one per core if not given. The records do not depend on it, batches may.

    A record longer than a batch is a batch of its own. A file without records yields nothing.

    >>> import io
    >>> with SequenceFile(io.BytesIO(b">one first sequence\\nHEAGAWGHEE\\n>two\\nPAWheae\\n")) as file:
    ...     (records,) = file
    >>> records.ids[0], records.descriptions[0], records.lengths.tolist(), records.mask.tolist()
    ('one', 'first sequence', [10, 7], [[3, 7]])
    """

    def __init__(
        self,
        source: Source,
        *,
        alphabet: Alphabet | str | None = None,
        like: Alphabet | None = None,
        strip_gaps: bool = False,
        batch_residues: int = BATCH_RESIDUES,
        max_record_size: int | None = None,
        keep_qualities: bool = False,
        threads: int | None = None,
    ) -> None:
        arguments.binary_file("source", source, "read", "a path, - for stdin, or a file open in binary mode")
        alphabet = as_alphabet(alphabet)
        arguments.flag("strip_gaps", strip_gaps)
        arguments.flag("keep_qualities", keep_qualities)
        if like is not None:
            arguments.instance("like", like, Alphabet)
        arguments.integer("batch_residues", batch_residues, least=1)
        if max_record_size is not None:
            arguments.integer("max_record_size", max_record_size, least=1)
        if threads is not None:
            arguments.integer("threads", threads, least=1)
        self._threads = threads
        self._is_closed = False
        self.oddities: list[str] = []
        """What is odd in the part that was read; iterating over the file warns of it and empties the list."""
        self._blocks: FastaBlocks | None = None
        self.n_records = self.n_residues = self.n_empty = 0
        self._batch_residues = batch_residues
        self._is_expected = like is not None and alphabet is None
        if isinstance(source, str | os.PathLike) and source != "-":
            other = other_database(source)
            if other is not None:
                raise InputError(f"{os.fspath(source)}: {other}")
        self._limits = record_limits(max_record_size)
        self._is_limit_given = max_record_size is not None
        self._stream = ByteStream(source, min(CHUNK_BYTES, batch_residues))
        self.name = self._stream.name
        self.bytes_total = self._stream.bytes_total
        self._sampled: list[bytes] = []
        try:
            self.alphabet = alphabet or like or self._detect_alphabet()
            self._blocks = self._divided(strip_gaps)
            reader = _new_reader(self.alphabet.table, strip_gaps, self._limits, keep_qualities)
        except BaseException:
            self._stream.close()
            raise
        self._reader: FastaReader | FastaBlocks = self._blocks or reader
        self.batches = self._read_blocks(self._blocks) if self._blocks else self._read_stream(reader)
        """The records, as iterating over the file gives them, but without warnings."""

    @property
    def bytes_read(self) -> int:
        """Bytes read of the file as stored, to compare with `bytes_total` (None for pipes)."""
        return self._blocks.bytes_taken if self._blocks else self._stream.bytes_read

    def __iter__(self) -> Iterator[Records]:
        return self

    def __next__(self) -> Records:
        if self._is_closed:
            raise ValueError(f"{self.name} is closed")
        records = next(self.batches, None)
        while self.oddities:
            warnings.warn(self.oddities.pop(0), ExalnWarning, stacklevel=2)
        if records is None:
            raise StopIteration
        return records

    def __enter__(self) -> SequenceFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, if this object opened it, and end the threads that read it."""
        self._is_closed = True
        self.batches.close()
        if self._blocks is not None:
            self._blocks.stop()
        self._stream.close()

    def _detect_alphabet(self) -> Alphabet:
        """Detect the alphabet from the first part of the file, which is kept to be read again.

        Bad records are ignored here: the reader that follows reports them.
        """
        reader = _new_reader(_sample_table(), True, self._limits)
        n_bytes = 0
        for chunk in self._stream:
            self._sampled.append(bytes(chunk))
            n_bytes += len(chunk)
            has_problem = not reader.feed(chunk)
            if has_problem or reader.n_residues >= SAMPLE_RESIDUES or (n_bytes >= SAMPLE_BYTES and reader.n_residues):
                break
            if n_bytes >= SAMPLE_BYTES_WITHOUT_LETTERS and not reader.n_residues:
                raise InputError(
                    f"{self.name}: no sequence letters in the first {n_bytes >> 20} MiB; if the file is intact, name "
                    "its alphabet with --alphabet"
                )
        counts = np.zeros(256, np.int64)
        counts[np.frombuffer(SAMPLE_LETTERS.encode(), np.uint8)] = reader.code_counts()[: len(SAMPLE_LETTERS)]
        return detect(counts)

    def _divided(self, strip_gaps: bool) -> FastaBlocks | None:
        """The parser for a large FASTA file that several threads can read at once; None for any other source."""
        descriptor, size = self._stream.regular_descriptor(), self.bytes_total or 0
        is_fasta = self._stream.head.removeprefix(BYTE_ORDER_MARK).lstrip(BLANKS)[:1] == b">"
        if descriptor is None or size < LEAST_DIVIDED_BYTES or not is_fasta or self._batch_residues > BATCH_RESIDUES:
            return None
        threads = usable_threads(self._threads)
        if threads == 1:
            return None
        from exaln._core import FastaBlocks

        block_bytes = min(BLOCK_BYTES, self._batch_residues)
        return FastaBlocks(descriptor, size, self.alphabet.table, strip_gaps, *self._limits, block_bytes, threads)

    def _read_blocks(self, blocks: FastaBlocks) -> Generator[Records, None, None]:
        """The records of a file that several threads parse, block by block."""
        last: Records | None = None
        while (columns := self._taken(blocks)) is not None:
            if last is not None:
                yield self._counted(last)
            last = self._records(columns) if len(columns[5]) > 1 else None
        if blocks.problem is not None:
            raise self._problem(self._limits[1])
        self._note_oddities()
        if last is not None:
            yield self._counted(last)

    def _taken(self, blocks: FastaBlocks) -> tuple[Any, ...] | None:
        try:
            return blocks.take()
        except OSError as error:
            raise InputError(f"{self.name}: cannot be read: {error.strerror}") from None

    def _read_stream(self, reader: FastaReader) -> Generator[Records, None, None]:
        """The records of any source, read from its beginning to its end."""
        with ChunkParser(reader, in_background=self._threads != 1) as parser:
            for chunk in self._all_chunks():
                limit = self._record_limit()
                yield from self._parsed(reader, parser)
                parser.feed(chunk, limit)
            yield from self._parsed(reader, parser)
            if not reader.finish():
                raise self._problem(parser.record_limit)
        self._note_oddities()
        if reader.n_complete:
            yield self._counted(self._records(reader.take()))

    def _parsed(self, reader: FastaReader, parser: ChunkParser) -> Iterator[Records]:
        """A batch, if one is complete once the chunk that is being parsed has ended."""
        if not parser.wait():
            raise self._problem(parser.record_limit)
        if reader.n_complete and self._is_full(reader):
            yield self._counted(self._records(reader.take()))

    def _all_chunks(self) -> Iterator[bytes | memoryview]:
        sampled, self._sampled = self._sampled, []
        yield from sampled
        sampled.clear()
        yield from self._stream.full_chunks()

    def _record_limit(self) -> int:
        """The limit in bytes for a record, given how much of the file was read."""
        of_file = RECORD_BYTES_OF_ANY_FILE + RECORD_BYTES_PER_STORED_BYTE * self._stream.bytes_read
        return self._limits[1] if self._is_limit_given else min(self._limits[1], of_file)

    def _is_full(self, reader: FastaReader) -> bool:
        """Whether a batch is complete. Text and offsets count too, as headers can be far longer than sequences."""
        return reader.n_residues >= self._batch_residues or reader.n_bytes >= 4 * self._batch_residues

    def _records(self, columns: tuple[Any, ...]) -> Records:
        id_data, id_offsets, description_data, description_offsets, codes, offsets, mask, mask_offsets = columns[:8]
        records = Records(
            alphabet=self.alphabet,
            ids=Text(id_data, id_offsets),
            descriptions=Text(description_data, description_offsets),
            codes=codes,
            offsets=offsets,
            mask=mask,
            mask_offsets=mask_offsets,
            qualities=columns[8],
        )
        if self._is_expected:
            require_molecule(records, self.name)
        return records

    def _counted(self, records: Records) -> Records:
        self.n_records += len(records)
        self.n_residues += records.n_residues
        self.n_empty += int(np.count_nonzero(records.lengths == 0))
        return records

    def _problem(self, record_limit: int) -> InputError:
        problem = self._reader.problem
        assert problem is not None
        kind, line, byte, record_id = problem
        place = place_of(kind, self.name, line, record_id)
        if kind in TOO_LARGE:
            what, limit = TOO_LARGE[kind], record_limit if kind == "record_size" else self._limits[0]
            return InputError(f"{place}: {what.format(limit=limit)}; {ALLOW_MORE}")
        return InputError(f"{place}: {explanation_of(kind, byte, self.alphabet)}")

    def _note_oddities(self) -> None:
        for kind, (count, first_line) in self._reader.tallies().items():
            if count:
                noun, text = WARNINGS[kind]
                self.oddities.append(f"{self.name}: {number_of(count, noun)} {text} (first in line {first_line})")


def read_records(
    source: Source,
    *,
    alphabet: Alphabet | None = None,
    like: Alphabet | None = None,
    strip_gaps: bool = False,
    max_record_size: int | None = None,
    keep_qualities: bool = False,
) -> Records:
    """All records of a file; InputError if it has none. The options are those of `SequenceFile`.

    >>> import io
    >>> read_records(io.BytesIO(b">a\\nACGT\\n>b\\nACGUACGU\\n")).lengths.tolist()
    [4, 8]
    """
    with SequenceFile(
        source,
        alphabet=alphabet,
        like=like,
        strip_gaps=strip_gaps,
        batch_residues=sys.maxsize // 8,
        max_record_size=max_record_size,
        keep_qualities=keep_qualities,
    ) as file:
        for records in file:
            return records
        raise no_sequences(file)


def no_sequences(file: SequenceFile) -> InputError:
    """The error for a file without records where at least one is needed."""
    return InputError(f"{file.name}: no sequences found; expected FASTA or FASTQ with at least one record")


def record_limits(max_record_size: int | None) -> tuple[int, int]:
    """Limits in bytes for the length of a header and for the memory that a record takes.

    >>> record_limits(1 << 20)
    (1048576, 1048576)
    """
    if max_record_size is not None:
        size = min(max_record_size, sys.maxsize)
        return size, size
    return MAX_HEADER_BYTES, min(MAX_RECORD_BYTES, max(available_memory() // 2, MAX_HEADER_BYTES))


def _new_reader(
    table: NDArray[np.uint8], strip_gaps: bool, limits: tuple[int, int], keep_qualities: bool = False
) -> FastaReader:
    from exaln._core import FastaReader

    return FastaReader(table, strip_gaps, *limits, keep_qualities)


def _sample_table() -> NDArray[np.uint8]:
    """uint8[256]: a code for every letter of the built-in alphabets; any other byte is skipped."""
    table = np.full(256, BLANK, np.uint8)
    for code, letter in enumerate(SAMPLE_LETTERS):
        table[ord(letter)] = table[ord(letter.lower())] = code
    return table
