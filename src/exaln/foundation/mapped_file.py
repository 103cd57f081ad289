"""Files that are read through memory while they are in use, and whether they are still what was opened.

Databases and work directories map their files. A file that another process changes in place would change results
without a word, and one that becomes shorter would end the process with SIGBUS. So whoever reads a `WatchedFile` calls
`require_unchanged` after the last read and before anything that follows from it is handed out.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from exaln.errors import DatabaseError
from exaln.foundation.state_file import open_beside

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from exaln._core import MappedFile

HASHED_AT_ONCE = 16 << 20

Item = TypeVar("Item")


class WatchedFile:
    """A regular file as bytes. It may be deleted or renamed while it is open, but must not change.

    A change is one of size or modification time. Opening raises OSError, for a symbolic link too, and FileNotFoundError
    if there is no file.
    """

    def __init__(self, directory: Path, name: str) -> None:
        self.path = directory / name
        self._mapped = _with_enough_descriptors(lambda: _map(directory, name))
        self._identity = self._mapped.identity
        self.bytes: NDArray[np.uint8] = self._mapped.bytes
        """uint8[size], read-only; bytes that could not be read any more are 0."""

    def __reduce__(self) -> tuple[type[WatchedFile], tuple[Path, str]]:
        """In another process it is opened again."""
        return WatchedFile, (self.path.absolute().parent, self.path.name)

    def require_unchanged(self) -> None:
        """DatabaseError if the file is not what was opened: then what was read since cannot be trusted."""
        if self._mapped.has_faulted or self._mapped.identity != self._identity:
            raise DatabaseError(
                f"{self.path}: changed while it was in use, so nothing is reported; "
                "restore the file or build it again, and do not write to files of exaln"
            )

    def xxh3_64(self) -> str:
        """The hash of the whole file, read and not mapped: what is only looked at once should not take memory."""
        import xxhash

        total, place = xxhash.xxh3_64(), 0
        while some := os.pread(self._mapped.descriptor, HASHED_AT_ONCE, place):
            total.update(some)
            place += len(some)
        return str(total.hexdigest())


@contextmanager
def unchanged(require_unchanged: Callable[[], None]) -> Iterator[None]:
    """A block that reads files. If they changed meanwhile, that is the error, whatever else went wrong."""
    try:
        yield
    except Exception:
        require_unchanged()
        raise
    require_unchanged()


def read_unchanged(require_unchanged: Callable[[], None], items: Iterable[Item]) -> Generator[Item, None, None]:
    """Items that are made from files: each is handed out only if the files did not change until it was there."""
    items = iter(items)
    with closing(items) if isinstance(items, Generator) else nullcontext():
        while True:
            with unchanged(require_unchanged):
                item = next(items, None)
            if item is None:
                return
            yield item


def _map(directory: Path, name: str) -> MappedFile:
    from exaln import _core

    descriptor = open_beside(directory, name)
    try:
        return _core.MappedFile(descriptor)
    finally:
        os.close(descriptor)


def _with_enough_descriptors(open_file: Callable[[], MappedFile]) -> MappedFile:
    """Each mapped file keeps a descriptor: where they run out, the limit is raised as far as this process may."""
    import resource

    try:
        return open_file()
    except OSError as error:
        limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        if error.errno != errno.EMFILE or limit == most:
            raise
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        return open_file()
