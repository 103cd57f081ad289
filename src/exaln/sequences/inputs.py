"""Turn what users pass as sequences into `Records`: strings, files, arrays, records of other packages, and lists."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from exaln.errors import InputError
from exaln.foundation import arguments
from exaln.sequences.alphabet import Alphabet
from exaln.sequences.given import EXPECTED, Given, detected_together, look_at
from exaln.sequences.items import SequenceRecord, StoredSequence
from exaln.sequences.molecules import require_molecule
from exaln.sequences.records import Records

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

OneSequence: TypeAlias = "str | bytes | SequenceRecord | StoredSequence | NDArray[np.uint8]"
SingleSequence: TypeAlias = "OneSequence | os.PathLike[str] | Records | Mapping[str, OneSequence]"
"""One sequence; a file, Records or a dict must have exactly one."""

Sequences: TypeAlias = "OneSequence | os.PathLike[str] | Records | Mapping[str, OneSequence] | Iterable[OneSequence]"
"""Sequences in any of these forms: text, codes, a record (of Biopython, scikit-bio, biotite, or a `Target`), a FASTA or
FASTQ file (as a path object or "-"), Records, an iterable of sequences, or a dict from ids to sequences. Codes are a
uint8 array; a two-dimensional one has one sequence per row. Columns of text are NumPy arrays of strings, and what has
Arrow's interface: columns of pyarrow, polars and pandas. Lists of text and columns are encoded on all threads.
"""


def as_records(
    sequences: Sequences | Given,
    alphabet: Alphabet | None = None,
    name: str = "sequences",
    like: Alphabet | None = None,
    threads: int | None = None,
) -> Records:
    """Records for whatever a user passed; InputError if it cannot be read as sequences.

    alphabet: detected if None. name: what messages call the argument. like: an alphabet that was inferred and not
    stated, such as that of the database; a sequence that looks like another molecule is then an InputError.
    threads: that encode, at most; None for all.

    >>> as_records(["HEAGAWGHEE", "PAWHEAE"]).lengths.tolist()
    [10, 7]
    >>> as_records({"one": "HEAGAWGHEE", "two": "PAWHEAE"}).ids.to_list()
    ['one', 'two']
    """
    if isinstance(sequences, Records):
        return sequences
    if _is_file(sequences):
        from exaln.sequences.fasta import read_records

        path = arguments.path(name, sequences, EXPECTED)
        return read_records(path, alphabet=alphabet, like=like, keep_qualities=True)
    given = sequences if isinstance(sequences, Given) else look_at(sequences, name)
    records = given.records(alphabet or like or given.detected(threads), threads)
    if alphabet is None and like is not None:
        require_molecule(records, name)
    return records


def looked_at(sequences: Sequences, name: str) -> Sequences | Given:
    """Files and Records as they are; other sequences as `Given`, so that two questions do not read them twice."""
    return sequences if isinstance(sequences, Records) or _is_file(sequences) else look_at(sequences, name)


def common_alphabet(first: Sequences | Given, second: Sequences | Given, threads: int | None = None) -> Alphabet | None:
    """The alphabet of all letters of both; None with files, whose letters are not known, and with codes."""
    if not isinstance(first, Given) or not isinstance(second, Given) or first.has_codes or second.has_codes:
        return None
    return detected_together([first, second], threads)


def as_one_record(sequence: SingleSequence, name: str) -> Sequences:
    """One sequence in a form that `as_records` takes; InputError if a file, a dict or Records has not exactly one."""
    if isinstance(sequence, str | bytes) and sequence != "-":
        return [sequence]
    if _is_file(sequence):
        sequence = as_records(sequence, name=name)
    if not isinstance(sequence, Records | Mapping):
        return [sequence]  # type: ignore[list-item]
    if len(sequence) != 1:
        raise InputError(f"{name} has {len(sequence)} sequences; expected one")
    return sequence


def _is_file(sequences: object) -> bool:
    return isinstance(sequences, os.PathLike) or (isinstance(sequences, str) and sequences == "-")
