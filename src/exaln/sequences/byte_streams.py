"""Read plain and compressed files: gzip (also BGZF), bzip2, xz and zstd, recognised by content and not by name.

A file may have several members. It must end where a member ends, and only zeros may follow. The usual readers are less
strict: the standard library ignores trailing data after a bzip2 or xz stream, and the stream reader of `zstandard`
accepts a truncated frame.
"""

from __future__ import annotations

import bz2
import io
import itertools
import lzma
import os
import select
import stat
import sys
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, Protocol, cast

from exaln.errors import InputError

Source = str | os.PathLike[str] | BinaryIO
"""A path, "-" for stdin, or a binary file."""

CHUNK_BYTES = 1 << 20
GZIP = b"\x1f\x8b"
BZIP2 = b"BZh"
XZ = b"\xfd7zXZ\x00"
ZSTD = b"\x28\xb5\x2f\xfd"
ZSTD_SKIPPABLE = frozenset(bytes([0x50 + i]) + b"\x2a\x4d\x18" for i in range(16))
BGZF_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
"""The empty block at the end of every BGZF file, which reveals a truncation between blocks."""

FOREIGN = {
    b"PK\x03\x04": "a zip archive",
    b"7z\xbc\xaf\x27\x1c": "a 7-Zip archive",
    b"Rar!": "a RAR archive",
    b"\x1f\x9d": "packed by compress (.Z)",
    b"\x04\x22\x4d\x18": "packed by lz4",
}
HEAD_BYTES = 32
PACKED_BYTES = 1 << 16
PIECE_BYTES = 1 << 10
"""Compressed bytes per call of a decompressor: few, because zstd's output is bounded only by its input."""


PATIENCE_MS = 100
"""How long a read of a pipe may wait before signals are handled."""


class ByteStream:
    """An iterator over the decompressed bytes of a source, in chunks; a chunk is valid until the next but one.

    source: a path, "-" for stdin, or a binary file. Raises InputError if it cannot be read or is damaged.
    """

    def __init__(self, source: Source, chunk_bytes: int = CHUNK_BYTES) -> None:
        self.name, stream, self._owned = _open(source)
        self.bytes_total = _size(stream)
        try:
            self._stored = _StoredBytes(self.name, stream, _waiting_for(source, stream))
            self._chunks = _unpack(self._stored, chunk_bytes)
            self._chunk_bytes = chunk_bytes
        except BaseException:
            self.close()
            raise

    @property
    def bytes_read(self) -> int:
        """Bytes read of the source as stored, before decompression."""
        return self._stored.bytes_read

    @property
    def head(self) -> bytes:
        """The first bytes of the source as stored."""
        return self._stored.head

    def regular_descriptor(self) -> int | None:
        """The descriptor of a regular file that was opened by its path; None for pipes and for files passed open."""
        return None if self._owned is None or _may_wait(self._owned) else self._owned.fileno()

    def __iter__(self) -> Iterator[memoryview]:
        return self

    def __next__(self) -> memoryview:
        return next(self._chunks)

    def full_chunks(self) -> Iterator[memoryview]:
        """The chunks that were not read yet, all but the last of full size."""
        is_in_pieces = self.head.startswith((BZIP2, XZ, ZSTD)) or self.head[:4] in ZSTD_SKIPPABLE
        return _blocks(_Joined(self._chunks), self._chunk_bytes) if is_in_pieces else self._chunks

    def close(self) -> None:
        """Close the file if this object opened it; stdin and files passed open stay open."""
        if self._owned is not None:
            self._owned.close()


