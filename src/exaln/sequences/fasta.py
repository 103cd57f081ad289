"""FASTA and FASTQ files to records.

    with SequenceFile("proteins.fasta.gz") as file:
        for batch in file:
            print(file.alphabet.name, len(batch), batch.n_residues)

What is read, and how: lines end with LF, CR LF or CR; blank lines, blanks inside sequence lines and a UTF-8 byte order
mark are skipped. The id is the first word of the header (it ends at a blank or control character), the description is
the rest. Headers that are not UTF-8 are read as Latin-1, with a warning. Lower case equals upper case and is kept as
mask. Records without residues are kept, with a warning. FASTQ qualities are checked, and kept on demand. Everything
else that is not a letter is an error with file, record and line.

One record is bounded, because a small compressed file can unpack to an endless one: `max_record_size` is the memory
that a record may take and the length that its header may have. Without it a header has at most 64 MiB, far more than
the merged headers of NCBI's nr, and a record half of the memory that is free and 16 GiB, which holds the longest
chromosomes that are known. A record of more than 1 GiB must also come from a file of some size: it takes at most 1 GiB
and 100 times the bytes that were read of the file as it is stored. Letters of DNA hardly compress to less than a fifth.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from exaln.errors import ExalnWarning, InputError
from exaln.foundation import arguments
from exaln.foundation.plurals import number_of
from exaln.foundation.resources import available_memory
from exaln.sequences.alphabet import BLANK, PROTEIN, Alphabet, as_alphabet, describe_byte, detect
from exaln.sequences.byte_streams import CHUNK_BYTES, ByteStream, printable
from exaln.sequences.molecules import require_molecule
from exaln.sequences.other_databases import other_database
from exaln.sequences.records import Records, Text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln._core import FastaReader

BATCH_RESIDUES = 16 << 20
SAMPLE_RESIDUES = 1 << 20
SAMPLE_BYTES = 8 << 20
"""The kind of letters is detected from so much sequence, or so much text where headers are longer than sequences."""

SAMPLE_BYTES_WITHOUT_LETTERS = 128 << 20
"""If so much text holds no letter of a sequence, the kind of letters is not looked for any further."""

MAX_HEADER_BYTES = 64 << 20
MAX_RECORD_BYTES = 16 << 30
RECORD_BYTES_OF_ANY_FILE = 1 << 30
RECORD_BYTES_PER_STORED_BYTE = 100
"""Without `max_record_size`, a header and a record take no more than this; see above."""

SAMPLE_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ*"
SHOWN_ID_LENGTH = 100


class SequenceFile:
    """A FASTA or FASTQ file, as an iterator of `Records` of about `batch_residues` residues each.

    `source` is a path, "-" for stdin, or a file opened in binary mode; plain or compressed, which its content tells.
    Without `alphabet` the kind is detected from the first part of the file. `like` is an alphabet that was inferred and
    not stated, that of the database for example: the sequences are read in it, and a record that looks like another
    molecule is an error. A record longer than a batch is a batch of its own. A file without records yields nothing;
    that is for the caller to judge. keep_qualities: records of FASTQ have their qualities. max_record_size: bytes, see
    above; a larger record is an InputError.

    >>> import io
    >>> with SequenceFile(io.BytesIO(b">one first sequence\\nHEAGAWGHEE\\n>two\\nPAWheae\\n")) as file:
    ...     (records,) = file
    >>> records.ids[0], records.descriptions[0], records.lengths.tolist(), records.mask.tolist()
    ('one', 'first sequence', [10, 7], [[3, 7]])
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | BinaryIO,
        *,
        alphabet: Alphabet | str | None = None,
        like: Alphabet | None = None,
        strip_gaps: bool = False,
        batch_residues: int = BATCH_RESIDUES,
        max_record_size: int | None = None,
        keep_qualities: bool = False,
    ) -> None:
        arguments.binary_file("source", source, "read", "a path, - for stdin, or a file that is open in binary mode")
        alphabet = as_alphabet(alphabet)
        arguments.flag("strip_gaps", strip_gaps)
        arguments.flag("keep_qualities", keep_qualities)
        if like is not None:
            arguments.instance("like", like, Alphabet)
        arguments.integer("batch_residues", batch_residues, least=1)
        if max_record_size is not None:
            arguments.integer("max_record_size", max_record_size, least=1)
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
            self._reader = _new_reader(self.alphabet.table, strip_gaps, self._limits, keep_qualities)
        except BaseException:
            self.close()
            raise
        self._batches = self._read()

    @property
    def bytes_read(self) -> int:
        """Bytes read of the file as it is stored, to compare with `bytes_total` (None for pipes)."""
        return self._stream.bytes_read

    def __iter__(self) -> Iterator[Records]:
        return self

    def __next__(self) -> Records:
        return next(self._batches)

    def __enter__(self) -> SequenceFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, if this object opened it."""
        self._stream.close()

    def _detect_alphabet(self) -> Alphabet:
        """Letters of the first part of the file decide. Problems are left to the reader that reads it again."""
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
                    f"{self.name}: no letter of a sequence in the first {n_bytes >> 20} MiB of text; if the file is "
                    "right, say with --alphabet what it holds"
                )
        counts = np.zeros(256, np.int64)
        counts[np.frombuffer(SAMPLE_LETTERS.encode(), np.uint8)] = reader.code_counts()[: len(SAMPLE_LETTERS)]
        return detect(counts)

    def _read(self) -> Iterator[Records]:
        for chunk in self._all_chunks():
            self._reader.set_max_record_bytes(self._record_limit())
            if not self._reader.feed(chunk):
                raise self._problem()
            if self._reader.n_complete and self._is_full():
                yield self._take()
        if not self._reader.finish():
            raise self._problem()
        self._warn()
        if self._reader.n_complete:
            yield self._take()

    def _all_chunks(self) -> Iterator[bytes | memoryview]:
        sampled, self._sampled = self._sampled, []
        yield from sampled
        sampled.clear()
        yield from self._stream

    def _record_limit(self) -> int:
        """The most bytes that a record may take, after what was read of the file."""
        of_file = RECORD_BYTES_OF_ANY_FILE + RECORD_BYTES_PER_STORED_BYTE * self.bytes_read
        return self._limits[1] if self._is_limit_given else min(self._limits[1], of_file)

    def _is_full(self) -> bool:
        """Text and offsets count too: headers can be far longer than sequences."""
        return self._reader.n_residues >= self._batch_residues or self._reader.n_bytes >= 4 * self._batch_residues

    def _take(self) -> Records:
        columns = self._reader.take()
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
        self.n_records += len(records)
        self.n_residues += records.n_residues
        self.n_empty += int(np.count_nonzero(records.lengths == 0))
        return records

    def _problem(self) -> InputError:
        problem = self._reader.problem
        assert problem is not None
        kind, line, byte, record_id = problem
        if kind in ("utf16", "leading_text", "trailing_text"):
            place = f"{self.name}: line {line}"
        else:
            place = f"{self.name}: record {_shown(record_id)} (line {line})"
        if kind in TOO_LARGE:
            what, limit = TOO_LARGE[kind], self._record_limit() if kind == "record_size" else self._limits[0]
            return InputError(f"{place}: {what.format(limit=limit)}; {ALLOW_MORE}")
        return InputError(f"{place}: {_explain(kind, byte, self.alphabet)}")

    def _warn(self) -> None:
        for kind, (count, first_line) in self._reader.tallies().items():
            if count:
                noun, text = WARNINGS[kind]
                message = f"{self.name}: {number_of(count, noun)} {text} (first in line {first_line})"
                warnings.warn(message, ExalnWarning, stacklevel=4)


def read_records(
    source: str | os.PathLike[str] | BinaryIO,
    *,
    alphabet: Alphabet | None = None,
    like: Alphabet | None = None,
    strip_gaps: bool = False,
    max_record_size: int | None = None,
    keep_qualities: bool = False,
) -> Records:
    """All records of a file at once; a file without records is an error. The options are those of `SequenceFile`.

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
    """What to say of a file without records, where some are needed."""
    return InputError(f"{file.name}: no sequences found; a FASTA or FASTQ file with at least one record is needed")


