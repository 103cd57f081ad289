"""Compressed files: every format intact, in several members, truncated, damaged and padded."""

import bz2
import gzip
import io
import lzma
import os
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
import xopen
import zstandard

from exaln.errors import InputError
from exaln.sequences.byte_streams import BGZF_END, ByteStream

TEXT = b">one\nACDEFGHIKLMNPQRSTVWY\n>two\nMKV\n" * 30
HALVES = [TEXT[:500], TEXT[500:]]


def unpacked(source: bytes | Path, chunk_bytes: int = 1 << 20) -> bytes:
    stream = ByteStream(io.BytesIO(source) if isinstance(source, bytes) else source, chunk_bytes)
    try:
        return b"".join(bytes(chunk) for chunk in stream)
    finally:
        stream.close()


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


def bgzf_block(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    body = packer.compress(data) + packer.flush()
    head = b"\x1f\x8b\x08\x04" + bytes(4) + b"\x00\xff" + struct.pack("<H", 6) + b"BC" + struct.pack("<H", 2)
    return head + struct.pack("<H", len(body) + 25) + body + struct.pack("<II", zlib.crc32(data), len(data))


def skippable(data: bytes) -> bytes:
    return b"\x5a\x2a\x4d\x18" + struct.pack("<I", len(data)) + data


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstd,
}
PACKED = {name: pack(TEXT) for name, pack in PACKERS.items()}
WHOLE = {
    "plain": TEXT,
    **PACKED,
    **{f"{name}, two members": b"".join(map(pack, HALVES)) for name, pack in PACKERS.items()},
    **{f"{name}, an empty member": pack(b"") + pack(TEXT) for name, pack in PACKERS.items()},
    **{f"{name}, padded": pack(TEXT) + bytes(512) for name, pack in PACKERS.items()},
    "xz, padded between": lzma.compress(HALVES[0]) + bytes(8) + lzma.compress(HALVES[1]),
    "bgzf": b"".join(map(bgzf_block, HALVES)) + BGZF_END,
    "zstd, skippable frames": skippable(b"first")
    + zstd(HALVES[0])
    + skippable(b"")
    + zstd(HALVES[1])
    + skippable(b"x"),
    "zstd, size unknown": b"".join(zstandard.ZstdCompressor().read_to_iter(io.BytesIO(TEXT))),
}


@pytest.fixture(params=["isal", "zlib-ng", "standard library"])
def gzip_backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """xopen uses what is installed; damage must be noticed by each of them."""
    missing = {"isal": [], "zlib-ng": ["igzip"], "standard library": ["igzip", "gzip_ng"]}[request.param]
    for module in missing:
        monkeypatch.setattr(xopen, module, None)
    return str(request.param)


@pytest.mark.parametrize("chunk_bytes", [1, 100, 1 << 20])
@pytest.mark.parametrize("form", WHOLE)
def test_every_compression_is_recognised_in_a_file_with_a_wrong_name(
    tmp_path: Path, form: str, chunk_bytes: int
) -> None:
    path = tmp_path / ("x.gz" if form == "plain" else "x.fasta")
    path.write_bytes(WHOLE[form])
    assert unpacked(path, chunk_bytes) == TEXT


@pytest.mark.parametrize("form", WHOLE)
def test_every_compression_is_recognised_in_a_pipe(form: str) -> None:
    program = "import sys; from exaln.sequences.byte_streams import ByteStream; s = ByteStream('-'); "
    program += "[sys.stdout.buffer.write(c) for c in s]; print(s.name, s.bytes_total, s.bytes_read, file=sys.stderr)"
    run = subprocess.run([sys.executable, "-c", program], input=WHOLE[form], capture_output=True, check=True)
    assert run.stdout == TEXT
    assert run.stderr.decode().split() == ["<stdin>", "None", str(len(WHOLE[form]))]


@pytest.mark.parametrize("name", PACKED)
def test_every_truncation_is_an_error(name: str, gzip_backend: str) -> None:
    whole = PACKED[name]
    for cut in range(6, len(whole)):
        with pytest.raises(InputError, match=f"<stream>: truncated or damaged {name} data"):
            unpacked(whole[:cut])


@pytest.mark.parametrize("name", PACKED)
def test_every_truncation_of_a_second_member_is_an_error(name: str, gzip_backend: str) -> None:
    first, second = map(PACKERS[name], HALVES)
    for cut in range(1, len(second)):
        with pytest.raises(InputError, match=f"truncated or damaged {name}"):
            unpacked(first + second[:cut])


@pytest.mark.parametrize("name", PACKED)
def test_a_flipped_byte_never_changes_the_text(name: str, gzip_backend: str) -> None:
    first, second = map(PACKERS[name], HALVES)
    n_errors = 0
    for place in range(len(first), len(first) + len(second)):
        damaged = bytearray(first + second)
        damaged[place] ^= 0x10
        try:
            assert unpacked(bytes(damaged)) == TEXT
        except InputError:
            n_errors += 1
    assert n_errors > 0.8 * len(second)