def is_packed(path: str | os.PathLike[str]) -> bool:
    """Whether a path names a regular file that is compressed; False as well if it cannot be read."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116
            return False
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123
            head = file.read(HEAD_BYTES)
    except (OSError, ValueError):
        return False
    return head.startswith((GZIP, BZIP2, XZ, ZSTD)) or head[:4] in ZSTD_SKIPPABLE


def _open(source: Source) -> tuple[str, BinaryIO, BinaryIO | None]:
    """The name of a source for messages, its stream, and the stream again if `close` must close it, else None."""
    if source == "-":
        if sys.stdin is None:
            raise InputError("<stdin>: there is no standard input")
        return "<stdin>", sys.stdin.buffer, None
    if isinstance(source, (str, os.PathLike)):
        name = printable(os.fspath(source))
        try:
            stream = cast(BinaryIO, open(source, "rb", buffering=0))  # noqa: PTH123, SIM115 (names may be odd; closed by close)
        except (OSError, ValueError) as error:
            raise InputError(f"{name}: cannot be read: {_reason(error)}") from None
        return name, stream, stream
    stream_name = getattr(source, "name", None)
    return printable(stream_name) if isinstance(stream_name, str) else "<stream>", source, None


def _size(stream: BinaryIO) -> int | None:
    """Bytes from the current position to the end; None if unknown, as for pipes."""
    try:
        here = stream.tell()
        end = stream.seek(0, os.SEEK_END)
        stream.seek(here)
    except (OSError, AttributeError):
        return None
    return end - here


def _waiting_for(source: object, stream: BinaryIO) -> select.poll | None:
    """What tells whether stdin or a pipe that was opened by its path can be read without waiting; None for others.

    Files passed open may hold bytes in buffers of their own, so nothing is known about them.
    """
    try:
        if not isinstance(source, str | os.PathLike) or not _may_wait(stream):
            return None
        waiting = select.poll()
        waiting.register(stream.fileno(), select.POLLIN)
    except (OSError, AttributeError):  # stdin was replaced by another object
        return None
    return waiting


def _may_wait(stream: BinaryIO) -> bool:
    return not stat.S_ISREG(os.fstat(stream.fileno()).st_mode)


class _StoredBytes(io.RawIOBase):
    """The source as stored: counts the bytes read, keeps the first bytes for a look ahead, and the last ones.

    A signal that comes right before a read of a pipe would be noticed only after it. So a read begins when there is
    something to read, and takes one system call; `readinto` of a buffered file makes many.
    """

    def __init__(self, name: str, stream: BinaryIO, waiting: select.poll | None = None) -> None:
        self.name = name
        self.bytes_read = 0
        self.tail = b""
        self._stream = stream
        self._waiting = waiting
        self._readinto = getattr(stream, "readinto1", None) or getattr(stream, "readinto", None) or self._copy
        head = bytearray(HEAD_BYTES)
        n = 0
        while n < HEAD_BYTES and (more := self._fill(memoryview(head)[n:])):
            n += more
        self.head = self._unread = bytes(head[:n])

    def readable(self) -> bool:
        return True

    def take_head(self) -> bytes:
        """The first bytes, which are then not read again."""
        head, self._unread = self._unread, b""
        return head

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        if not self._unread:
            return self._fill(view)
        n = min(len(view), len(self._unread))
        view[:n], self._unread = self._unread[:n], self._unread[n:]
        return n

    def _fill(self, view: memoryview) -> int:
        try:
            while self._waiting is not None and not self._waiting.poll(PATIENCE_MS):
                pass  # signals are handled here
            n = self._readinto(view)
        except OSError as error:
            raise InputError(f"{self.name}: cannot be read: {_reason(error)}") from None
        if n is None:
            raise InputError(f"{self.name}: the stream is in non-blocking mode and has no data yet; make it blocking")
        self.bytes_read += n
        self.tail = (self.tail + bytes(view[max(0, n - len(BGZF_END)) : n]))[-len(BGZF_END) :]
        return int(n)

    def _copy(self, view: memoryview) -> int:
        piece = self._stream.read(len(view))
        if not isinstance(piece, (bytes, bytearray)):
            raise InputError(f"{self.name}: the file is open in text mode; open it in binary mode ('rb')")
        view[: len(piece)] = piece
        return len(piece)


def _unpack(stored: _StoredBytes, chunk_bytes: int) -> Iterator[memoryview]:
    head = stored.head
    if head.startswith(GZIP):
        return _guarded(_gunzip(stored, chunk_bytes), stored.name, "gzip")
    if head.startswith(BZIP2):
        return _guarded(_members(stored, bz2.BZ2Decompressor, chunk_bytes), stored.name, "bzip2")
    if head.startswith(XZ):
        return _guarded(_members(stored, _new_xz, chunk_bytes), stored.name, "xz")
    if head.startswith(ZSTD) or head[:4] in ZSTD_SKIPPABLE:
        return _guarded(_members(stored, _ZstdFrame, chunk_bytes), stored.name, "zstd")
    for magic, description in FOREIGN.items():
        if head.startswith(magic):
            raise InputError(
                f"{stored.name}: {description}; unpack it first (exaln reads plain text, gzip, bzip2, xz and zstd)"
            )
    return itertools.chain([memoryview(stored.take_head())] if head else [], _blocks(stored, chunk_bytes))


def _blocks(stream: io.RawIOBase | BinaryIO, chunk_bytes: int) -> Iterator[memoryview]:
    """Chunks of a stream, all but the last of full size, read into two buffers in turn."""
    for view in itertools.cycle([memoryview(bytearray(chunk_bytes)) for _ in range(2)]):
        n = 0
        try:
            while n < chunk_bytes and (more := stream.readinto(view[n:])):  # type: ignore[union-attr]
                n += more
        except Exception:
            if n:
                yield view[:n]  # an error in these bytes comes before this one
            raise
        if n:
            yield view[:n]
        if n < chunk_bytes:
            return


class _Joined(io.RawIOBase):
    """Pieces of bytes as a file."""

    def __init__(self, pieces: Iterator[memoryview]) -> None:
        self._pieces = pieces
        self._piece = memoryview(b"")

    def readinto(self, buffer: Any) -> int:
        while not self._piece:
            try:
                self._piece = next(self._pieces)
            except StopIteration:
                return 0
        n = min(len(buffer), len(self._piece))
        buffer[:n], self._piece = self._piece[:n], self._piece[n:]
        return n


def _guarded(chunks: Iterator[memoryview], name: str, format_name: str) -> Iterator[memoryview]:
    """The chunks; any error of a decompression library becomes an InputError that names the file."""
    try:
        yield from chunks
    except (InputError, MemoryError, ImportError):
        raise
    except Exception as error:
        reason = printable(str(error)).rstrip(".")
        raise InputError(f"{name}: truncated or damaged {format_name} data ({reason}); get the file again") from None


def _gunzip(stored: _StoredBytes, chunk_bytes: int) -> Iterator[memoryview]:
    from xopen import xopen

    with xopen(cast(BinaryIO, stored), "rb", threads=0, format="gz") as unpacked:
        yield from _blocks(unpacked, chunk_bytes)
    is_bgzf = stored.head[3:4] == b"\x04" and stored.head[12:14] == b"BC"
    if is_bgzf and stored.tail != BGZF_END:
        raise EOFError("the block that ends every BGZF file is missing")


class _Decompressor(Protocol):
    """A decompressor for one member, with the interface of `bz2` and `lzma`."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


