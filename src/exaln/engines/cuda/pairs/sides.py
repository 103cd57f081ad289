"""The two sides of pairs, queries and targets: which of their letters travel with each batch, and which are sent once.

Letters of sequences that many pairs share are sent once, before the first batch. Others travel in the blocks of the
batches.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from exaln.engines.cuda.pairs.slots import Slot
    from exaln.engines.cuda.runtime.workspace import Workspace
    from exaln.engines.tasks import EncodedSequences

FEW_CODES = 4
"""Sequences whose codes are all below FEW_CODES, as those of DNA are, count as having all of these."""

SHARED_USES, SHARED_PART = 2, 8
"""Letters of one side are sent once if pairs use them SHARED_USES times on average, and if they take at most
1 / SHARED_PART of the free memory.
"""


@dataclass(frozen=True)
class Side:
    """The queries or the targets of all pairs.

    rows: int64[n], the sequence of each pair, from row `first` to row `last`. is_sent: whether their letters travel in
    the blocks. address: of the letters of row `first` on the device, if they do not.
    """

    sequences: EncodedSequences
    rows: NDArray[np.int64]
    first: int
    last: int
    is_sent: bool
    address: int = 0

    @staticmethod
    def of(sequences: EncodedSequences, rows: NDArray[np.int64], n_letters: int, room: int) -> Side:
        """Sequences of at least one pair. n_letters: of all pairs together; room: bytes of free memory."""
        first, last = int(rows.min()), int(rows.max())
        n_own = int(sequences.offsets[last + 1] - sequences.offsets[first])
        is_shared = SHARED_USES * n_own <= n_letters and SHARED_PART * n_own <= room
        return Side(sequences, rows, first, last, not is_shared)

    @property
    def values(self) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64], bool, int]:
        """As the native module takes them."""
        codes, offsets = self.sequences.codes, self.sequences.offsets
        return codes, offsets, self.rows, self.is_sent, int(offsets[self.first])

    def used_codes(self, threads: int) -> NDArray[np.uint8]:
        """uint8[256]: 1 for each code that occurs in the sequences of the pairs."""
        from exaln._core import used_codes

        rows = self.rows if self.is_sent else np.arange(self.first, self.last + 1)
        return used_codes((self.sequences.codes, self.sequences.offsets, rows, True, 0), FEW_CODES, threads)

    def sent_once(self, name: str, workspace: Workspace, slot: Slot) -> Side:
        """This side with its letters on the device, sent in the stream of a slot."""
        first, end = self.sequences.offsets[[self.first, self.last + 1]].tolist()
        codes = np.ascontiguousarray(self.sequences.codes[first:end])
        address = workspace.scratch(f"codes of {name}", codes.nbytes)
        with slot.queueing():
            workspace.device.upload(address, codes, slot.stream)
        return replace(self, address=address)


def used_codes_of(sides: Sequence[Side], threads: int) -> bytes:
    """A byte for each code, not 0 if it occurs in the sequences of the pairs."""
    used: NDArray[np.uint8] = np.bitwise_or.reduce([side.used_codes(threads) for side in sides])
    return used.tobytes()


def send_shared(sides: Sequence[Side], workspace: Workspace, slots: Sequence[Slot]) -> list[Side]:
    """Send the letters that do not travel in blocks, and let all slots wait for them."""
    device, (first, *others) = workspace.device, slots
    sent = [
        side if side.is_sent else side.sent_once(name, workspace, first)
        for name, side in zip(("queries", "targets"), sides, strict=True)
    ]
    if not all(side.is_sent for side in sides):
        done = device.record(device.event(), first.stream)
        for slot in others:
            device.let_wait(slot.stream, done)
    return sent
