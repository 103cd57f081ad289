"""One opened device with what is kept on it between calls: streams, scratch buffers, and resident objects.

Scratch buffers have names and are reused by every call that asks for the same name. Resident objects, such as the
batches of a database, belong to an owner; they go when the owner dies, or when another call needs their memory.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Collection, Hashable, Mapping
from typing import TYPE_CHECKING, Any

from exaln.engines.cuda.runtime.device import Device, DeviceMemoryError, Memory, PinnedMemory

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Residents:
    """Objects on a device by owner and key. Owners are told apart by identity and are not kept alive."""

    def __init__(self) -> None:
        self._objects: dict[tuple[int, Hashable], Any] = {}
        self._alive: dict[int, weakref.ref[Any]] = {}
        self._in_use: frozenset[int] = frozenset()

    def get(self, owner: object, key: Hashable) -> Any:
        """Return the object of this owner and key, or None."""
        return self._objects.get((id(owner), key))

    def put(self, owner: object, key: Hashable, resident: Any) -> None:
        """Keep an object until its owner dies or it is evicted."""
        number = id(owner)
        self._objects[number, key] = resident
        self._alive[number] = weakref.ref(owner, lambda _: self._forget(number))

    def use(self, owners: Collection[object]) -> None:
        """Protect the objects of these owners, and of no others, from eviction."""
        self._in_use = frozenset(map(id, owners))

    def oldest_unused(self) -> int | None:
        """Return the number of the first owner that is not in use, or None."""
        return next((number for number, _ in list(self._objects) if number not in self._in_use), None)

    def evict(self, number: int) -> None:
        """Drop all objects of an owner. No launched work may still use them."""
        self._forget(number)

    def clear(self) -> None:
        """Drop all objects."""
        self._objects.clear()

    def _forget(self, number: int) -> None:
        for key in list(self._objects):
            if key[0] == number:
                self._objects.pop(key, None)
        self._alive.pop(number, None)


class Workspace:
    """A device with its streams, its buffers, and the objects that are resident on it.

    stream: for kernels. side_stream: for kernels and copies beside them. copy_stream: for uploads of batches.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self.stream = device.stream()
        self.side_stream = device.stream()
        self.copy_stream = device.stream()
        self.residents = Residents()
        self._scratch: dict[Hashable, Memory] = {}
        self._pinned: dict[Hashable, PinnedMemory] = {}
        self._kept: dict[Hashable, Any] = {}
        self._sizes: Mapping[Any, int] = {}
        self._touched: set[Hashable] = set()
        self._lock = threading.RLock()

    def begin(self, owners: Collection[object], sizes: Mapping[Any, int]) -> None:
        """Begin a call: objects of other owners may be evicted, and unused scratch buffers may be freed.

        sizes: bytes of scratch buffers that the call will ask for. They are allocated in full the first time, so that
        they need not grow.
        """
        self.residents.use(owners)
        self._sizes = sizes
        self._touched.clear()
        if self.spare < 0:
            self._free_unused_scratch()
            while self.spare < 0 and self._evict():
                pass

    @property
    def spare(self) -> int:
        """Bytes of the budget that remain after the scratch buffers that this call has announced."""
        held = {name: memory.n_bytes for name, memory in self._scratch.items()}
        missing = sum(max(0, size - held.get(name, 0)) for name, size in self._sizes.items())
        return self.device.budget - self.device.used - missing

    @property
    def room(self) -> int:
        """Bytes that this call can have, if it frees all scratch buffers of other calls."""
        return self.device.budget - self.device.used + sum(memory.n_bytes for memory in self._scratch.values())

    def kept(self, name: Hashable, make: Callable[[], Any]) -> Any:
        """Return the object of this name, which is made once and lives as long as the workspace."""
        if name not in self._kept:
            self._kept[name] = make()
        return self._kept[name]

    def allocate(self, n_bytes: int) -> Memory:
        """Allocate memory; if it is short, free unused scratch buffers and then residents of other owners.

        Raises DeviceMemoryError if there is nothing left to free.
        """
        with self._lock:
            while True:
                try:
                    return self.device.allocate(n_bytes)
                except DeviceMemoryError:
                    if not (self._free_unused_scratch() or self._evict()):
                        raise

    def scratch(self, buffer: Hashable, n_bytes: int) -> int:
        """Return the address of a scratch buffer of at least n_bytes. Its content is lost when it has to grow."""
        with self._lock:
            memory = self._scratch.get(buffer)
            self._touched.add(buffer)
            if memory is not None and memory.n_bytes >= n_bytes:
                return memory.address
            if memory is not None:
                self.device.synchronize()
                del self._scratch[buffer]
                memory.free()
            memory = self._scratch[buffer] = self.allocate(max(n_bytes, self._sizes.get(buffer, 0)))
            return memory.address

    def largest_scratch(self, buffers: Collection[Hashable]) -> tuple[int, int]:
        """Return address and bytes of the largest of these scratch buffers, or (0, 0).

        Buffers that this call has announced are allocated. The caller must know that no launched work uses them.
        """
        with self._lock:
            for buffer in buffers:
                if buffer in self._sizes:
                    self.scratch(buffer, 0)
            held = [self._scratch[buffer] for buffer in buffers if buffer in self._scratch]
            largest = max(held, key=lambda memory: memory.n_bytes, default=None)
            return (largest.address, largest.n_bytes) if largest is not None else (0, 0)

    def pinned(self, buffer: Hashable, n_bytes: int) -> NDArray[np.uint8]:
        """Return a pinned host buffer, uint8[n_bytes or more]. Copies from or to it must be done."""
        memory = self._pinned.get(buffer)
        if memory is None or memory.n_bytes < n_bytes:
            if memory is not None:
                self.device.synchronize()
            memory = self._pinned[buffer] = self.device.pinned(n_bytes)
        return memory.array

    def clear(self) -> None:
        """Free all memory, after waiting for the device."""
        self.device.synchronize()
        self._scratch.clear()
        self._pinned.clear()
        self.residents.clear()

    def _free_unused_scratch(self) -> bool:
        """Free scratch buffers that this call has not used; return False if there are none."""
        unused = [buffer for buffer in self._scratch if buffer not in self._touched]
        if unused:
            self.device.synchronize()
        for buffer in unused:
            self._scratch.pop(buffer).free()
        return bool(unused)

    def _evict(self) -> bool:
        """Evict the oldest owner that this call does not use; return False if there is none."""
        number = self.residents.oldest_unused()
        if number is None:
            return False
        self.device.synchronize()
        self.residents.evict(number)
        return True
