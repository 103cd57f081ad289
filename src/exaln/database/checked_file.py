"""A segment's file, whose bytes are compared with the hashes of the manifest before they are used.

There is one hash for each block of 1 MiB, so that a few rows need a few blocks. Bytes are used in two ways: as views of
the mapping, which `checked` checks, or copied by `read`, which bounds memory and does not wait for page faults.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.errors import DatabaseError
from exaln.foundation.mapped_file import WatchedFile
from exaln.foundation.thread_pool import run_in_parallel

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK_BYTES = 1 << 20

MANY_BLOCKS = 32
"""From this number of blocks on, several threads compute their hashes."""


class CheckedFile:
    """A watched file with hashes, uint64[blocks]. `bytes` is the mapping. name: for messages."""

    def __init__(self, name: str, file: WatchedFile, hashes: NDArray[np.uint64]) -> None:
        self.name, self.bytes = name, file.bytes
        self._file, self._hashes = file, hashes
        self._is_checked = np.zeros(len(hashes), np.bool_)

    def __reduce__(self) -> tuple[type[CheckedFile], tuple[str, WatchedFile, NDArray[np.uint64]]]:
        """Pickles no state: another process opens the file again and repeats all checks."""
        return CheckedFile, (self.name, self._file, self._hashes)

    def require_unchanged(self) -> None:
        """Raise DatabaseError if the file changed after it was opened, so that what was read cannot be trusted."""
        self._file.require_unchanged()

    def check(self) -> None:
        """Compare all blocks that were not yet compared with their hashes; DatabaseError if one differs."""
        self._check_blocks(np.flatnonzero(~self._is_checked))

    def checked(self, view: NDArray[Any]) -> NDArray[Any]:
        """A view of the mapping itself, after its blocks were compared with their hashes."""
        if view.size:
            begin = self.place_of(view)
            first, end = begin // BLOCK_BYTES, (begin + view.nbytes - 1) // BLOCK_BYTES + 1
            if not self._is_checked[first:end].all():
                self._check_blocks(first + np.flatnonzero(~self._is_checked[first:end]))
        return view

    def check_ranges(self, view: NDArray[Any], begins: NDArray[np.int64], ends: NDArray[np.int64]) -> None:
        """Check the elements [begins[i], ends[i]) of a view, for all i. begins, ends: int64[n], within the view."""
        filled = begins < ends
        start = self.place_of(view)
        first = (start + begins[filled] * view.itemsize) // BLOCK_BYTES
        last = (start + ends[filled] * view.itemsize - 1) // BLOCK_BYTES
        change = np.zeros(len(self._is_checked) + 1, np.int64)
        np.add.at(change, first, 1)
        np.add.at(change, last + 1, -1)
        self._check_blocks(np.flatnonzero((np.cumsum(change[:-1]) > 0) & ~self._is_checked))

    def read(self, place: int, out: NDArray[np.uint8]) -> None:
        """Fill `out` with checked bytes from `place` on. Whole blocks are checked in `out`, others in the mapping."""
        self._file.read(place, out)
        for block in range(place // BLOCK_BYTES, -(-(place + len(out)) // BLOCK_BYTES)):
            if self._is_checked[block]:
                continue
            begin = block * BLOCK_BYTES - place
            end = begin + self._block_size(block)
            if begin >= 0 and end <= len(out):
                self._check_block(block, out[begin:end])
            else:
                self._check_blocks(np.array([block]))

    def place_of(self, view: NDArray[Any]) -> int:
        """Where a view of the mapping begins in the file."""
        begin: int = view.__array_interface__["data"][0] - self.bytes.__array_interface__["data"][0]
        return begin

    def has(self, view: NDArray[Any]) -> bool:
        """Whether an array is a view of the mapping."""
        return not view.nbytes or 0 <= self.place_of(view) <= len(self.bytes) - view.nbytes

    def _block_size(self, block: int) -> int:
        return min(BLOCK_BYTES, len(self.bytes) - block * BLOCK_BYTES)

    def _check_blocks(self, blocks: NDArray[np.int64]) -> None:
        def check(block: int) -> None:
            self._check_block(block, self.bytes[block * BLOCK_BYTES : (block + 1) * BLOCK_BYTES])

        if len(blocks) >= MANY_BLOCKS:
            run_in_parallel(check, blocks.tolist())
            return
        for block in blocks.tolist():
            check(block)

    def _check_block(self, block: int, content: NDArray[np.uint8]) -> None:
        import xxhash

        if xxhash.xxh3_64_intdigest(content.data) != int(self._hashes[block]):
            raise DatabaseError(
                f"{self.name}: damaged between byte {block * BLOCK_BYTES} and {block * BLOCK_BYTES + len(content)} "
                "(xxh3 differs from the manifest); restore the file from a copy or rebuild the database"
            )
        self._is_checked[block] = True
