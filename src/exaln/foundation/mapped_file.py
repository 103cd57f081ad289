"""Memory-mapped files, and checks that they did not change while they were in use.

Databases and work directories map their files. If another process changes a mapped file in place, results change
silently; if it truncates the file, a read ends the process with SIGBUS. `WatchedFile` guards against both: code that
reads one calls `require_unchanged` after the last read and before it returns anything that depends on it.
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
    """A mapped regular file. It may be deleted or renamed while it is open, but must not change.

    Changes are recognised by size and modification time. Opening raises OSError, also for a symbolic link;
    FileNotFoundError if there is no file.
    """

    def __init__(self, directory: Path, name: str) -> None:
        self.path = directory / name
        self._mapped = _with_enough_descriptors(lambda: _map(directory, name))
        self._identity = self._mapped.identity
        self.bytes: NDArray[np.uint8] = self._mapped.bytes
        """uint8[size], read-only; bytes that can no longer be read are 0."""

    def __reduce__(self) -> tuple[type[WatchedFile], tuple[Path, str]]:
        """Pickles the path: another process opens the file again."""
        return WatchedFile, (self.path.absolute().parent, self.path.name)

    def require_unchanged(self) -> None:
        """Raise DatabaseError if the file changed after it was opened, so that what was read cannot be trusted."""
        if self._mapped.has_faulted or self._mapped.identity != self._identity:
            raise self._changed()

    def read(self, place: int, out: NDArray[np.uint8]) -> None:
        """Fill `out`, contiguous, with the bytes from `place` on, without touching the mapping.

        Raises DatabaseError if the file has become shorter, or cannot be read.
        """
        view, done = out.data, 0
        try:
            while done < len(view):
                n_read = os.preadv(self._mapped.descriptor, [view[done:]], place + done)
                if not n_read:
                    raise self._changed()
                done += n_read
        except OSError as error:
            raise DatabaseError(f"{self.path}: cannot be read: {error.strerror}") from None

    def _changed(self) -> DatabaseError:
        return DatabaseError(
            f"{self.path}: changed while it was in use, so nothing is reported; "
            "restore the file or build it again, and do not write to files of exaln"
        )

    def xxh3_64(self) -> str:
        """The hash of the whole file in hexadecimal digits. It is read in blocks, so it takes little memory."""
        import xxhash

        digest, place = xxhash.xxh3_64(), 0
        while block := os.pread(self._mapped.descriptor, HASHED_AT_ONCE, place):
            digest.update(block)
            place += len(block)
        return str(digest.hexdigest())


@contextmanager
def unchanged(require_unchanged: Callable[[], None]) -> Iterator[None]:
    """A `with` block that reads files. If they changed meanwhile, that error is raised instead of any other."""
    try:
        yield
    except Exception:
        require_unchanged()
        raise
    require_unchanged()


def read_unchanged(require_unchanged: Callable[[], None], items: Iterable[Item]) -> Generator[Item, None, None]:
    """The items, which are computed from files; each is yielded only if the files did not change before."""
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
    """Open a file. If the process is out of descriptors, raise its limit as far as allowed and try again."""
    import resource

    try:
        return open_file()
    except OSError as error:
        limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        if error.errno != errno.EMFILE or limit == most:
            raise
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        return open_file()
