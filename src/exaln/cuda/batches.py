"""A database as batches: how it is cut for a card, what of a batch lies on the card, and what is kept there.

A batch is a range of rows of one segment. Its image is what is sent: offsets, where tiles and chunks begin, codes. The
streams of tiles are made from it on the card.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.cuda.card import Card, CardMemoryError, Event, Memory, PinnedMemory
from exaln.cuda.layout import (
    BOUNDARY_TILE_BYTES,
    PAIRED_TILE_BYTES,
    SINGLE_TILE_BYTES,
    StreamLayout,
    stream_layout,
    tiles_of,
    used_letters,
)
from exaln.resources import available_threads
from exaln.schedule import RowRange

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.cuda.layout import FoldedScores

MAX_BATCH_RESIDUES = 256 << 20
MIN_BATCH_RESIDUES = 4 << 20
"""Batches that are made small for overlap or for several cards have at least so many."""

STREAMED_BATCHES = 8
"""A streamed database is cut into at least so many batches, so that sending overlaps computing from early on."""

BATCHES_PER_CARD = 4
"""With several cards, so that the slower ones can be given less."""

SCORES_SHARE = 8
"""One part in so many of the memory is for scores."""

ROW_BYTES = 26
"""Of a target in the image of a batch, besides its codes: offset, starts of tiles, chunks; all rounded up."""

ALIGNMENT = 256
MAX_COUNTED_RESIDUES = 4 << 30
"""In larger databases letters are not looked for before the first scan: it would have to wait for the disk."""


@dataclass(frozen=True)
class SegmentFacts:
    """What is known of a segment, for as long as it lives.

    lengths: int64[n_rows], ascending. cuts: how it was cut for cards on which it is resident. letters: bool[256], which
    codes occur, as the only element once they were looked for.
    """

    lengths: NDArray[np.int64]
    cuts: dict[object, list[RowRange]] = field(default_factory=dict)
    letters: list[NDArray[np.bool_]] = field(default_factory=list)


class SegmentNotes:
    """Facts of segments, forgotten with them. Segments are known by identity; two with equal content are two."""

    def __init__(self) -> None:
        self._facts: dict[int, SegmentFacts] = {}
        self._alive: dict[int, weakref.ref[Any]] = {}
        self._lock = threading.Lock()

    def of(self, segment: Any) -> SegmentFacts:
        """What is known of this segment."""
        number = id(segment)
        with self._lock:
            if number not in self._facts:
                self._facts[number] = SegmentFacts(np.diff(segment.offsets))
                self._alive[number] = weakref.ref(segment, lambda _: self._forget(number))
            return self._facts[number]

    def _forget(self, number: int) -> None:
        self._facts.pop(number, None)
        self._alive.pop(number, None)


@dataclass(frozen=True)
class RowCosts:
    """Bytes on the card per row. image: as it is sent; streams: as tiles; scratch: while it is scored, but scores."""

    image: NDArray[np.int64]
    streams: NDArray[np.int64]
    scratch: NDArray[np.int64]


def row_costs(lengths: NDArray[np.int64], long_length: int) -> RowCosts:
    """What rows of these lengths take; those above long_length have no tiles."""
    tiles = np.where(lengths <= long_length, tiles_of(lengths), 0)
    streams = tiles * (SINGLE_TILE_BYTES + PAIRED_TILE_BYTES // 2)
    return RowCosts(lengths + ROW_BYTES, streams, tiles * (BOUNDARY_TILE_BYTES + BOUNDARY_TILE_BYTES // 2))


@dataclass(frozen=True)
class Division:
    """How a database is scanned: whether its batches stay on the cards, and the batches."""

    is_resident: bool
    ranges: list[RowRange]


def divide(
    lengths: Sequence[NDArray[np.int64]], long_lengths: Sequence[int], budget: int, n_queries: int, n_cards: int = 1
) -> Division:
    """Cut segments with rows of these lengths for cards with `budget` bytes each, for so many queries at a time.

    Resident if the images and streams of all batches leave enough for scoring one batch of reasonable size.
    """
    costs = [row_costs(rows, long) for rows, long in zip(lengths, long_lengths, strict=True)]
    residues = [int(rows.sum()) for rows in lengths]
    kept = sum(int(cost.image.sum() + cost.streams.sum()) for cost in costs)
    room = budget - budget // SCORES_SHARE
    spare = room - kept // n_cards
    largest = max((int(cost.scratch.sum()) for cost in costs), default=0)
    is_resident = spare >= min(largest, MIN_BATCH_RESIDUES * 16)
    if is_resident:
        weights, limit = [cost.scratch + 1 for cost in costs], spare
        n_least = BATCHES_PER_CARD * n_cards if n_cards > 1 else 1
    else:
        weights = [2 * cost.image + cost.streams + cost.scratch + 8 * n_queries for cost in costs]
        limit, n_least = budget, STREAMED_BATCHES * n_cards
    most = min(MAX_BATCH_RESIDUES, max(MIN_BATCH_RESIDUES, -(-sum(residues) // n_least)))
    ranges: list[RowRange] = []
    for number, (weight, rows) in enumerate(zip(weights, lengths, strict=True)):
        n_pieces = max(-(-int(weight.sum()) // max(1, limit)), -(-residues[number] // most))
        ranges += [
            RowRange(number, first, end, int(rows[first:end].sum())) for first, end in even_cuts(weight, n_pieces)
        ]
    return Division(is_resident, ranges)


def even_cuts(weights: NDArray[np.int64], n_pieces: int) -> list[tuple[int, int]]:
    """Ranges of about equal weight, at most n_pieces; none is empty.

    >>> even_cuts(np.array([1, 1, 1, 3, 6]), 4)
    [(0, 3), (3, 4), (4, 5)]
    """
    ends = np.cumsum(weights)
    if not len(ends):
        return []
    goals = ends[-1] * np.arange(1, n_pieces + 1) // max(1, n_pieces)
    edges = np.unique(np.append(0, np.searchsorted(ends, goals) + 1))
    edges = np.unique(np.append(edges[edges < len(ends)], [0, len(ends)]))
    return list(pairwise(edges.tolist()))


class HostBatch:
    """Rows of a segment in the memory of the host, with all that has to be sent of them.

    lengths, ordinals: int64[n_rows]. The first n_stream rows go through the streams, the longer ones one by one.
    """

    def __init__(self, segment: Any, lengths: NDArray[np.int64], rows: RowRange, long_length: int) -> None:
        own = slice(rows.first, rows.end)
        offsets = np.asarray(segment.offsets[rows.first : rows.end + 1], np.int64)
        self.rows = rows
        self.codes: NDArray[np.uint8] = segment.codes[int(offsets[0]) : int(offsets[-1])]
        self.ordinals: NDArray[np.int64] = segment.ordinals[own]
        self.lengths = lengths[own]
        self.long_length = long_length
        self.n_stream = int(np.searchsorted(self.lengths, long_length, side="right"))
        in_streams = self.lengths[: self.n_stream]
        self.layouts = {paired: stream_layout(in_streams, is_paired=paired) for paired in (False, True)}
        self.parts: dict[str, NDArray[Any]] = {"offsets": offsets - offsets[0]}
        for paired, layout in self.layouts.items():
            self.parts |= {f"starts {paired:d}": layout.starts, f"chunks {paired:d}": layout.chunks}
        self.parts["codes"] = self.codes

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def row_stride(self) -> int:
        """Scores of a query take so many places: an even number, because pairs of targets are written together."""
        return len(self) + len(self) % 2

    @cached_property
    def places(self) -> dict[str, int]:
        """Where each part begins in the image."""
        places, end = {}, 0
        for name, part in self.parts.items():
            places[name] = end
            end += -(-part.nbytes // ALIGNMENT) * ALIGNMENT
        return places

    @property
    def image_bytes(self) -> int:
        """All parts together."""
        return self.places["codes"] + self.codes.nbytes

    @cached_property
    def n_stream_residues(self) -> int:
        """Residues of the rows in the streams."""
        return int(self.lengths[: self.n_stream].sum())


class CardBatch:
    """A batch on a card: its image from `address` on, there when `ready` is done; and its streams, once packed."""

    def __init__(self, host: HostBatch, address: int, ready: Event, image: Memory | None = None) -> None:
        self.host, self.address, self.ready = host, address, ready
        self._image = image
        self.streams: dict[bool, Memory] = {}
        self.packed_with: dict[bool, bytes] = {}

    @property
    def is_resident(self) -> bool:
        """Whether it has memory of its own."""
        return self._image is not None

    def place(self, part: str) -> int:
        """The address of a part of the image."""
        return self.address + self.host.places[part]

    def layout(self, *, paired: bool) -> StreamLayout:
        """Of one of its streams."""
        return self.host.layouts[paired]

    def needs_packing(self, folded: FoldedScores, *, paired: bool) -> bool:
        """Whether the stream is missing, or has letters folded in another way."""
        return self.packed_with.get(paired) != folded.fold.tobytes()


class Workspace:
    """A card with what is kept on it: streams, scratch memory by name, and the batches of resident databases."""

    def __init__(self, card: Card) -> None:
        self.card = card
        self.stream = card.stream()
        self.side_stream = card.stream()
        self.copy_stream = card.stream()
        self._scratch: dict[str, Memory] = {}
        self._pinned: dict[str, PinnedMemory] = {}
        self._residents: dict[tuple[int, int, int], CardBatch] = {}
        self._alive: dict[int, weakref.ref[Any]] = {}
        self._in_use: frozenset[int] = frozenset()
        self._lock = threading.RLock()

    def begin(self, segments: Sequence[Any]) -> None:
        """A scan of these segments begins: what is resident of others may go when memory is short."""
        self._in_use = frozenset(map(id, segments))

    def allocate(self, n_bytes: int) -> Memory:
        """Memory, if need be in place of batches of other databases."""
        with self._lock:
            while True:
                try:
                    return self.card.allocate(n_bytes)
                except CardMemoryError:
                    if not self._evict():
                        raise

    def scratch(self, name: str, n_bytes: int) -> int:
        """The address of memory that is used again and again under this name; what was in it may be lost."""
        known = self._scratch.get(name)
        if known is not None and known.n_bytes >= n_bytes:
            return known.address
        if known is not None:
            self.card.synchronize()
            del self._scratch[name]
            known.free()
        known = self._scratch[name] = self.allocate(n_bytes)
        return known.address

    def pinned(self, name: str, n_bytes: int) -> NDArray[np.uint8]:
        """The same in the memory of the host: uint8[n_bytes or more]. Copies must be done before it is asked for."""
        known = self._pinned.get(name)
        if known is None or known.n_bytes < n_bytes:
            if known is not None:
                self.card.synchronize()
            known = self._pinned[name] = self.card.pinned(n_bytes)
        return known.array

    def holds(self, segment: Any, rows: RowRange) -> bool:
        """Whether these rows are on the card."""
        return (id(segment), rows.first, rows.end) in self._residents

    def resident(self, segment: Any, rows: RowRange) -> CardBatch | None:
        """The batch of these rows, if it is on the card."""
        return self._residents.get((id(segment), rows.first, rows.end))

    def send(self, segment: Any, host: HostBatch) -> CardBatch:
        """Bring a batch to the card, to stay there as long as the segment lives and memory is not short."""
        image = self.allocate(host.image_bytes)
        for name, part in host.parts.items():
            self.card.upload(image.address + host.places[name], part, self.copy_stream)
        ready = self.card.record(self.card.event(), self.copy_stream)
        batch = CardBatch(host, image.address, ready, image)
        number = id(segment)
        self._residents[number, host.rows.first, host.rows.end] = batch
        self._alive[number] = weakref.ref(segment, lambda _: self._forget(number))
        return batch

    def clear(self) -> None:
        """Give back all memory; the card must be idle."""
        self.card.synchronize()
        self._scratch.clear()
        self._pinned.clear()
        self._residents.clear()

    def _evict(self) -> bool:
        """Drop one segment that this scan does not use, the one that came first; False if there is none."""
        for number, _, _ in self._residents:
            if number not in self._in_use:
                self.card.synchronize()
                self._forget(number)
                return True
        return False

    def _forget(self, number: int) -> None:
        for key in [key for key in self._residents if key[0] == number]:
            del self._residents[key]
        self._alive.pop(number, None)


def letters_of(segments: Sequence[Any], notes: SegmentNotes, n_letters: int, n_residues: int) -> NDArray[np.bool_]:
    """bool[256]: the codes that targets have; all of the alphabet where looking would take too long."""
    if n_residues > MAX_COUNTED_RESIDUES:
        return np.arange(256) < n_letters
    is_used = np.zeros(256, np.bool_)
    for segment in segments:
        facts = notes.of(segment)
        if not facts.letters:
            facts.letters.append(_letters_in(segment.codes, n_letters))
        is_used |= facts.letters[0]
    return is_used


def _letters_in(codes: NDArray[np.uint8], n_letters: int) -> NDArray[np.bool_]:
    threads = available_threads()
    pieces = np.array_split(codes, max(1, min(threads, len(codes) >> 22)))
    with ThreadPoolExecutor(len(pieces)) as pool:
        found = list(pool.map(lambda piece: used_letters(piece, n_letters), pieces))
    is_used: NDArray[np.bool_] = np.logical_or.reduce(found)
    return is_used
