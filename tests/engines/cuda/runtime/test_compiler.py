"""The compiler of kernels: its cache and its errors, and that it releases the GIL."""

import os
import subprocess
import sys
import threading
import time
import warnings

import pytest

from exaln.engines.cuda.runtime import compiler, nvrtc
from exaln.engines.cuda.runtime.compiler import Source, cubin, cubins, has_dpx
from exaln.engines.cuda.runtime.nvrtc import Compiler, compiler_version
from exaln.errors import EngineError, ExalnWarning
from exaln.foundation.user_cache import cache_folder

needs_nvrtc = pytest.mark.skipif(compiler_version() is None, reason="NVRTC is not installed")

ADD = '#include "number.cuh"\nextern "C" __global__ void add(int* p) { *p += EXALN_ROWS + NUMBER; }\n'
TAKE = 'extern "C" __global__ void take(int* p) { *p -= EXALN_DPX; }\n'
SLOW = """
template <int N>
__device__ __forceinline__ int deep(int x, const int* p) {
    if constexpr (N == 0) return x;
    else return max(p[x & 1023] * N, deep<N - 1>(x ^ p[N], p)) + N;
}
extern "C" __global__ void slow(const int* p, int* q) { q[threadIdx.x] = deep<180>(q[threadIdx.x], p); }
"""
SOURCE = Source("add.cu", (("ROWS", 32), ("LANES", 4)))