def _new_xz() -> _Decompressor:
    return lzma.LZMADecompressor(lzma.FORMAT_XZ)


class _ZstdFrame:
    """A decompressor for one zstd frame, which may be skippable. 4 bytes give at most 128 KiB, a piece 32 MiB."""

    needs_input = True

    def __init__(self) -> None:
        import zstandard

        self._frame = zstandard.ZstdDecompressor(max_window_size=1 << 31).decompressobj()

    @property
    def eof(self) -> bool:
        return self._frame.eof

    @property
    def unused_data(self) -> bytes:
        return self._frame.unused_data

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        return self._frame.decompress(data)


def _members(stored: _StoredBytes, new_member: Callable[[], _Decompressor], chunk_bytes: int) -> Iterator[memoryview]:
    """The decompressed chunks of all members; EOFError if the file ends inside a member."""
    member: _Decompressor | None = None
    while packed := stored.read(PACKED_BYTES):
        place = 0
        while place < len(packed):
            if member is None and packed[place] == 0:
                place += 1
                continue
            member = member or new_member()
            piece = packed[place : place + PIECE_BYTES]
            yield from _unpack_piece(member, piece, chunk_bytes)
            place += len(piece) - len(member.unused_data)
            if member.eof:
                member = None
    if member is not None:
        raise EOFError("the file ends inside a member")


def _unpack_piece(member: _Decompressor, piece: bytes, chunk_bytes: int) -> Iterator[memoryview]:
    while True:
        unpacked = memoryview(member.decompress(piece, chunk_bytes))
        for begin in range(0, len(unpacked), chunk_bytes):
            yield unpacked[begin : begin + chunk_bytes]
        if member.eof or member.needs_input:
            return
        piece = b""


def printable(text: str) -> str:
    """Text for a one-line message: characters that cannot be printed are escaped.

    >>> print(printable("two\\nlines"))
    two\\nlines
    """
    return text if text.isprintable() else repr(text)[1:-1]


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or printable(str(error))
