"""Bytes of a segment's file are compared with their hashes before they are used, however they are read."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xxhash

from exaln.database import checked_file
from exaln.database.checked_file import BLOCK_BYTES, CheckedFile
from exaln.errors import DatabaseError
from exaln.foundation.mapped_file import WatchedFile

N_BYTES = 5 * BLOCK_BYTES + 1234


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "segment"
    path.write_bytes(np.random.default_rng(1).integers(0, 256, N_BYTES).astype(np.uint8).tobytes())
    return path


def hashes_of(path: Path) -> Any:
    content = path.read_bytes()
    blocks = [content[at : at + BLOCK_BYTES] for at in range(0, len(content), BLOCK_BYTES)]
    return np.array([xxhash.xxh3_64_intdigest(block) for block in blocks], np.uint64)


def opened(path: Path) -> CheckedFile:
    return CheckedFile(str(path), WatchedFile(path.parent, path.name), hashes_of(path))


def damaged(path: Path, place: int) -> CheckedFile:
    """A file whose byte at this place is not the one that was hashed."""
    hashes, content = hashes_of(path), bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
    return CheckedFile(str(path), WatchedFile(path.parent, path.name), hashes)


RANGES = [
    (0, 1),
    (0, N_BYTES),
    (BLOCK_BYTES - 1, BLOCK_BYTES + 1),
    (BLOCK_BYTES, 3 * BLOCK_BYTES),
    (N_BYTES - 1, N_BYTES),
]


@pytest.mark.parametrize(("begin", "end"), RANGES)
def test_what_is_read_is_what_is_mapped(path: Path, begin: int, end: int) -> None:
    file, out = opened(path), np.zeros(end - begin, np.uint8)
    for _ in range(2):
        file.read(begin, out)
        assert bytes(out) == path.read_bytes()[begin:end] == bytes(file.checked(file.bytes[begin:end]))


@pytest.mark.parametrize("many", [1, 1000])
@pytest.mark.parametrize("place", [0, BLOCK_BYTES - 1, BLOCK_BYTES, 3 * BLOCK_BYTES + 7, N_BYTES - 1])
@pytest.mark.parametrize(("begin", "end"), RANGES)
def test_damage_is_named_if_its_block_is_used(
    path: Path, place: int, begin: int, end: int, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checked_file, "MANY_BLOCKS", many)
    file, block = damaged(path, place), place // BLOCK_BYTES
    uses = [
        lambda: file.read(begin, np.zeros(end - begin, np.uint8)),
        lambda: file.checked(file.bytes[begin:end]),
        lambda: file.check_ranges(file.bytes, np.array([begin, 5]), np.array([end, 5])),
    ]
    for use in uses:
        if begin // BLOCK_BYTES <= block <= (end - 1) // BLOCK_BYTES:
            with pytest.raises(DatabaseError, match=f"segment: damaged between byte {block * BLOCK_BYTES} and"):
                use()
        else:
            use()
    with pytest.raises(DatabaseError, match="damaged"):
        file.check()


def test_elements_of_a_column_are_checked_where_they_lie(path: Path) -> None:
    """Of 8 bytes each, from a place that is not a multiple of 8; the last one reaches into the next block."""
    start = BLOCK_BYTES - 12
    file = damaged(path, BLOCK_BYTES + 1)
    column = file.bytes[start : start + 80].view(np.int64)
    file.check_ranges(column, np.array([0]), np.array([1]))
    with pytest.raises(DatabaseError, match=f"damaged between byte {BLOCK_BYTES} "):
        file.check_ranges(column, np.array([1]), np.array([2]))


def test_a_file_that_became_shorter_is_named(path: Path) -> None:
    file = opened(path)
    with path.open("r+b") as shortened:
        shortened.truncate(100)
    with pytest.raises(DatabaseError, match="segment: changed while it was in use"):
        file.read(50, np.zeros(51, np.uint8))


def test_another_process_checks_again(path: Path) -> None:
    file = opened(path)
    file.check()
    again = pickle.loads(pickle.dumps(file))
    assert not again._is_checked.any()
    again.check()
    assert again._is_checked.all()
