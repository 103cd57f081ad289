"""Find sequences by accession: `P30775` finds `sp|P30775|RF1M_YEAST`, with or without a version.

Segments index whole ids only, so this reads all ids: with a million of them, about 0.1 s per accession for a few, or
3 s for any number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from exaln.database.segment import Segment
from exaln.errors import InputError
from exaln.sequences.accessions import accession, accession_with_version

Places = list[tuple[Segment, int]]

ROWS_AT_ONCE = 1 << 20
FEW_WORDS = 16
"""Up to this number of words, one substring search per word is faster than splitting every id."""
MAX_LISTED = 5
"""Candidates that an error lists."""

_VERSION = re.compile(r"\.[0-9]+$")


def find_accessions(name: str, segments: Sequence[Segment], accessions: Sequence[str]) -> dict[str, Places]:
    """Segment and row of the sequences with each accession, in input order.

    name: what messages call the database. InputError if an accession occurs in no id, or in several different ids.
    """
    found: dict[str, dict[str, Places]] = {text: {} for text in accessions}
    for segment in segments:
        for row, whole in sorted(_candidates(segment, accessions), key=lambda one: segment.ordinal(one[0])):
            for text in {accession(whole), accession_with_version(whole)} & found.keys():
                found[text].setdefault(whole, []).append((segment, row))
    return {text: _only(name, text, ids) for text, ids in found.items()}


def _only(name: str, text: str, ids: dict[str, Places]) -> Places:
    if not ids:
        raise InputError(f"{name}: no sequence with the id {text!r}")
    if len(ids) > 1:
        more = ", ..." if len(ids) > MAX_LISTED else ""
        listed = ", ".join(list(ids)[:MAX_LISTED]) + more
        raise InputError(f"{name}: {text!r} is the accession of {len(ids)} ids: {listed}; give one of these ids")
    return next(iter(ids.values()))


def _candidates(segment: Segment, accessions: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Row and id of all rows that may match: a superset, chosen by words of the id without versions."""
    words = {_VERSION.sub("", text) for text in accessions}
    words |= {word.rpartition("_")[0] for word in words if "_" in word}  # pdb|2GDM|A is 2GDM_A
    words |= {word.partition(":")[0] for word in words if ":" in word}  # gnl|db|abc is db:abc
    valid = [word for word in sorted(words) if word and _is_text(word)]
    find = _rows_with_text if len(valid) <= FEW_WORDS else _rows_with_word
    ids = _column(segment)
    for first in range(0, len(ids), ROWS_AT_ONCE):
        for row in find(ids.slice(first, ROWS_AT_ONCE), valid):
            yield first + row, ids[first + row].as_py()


def _rows_with_text(ids: Any, words: Sequence[str]) -> list[int]:
    """Rows whose id contains one of a few words."""
    import pyarrow.compute as pc

    is_match = np.zeros(len(ids), np.bool_)
    for word in words:
        is_match |= pc.match_substring(ids, word).to_numpy(zero_copy_only=False)
    return np.flatnonzero(is_match).tolist()


def _rows_with_word(ids: Any, words: Sequence[str]) -> list[int]:
    """Rows whose id has one of many words between bars, compared without versions."""
    import pyarrow as pa
    import pyarrow.compute as pc

    split = pc.split_pattern(ids, "|")
    bare = pc.replace_substring_regex(pc.list_flatten(split), r"\.[0-9]+$", "")
    is_match = pc.is_in(bare, value_set=pa.array(words, pa.large_utf8()))
    rows: list[int] = np.unique(pc.list_parent_indices(split).filter(is_match).to_numpy()).tolist()
    return rows


def _column(segment: Segment) -> Any:
    """The ids as an Arrow array; DatabaseError if they are not UTF-8."""
    import pyarrow as pa

    text = segment.checked_ids()
    ids = pa.LargeStringArray.from_buffers(segment.n_rows, pa.py_buffer(text.offsets), pa.py_buffer(text.data))
    try:
        ids.validate(full=True)  # a forged segment has the right hashes
    except pa.ArrowInvalid:
        raise segment.invalid("ids are not UTF-8 text") from None
    return ids


def _is_text(word: str) -> bool:
    """Whether a word can be encoded in UTF-8; a lone surrogate cannot."""
    return not any("\ud800" <= letter <= "\udfff" for letter in word)