def record_limits(max_record_size: int | None) -> tuple[int, int]:
    """The most bytes that a header may have, and the most bytes of memory that a record may take.

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
    """Every letter of every built-in alphabet has a code, all else is skipped."""
    table = np.full(256, BLANK, np.uint8)
    for code, letter in enumerate(SAMPLE_LETTERS):
        table[ord(letter)] = table[ord(letter.lower())] = code
    return table


def _shown(record_id: str) -> str:
    if len(record_id) > SHOWN_ID_LENGTH:
        record_id = record_id[:SHOWN_ID_LENGTH] + "..."
    return f"'{printable(record_id)}'"


WARNINGS = {
    "empty": ("record", "without residues, kept with length 0"),
    "gaps": ("gap character", "removed"),
    "latin1": ("header", "not in UTF-8, read as Latin-1"),
    "unnamed": ("record", "without a name, called unnamed_N by place in the file"),
}

TOO_LARGE = {
    "header_size": "the header has more than {limit:,} bytes",
    "record_size": "the record takes more than {limit:,} bytes of memory",
}
ALLOW_MORE = "the file is damaged, or give --max-record-size SIZE (max_record_size in Python) to allow more"

EXPLANATIONS = {
    "utf16": "UTF-16 text; convert it first (iconv -f UTF-16 -t UTF-8)",
    "leading_text": "text ({byte}) before the first record; FASTA begins with '>', FASTQ with '@'",
    "header_nul": "byte 0x00 in the header; the file is damaged",
    "gap": "gap character {byte}; use --strip-gaps to remove gaps from aligned sequences",
    "missing_plus": "a FASTQ record without its '+' line; the next one begins here",
    "trailing_text": "{byte} where the next FASTQ record should begin with '@'",
    "quality_byte": "{byte} is not a FASTQ quality",
    "quality_length": "more qualities than letters",
    "truncated_fastq": "the file ends inside this FASTQ record; get the file again",
}


def _explain(kind: str, byte: int, alphabet: Alphabet) -> str:
    character = describe_byte(byte)
    if kind != "letter":
        return EXPLANATIONS[kind].format(byte=character)
    text = f"{character} is not a {alphabet.name} letter"
    if alphabet.is_nucleotide and int(PROTEIN.table[byte]) < len(PROTEIN.letters):
        text += "; proteins need --alphabet protein, and as queries a protein database"
    if byte == ord(">"):
        text += "; if a record begins here, a newline is missing before it"
    return text