@pytest.mark.parametrize(
    "garbage", [b"g", b"garbage that follows\n", b"\0\0\0\0garbage", b"\x1f", b"BZ", b"\xfd7z", TEXT]
)
@pytest.mark.parametrize("name", PACKED)
def test_garbage_after_a_member_is_an_error(name: str, garbage: bytes, gzip_backend: str) -> None:
    with pytest.raises(InputError, match=f"truncated or damaged {name}"):
        unpacked(PACKED[name] + garbage)


def test_bgzf_cut_between_blocks_is_an_error() -> None:
    with pytest.raises(InputError, match="BGZF"):
        unpacked(bgzf_block(HALVES[0]))


@pytest.mark.parametrize("magic", [b"PK\x03\x04", b"7z\xbc\xaf\x27\x1c", b"\x1f\x9d\x90"])
def test_other_archives_are_named(magic: bytes) -> None:
    with pytest.raises(InputError, match="unpack it first"):
        unpacked(magic + TEXT)


@pytest.mark.parametrize("name", PACKED)
def test_chunks_are_no_larger_than_asked_for(name: str) -> None:
    sizes = [len(chunk) for chunk in ByteStream(io.BytesIO(PACKERS[name](b"N" * (1 << 20))), 1000)]
    assert sum(sizes) == 1 << 20
    assert max(sizes) <= 1000


PEAK_MEMORY = """
import re
def peak_kibibytes():
    # Not getrusage: its peak survives exec, so it would be that of the process that runs the tests.
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
"""
UNPACK = """
from exaln.sequences.byte_streams import ByteStream
before = peak_kibibytes()
print(sum(map(len, ByteStream("-"))), peak_kibibytes() - before)
"""


@pytest.mark.parametrize("name", ["bzip2", "zstd"])
def test_a_highly_compressed_file_needs_little_memory(name: str) -> None:
    packed = PACKERS[name](b"N" * (256 << 20))
    run = subprocess.run([sys.executable, "-c", PEAK_MEMORY + UNPACK], input=packed, capture_output=True, check=True)
    n_bytes, kibibytes = map(int, run.stdout.split())
    assert n_bytes == 256 << 20
    assert kibibytes < 72 << 10


def test_bytes_read_counts_stored_bytes() -> None:
    stream = ByteStream(io.BytesIO(PACKED["xz"]))
    assert stream.bytes_total == len(PACKED["xz"])
    list(stream)
    assert stream.bytes_read == len(PACKED["xz"])


def test_an_open_file_is_read_from_its_current_position() -> None:
    source = io.BytesIO(b"skipped" + PACKED["zstd"])
    source.seek(7)
    stream = ByteStream(source)
    assert stream.bytes_total == len(PACKED["zstd"])
    assert b"".join(bytes(chunk) for chunk in stream) == TEXT


@pytest.mark.parametrize(
    ("make", "reason"), [("missing", "No such file"), ("folder", "directory"), ("nul\0", "null byte")]
)
def test_files_that_cannot_be_opened_are_an_input_error(tmp_path: Path, make: str, reason: str) -> None:
    if make == "folder":
        (tmp_path / make).mkdir()
    with pytest.raises(InputError, match=f"cannot be read: .*{reason}") as error:
        ByteStream(str(tmp_path / make))
    assert str(error.value).isprintable()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_an_input_error(tmp_path: Path) -> None:
    path = tmp_path / "secret.fa"
    path.write_bytes(TEXT)
    path.chmod(0)
    with pytest.raises(InputError, match="Permission denied"):
        ByteStream(path)


class Unready(io.RawIOBase):
    """A non-blocking stream without data."""

    def readinto(self, buffer: object) -> None:
        return None


class Broken(io.RawIOBase):
    """A disk that fails."""

    def readinto(self, buffer: object) -> int:
        raise OSError(5, "Input/output error")


class OnlyRead:
    """A file-like object with nothing but read."""

    def __init__(self, data: bytes) -> None:
        self.read = io.BytesIO(data).read


def test_failing_and_non_blocking_streams_are_an_input_error() -> None:
    with pytest.raises(InputError, match="non-blocking"):
        unpacked_stream(Unready())
    with pytest.raises(InputError, match="Input/output error"):
        unpacked_stream(Broken())
    with pytest.raises(InputError, match="binary mode"):
        unpacked_stream(io.StringIO(">a\nACDE\n"))


def unpacked_stream(stream: object) -> bytes:
    return b"".join(bytes(chunk) for chunk in ByteStream(stream))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", PACKED)
def test_objects_with_only_a_read_method_are_accepted(name: str) -> None:
    assert unpacked_stream(OnlyRead(PACKED[name])) == TEXT
