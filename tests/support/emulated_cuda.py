# ruff: noqa: N802
"""A CUDA driver without a GPU that runs the kernels themselves: g++ compiles them with tests/native/emulated_cuda.hpp.

It is slow, and runs one fibre per thread, in order. It shows that a kernel computes the right values; whether it is
free of races, and fast, only a GPU shows.
"""

import ctypes
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import SimpleNamespace

from exaln.engines.cuda.runtime.compiler import KERNELS, Source, _macros
from fake_cuda import OK, CUresult, FakeDriver

COMPILER = shutil.which("g++")
NATIVE = Path(__file__).parents[1] / "native"
OUT = Path(tempfile.gettempdir()) / "exaln-emulated-cuda"
KERNEL = re.compile(r'extern "C" __global__ void\s+(?:__launch_bounds__\([^)]*\)\s+)?(\w+)\s*\(')

ASSEMBLER = re.compile(r"asm( volatile)?\(\s*(?P<text>(?:\"[^\"]*\"\s*)+)(?P<operands>:.*?)?\);", re.DOTALL)
OPERAND = re.compile(r"\"[^\"]*\"\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)")
IN_CPP = {
    "": "",
    "mov.u64 %0, %globaltimer;": "$0 = 0;",
    "prmt.b32 %0, %1, %2, %3;": "$0 = emulated::chosen_bytes($1, $2, $3);",
    "setp.ne.u32 p, %0, 0; @p st.relaxed.gpu.global.u64 [%1], %2;": "if ($0) *$1 = $2;",
    "setp.ne.u32 p, %0, 0; @p st.relaxed.gpu.global.v2.u64 [%1], {%2, %3};": "if ($0) ($1)[0] = $2, ($1)[1] = $3;",
    "ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];": "emulated::load_four(emulated_arena + $4, $0, $1, $2, $3);",
    "ld.": "$0 = *$1;",
    "st.": "*$0 = $1;",
    "red": "*$0 += $1;",
}
"""C++ for the inline assembly of kernels, by its text or by the first three letters. Other assembly aborts."""


def _in_cpp(found):
    text = "".join(re.findall(r'"([^"]*)"', found["text"])).removeprefix("{ .reg .pred p; ").removesuffix(" }")
    operands = OPERAND.findall(found["operands"] or "")
    called = IN_CPP.get(text, IN_CPP.get(text[:3], "std::abort();"))
    return re.sub(r"\$(\d)", lambda number: operands[int(number[1])], called)


def _translated(text):
    text = re.sub(
        r"extern __shared__ ([\w ]+?) (\w+)\[\];", r"static \1*& \2 = reinterpret_cast<\1*&>(emulated_arena);", text
    )
    text = ASSEMBLER.sub(_in_cpp, text)
    text = re.sub(r"^__device__ __forceinline__(?! [^(]*::)", "static inline", text, flags=re.MULTILINE)
    text = text.replace("void look_again() {}", "void look_again() { __nanosleep(0); }")
    return text.replace("__shared__", "__SHARED_VARIABLE__")