@pytest.fixture
def kernels(tmp_path, monkeypatch):
    """A folder of small kernels, and a cache folder that does not exist yet."""
    folder = tmp_path / "kernels"
    folder.mkdir()
    (folder / "add.cu").write_text(ADD)
    (folder / "take.cu").write_text(TAKE)
    (folder / "slow.cu").write_text(SLOW)
    (folder / "number.cuh").write_text("constexpr int NUMBER = 7;\n")
    monkeypatch.setattr(compiler, "KERNELS", folder)
    monkeypatch.setenv("EXALN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("EXALN_CUDA_DPX", raising=False)
    return folder


@pytest.fixture
def compiled(monkeypatch):
    """What was compiled, in order: the real compiler, watched."""
    seen = []
    compile_one = compiler._compile

    def watched(source, arch):
        seen.append((source, arch))
        return compile_one(source, arch)

    monkeypatch.setattr(compiler, "_compile", watched)
    return seen


def cached_files():
    return sorted(cache_folder().glob("*.cubin"))


# The cache


@needs_nvrtc
def test_a_kernel_is_compiled_once(kernels, compiled):
    first = cubin(SOURCE, "sm_90")
    assert first.startswith(b"\x7fELF")
    assert cubin(SOURCE, "sm_90") == first
    assert compiled == [(SOURCE, "sm_90")]
    (file,) = cached_files()
    assert file.name.startswith("add-sm_90-")
    assert file.suffix == ".cubin"
    assert file.read_bytes().startswith(first)


@needs_nvrtc
def test_only_kernels_that_are_not_cached_are_compiled(kernels, compiled):
    cubin(SOURCE, "sm_90")
    others = [Source("add.cu", (("ROWS", rows),)) for rows in (4, 8, 12)]
    found = cubins([*others, SOURCE, SOURCE], "sm_90")
    assert list(found) == [*others, SOURCE]
    assert len(set(found.values())) == 4
    assert len(compiled) == 4
    assert cubins([], "sm_90") == {}


@needs_nvrtc
def test_no_path_of_this_machine_is_in_a_cubin(kernels):
    assert os.fsencode(kernels) not in cubin(SOURCE, "sm_90")


def no_change(kernels, monkeypatch):
    pass


def another_kernel(kernels, monkeypatch):
    (kernels / "add.cu").write_text(ADD + "// more\n")


def another_header(kernels, monkeypatch):
    (kernels / "number.cuh").write_text("constexpr int NUMBER = 8;\n")


def one_more_header(kernels, monkeypatch):
    (kernels / "other.cuh").write_text("\n")


def another_constant(kernels, monkeypatch):
    return Source("add.cu", (("ROWS", 36), ("LANES", 4)))


def one_more_constant(kernels, monkeypatch):
    return Source("add.cu", (*SOURCE.constants, ("THREADS", 4)))


def another_architecture(kernels, monkeypatch):
    return "sm_100"


def no_dpx(kernels, monkeypatch):
    monkeypatch.setenv("EXALN_CUDA_DPX", "0")


def another_compiler(kernels, monkeypatch):
    other = Compiler("99.0", "libnvrtc.so", 1, 1)
    monkeypatch.setattr(compiler, "known_compiler", lambda: other)
    monkeypatch.setattr(compiler, "loaded_compiler", lambda: other)


def another_standard(kernels, monkeypatch):
    monkeypatch.setattr(compiler, "STANDARD", "c++20")


def another_format(kernels, monkeypatch):
    monkeypatch.setattr(compiler, "FORMAT", compiler.FORMAT + 1)


def constants_in_another_order(kernels, monkeypatch):
    return Source("add.cu", SOURCE.constants[::-1])


def another_kernel_file(kernels, monkeypatch):
    (kernels / "take.cu").write_text(TAKE + "// more\n")


@needs_nvrtc
@pytest.mark.parametrize(
    ("change", "compiles"),
    [
        (no_change, False),
        (constants_in_another_order, False),
        (another_kernel_file, False),
        (another_kernel, True),
        (another_header, True),
        (one_more_header, True),
        (another_constant, True),
        (one_more_constant, True),
        (another_architecture, True),
        (no_dpx, True),
        (another_compiler, True),
        (another_standard, True),
        (another_format, True),
    ],
    ids=lambda value: value.__name__ if callable(value) else None,
)
def test_whatever_changes_a_cubin_changes_its_key(kernels, compiled, monkeypatch, change, compiles):
    cubin(SOURCE, "sm_90")
    changed = change(kernels, monkeypatch)
    source = changed if isinstance(changed, Source) else SOURCE
    cubin(source, changed if isinstance(changed, str) else "sm_90")
    assert len(compiled) == 1 + compiles
    assert len(cached_files()) == 1 + compiles


def flipped(content):
    return content[:100] + bytes([content[100] ^ 1]) + content[101:]


@needs_nvrtc
@pytest.mark.parametrize("damage", [lambda c: b"", lambda c: c[:20], lambda c: c[:-1], lambda c: c + b"\0", flipped])
def test_a_damaged_file_is_compiled_again(kernels, compiled, damage):
    right = cubin(SOURCE, "sm_90")
    (file,) = cached_files()
    sound = file.read_bytes()
    file.write_bytes(damage(sound))
    assert cubin(SOURCE, "sm_90") == right
    assert len(compiled) == 2
    assert cached_files() == [file]
    assert file.read_bytes() == sound


@needs_nvrtc
def test_a_cubin_under_another_name_is_not_used(kernels, compiled):
    other = Source("add.cu", (("ROWS", 4),))
    cubins([SOURCE, other], "sm_90")
    first, second = cached_files()
    content = first.read_bytes(), second.read_bytes()
    first.write_bytes(content[1])
    cubins([SOURCE, other], "sm_90")
    assert len(compiled) == 3
    assert (first.read_bytes(), second.read_bytes()) == content


@needs_nvrtc
def test_without_a_writable_folder_it_compiles_and_warns_once(kernels, compiled, tmp_path, monkeypatch):
    monkeypatch.setenv("EXALN_CACHE", str(tmp_path / "file" / "cache"))
    (tmp_path / "file").write_text("a file, not a folder")
    with pytest.warns(ExalnWarning, match="file/cache: compiled kernels cannot be kept .*; set EXALN_CACHE to another"):
        code = cubin(SOURCE, "sm_90")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cubin(SOURCE, "sm_90") == code
    assert len(compiled) == 2


@needs_nvrtc
def test_eight_processes_share_the_cache(kernels, tmp_path):
    program = f"""
import hashlib
from pathlib import Path
from exaln.engines.cuda.runtime import compiler, nvrtc
compiler.KERNELS = Path({str(kernels)!r})
sources = [compiler.Source("add.cu", (("ROWS", rows),)) for rows in (4, 8, 12)]
for code in compiler.cubins(sources, "sm_90").values():
    print(hashlib.sha256(code).hexdigest())
"""
    processes = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) for _ in range(8)]
    told = [process.communicate(timeout=120)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * 8
    assert len(set(told)) == 1
    assert len(set(told[0].split())) == 3
    assert len(cached_files()) == 3
    assert list(cache_folder().glob("*.part")) == []


@needs_nvrtc
def test_threads_that_ask_at_once_compile_once(kernels, compiled):
    threads = [threading.Thread(target=cubin, args=(SOURCE, "sm_90")) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(compiled) == 1


@needs_nvrtc
def test_python_goes_on_while_nvrtc_compiles(kernels):
    """What lets several kernels be compiled side by side by threads."""
    cubin(SOURCE, "sm_90")
    thread = threading.Thread(target=cubin, args=(Source("slow.cu"), "sm_90"))
    begun = time.monotonic()
    thread.start()
    steps = 0
    while thread.is_alive():
        time.sleep(0.001)
        steps += 1
    seconds = time.monotonic() - begun
    assert steps > 10, f"{steps} steps in {seconds:.2f} s"


# Errors


@needs_nvrtc
def test_an_error_names_the_kernel_and_the_line(kernels):
    (kernels / "add.cu").write_text(ADD.replace("*p", "*q"))
    says = (
        r'^kernel add.cu does not compile for sm_90 with NVRTC [\d.]+: add.cu\(2\): error: identifier "q" is undefined$'
    )
    with pytest.raises(EngineError, match=says):
        cubin(SOURCE, "sm_90")
    assert not cache_folder().exists()


@needs_nvrtc
def test_an_error_in_a_header_is_told_without_the_path(kernels):
    (kernels / "number.cuh").write_text("constexpr int NUMBER = ;\n")
    with pytest.raises(EngineError, match=r"^kernel add.cu .*: number.cuh\(1\): error: expected an expression$"):
        cubin(SOURCE, "sm_90")


@needs_nvrtc
def test_one_bad_kernel_does_not_lose_the_others(kernels, compiled):
    (kernels / "bad.cu").write_text("bad\n")
    with pytest.raises(EngineError, match=r"kernel bad.cu does not compile"):
        cubins([SOURCE, Source("bad.cu")], "sm_90")
    (kernels / "bad.cu").unlink()
    with pytest.raises(EngineError, match=r"kernel bad.cu .*No such file"):
        cubin(Source("bad.cu"), "sm_90")


@needs_nvrtc
def test_an_unknown_architecture(kernels):
    with pytest.raises(EngineError, match=r"kernel add.cu does not compile for sm_999 .*: .*architecture"):
        cubin(SOURCE, "sm_999")


def test_a_missing_nvrtc_is_named(kernels, monkeypatch):
    monkeypatch.setattr(compiler, "known_compiler", lambda: None)
    with pytest.raises(EngineError, match=r'^NVRTC, .*, is missing; pip install "exaln\[cuda\]"$'):
        cubin(SOURCE, "sm_90")


# What the environment sets


@pytest.mark.parametrize(
    ("arch", "setting", "dpx"),
    [
        ("sm_75", None, False),
        ("sm_89", "", False),
        ("sm_89", "0", False),
        ("sm_90", None, True),
        ("sm_90a", None, True),
        ("sm_90", "1", True),
        ("sm_90", "0", False),
        ("sm_120", None, True),
        ("sm_120", "0", False),
    ],
)
def test_dpx_by_architecture_and_setting(monkeypatch, arch, setting, dpx):
    monkeypatch.delenv("EXALN_CUDA_DPX", raising=False)
    if setting is not None:
        monkeypatch.setenv("EXALN_CUDA_DPX", setting)
    assert has_dpx(arch) == dpx


@pytest.mark.parametrize(
    ("arch", "setting", "says"),
    [
        ("sm_90", "no", "EXALN_CUDA_DPX is 'no'; set it to 0 or 1"),
        ("sm_89", "1", "EXALN_CUDA_DPX is 1, but sm_89 has no DPX instructions"),
    ],
)
def test_a_dpx_setting_that_cannot_be_met(monkeypatch, arch, setting, says):
    monkeypatch.setenv("EXALN_CUDA_DPX", setting)
    with pytest.raises(EngineError, match=says):
        has_dpx(arch)


@needs_nvrtc
def test_dpx_is_a_constant_of_every_kernel(kernels, monkeypatch):
    source = Source("take.cu")
    with_dpx = cubin(source, "sm_90")
    monkeypatch.setenv("EXALN_CUDA_DPX", "0")
    assert cubin(source, "sm_90") != with_dpx
    assert cubin(Source("take.cu", (("DPX", 1),)), "sm_90") == with_dpx


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"EXALN_CACHE": "/a/b"}, "/a/b"),
        ({"EXALN_CACHE": "/a/b", "XDG_CACHE_HOME": "/c"}, "/a/b"),
        ({"EXALN_CACHE": "", "XDG_CACHE_HOME": "/c"}, "/c/exaln"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/home/x"}, "/home/x/.cache/exaln"),
        ({"HOME": "/home/x"}, "/home/x/.cache/exaln"),
    ],
)
def test_the_cache_folder_by_environment(monkeypatch, environment, folder):
    for name in ("EXALN_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert str(cache_folder()) == folder


# Which compiler it is


@pytest.fixture
def library(tmp_path, monkeypatch):
    """A compiler that is not real: its library, and how often it was loaded."""
    path = tmp_path / "libnvrtc.so"
    path.write_bytes(b"library")
    loads = []

    def loaded():
        loads.append(path)
        status = path.stat()
        return Compiler(path.read_text(), str(path), status.st_size, status.st_mtime_ns)

    monkeypatch.setattr(nvrtc, "loaded_compiler", loaded)
    monkeypatch.setenv("EXALN_CACHE", str(tmp_path / "cache"))
    return path, loads


def no_new_library(path, monkeypatch):
    pass


def a_new_library(path, monkeypatch):
    path.write_text("another library")


def a_library_of_the_same_size(path, monkeypatch):
    path.write_text("LIBRARY")
    os.utime(path, ns=(1, 1))


def another_folder_of_libraries(path, monkeypatch):
    monkeypatch.setenv("LD_LIBRARY_PATH", "/elsewhere")


def another_toolkit(path, monkeypatch):
    monkeypatch.setenv("CUDA_HOME", "/elsewhere")


def another_environment(path, monkeypatch):
    monkeypatch.setattr(sys, "prefix", "/elsewhere")


def a_damaged_memory(path, monkeypatch):
    (file,) = cache_folder().glob("nvrtc-*.txt")
    file.write_bytes(file.read_bytes()[:-1] + b"x")


@pytest.mark.parametrize(
    ("change", "is_loaded"),
    [
        (no_new_library, False),
        (a_new_library, True),
        (a_library_of_the_same_size, True),
        (another_folder_of_libraries, True),
        (another_toolkit, True),
        (another_environment, True),
        (a_damaged_memory, True),
    ],
    ids=lambda value: value.__name__ if callable(value) else None,
)
def test_the_compiler_is_loaded_only_if_it_may_be_another(library, monkeypatch, change, is_loaded):
    path, loads = library
    first = nvrtc.known_compiler()
    nvrtc.remember_compiler(first)
    assert nvrtc.known_compiler() == first
    assert len(loads) == 1
    change(path, monkeypatch)
    assert nvrtc.known_compiler().version == path.read_text()
    assert len(loads) == 1 + is_loaded


def test_a_library_that_is_gone_is_not_remembered(library, monkeypatch):
    path, _ = library
    nvrtc.remember_compiler(nvrtc.known_compiler())
    path.unlink()
    monkeypatch.setattr(nvrtc, "loaded_compiler", lambda: None)
    assert nvrtc.known_compiler() is None


@needs_nvrtc
def test_kernels_that_are_cached_are_read_without_the_compiler(kernels, monkeypatch):
    code = cubin(SOURCE, "sm_90")
    monkeypatch.setattr(compiler, "loaded_compiler", lambda: pytest.fail("loaded"))
    monkeypatch.setattr(nvrtc, "loaded_compiler", lambda: pytest.fail("loaded"))
    assert cubin(SOURCE, "sm_90") == code


@needs_nvrtc
def test_a_kernel_is_compiled_under_the_name_of_the_compiler_that_compiles_it(kernels, compiled, monkeypatch):
    """What is remembered may be out of date: then the loaded compiler counts."""
    code = cubin(SOURCE, "sm_90")
    old = Compiler("1.0", "libnvrtc.so", 1, 1)
    monkeypatch.setattr(compiler, "known_compiler", lambda: old)
    assert cubin(SOURCE, "sm_90") == code
    assert len(compiled) == 1
    (cached_files()[0]).unlink()
    assert cubin(SOURCE, "sm_90") == code
    assert len(compiled) == 2
    assert len(cached_files()) == 1


@needs_nvrtc
def test_a_kernel_that_another_process_caches_meanwhile_is_not_missed(kernels, compiled, monkeypatch):
    """After the second look into the cache, another process writes the kernel."""
    looks, look = [], compiler._cached

    def cached(sources, *others):
        looks.append(sources)
        return look(sources, *others) if len(looks) > 2 else {}

    cubins([SOURCE], "sm_90")
    monkeypatch.setattr(compiler, "_cached", cached)
    assert list(cubins([SOURCE], "sm_90", [Source("take.cu")])) == [SOURCE]


@needs_nvrtc
def test_likely_kernels_are_compiled_only_beside_others(kernels, compiled):
    likely = Source("take.cu")
    assert list(cubins([SOURCE], "sm_90", [likely])) == [SOURCE]
    assert {source for source, _ in compiled} == {SOURCE, likely}
    another = Source("add.cu", (("ROWS", 8),))
    cubins([SOURCE], "sm_90", [another])
    assert len(compiled) == 2
    cubins([another], "sm_90", [SOURCE])
    assert len(compiled) == 3
