"""Compiles kernel files with NVRTC, and caches the machine code (cubins) in a folder of the user.

A cubin depends only on its key: the text of the kernel and of all headers, the constants, the architecture, the
compiler and its options. A change of any of them gives another key. So the cache is never out of date, needs no lock,
can be shared by processes and machines, and can be deleted at any time. As cubins are executed, folders and files that
another user could have written are not used.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import tempfile
import threading
import warnings
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from exaln.errors import EngineError, ExalnWarning
from exaln.foundation.resources import available_threads

KERNELS = Path(__file__).parents[1] / "kernels"

FORMAT = 2
"""Version of the layout and the keys of cached files; part of each key."""

STANDARD = "c++17"

FIRST_DPX = 90
"""From sm_90 on, DPX instructions add packed 16-bit pairs and take the maximum of three."""

FIRST_WITH_HEADERS = (13, 3)
"""The first NVRTC that contains CUDA's own headers."""

USUAL_HEADERS = Path("/usr/local/cuda/include")

NO_COMPILER = 'NVRTC, the compiler of CUDA kernels, is missing; pip install "exaln[cuda]"'

SEAL_BYTES = 32

_compiling = threading.Lock()
_warned_folders: set[Path] = set()


class UntrustedError(Exception):
    """Another user could have written to the cache."""


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


def cubins(sources: Iterable[Source], arch: str) -> dict[Source, bytes]:
    """The machine code of several sources. Those that are not cached are compiled in parallel.

    NVRTC releases the GIL, so threads suffice. Of several callers at a time (one per device), the others wait for the
    first and then read its results from the cache. EngineError if a kernel does not compile.
    """
    files = {source: _file(source, arch) for source in sources}
    found = _read_all(files)
    if len(found) < len(files):
        with _compiling:
            found |= _read_all(_without(files, found))
            found |= _compile_all(_without(files, found), arch)
    return {source: found[source] for source in files}


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


@cache
def compiler_version() -> str | None:
    """NVRTC's version, such as "13.4", or None if it or cuda-core is not installed."""
    try:
        from cuda.bindings import nvrtc

        status, major, minor = nvrtc.nvrtcVersion()
    except (ImportError, RuntimeError):
        return None
    return f"{major}.{minor}" if status == nvrtc.nvrtcResult.NVRTC_SUCCESS else None


def cache_folder() -> Path:
    """The folder of cached cubins: EXALN_CACHE, or else "exaln" in the user's cache folder."""
    chosen = os.environ.get("EXALN_CACHE", "")
    if chosen:
        return Path(chosen)
    users = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not users.is_absolute():
        users = _home() / ".cache"
    return users / "exaln"


def _home() -> Path:
    """The user's home, or "/" in a container whose user has neither HOME nor an entry in /etc/passwd."""
    try:
        return Path.home()
    except RuntimeError:
        return Path("/")


def _macros(source: Source, arch: str) -> list[tuple[str, str]]:
    constants = {"DPX": int(has_dpx(arch))} | dict(source.constants)
    return [(f"EXALN_{name}", str(value)) for name, value in constants.items()]


def _file(source: Source, arch: str) -> Path:
    """The path of a cached cubin. Its name contains a digest of everything that can change the cubin."""
    texts = [[path.name, path.read_text(encoding="utf-8")] for path in _files_read(source)]
    parts = {
        "format": FORMAT,
        "file": source.file,
        "texts": texts,
        "macros": sorted(_macros(source, arch)),
        "arch": arch,
        "options": [STANDARD, source.cuda_headers, *(map(str, _cuda_headers()) if source.cuda_headers else ())],
        "compiler": _compiler(),
    }
    key = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
    return cache_folder() / f"{Path(source.file).stem}-{arch}-{key}.cubin"


def _files_read(source: Source) -> list[Path]:
    """The kernel file and every header that it may include."""
    headers = [path for folder in source.folders for path in sorted(folder.glob("*.cuh"))]
    return [*([kernel] if (kernel := source.folders[0] / source.file).exists() else []), *headers]


@cache
def _compiler() -> tuple[str, ...]:
    """NVRTC's version and the size of its library, as builds differ; the version of cuda-core, which adds options."""
    version = compiler_version()
    if version is None:
        raise EngineError(NO_COMPILER)
    from cuda.core import __version__
    from cuda.pathfinder import load_nvidia_dynamic_lib

    library = load_nvidia_dynamic_lib("nvrtc").abs_path
    return version, str(Path(library).stat().st_size if library else 0), str(__version__)


