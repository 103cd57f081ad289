"""NVRTC, the compiler of CUDA kernels, through cuda-bindings.

Loading its library takes longer than reading cached kernels. So its version is remembered beside them, and asked again
when the library, or where it is looked for, has changed.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from exaln.engines.cuda.runtime.kernel_cache import read_cached, write_cached
from exaln.foundation.user_cache import cache_folder

SEARCHED = ("LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX")
"""Variables that decide which library is found, besides the installed packages."""


class CompileError(Exception):
    """A program does not compile; the message is the log of NVRTC."""


class Compiler(NamedTuple):
    """An NVRTC. version: such as "13.4". n_bytes: the size of its library, because builds differ."""

    version: str
    library: str
    n_bytes: int
    mtime_ns: int


def known_compiler() -> Compiler | None:
    """The installed NVRTC, as remembered or else as `loaded_compiler`."""
    return _remembered() or loaded_compiler()


@cache
def loaded_compiler() -> Compiler | None:
    """Load NVRTC and return what it is, or None if it or cuda-bindings is not installed."""
    try:
        from cuda.bindings import nvrtc
        from cuda.pathfinder import load_nvidia_dynamic_lib

        status, major, minor = nvrtc.nvrtcVersion()
        library = load_nvidia_dynamic_lib("nvrtc").abs_path or ""
        size, mtime_ns = _size_and_time(library)
    except (ImportError, RuntimeError, OSError):
        return None
    return Compiler(f"{major}.{minor}", library, size, mtime_ns) if status == 0 else None


def compiler_version() -> str | None:
    """NVRTC's version, such as "13.4", or None if it or cuda-bindings is not installed."""
    compiler = loaded_compiler()
    return None if compiler is None else compiler.version


def remember_compiler(compiler: Compiler) -> None:
    """Keep what `known_compiler` returns for later processes."""
    if compiler != _remembered():
        lines = compiler.version, str(compiler.n_bytes), str(compiler.mtime_ns), compiler.library
        write_cached(_memory(), "\n".join(lines).encode("utf-8", "surrogateescape"))


def compile_program(name: str, text: str, options: Sequence[str]) -> bytes:
    """The cubin of a program. Raises CompileError. Other threads run meanwhile."""
    from cuda.bindings import nvrtc

    program = _checked(nvrtc.nvrtcCreateProgram(text.encode(), name.encode(), 0, [], []))
    try:
        encoded = [option.encode() for option in options]
        status = nvrtc.nvrtcCompileProgram(program, len(encoded), encoded)[0]
        if status != 0:
            log = _text(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program)
            raise CompileError(log.rstrip(b"\0").decode("utf-8", "replace") or status.name)
        return _text(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, program)
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _text(size_of: Any, read: Any, program: Any) -> bytes:
    """What NVRTC writes into a buffer of the size that it names."""
    content = bytearray(_checked(size_of(program)))
    _checked(read(program, content))
    return bytes(content)


def _checked(result: tuple[Any, ...]) -> Any:
    """The value of a call, if it has one. Raises CompileError if the call failed."""
    status, *values = result
    if status != 0:
        raise CompileError(status.name)
    return values[0] if values else None


def _remembered() -> Compiler | None:
    content = read_cached(_memory())
    if content is None:
        return None
    version, n_bytes, mtime_ns, library = content.decode("utf-8", "surrogateescape").split("\n", 3)
    compiler = Compiler(version, library, int(n_bytes), int(mtime_ns))
    try:
        found = _size_and_time(compiler.library)
    except OSError:
        return None
    return compiler if found == (compiler.n_bytes, compiler.mtime_ns) else None


def _size_and_time(library: str) -> tuple[int, int]:
    status = Path(library).stat()
    return status.st_size, status.st_mtime_ns


def _memory() -> Path:
    """The file in which the NVRTC of this environment is remembered."""
    place = [sys.prefix, *(os.environ.get(name) for name in SEARCHED)]
    return cache_folder() / f"nvrtc-{hashlib.sha256(repr(place).encode()).hexdigest()[:16]}.txt"