def library_of(source):
    """The kernels of a source as a shared library, which is compiled once for each text and set of constants."""
    paths = [path for folder in reversed(source.folders) for path in sorted(folder.glob("*.cu*"))]
    texts = {path.name: _translated(path.read_text()) for path in paths}
    defines = [f"-D{name}={value}" for name, value in _macros(source, "sm_90")]
    names = KERNEL.findall((source.folders[0] / source.file).read_text())
    calls = "".join(
        f'extern "C" void launch_{n}(void** a, unsigned x, unsigned y, unsigned t, unsigned s, int c) {{\n'
        f"    emulated::launch([](void** p) {{ emulated::call({n}, p); }}, a, x, y, t, s, c != 0);\n}}\n"
        f'extern "C" int count_{n}() {{ return emulated::count({n}); }}\n'
        for n in names
    )
    program = f'#include "emulated_cuda.hpp"\n#include "{source.file}"\n{calls}'
    header = (NATIVE / "emulated_cuda.hpp").read_text()
    key = hashlib.sha256(repr((sorted(texts.items()), defines, program, header)).encode()).hexdigest()[:20]
    folder = OUT / key
    library = folder / "kernels.so"
    if not library.exists():
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text)
        (folder / "program.cpp").write_text(program)
        options = [
            "-std=c++17",
            "-O1",
            "-g",
            "-fPIC",
            "-shared",
            "-fvisibility=hidden",
            "-w",
            f"-I{NATIVE}",
            f"-I{folder}",
        ]
        part = folder / f"part-{os.getpid()}.so"
        done = subprocess.run(
            [COMPILER, *options, *defines, "-fvisibility=default", str(folder / "program.cpp"), "-o", str(part)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        part.rename(library)
    return ctypes.CDLL(str(library))


def launch(kernel, *arguments, blocks=1, threads=1, shared=0, together=False):
    """Run a kernel of a library. Arrays are passed as their addresses, numbers by value.

    together: blocks run concurrently, rather than one after the other.
    """
    values = (ctypes.c_uint64 * len(arguments))(
        *(argument if isinstance(argument, int) else argument.ctypes.data for argument in arguments)
    )
    first = ctypes.addressof(values)
    pointers = (ctypes.c_uint64 * len(arguments))(*range(first, first + 8 * len(arguments), 8))
    kernel(pointers, blocks, 1, threads, shared, int(together))


class EmulatedDriver(FakeDriver):
    """Launches run the compiled kernels; a graph is the list of its launches."""

    CUstreamCaptureMode = SimpleNamespace(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL=1)

    def __init__(self, **more):
        super().__init__(**more)
        self.is_cooperative = []
        self._captured = None

    def cuModuleLoadData(self, code):
        source = eval(code, {"Source": Source, "PosixPath": Path})
        return OK, SimpleNamespace(library=library_of(source), constants=source.constants)

    def cuModuleGetGlobal(self, module, name):
        variable = ctypes.c_int.in_dll(module.library, name.decode())
        address = ctypes.addressof(variable)
        self.allocations[address] = (4096, variable)
        return OK, address, 4096

    def cuModuleGetFunction(self, module, name):
        launch = getattr(module.library, f"launch_{name.decode()}")
        n = getattr(module.library, f"count_{name.decode()}")()
        return OK, SimpleNamespace(name=name.decode(), launch=launch, n_arguments=n, max_shared=48 << 10)

    def cuLaunchKernel(self, function, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra):
        return self._launch(function, gx, gy, bx, shared, stream, parameters, False)

    def cuLaunchCooperativeKernel(self, function, gx, gy, gz, bx, by, bz, shared, stream, parameters):
        return self._launch(function, gx, gy, bx, shared, stream, parameters, True)

    def _launch(self, function, gx, gy, bx, shared, stream, parameters, is_cooperative):
        if shared > function.max_shared or not 0 < bx <= 1024 or gx < 1 or gy < 1:
            return (CUresult.CUDA_ERROR_INVALID_VALUE,)
        self.launches.append(function.name)
        n = function.n_arguments
        pointers = (ctypes.c_uint64 * n).from_address(parameters)
        # The driver copies arguments when it is called, not when the kernel runs.
        values = (ctypes.c_uint64 * n)(*(ctypes.c_uint64.from_address(pointer).value for pointer in pointers))
        first = ctypes.addressof(values)
        own = (ctypes.c_uint64 * n)(*range(first, first + 8 * n, 8))

        def work(values=values):
            function.launch(own, gx, gy, bx, shared, int(is_cooperative))

        if self._captured is not None:
            self._captured.append(work)
        else:
            self._put(stream, work)
        return (self.status,)

    # Graphs.

    def cuStreamBeginCapture(self, stream, mode):
        self._captured = []
        return (OK,)

    def cuStreamEndCapture(self, stream):
        graph, self._captured = self._captured, None
        return OK, graph

    def cuGraphInstantiate(self, graph, flags):
        return OK, graph

    def cuGraphLaunch(self, graph, stream):
        for work in graph:
            self._put(stream, work)
        return (self.status,)

    def cuGraphExecDestroy(self, graph):
        return (OK,)

    def cuGraphDestroy(self, graph):
        return (OK,)


def emulated_device(monkeypatch, device_type=None, **more):
    """A device of the emulated driver; device_type: a subclass of Device."""
    from exaln.engines.cuda.runtime import compiler, device

    monkeypatch.setattr(compiler, "cubins", lambda sources, *_: {s: repr(s).encode() for s in sources})
    made = (device_type or device.Device)(0, EmulatedDriver(**more))
    made.set_budget(None)
    return made


__all__ = ["COMPILER", "KERNELS", "NATIVE", "EmulatedDriver", "emulated_device", "launch", "library_of"]
