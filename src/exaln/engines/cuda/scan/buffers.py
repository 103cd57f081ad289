"""Names of the scratch and pinned buffers of a scan."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from exaln.engines.cuda.scan.shapes import Packing


class BufferKind(Enum):
    """What a buffer holds. The values are for people."""

    SLOT = "uploaded batch"
    LAUNCH_STATE = "scores and counters"
    CANDIDATES = "candidates"
    OVERFLOWS = "pairs to score again"
    ITEMS = "long targets, in parts"
    STREAM = "stream of tiles"
    BOUNDARY = "boundary rows between strips"
    BLOCK_TICKET = "ticket of block.cu"
    BLOCK_BOUNDARY = "boundary rows of block.cu"
    RESULT = "counters and first candidates, pinned"
    UPLOAD = "codes on their way, pinned"


class Buffer(NamedTuple):
    """A buffer. number: of the slot, the result set or the packing, or whether targets are paired; by its kind."""

    kind: BufferKind
    number: int = 0


SLOTS = (Buffer(BufferKind.SLOT, 0), Buffer(BufferKind.SLOT, 1))
STREAMS = {packing: Buffer(BufferKind.STREAM, int(packing)) for packing in Packing}
BOUNDARIES = (Buffer(BufferKind.BOUNDARY, 0), Buffer(BufferKind.BOUNDARY, 1))
"""Boundary rows of single targets, and of pairs of targets."""

STREAM_BUFFERS = (*STREAMS.values(), *BOUNDARIES)
"""Buffers that are idle while a batch without streams is scored."""

BLOCK_TICKET = Buffer(BufferKind.BLOCK_TICKET)
BLOCK_BOUNDARY = Buffer(BufferKind.BLOCK_BOUNDARY)


class ResultBuffers(NamedTuple):
    """The buffers of one of the two batches that are in flight at a time."""

    launch_state: Buffer
    candidates: Buffer
    overflows: Buffer
    items: Buffer
    result: Buffer

    @staticmethod
    def of(number: int) -> ResultBuffers:
        """Return the buffers of a result set."""
        kinds = (
            BufferKind.LAUNCH_STATE,
            BufferKind.CANDIDATES,
            BufferKind.OVERFLOWS,
            BufferKind.ITEMS,
            BufferKind.RESULT,
        )
        return ResultBuffers(*(Buffer(kind, number) for kind in kinds))


RESULT_BUFFERS = (ResultBuffers.of(0), ResultBuffers.of(1))


def upload_buffer(number: int) -> Buffer:
    """Return a buffer for codes on their way."""
    return Buffer(BufferKind.UPLOAD, number)
