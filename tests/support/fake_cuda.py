# ruff: noqa: N802
"""A CUDA driver without a GPU: what device calls, on memory of the host, with the kernels in NumPy.

It is stricter than a device. Work waits in its streams and is done in random order, as far as streams and events allow,
and only when somebody waits; memory may be touched only inside an allocation that is still there; new memory is filled
with rubbish. So what is not ordered, freed too early or read before it was written shows up in the scores.
"""

import ctypes
import random
import threading
from collections import deque
from dataclasses import fields
from enum import IntEnum
from types import SimpleNamespace
from typing import get_type_hints

import numpy as np

from exaln.engines.cuda.long import arguments as long_arguments
from exaln.engines.cuda.runtime.arguments import KernelArguments
from exaln.engines.cuda.runtime.compiler import Source
from exaln.engines.cuda.scan import arguments as scan_arguments
from exaln.engines.cuda.scan.batches import BREAKPOINT
from exaln.engines.cuda.scan.shapes import Packing
from exaln.engines.cuda.scan.strips import NO_QUERY
from exaln.statistics.length_bins import length_bin

MAX_PACKED = 32767
NO_LETTER = -(1 << 20)
NOTHING = -16384


class CUresult(IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_NOT_READY = 600
    CUDA_ERROR_ILLEGAL_ADDRESS = 700


OK, NOT_READY = CUresult.CUDA_SUCCESS, CUresult.CUDA_ERROR_NOT_READY

ARGUMENTS = {
    kernel: arguments
    for arguments in (*vars(scan_arguments).values(), *vars(long_arguments).values())
    if isinstance(arguments, type) and issubclass(arguments, KernelArguments)
    for kernel in arguments.kernels
}
"""The arguments of the kernels, by name."""


def argument_types(arguments):
    """Types of ctypes by field, in order, of the dataclass of a kernel's arguments."""
    hints = get_type_hints(arguments, include_extras=True)
    return {field.name: hints[field.name].__metadata__[0] for field in fields(arguments)}


class Fault(Exception):
    """Memory was touched that nobody has."""


class FakeDriver:
    """As cuda.bindings.driver. memory: bytes of each GPU; broken: the name of a kernel that fails."""

    CUresult = CUresult
    CUdevice_attribute = SimpleNamespace(
        CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT=1,
        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN=2,
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR=3,
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR=4,
    )
    CUDA_MEMCPY2D = SimpleNamespace
    CUmemorytype = SimpleNamespace(CU_MEMORYTYPE_HOST=1, CU_MEMORYTYPE_DEVICE=2)
    CUfunction_attribute = SimpleNamespace(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES=8)

    def __init__(self, memory=1 << 40, n_gpus=1, broken=None, seed=0):
        self.memory, self.n_gpus, self.broken = memory, n_gpus, broken
        self.used = self.peak = 0
        self.allocations, self.pinned, self.streams = {}, {}, []
        self.launches, self.sent = [], 0
        self.status = OK
        self._random = random.Random(seed)
        self._lock = threading.RLock()
        self._is_running = False

    # What a context is does not matter here.

    def cuInit(self, flags):
        return (OK,)

    def cuDeviceGet(self, number):
        return (OK, number) if number < self.n_gpus else (CUresult.CUDA_ERROR_INVALID_VALUE, None)

    def cuDeviceGetName(self, size, device):
        return OK, b"Fake GPU\0\0"

    def cuDevicePrimaryCtxRetain(self, device):
        return OK, device

    def cuCtxSetCurrent(self, context):
        return (self.status,)

    def cuCtxPushCurrent(self, context):
        return (OK,)

    def cuCtxPopCurrent(self):
        return OK, None

    def cuDeviceGetAttribute(self, attribute, device):
        return OK, {1: 4, 2: 232448, 3: 9, 4: 0}[attribute]

    def cuMemGetInfo(self):
        return OK, self.memory - self.used, self.memory

    # Memory.

    def cuMemAlloc(self, n_bytes):
        with self._lock:
            if self.used + n_bytes > self.memory:
                return CUresult.CUDA_ERROR_OUT_OF_MEMORY, None
            block = np.full(n_bytes + 256, 0xA5, np.uint8)
            address = -(-block.ctypes.data // 256) * 256
            self.allocations[address] = (n_bytes, block)
            self.used += n_bytes
            self.peak = max(self.peak, self.used)
            return self.status, address

    def cuMemFree(self, address):
        with self._lock:
            self._run_all()
            self.used -= self.allocations[address][0]
            if not self._is_running:
                del self.allocations[address]
            return (OK,)

    def cuMemHostAlloc(self, n_bytes, flags):
        block = np.full(n_bytes, 0xA5, np.uint8)
        self.pinned[block.ctypes.data] = block
        return OK, block.ctypes.data

    def cuMemFreeHost(self, address):
        self._run_all()
        del self.pinned[address]
        return (OK,)

    def view(self, address, dtype, n):
        """n numbers on the device, which must all lie in one allocation."""
        address, n_bytes = int(address), int(n) * np.dtype(dtype).itemsize
        for begin, (size, _) in list(self.allocations.items()):
            if begin <= address and address + n_bytes <= begin + size:
                return np.frombuffer((ctypes.c_uint8 * n_bytes).from_address(address), dtype)
        raise Fault(f"{n} {np.dtype(dtype)} at {address:x}")

    def _is_pinned(self, address):
        return any(begin <= address < begin + len(block) for begin, block in self.pinned.items())

    def cuMemcpyHtoDAsync(self, address, source, n_bytes, stream):
        self.sent += n_bytes
        host = np.frombuffer((ctypes.c_uint8 * n_bytes).from_address(source), np.uint8)
        if not self._is_pinned(source):
            host = host.copy()
        self._put(stream, lambda: np.copyto(self.view(address, np.uint8, n_bytes), host))
        return (self.status,)

    def cuMemcpyDtoHAsync(self, target, address, n_bytes, stream):
        host = np.frombuffer((ctypes.c_uint8 * n_bytes).from_address(target), np.uint8)
        self._put(stream, lambda: np.copyto(host, self.view(address, np.uint8, n_bytes)))
        if not self._is_pinned(target):
            self._run_all()
        return (self.status,)

    def cuMemcpy2DAsync(self, copy, stream):
        if copy.WidthInBytes > min(copy.srcPitch, copy.dstPitch):
            return (CUresult.CUDA_ERROR_INVALID_VALUE,)
        for row in range(copy.Height):
            self.cuMemcpyDtoHAsync(
                copy.dstHost + row * copy.dstPitch, copy.srcDevice + row * copy.srcPitch, copy.WidthInBytes, stream
            )
        return (self.status,)

    def cuMemsetD32Async(self, address, value, n, stream):
        self._put(stream, lambda: self.view(address, np.uint32, n).fill(value))
        return (self.status,)

    # Streams and events.

    def cuStreamCreate(self, flags):
        self.streams.append(deque())
        return OK, self.streams[-1]

    def cuEventCreate(self, flags):
        return OK, SimpleNamespace(mark=None)

    def cuEventDestroy(self, event):
        return (OK,)

    def cuEventRecord(self, event, stream):
        event.mark = mark = SimpleNamespace(is_done=False)
        self._put(stream, lambda: setattr(mark, "is_done", True))
        return (self.status,)

    def cuStreamWaitEvent(self, stream, event, flags):
        if event.mark is not None:
            stream.append((event.mark, lambda: None))
        return (self.status,)

    def cuEventQuery(self, event):
        if not event.mark.is_done:
            self._run_one()
        return (self.status if self.status or event.mark.is_done else NOT_READY,)

    def cuEventElapsedTime(self, begin, end):
        return OK, 1.0

    def cuCtxSynchronize(self):
        self._run_all()
        return (self.status,)

    def _put(self, stream, work):
        stream.append((None, work))

    def _run_one(self):
        """The next of a stream, chosen at random, that waits for nothing."""
        with self._lock:
            return self._run_next()

    def _run_next(self):
        if self._is_running:  # the garbage collector frees memory in the middle of a kernel
            return False
        ready = [queue for queue in list(self.streams) if queue and (queue[0][0] is None or queue[0][0].is_done)]
        if not ready:
            assert not any(self.streams), "streams wait for each other"
            return False
        try:
            _, work = self._random.choice(ready).popleft()
            self._is_running = True
            if not self.status:
                work()
        except Fault as fault:
            self.status = CUresult.CUDA_ERROR_ILLEGAL_ADDRESS
            self.fault = fault
        finally:
            self._is_running = False
        return True

    def any_order(self, n):
        """The numbers below n in random order."""
        return self._random.sample(range(n), n)

    def _run_all(self):
        while self._run_one():
            pass

    # Kernels.

    def cuModuleLoadData(self, code):
        return OK, eval(code, {"Source": Source})

    def cuModuleGetFunction(self, module, name):
        return OK, SimpleNamespace(name=name.decode(), constants=dict(module.constants), max_shared=48 << 10)

    def cuFuncSetAttribute(self, function, attribute, value):
        function.max_shared = value
        return (OK,)

    def cuOccupancyMaxActiveBlocksPerMultiprocessor(self, function, n_threads, shared):
        return OK, 1

    def cuLaunchCooperativeKernel(self, function, *arguments):
        return self.cuLaunchKernel(function, *arguments, 0)

    def cuLaunchKernel(self, function, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra):
        if shared > function.max_shared or not 0 < bx <= 1024 or gx < 1 or gy < 1:
            return (CUresult.CUDA_ERROR_INVALID_VALUE,)
        types = argument_types(ARGUMENTS[function.name])
        pointers = (ctypes.c_uint64 * len(types)).from_address(parameters)
        arguments = {
            name: (ctypes.c_uint64 if ctypes.sizeof(kind) == 8 else ctypes.c_uint32).from_address(pointer).value
            for (name, kind), pointer in zip(types.items(), pointers, strict=True)
        }
        self.launches.append((function.name, function.constants, arguments))
        kernel = KERNELS[function.name]

        def work():
            if function.name == self.broken:
                raise Fault(function.name)
            self.grid = gx, gy
            kernel(self, SimpleNamespace(**arguments), SimpleNamespace(**function.constants))

        self._put(stream, work)
        return (self.status,)


def fill_region(driver, a, constants):
    score, is_local = np.int64 if constants.LARGE else np.int32, bool(constants.LOCAL)
    n, padded = a.n_columns, a.n_pieces * constants.PIECE * 4
    control = driver.view(a.control, np.int64, 5)
    assert not control[[0, 1, 3, 4]].any(), "the control was not set to 0"
    assert control[2] == 0 or a.highest > 0, "a best score that nobody asked for"
    assert a.highest == 0 or (a.rows_left >= a.n_rows and a.columns_left >= n), (
        "fewer rows or columns are left than there are"
    )
    for name, n_words in (("consumed", a.n_channels), ("queues", 8 * a.n_channels * a.queue_pieces * constants.PIECE)):
        assert not driver.view(getattr(a, name), np.uint32, n_words).any(), f"{name} was not set to 0"
    assert not a.left_rows_ready, "only devices can wait for each other"
    query, n_tiles = driver.view(a.query, np.uint8, a.n_rows), (a.n_pieces + 2) * constants.PIECE + 64
    if is_packed := hasattr(constants, "HIGHEST"):
        places = driver.view(a.columns, np.uint16, n_tiles * 4)
        letters = places[:n] & 7
        assert (places[:n] == (0xC480 ^ letters * 0x1111)).all()
        table = driver.view(a.table, np.int8, (int(query.max()) + 1) * 8).reshape(-1, 8).astype(np.int32)
        assert letters.max() < constants.LETTERS
    else:
        offsets = driver.view(a.columns, np.uint32, n_tiles * 4)
        letters = offsets[:n] // (constants.ROWS * 128)
        assert (offsets[n:] == constants.HAS_PAD * constants.LETTERS * constants.ROWS * 128).all(), "columns do not pad"
        table = driver.view(a.table, np.int32, (int(query.max()) + 1) * constants.LETTERS)
        table = table.reshape(-1, constants.LETTERS)
    n_lanes = 64 if is_packed else 32
    strips = driver.view(a.strips, np.int32, 4 * a.n_strips).reshape(-1, 4)
    ends = np.cumsum(strips[:, 1])
    assert (strips[:, 0] == ends - strips[:, 1]).all()
    assert ends[-1] == a.n_rows
    assert (strips[:, 1] <= np.where(strips[:, 3], n_lanes, n_lanes * constants.ROWS)).all()
    assert (strips[strips[:, 3] == 0, 1] % constants.ROWS == 0).all()
    kept_columns = driver.view(a.checkpoint_columns, np.uint32, 1)
    while kept_columns[-1] != 0xFFFFFFFF:
        kept_columns = driver.view(a.checkpoint_columns, np.uint32, len(kept_columns) + 1)
    first, extend = constants.GAP_FIRST, constants.GAP_EXTEND
    h, f = (driver.view(address, score, padded)[:n].astype(np.int64) for address in (a.top_H, a.top_F))
    left_h, left_e = driver.view(a.left_H, score, a.n_rows + 1), driver.view(a.left_E, score, a.n_rows)
    columns, best = np.arange(n), (0, 0, 0)
    lines = {int(end): int(line) for end, line in zip(ends, strips[:, 2], strict=True) if line >= 0}
    for row in range(a.n_rows):
        base = np.maximum(np.concatenate([left_h[row : row + 1], h[:-1]]) + table[query[row], letters], f)
        base = np.maximum(base, 0) if is_local else base
        opened = np.maximum.accumulate(base + columns * extend)[:-1] - first - (columns[1:] - 1) * extend
        e = np.maximum(np.int64(left_e[row]) - columns * extend, np.concatenate([[left_e[row]], opened]))
        h = np.maximum(base, e)
        e, f = np.maximum(e - extend, h - first), np.maximum(f - extend, h - first)
        place = int(h.argmax())
        best = min(best, (-int(h[place]), place, row))
        for number, column in enumerate(kept_columns[:-1]):
            for address, values in ((a.column_H, h), (a.column_E, e)):
                at = address + np.dtype(score).itemsize * (number * a.n_rows + row)
                driver.view(at, score, 1)[0] = values[column]
        if row + 1 in lines:
            for address, values in ((a.row_H, h), (a.row_F, f)):
                at = address + np.dtype(score).itemsize * lines[row + 1] * padded
                driver.view(at, score, padded)[:n] = values
    found = driver.view(a.ends, np.int64, 3 * a.n_strips).reshape(-1, 3)
    found[:] = 0, -1, -1
    if a.gain < 1 << 63:
        found[0] = -best[0], best[2], best[1]


def dp_rows(query, target, table, gap_first, gap_extend, top=None):
    """Best score, and h, f below, of query rows against folded letters, of which 0 is none; top: h, f above."""
    n = len(target)
    h, f = (np.zeros(n, np.int64), np.full(n, NOTHING, np.int64)) if top is None else top
    scores = np.concatenate([np.full((len(table), 1), NO_LETTER), table], axis=1)
    columns, best = np.arange(n), 0
    for letter in query:
        diagonal = np.concatenate([[0], h[:-1]]) + scores[letter, target] if n else h
        best = max(best, int(diagonal.max(initial=0)))
        h = np.maximum(np.maximum(diagonal, f), 0)
        reach = np.maximum.accumulate(h + columns * gap_extend)
        e = np.concatenate([[NOTHING], reach[:-1] - gap_first - (columns[1:] - 1) * gap_extend]) if n else h
        h = np.maximum(h, e)
        f = np.maximum(f - gap_extend, h - gap_first)
    return best, h, f


def packed(low, high):
    """Two int16 in a word; what does not fit is cut off, as nobody may rely on it."""
    low, high = (
        np.clip(half, NOTHING, MAX_PACKED).astype(np.int16).view(np.uint16).astype(np.uint32) for half in (low, high)
    )
    return low | high << 16


def halves_of(words):
    return tuple((words >> shift & 0xFFFF).astype(np.uint16).view(np.int16).astype(np.int64) for shift in (0, 16))


def expand(driver, a, constants):
    for column in range(driver.grid[1]):
        address, n, first_run, n_runs, stride, is_wide = driver.view(a.columns + 48 * column, np.int64, 6).tolist()
        runs = driver.view(a.breakpoints + BREAKPOINT.itemsize * first_run, BREAKPOINT, n_runs)
        dtype, size = (np.int64, 8) if is_wide else (np.uint32, 4)
        for i in range(n):
            first, step, value = runs[runs["first"] <= i][-1].tolist()
            driver.view(address + size * stride * i, dtype, 1)[0] = value + (i - first) * step


def pack(driver, a, constants, packing):
    step = 1 if packing == Packing.TWO_QUERIES else 2
    n_ids = -(-a.n_targets // step)
    offsets = driver.view(a.offsets, np.int64, a.n_targets + 1)
    starts = driver.view(a.starts, np.uint32, n_ids + 1).astype(int)
    codes, fold = driver.view(a.codes, np.uint8, offsets[-1]), driver.view(a.fold, np.uint8, 256)
    stream = driver.view(a.stream, np.uint8, 4 * step * starts[-1]).reshape(-1, step, 4)
    stream[0] = 0
    for number in range(n_ids):
        letters = np.zeros((step, 4 * (starts[number + 1] - starts[number])), int)
        for half, target in enumerate(range(step * number, min(step * (number + 1), a.n_targets))):
            own = fold[codes[offsets[target] : offsets[target + 1]]]
            letters[half, : len(own)] = own
        if packing == Packing.LETTER_PAIRS:
            pairs = (letters[0] * (constants.LETTERS + 1) + letters[1]).astype(np.uint16)
            letters = pairs.view(np.uint8).reshape(-1, 2, 4)
        else:
            letters = letters.reshape(step, -1, 4).swapaxes(0, 1)
        stream[starts[number] : starts[number + 1]] = letters
        stream[starts[number + 1] - 1, -1, 3] |= 0x80


def stream_letters(driver, a, constants, n_tiles):
    """Whether tiles are marked, and the letters of both halves."""
    n_letters = constants.LETTERS + 1
    if constants.PACKING == Packing.LETTER_PAIRS:
        symbols = driver.view(a.stream, np.uint16, 4 * n_tiles).astype(int)
        letters, mark = symbols & 0x7FFF, symbols & 0x8000
        return mark[3::4] > 0, (letters // n_letters, letters % n_letters)
    n_words = 1 if constants.PACKING == Packing.TWO_QUERIES else 2
    symbols = driver.view(a.stream, np.uint8, 4 * n_words * n_tiles).astype(int).reshape(n_tiles, n_words, 4)
    letters = symbols.copy()
    letters[:, -1, 3] &= 0x7F
    return symbols[:, -1, 3] >= 0x80, (letters[:, 0].reshape(-1), letters[:, -1].reshape(-1))


def stream_scores(driver, a, constants):
    assert a.n_strips > 0
    for flags in (a.tickets, a.chunks_done):
        assert not driver.view(flags, np.uint32, a.n_strips).any(), "strips of another launch are there"
    driver.view(a.tickets, np.uint32, a.n_strips)[:] = a.n_chunks
    chunks = driver.view(a.chunks, np.uint32, 2 * (a.n_chunks + 1)).reshape(-1, 2).astype(int)
    n_tiles, n_ids = chunks[-1]
    assert (driver.view(a.target_flags, np.uint32, n_ids) <= a.n_strips_before).all()
    driver.view(a.target_flags, np.uint32, n_ids)[:] = a.n_strips_before + a.n_strips
    is_marked, letters = stream_letters(driver, a, constants, n_tiles)
    ends = np.flatnonzero(is_marked) + 1
    assert len(ends) == n_ids
    assert not any(half[:4].any() for half in letters)
    assert [1, *ends[chunks[1:, 1] - 1]] == chunks[:, 0].tolist()
    stacks = driver.view(a.stacks, np.uint32, 8 * constants.LANES * a.n_strips).reshape(a.n_strips, -1, 2, 4)
    assert (stacks[..., 1] <= constants.ROWS).all()
    for stack in stacks:
        strip_scores(driver, a, constants, letters, ends, stack)


def strip_scores(driver, a, constants, letters, ends, stack):
    """One strip of a launch over all targets."""
    is_paired = constants.PACKING != Packing.TWO_QUERIES
    gaps = constants.GAP_FIRST, constants.GAP_EXTEND
    has_top, has_bottom = bool((stack[0, :, 3] & 1).any()), bool((stack[-1, :, 3] & 2).any())
    assert bool(constants.KEEPS_ROWS) == (has_top or has_bottom)
    kept = driver.view(a.boundary, np.uint32, 8 * int(ends[-1])).reshape(-1, 2, 4) if constants.KEEPS_ROWS else None
    table = packed_table(driver, a.table, constants)
    if is_paired:
        assert (stack[:, 0] == stack[:, 1]).all()
    for number, (begin, end) in enumerate(zip([1, *ends[:-1]], ends, strict=True)):
        below = []
        for half in (0, 1):
            target = letters[half][4 * begin : 4 * end]
            above = best = None
            if has_top:
                above = tuple(halves_of(kept[begin:end, which].reshape(-1))[half] for which in (0, 1))
            for lane, (first, n_rows, query, joined) in enumerate(stack[:, half].tolist()):
                is_joined = lane > 0 or has_top if is_paired else joined & 1
                codes = driver.view(a.queries + first, np.uint8, n_rows)
                own, *above = dp_rows(codes, target, table, *gaps, above if is_joined else None)
                if not n_rows and not is_joined:
                    above = np.zeros(len(target), np.int64), np.full(len(target), -constants.GAP_FIRST)
                best = max(own, best) if is_joined and best is not None else own
                if query != NO_QUERY:
                    column = 2 * number + half if is_paired else number
                    place = driver.view(a.scores + 4 * (query * a.row_stride + column), np.int32, 1)
                    place[0] = max(place[0], min(best, MAX_PACKED))
            below.append(above)
        if has_bottom:
            for which in (0, 1):
                kept[begin:end, which] = packed(below[0][which], below[1][which]).reshape(-1, 4)


def packed_table(driver, address, constants):
    """int16[letters of the query, LETTERS]: what a table of halves of words holds."""
    n_columns = -(-(1 + constants.LETTERS) // 8) * 8
    halves = driver.view(address, np.int16, (1 + driver.n_rows_of_table) * n_columns).reshape(-1, n_columns)
    assert (halves[0] == -32768).all()
    assert (halves[:, 0] == -32768).all()
    return halves[1:, 1 : 1 + constants.LETTERS]


def block_scores(driver, a, constants):
    items = driver.view(a.items, np.uint32, 4 * a.n_items).reshape(-1, 4).astype(int)
    table = driver.view(a.table, np.int16, constants.LETTERS * driver.n_rows_of_table).reshape(-1, constants.LETTERS)
    fold = driver.view(a.fold, np.uint8, 256)
    ticket, overflows = driver.view(a.ticket, np.uint32, 1), driver.view(a.overflows, np.uint32, 1)
    assert ticket[0] == 0, "the ticket was not set to 0"
    ticket[0] = a.n_items * a.n_strips
    if a.n_strips > 1:
        driver.view(a.boundary, np.int64, a.n_items * a.boundary_stride)
        assert not driver.view(a.n_written, np.uint32, a.n_items * a.n_strips).any()
    for query, row, begin, length in items:
        offset, end = driver.view(a.offsets + 8 * row, np.int64, 2)
        assert begin + length <= end - offset
        first, last = driver.view(a.query_offsets + 8 * query, np.int64, 2)
        assert last - first <= a.n_strips * constants.THREADS * constants.ROWS
        assert a.n_strips == 1 or a.boundary_stride >= length
        target = fold[driver.view(a.codes + int(offset) + begin, np.uint8, length)]
        codes = driver.view(a.queries + int(first), np.uint8, int(last - first))
        best = dp_rows(codes, target, table, constants.GAP_FIRST, constants.GAP_EXTEND)[0]
        place = driver.view(a.scores + 4 * (query * a.row_stride + row), np.int32, 1)
        place[0] = max(place[0], min(best, 2**31 - 1))
        overflows[0] += best > a.limit


def find_overflows(driver, a, constants):
    count = driver.view(a.count, np.uint32, 1)
    offsets = driver.view(a.offsets, np.int64, a.n_targets + 1)
    for query in range(a.n_queries):
        scores = driver.view(a.scores + 4 * query * a.row_stride, np.int32, a.n_targets)
        for row in np.flatnonzero(scores > a.limit).tolist():
            if count[0] < a.capacity:
                item = driver.view(a.items + 16 * int(count[0]), np.uint32, 4)
                item[:] = query, row, 0, offsets[row + 1] - offsets[row]
                scores[row] = 0
            count[0] += 1


def cut(driver, a, constants):
    count = driver.view(a.count, np.uint32, 1)
    bins = length_bin(np.diff(driver.view(a.offsets, np.int64, a.n_targets + 1)))
    minimum = driver.view(a.minimum, np.int32, a.n_queries * constants.BINS).reshape(-1, constants.BINS)
    for query in range(a.n_queries):
        scores = driver.view(a.scores + 4 * query * a.row_stride, np.int32, a.n_targets)
        for row in np.flatnonzero(scores >= minimum[query, bins]).tolist():
            if count[0] < a.capacity:
                place = driver.view(a.candidates + 12 * int(count[0]), np.int32, 3)
                place[:] = a.first_query + query, row, scores[row]
            count[0] += 1


KERNELS = {
    "expand": expand,
    "pack_singles": lambda *a: pack(*a, Packing.TWO_QUERIES),
    "pack_pairs": lambda *a: pack(*a, Packing.LETTER_PAIRS),
    "pack_merged": lambda *a: pack(*a, Packing.MERGED),
    "stream_scores": stream_scores,
    "block_scores": block_scores,
    "find_overflows": find_overflows,
    "cut": cut,
    "fill_region": fill_region,
    "fill_region_packed": fill_region,
}


def install(monkeypatch, driver, n_letters):
    """Let the cuda engine run on a fake driver, with a pool in which no device is open."""
    from exaln.engines.cuda import engine
    from exaln.engines.cuda.device_pool import DevicePool
    from exaln.engines.cuda.runtime import compiler, device, probe

    driver.n_rows_of_table = n_letters
    gpus = [SimpleNamespace(name="Fake GPU", memory_bytes=driver.memory) for _ in range(driver.n_gpus)]
    monkeypatch.setattr(device, "load_driver", lambda: driver)
    monkeypatch.setattr(compiler, "cubins", lambda sources, *_: {source: repr(source).encode() for source in sources})
    monkeypatch.setattr(probe, "Driver", lambda: SimpleNamespace(gpus=lambda: gpus))
    monkeypatch.setattr(probe, "unavailable_reason", lambda: None)
    monkeypatch.setattr(engine, "PROCESS_POOL", DevicePool())
    return driver
