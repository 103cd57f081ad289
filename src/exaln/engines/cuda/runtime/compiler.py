"""The machine code (cubin) of kernel files: from the cache, or compiled by NVRTC.

A cubin depends only on its key: the text of the kernel and of all headers, the constants, the architecture, the
compiler and its options. A change of any of them gives another key, so the cache is never out of date.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Container, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from exaln.engines.cuda.runtime.kernel_cache import read_cached, write_cached
from exaln.engines.cuda.runtime.nvrtc import (
    Compiler,
    compile_program,
    compiler_version,
    known_compiler,
    loaded_compiler,
    remember_compiler,
)
from exaln.errors import EngineError
from exaln.foundation.resources import available_threads
from exaln.foundation.user_cache import cache_folder

KERNELS = Path(__file__).parents[1] / "kernels"

FORMAT = 3
"""Version of the layout and the keys of cached files; part of each key."""

STANDARD = "c++17"

FIRST_DPX = 90
"""From sm_90 on, DPX instructions add packed 16-bit pairs and take the maximum of three."""

FIRST_WITH_HEADERS = (13, 3)
"""The first NVRTC that contains CUDA's own headers."""

USUAL_HEADERS = Path("/usr/local/cuda/include")

NO_COMPILER = 'NVRTC, the compiler of CUDA kernels, is missing; pip install "exaln[cuda]"'

_compiling = threading.Lock()


@dataclass(frozen=True)
class Source:
    """A kernel file and the constants it is compiled with: ("ROWS", 32) becomes -DEXALN_ROWS=32.

    folder: where the file is; None for the engine's own kernels, whose headers it may include in any case.
    cuda_headers: whether it includes headers of CUDA, such as cooperative_groups.h, which take long to compile.
    """

    file: str
    constants: tuple[tuple[str, int], ...] = ()
    folder: Path | None = None
    cuda_headers: bool = False

    @property
    def folders(self) -> tuple[Path, ...]:
        """Folders that are searched for the file and its headers, in this order."""
        return (KERNELS,) if self.folder is None else (self.folder, KERNELS)


def cubin(source: Source, arch: str) -> bytes:
    """The machine code of one source for one architecture, such as "sm_90"."""
    return cubins([source], arch)[source]


def cubins(sources: Iterable[Source], arch: str, likely: Sequence[Source] = ()) -> dict[Source, bytes]:
    """The machine code of several sources. Those that are not cached are compiled in parallel.

    likely: sources that will be needed soon; they are compiled as well if any of the others is. Of several callers at
    a time (one per device), the others wait for the first and then read its results from the cache. EngineError if a
    kernel does not compile.
    """
    sources = list(dict.fromkeys(sources))
    found = _cached(sources, arch, known_compiler())
    if len(found) < len(sources):
        with _compiling:
            found |= _cached(_without(sources, found), arch, loaded_compiler())
            if missing := _without(sources, found):  # another process may write them meanwhile
                found |= _compile_all([*missing, *not_cached(_without(likely, missing), arch)], arch)
    return {source: found[source] for source in sources}


def not_cached(sources: Iterable[Source], arch: str) -> list[Source]:
    """Those of several sources that would have to be compiled."""
    wanted = list(dict.fromkeys(sources))
    return _without(wanted, _cached(wanted, arch, known_compiler()))


def has_dpx(arch: str) -> bool:
    """Whether kernels for this architecture use DPX instructions. EXALN_CUDA_DPX=0 selects the path of older devices.

    EngineError if EXALN_CUDA_DPX has another value than 0 or 1, or is 1 and the architecture has no DPX.
    """
    has_them = int(arch.removeprefix("sm_").rstrip("af")) >= FIRST_DPX
    setting = os.environ.get("EXALN_CUDA_DPX", "")
    if setting not in ("", "0", "1"):
        raise EngineError(f"EXALN_CUDA_DPX is {setting!r}; set it to 0 or 1")
    if setting == "1" and not has_them:
        raise EngineError(f"EXALN_CUDA_DPX is 1, but {arch} has no DPX instructions; they came with sm_{FIRST_DPX}")
    return has_them and setting != "0"


def _macros(source: Source, arch: str) -> list[tuple[str, str]]:
    constants = {"DPX": int(has_dpx(arch))} | dict(source.constants)
    return [(f"EXALN_{name}", str(value)) for name, value in constants.items()]