@cache
def _cuda_headers() -> tuple[Path, ...]:
    """Folders of CUDA's own headers, from packages or a toolkit; none for an NVRTC that contains them."""
    if tuple(map(int, (compiler_version() or "0.0").split("."))) >= FIRST_WITH_HEADERS:
        return ()
    from cuda.pathfinder import find_nvidia_header_directory

    named = (find_nvidia_header_directory(name) for name in ("cudart", "cccl"))
    folders = [Path(path) for path in named if path] or [USUAL_HEADERS, USUAL_HEADERS / "cccl"]
    return tuple(folder for folder in folders if folder.is_dir())


def _compile_all(files: dict[Source, Path], arch: str) -> dict[Source, bytes]:
    """Compile on all threads, and cache each cubin as soon as it is ready. After an error no more are started."""
    compiled: dict[Source, bytes] = {}
    if not files:
        return compiled
    with ThreadPoolExecutor(min(len(files), available_threads())) as pool:
        try:
            running = {pool.submit(_compile, source, arch): source for source in files}
            for done in as_completed(running):
                compiled[running[done]] = done.result()
                _write(files[running[done]], done.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return compiled


def _compile(source: Source, arch: str) -> bytes:
    """Compile one source, without line numbers, so that the cubin contains no path of this machine."""
    from cuda.core import Program, ProgramOptions

    try:
        text = (source.folders[0] / source.file).read_text(encoding="utf-8")
        options = ProgramOptions(
            name=source.file,
            arch=arch,
            std=STANDARD,
            include_path=[str(path) for path in (*source.folders, *(_cuda_headers() if source.cuda_headers else ()))],
            define_macro=_macros(source, arch),
            use_bundled_headers=source.cuda_headers and not _cuda_headers(),
        )
        return bytes(Program(text, "c++", options).compile("cubin").code)
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


def _without(files: dict[Source, Path], found: dict[Source, bytes]) -> dict[Source, Path]:
    return {source: file for source, file in files.items() if source not in found}


def _read_all(files: dict[Source, Path]) -> dict[Source, bytes]:
    read = {source: _read(file) for source, file in files.items()}
    return {source: code for source, code in read.items() if code is not None}


def _read(file: Path) -> bytes | None:
    """A cached cubin, or None if it is missing or damaged, or could have been written by another user."""
    try:
        _require_own_folder(file.parent)
        with os.fdopen(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as opened:
            _require_own(file, os.fstat(opened.fileno()), stat.S_IFREG)
            content = opened.read()
    except UntrustedError as error:
        _warn_unusable(file.parent, f"compiled kernels in it are not used: {error}")
        return None
    except OSError:
        return None
    code, seal = content[:-SEAL_BYTES], content[-SEAL_BYTES:]
    return code if seal == _seal(file, code) else None


def _write(file: Path, code: bytes) -> None:
    """Write a cubin atomically. If the folder cannot be used, warn: kernels are then compiled at each start."""
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _require_own_folder(file.parent)
        with tempfile.NamedTemporaryFile(dir=file.parent, prefix=f"{file.stem}-", suffix=".part", delete=False) as part:
            try:
                part.write(code + _seal(file, code))
                part.close()
                Path(part.name).replace(file)
            except BaseException:
                Path(part.name).unlink(missing_ok=True)
                raise
    except UntrustedError as error:
        _warn_unusable(file.parent, f"compiled kernels are not kept there: {error}")
    except OSError as error:
        _warn_unusable(file.parent, f"compiled kernels cannot be kept ({error.strerror or error})")


def _seal(file: Path, code: bytes) -> bytes:
    """A digest of the code and the file name. It follows the code, where tools that read cubins ignore it."""
    return hashlib.sha256(file.name.encode() + code).digest()


def _require_own_folder(folder: Path) -> None:
    _require_own(folder, folder.lstat(), stat.S_IFDIR)


def _require_own(path: Path, status: os.stat_result, kind: int) -> None:
    """Raise UntrustedError unless this is a file or folder, as `kind` says, that only this user and root can change."""
    if stat.S_IFMT(status.st_mode) != kind:
        raise UntrustedError(f"{path.name} is a link, or not a {'folder' if kind == stat.S_IFDIR else 'file'}")
    if status.st_uid not in _trusted_users():
        raise UntrustedError(f"{path.name} belongs to another user")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise UntrustedError(f"other users can write to {path.name} (chmod go-w)")


def _trusted_users() -> set[int]:
    """This user, and root, who can change everything anyway."""
    return {os.geteuid(), 0}


def _warn_unusable(folder: Path, reason: str) -> None:
    if folder not in _warned_folders:
        _warned_folders.add(folder)
        message = f"{folder}: {reason}, each start compiles again"
        warnings.warn(f"{message}; set EXALN_CACHE to another folder", ExalnWarning, stacklevel=5)
