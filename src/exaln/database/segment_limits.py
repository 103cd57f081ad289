"""How large a segment may be."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True)
class SegmentLimits:
    """Upper limits for one segment; a sequence beyond them gets a segment of its own.

    `text_bytes` counts ids, descriptions and soft-masked intervals. Building takes about twice as much memory, as one
    segment is written while the next one is read.
    """

    rows: int = 4 * MIB
    residues: int = 256 * MIB
    text_bytes: int = 512 * MIB


DEFAULT_LIMITS = SegmentLimits()
