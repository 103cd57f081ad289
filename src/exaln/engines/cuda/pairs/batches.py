"""Batches of pairs on one device: scores, ends and paths. kernels/pairs.cu describes the kernels.

Two pairs form a couple and share the halves of words. Pairs are sorted by size, so that those of a couple or a warp are
alike, and cut into batches whose tables fit the memory. `PairBatches.fits` says which pairs can be done here: every
value certainly fits 16 bits, and the table of one couple fits the memory. The cpu engine aligns the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.alignments.cigar import Paths, taken
from exaln.engines.cuda.pairs.arguments import (
    FillCouplesArguments,
    GatherArguments,
    LetterArguments,
    PackCouplesArguments,
    TracebackArguments,
)
from exaln.engines.cuda.pairs.shapes import PAIR_SHAPES, PairShape
from exaln.engines.cuda.runtime.compiler import Source
from exaln.engines.cuda.runtime.constants import COLUMNS, MAX_COST, WARP, WARP_BLOCK_THREADS, blocks_of_warps
from exaln.errors import EngineError
from exaln.sequences.records import offsets_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.cuda.runtime.workspace import Workspace
    from exaln.engines.tasks import EncodedSequences
    from exaln.scoring.modes import Mode
    from exaln.scoring.scoring import Scoring

MAX_VALUE = 32000
"""The largest value of a table, a little less than int16 holds."""

PAD_SCORE = -8192
"""The score of a letter with padding."""

MAX_ARENA = 8 << 30
"""Bytes of the arena, which holds the tables of a batch."""

ARENA_SHARE = 2
"""The arena takes at most 1 / ARENA_SHARE of the free memory."""

TRACEBACK_THREADS = 128
"""Threads of a block in the traceback."""

LETTERS_PER_BLOCK = 1 << 14
"""Letters that a block of used_letters.cu should have at least."""

WORD = 8
"""Bytes of the largest numbers that the device reads: the alignment of arrays that are sent together."""

FEW_LETTERS, FEW_CODES = 1 << 22, 4
"""Of up to FEW_LETTERS letters the host looks whether all codes are below FEW_CODES, as those of DNA are. Then all four
letters count as used, and there is no need to wait for the device to find them.
"""

PAIR = np.dtype([("query", "u8"), ("target", "u8"), ("m", "u4"), ("n", "u4")])
PARTS = ("rows", "tiles", "directions", "columns", "last_row", "bests", "boundary")
LAYOUT = np.dtype([*((name, "u8") for name in PARTS), ("n_tiles", "u4"), ("n_strips", "u4")])
POSITIONS = ("query_start", "query_end", "target_start", "target_end")
COUNTS = ("identities", "positives", "mismatches", "gap_opens", "gap_columns", "columns")
RESULT = np.dtype([(name, "i4") for name in ("score", *POSITIONS, *COUNTS, "n_runs")])
"""PAIR, LAYOUT and RESULT are structs of kernels/pairs_table.cuh."""

USED_LETTERS = Source("used_letters.cu", ())


def half_words(matrix: NDArray[np.int32]) -> NDArray[np.uint32]:
    """uint32[2, k + 1, k + 1]: scores of letters 1 .. k as low and as high halves of words; letter 0 is padding."""
    low = np.pad(matrix, ((1, 0), (1, 0)), constant_values=PAD_SCORE).astype(np.uint32) & 0xFFFF
    return np.stack([low, low << 16])


@dataclass(frozen=True)
class PairResults:
    """Results of n pairs, in their order. result: RESULT[n]. paths: empty if only scores are computed."""

    result: NDArray[Any]
    paths: Paths


def fits_numbers(m: NDArray[np.int64], n: NDArray[np.int64], scoring: Scoring, mode: Mode) -> NDArray[np.bool_]:
    """bool[k]: whether 16 bits hold every value of a table of m rows and n columns; False if it is empty."""
    largest = int(np.abs(scoring.matrix).max())
    if max(scoring.gap_first, largest) > MAX_COST[True]:
        return np.zeros(len(m), np.bool_)
    highest = np.minimum(m, n) * max(0, scoring.max_score)
    lowest = 2 * scoring.gap_open + (m + n + 2) * scoring.gap_extend + scoring.gap_first + largest
    fits = highest <= MAX_VALUE if mode.is_local else np.maximum(highest, lowest) <= MAX_VALUE
    return (m > 0) & (n > 0) & fits


class PairBatches:
    """Aligns pairs of two sets of sequences on one device, with one scoring, in one mode.

    paths: whether paths are computed, and not scores and ends alone.
    """

    def __init__(
        self,
        workspace: Workspace,
        queries: EncodedSequences,
        targets: EncodedSequences,
        scoring: Scoring,
        mode: Mode,
        *,
        paths: bool,
    ) -> None:
        self._workspace, self._device = workspace, workspace.device
        self._queries, self._targets = queries, targets
        self._scoring, self._mode, self._paths = scoring, mode, paths
        self._m, self._n = queries.lengths, targets.lengths
        workspace.begin((), {})
        room = (workspace.device.budget - workspace.device.used) // ARENA_SHARE
        self._arena_bytes = max(0, min(MAX_ARENA, room))

    def fits(self, query: NDArray[np.int64], target: NDArray[np.int64]) -> NDArray[np.bool_]:
        """bool[n]: which pairs can be aligned here. query, target: int64[n], rows of the sequences."""
        m, n = self._m[query], self._n[target]
        fits_arena = self._bytes_of(PAIR_SHAPES[-1], m, n) <= self._arena_bytes
        return fits_arena & fits_numbers(m, n, self._scoring, self._mode)

    def align(self, query: NDArray[np.int64], target: NDArray[np.int64]) -> PairResults:
        """Align these pairs, all of which must fit."""
        m, n = self._m[query], self._n[target]
        result = np.zeros(len(query), RESULT)
        found = [np.empty(0, np.uint32)]
        batches = list(self._batches(m, n))
        if batches:
            self._send()
            self._device.load(self._source(shape) for shape in dict.fromkeys(shape for shape, _ in batches))
        for shape, own in batches:
            found.append(self._align_batch(shape, query[own], target[own], result, own))
        order = np.concatenate([np.empty(0, np.int64), *(own for _, own in batches)])
        by_batch = Paths(np.concatenate(found), offsets_of(result["n_runs"][order]))
        return PairResults(result, taken(by_batch, np.argsort(order)))

    def _batches(self, m: NDArray[np.int64], n: NDArray[np.int64]) -> Iterator[tuple[PairShape, NDArray[np.int64]]]:
        """Yield the kernel shape of each batch, and the indices of its pairs.

        Each pair gets the shape with the lowest cost. Batches have an even number of pairs, except the last of a shape.
        """
        n_tiles = -(-n // COLUMNS)
        costs = np.stack([shape.cost(m, n_tiles, self._device.properties.n_sms) for shape in PAIR_SHAPES])
        best = np.argmin(costs, axis=0)
        for number, shape in enumerate(PAIR_SHAPES):
            own = np.flatnonzero(best == number)
            if not len(own):
                continue
            own = own[np.lexsort((m[own], n_tiles[own]))]
            ends = np.cumsum(self._bytes_of(shape, m[own], n[own]) // 2 + 8 * (m[own] + n[own] + 2))
            begin = 0
            while begin < len(own):
                done = int(ends[begin - 1]) if begin else 0
                end = int(np.searchsorted(ends, done + self._arena_bytes, side="right"))
                end = min(len(own), max(begin + 2, end - end % 2))
                yield shape, own[begin:end]
                begin = end

    def _bytes_of(self, shape: PairShape, m: NDArray[np.int64], n: NDArray[np.int64]) -> NDArray[np.int64]:
        """int64[k]: bytes of the arena for a couple of pairs of m rows and n columns."""
        return sum(self._part_bytes(shape, -(-m // shape.strip_rows), -(-n // COLUMNS)).values(), np.zeros_like(m))

    def _part_bytes(
        self, shape: PairShape, n_strips: NDArray[np.int64], n_tiles: NDArray[np.int64]
    ) -> dict[str, NDArray[np.int64]]:
        """int64[k] for each part of the arena: its bytes for a couple."""
        n_rows = n_strips * shape.strip_rows
        has_row = self._mode.target_end and not self._mode.is_local
        return {
            "rows": 4 * n_rows,
            "tiles": 16 * n_tiles,
            "directions": 2 * n_rows * (n_tiles + shape.lanes - 1) * COLUMNS // 2 * self._paths,
            "columns": 8 * n_rows * (not self._mode.is_local),
            "last_row": 32 * n_tiles * has_row,
            "bests": 16 * n_strips * shape.lanes * self._mode.is_local,
            "boundary": 32 * n_tiles * (n_strips > 1),
        }

    def _send(self) -> None:
        """Send the letters of all sequences, and the scores of the letters that occur."""
        sent = {
            name: records.codes[int(records.offsets[0]) : int(records.offsets[-1])]
            for name, records in (("queries", self._queries), ("targets", self._targets))
        }
        addresses = {name: self._upload(f"codes of {name}", codes) for name, codes in sent.items()}
        if sum(map(len, sent.values())) <= FEW_LETTERS and all(
            codes.max(initial=0) < FEW_CODES for codes in sent.values()
        ):
            is_used = np.arange(len(self._scoring.matrix)) < FEW_CODES
        else:
            is_used = self._letters_in_use([(addresses[name], len(codes)) for name, codes in sent.items()])
        matrix, fold = self._scoring.folded(is_used)
        self._n_letters = len(matrix)
        self._fold, self._table = self._upload_together("table of pairs", fold + np.uint8(1), half_words(matrix))

    def _letters_in_use(self, codes: list[tuple[int, int]]) -> NDArray[np.bool_]:
        """bool[letters of the alphabet]: which letters occur, found by the device. codes: addresses and lengths."""
        device, stream = self._device, self._workspace.stream
        marks = self._workspace.scratch("letters of pairs", 32)
        device.fill(marks, 0, 8, stream)
        kernel = device.kernel(USED_LETTERS, "mark_letters")
        for address, n in codes:
            blocks = max(1, min(4 * device.properties.n_sms, n // LETTERS_PER_BLOCK))
            device.launch(kernel, blocks, WARP_BLOCK_THREADS, stream, LetterArguments(address, n, marks))
        found = np.empty(32, np.uint8)
        device.download(found, marks, stream)
        device.wait(device.record(device.event(), stream))
        return np.unpackbits(found, bitorder="little").astype(np.bool_)[: len(self._scoring.matrix)]

    def _upload(self, name: str, array: NDArray[Any]) -> int:
        address = self._workspace.scratch(name, array.nbytes)
        self._device.upload(address, np.ascontiguousarray(array), self._workspace.stream)
        return address

    def _upload_together(self, name: str, *arrays: NDArray[Any]) -> list[int]:
        """Send several arrays in one copy. Returns their addresses."""
        places = offsets_of([-(-array.nbytes // WORD) * WORD for array in arrays])
        together = np.zeros(int(places[-1]), np.uint8)
        for place, array in zip(places.tolist(), arrays, strict=False):
            together[place : place + array.nbytes] = array.reshape(-1).view(np.uint8)
        address = self._upload(name, together)
        return [address + place for place in places[:-1].tolist()]

    def _align_batch(
        self,
        shape: PairShape,
        query: NDArray[np.int64],
        target: NDArray[np.int64],
        result: NDArray[Any],
        own: NDArray[np.int64],
    ) -> NDArray[np.uint32]:
        """Align one batch and write its results to result[own]. Returns the operations of its paths in order.

        EngineError if the score of some path is not that of its pair, which would be a bug.
        """
        device, stream, scratch = self._device, self._workspace.stream, self._workspace.scratch
        n_pairs = len(query)
        pairs = np.zeros(n_pairs, PAIR)
        pairs["query"] = self._queries.offsets[query] - self._queries.offsets[0]
        pairs["target"] = self._targets.offsets[target] - self._targets.offsets[0]
        pairs["m"], pairs["n"] = self._m[query], self._n[target]
        layouts, arena_bytes = self._layouts(shape, pairs)
        capacities = np.concatenate([np.zeros(1, np.uint64), np.cumsum(pairs["m"].astype(np.uint64) + pairs["n"])])
        sent = self._upload_together("pairs", pairs, layouts, capacities)
        on_device = {
            "queries": scratch("codes of queries", 0),
            "targets": scratch("codes of targets", 0),
            **dict(zip(("pairs", "layouts", "run_starts"), sent, strict=True)),
            "runs": scratch("runs of pairs", 4 * int(capacities[-1]) if self._paths else 0),
            "results": scratch("results of pairs", RESULT.itemsize * n_pairs),
            "arena": scratch("arena of pairs", arena_bytes),
            "counters": scratch("counters of pairs", 8),
        }
        device.fill(on_device["counters"], 0, 2, stream)
        self._launch(shape, on_device, n_pairs)
        found = np.empty(n_pairs, RESULT)
        wrong = np.empty(2, np.uint32)
        device.download(found, on_device["results"], stream)
        device.download(wrong, on_device["counters"], stream)
        device.wait(device.record(device.event(), stream))
        if wrong[1]:
            raise EngineError(f"{device}: {int(wrong[1])} paths do not have their score; please report this")
        result[own] = found
        return self._gather(found["n_runs"], on_device, n_pairs) if self._paths else np.empty(0, np.uint32)

    def _layouts(self, shape: PairShape, pairs: NDArray[Any]) -> tuple[NDArray[Any], int]:
        """LAYOUT[n_couples], the offsets of the parts of each couple, and the bytes of the arena."""
        even = len(pairs) + len(pairs) % 2
        m, n = np.zeros(even, np.int64), np.zeros(even, np.int64)
        m[: len(pairs)], n[: len(pairs)] = pairs["m"], pairs["n"]
        n_strips = -(-m.reshape(-1, 2).max(axis=1) // shape.strip_rows)
        n_tiles = -(-n.reshape(-1, 2).max(axis=1) // COLUMNS)
        layouts = np.zeros(len(n_tiles), LAYOUT)
        layouts["n_tiles"], layouts["n_strips"] = n_tiles, n_strips
        sizes = np.stack(list(self._part_bytes(shape, n_strips, n_tiles).values()), axis=1)
        ends = np.cumsum(sizes.reshape(-1)).reshape(sizes.shape)
        for place, name in enumerate(PARTS):
            layouts[name] = ends[:, place] - sizes[:, place]
        return layouts, int(ends[-1, -1])

    def _source(self, shape: PairShape) -> Source:
        mode, scoring = self._mode, self._scoring
        constants = {
            "LANES": shape.lanes,
            "ROWS": shape.rows,
            "THREADS": shape.threads,
            "LETTERS": self._n_letters,
            "GAP_FIRST": scoring.gap_first,
            "GAP_EXTEND": scoring.gap_extend,
            "LOCAL": int(mode.is_local),
            "QUERY_START": int(mode.query_start),
            "QUERY_END": int(mode.query_end),
            "TARGET_START": int(mode.target_start),
            "TARGET_END": int(mode.target_end),
            "PATHS": int(self._paths),
        }
        return Source("pairs.cu", tuple(constants.items()))

    def _launch(self, shape: PairShape, on: dict[str, int], n_pairs: int) -> None:
        device, stream, source = self._device, self._workspace.stream, self._source(shape)
        sequences = (on["queries"], on["targets"], on["pairs"], n_pairs, on["layouts"], self._fold)
        n_couples = -(-n_pairs // 2)
        packing = device.kernel(source, "pack_couples")
        packed = PackCouplesArguments(*sequences, on["arena"])
        device.launch(packing, blocks_of_warps(n_couples), WARP_BLOCK_THREADS, stream, packed)
        n_warps = -(-n_couples * shape.lanes // WARP)
        n_sms = device.properties.n_sms
        device.launch(
            device.kernel(source, "fill_couples"),
            min(n_sms, n_warps),
            min(shape.threads, WARP * -(-n_warps // n_sms)),  # spreads few warps over all multiprocessors
            stream,
            FillCouplesArguments(on["pairs"], n_pairs, on["layouts"], self._table, on["counters"], on["arena"]),
        )
        traceback = TracebackArguments(
            *sequences,
            self._table,
            on["run_starts"],
            on["runs"],
            on["results"],
            on["counters"] + 4,
            on["arena"],
        )
        device.launch(
            device.kernel(source, "trace_back"), -(-n_pairs // TRACEBACK_THREADS), TRACEBACK_THREADS, stream, traceback
        )
        self._kernels = source

    def _gather(self, n_runs: NDArray[np.int32], on: dict[str, int], n_pairs: int) -> NDArray[np.uint32]:
        """uint32[total of n_runs]: the operations of all paths of a batch, each path from its start."""
        device, stream = self._device, self._workspace.stream
        offsets = np.concatenate([np.zeros(1, np.uint64), np.cumsum(n_runs, dtype=np.uint64)])
        operations = np.empty(int(offsets[-1]), np.uint32)
        place = self._workspace.scratch("operations of pairs", operations.nbytes)
        path_offsets = self._upload("offsets of paths", offsets)
        arguments = GatherArguments(on["runs"], on["run_starts"], path_offsets, n_pairs, place)
        kernel = device.kernel(self._kernels, "gather_runs")
        device.launch(kernel, blocks_of_warps(n_pairs), WARP_BLOCK_THREADS, stream, arguments)
        device.download(operations, place, stream)
        device.wait(device.record(device.event(), stream))
        return operations