def _cached(sources: list[Source], arch: str, compiler: Compiler | None) -> dict[Source, bytes]:
    """The cubins by this compiler that are in the cache."""
    if not sources:
        return {}
    if compiler is None:
        raise EngineError(NO_COMPILER)
    read = {source: read_cached(file) for source, file in _files(sources, arch, compiler).items()}
    found = {source: code for source, code in read.items() if code is not None}
    if found:
        remember_compiler(compiler)
    return found


def _files(sources: Iterable[Source], arch: str, compiler: Compiler) -> dict[Source, Path]:
    """The paths of cached cubins. Their names contain a digest of everything that can change the cubin."""
    headers: dict[tuple[Path, ...], list[list[str]]] = {}
    folder, files = cache_folder(), {}
    for source in sources:
        if source.folders not in headers:
            headers[source.folders] = [
                _named_text(path) for one in source.folders for path in sorted(one.glob("*.cuh"))
            ]
        kernel = source.folders[0] / source.file
        parts = {
            "format": FORMAT,
            "file": source.file,
            "texts": [*([_named_text(kernel)] if kernel.exists() else []), *headers[source.folders]],
            "macros": sorted(_macros(source, arch)),
            "arch": arch,
            "options": [STANDARD, source.cuda_headers, *(_header_folders() if source.cuda_headers else ())],
            "compiler": [compiler.version, compiler.n_bytes],
        }
        key = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
        files[source] = folder / f"{kernel.stem}-{arch}-{key}.cubin"
    return files


def _named_text(path: Path) -> list[str]:
    return [path.name, path.read_text(encoding="utf-8")]


def _header_options(source: Source) -> list[str]:
    """Options for CUDA's own headers: from folders, or from the NVRTC that contains them."""
    if not source.cuda_headers:
        return []
    folders = [f"--include-path={folder}" for folder in _header_folders()]
    return folders or [f"--use-bundled-headers={cache_folder() / 'cuda-headers'}"]


@cache
def _header_folders() -> tuple[str, ...]:
    """Folders of CUDA's own headers, from packages or a toolkit; none for an NVRTC that contains them."""
    if tuple(map(int, (compiler_version() or "0.0").split("."))) >= FIRST_WITH_HEADERS:
        return ()
    from cuda.pathfinder import find_nvidia_header_directory

    named = (find_nvidia_header_directory(name) for name in ("cudart", "cccl"))
    folders = [Path(path) for path in named if path] or [USUAL_HEADERS, USUAL_HEADERS / "cccl"]
    return tuple(str(folder) for folder in folders if folder.is_dir())


def _compile_all(sources: list[Source], arch: str) -> dict[Source, bytes]:
    """Compile on all threads, and cache each cubin as soon as it is ready. After an error no more are started."""
    compiled: dict[Source, bytes] = {}
    compiler = loaded_compiler()
    if not sources or compiler is None:
        return compiled
    files = _files(sources, arch, compiler)
    with ThreadPoolExecutor(min(len(sources), available_threads())) as pool:
        try:
            running = {pool.submit(_compile, source, arch): source for source in sources}
            for done in as_completed(running):
                compiled[running[done]] = done.result()
                write_cached(files[running[done]], done.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    remember_compiler(compiler)
    return compiled


def _compile(source: Source, arch: str) -> bytes:
    """Compile one source, without line numbers, so that the cubin contains no path of this machine."""
    options = [f"--gpu-architecture={arch}", f"--std={STANDARD}"]
    options += [f"--include-path={folder}" for folder in source.folders]
    options += [f"--define-macro={name}={value}" for name, value in _macros(source, arch)]
    try:
        text = (source.folders[0] / source.file).read_text(encoding="utf-8")
        return compile_program(source.file, text, [*options, *_header_options(source)])
    except Exception as error:
        message = f"kernel {source.file} does not compile for {arch} with NVRTC {compiler_version()}"
        raise EngineError(f"{message}: {_first_error(str(error), source)}") from error


def _first_error(log: str, source: Source) -> str:
    """The first error in NVRTC's log, with names of headers instead of paths."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    first = next((line for line in lines if "error:" in line), lines[0] if lines else "no message")
    for folder in source.folders:
        first = first.replace(f"{folder}{os.sep}", "")
    return first


def _without(sources: Iterable[Source], found: Container[Source]) -> list[Source]:
    return [source for source in sources if source not in found]
