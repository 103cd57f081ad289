"""Small databases for tests, made without the FASTA reader, and a plain model of what they must contain."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from exaln.database.database import Database
from exaln.database.segment_limits import SegmentLimits
from exaln.sequences.alphabet import PROTEIN, Alphabet
from exaln.sequences.records import Records, Text, offsets_of

Plain = tuple[str, str, str]
"""id, description, sequence with the mask in lower case."""

TINY = SegmentLimits(rows=10, residues=2000, text_bytes=2000)


def random_sequences(n: int, seed: int, *, longest: int = 90, alphabet: Alphabet = PROTEIN) -> list[Plain]:
    """n sequences of length 0 to `longest`, many of equal length, with unusual headers and soft-masked stretches."""
    random = np.random.default_rng(seed)
    plain = []
    for i in range(n):
        text = alphabet.decode(random.integers(0, len(alphabet.letters), random.integers(0, longest + 1)))
        start, end = sorted(random.integers(0, longest + 1, 2))
        text = text[:start] + text[start:end].lower() + text[end:] if i % 3 == 0 else text
        plain.append((f"sp|{random.integers(0, 10**9)}|{seed}_{i}", ("", "plain", "ümläut > und mehr")[i % 3], text))
    return plain


def records_of(plain: list[Plain], alphabet: Alphabet = PROTEIN) -> Records:
    """Records of these sequences, encoded in the slow and obvious way."""
    masks = [masked_stretches(sequence) for _, _, sequence in plain]
    codes = [alphabet.encode(sequence) for _, _, sequence in plain]
    return Records(
        alphabet=alphabet,
        ids=Text.of([id_ for id_, _, _ in plain]),
        descriptions=Text.of([description for _, description, _ in plain]),
        codes=np.concatenate(codes) if codes else np.empty(0, np.uint8),
        offsets=offsets_of(len(c) for c in codes),
        mask=np.array([interval for mask in masks for interval in mask], np.int64).reshape(-1, 2),
        mask_offsets=offsets_of(len(mask) for mask in masks),
    )


def masked_stretches(sequence: str) -> list[tuple[int, int]]:
    """The intervals [start, end) in which a sequence is in lower case."""
    stretches: list[tuple[int, int]] = []
    for i, letter in enumerate(sequence):
        if not letter.islower():
            continue
        if stretches and stretches[-1][1] == i:
            stretches[-1] = (stretches[-1][0], i + 1)
        else:
            stretches.append((i, i + 1))
    return stretches


def content_of(database: Database) -> list[Plain]:
    """All sequences of a database in input order; fails if ordinals are not 0, 1, 2, ..."""
    targets = [segment.target(row) for segment in database.segments for row in range(segment.n_rows)]
    targets.sort(key=lambda target: target.ordinal)
    assert [target.ordinal for target in targets] == list(range(database.n_targets))
    return [(target.id, target.description, target.sequence) for target in targets]


def files_in(directory: Path) -> set[str]:
    """Names of all files in a directory."""
    return {path.name for path in directory.iterdir()}


def needed_files(database: Database) -> set[str]:
    """Names of the files that a database consists of."""
    return {"manifest.json", ".lock"} | {Path(segment.name).name for segment in database.segments}
