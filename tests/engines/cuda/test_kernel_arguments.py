"""The dataclasses of kernel arguments, compared with the signatures of the kernels."""

import ctypes
import re
from dataclasses import fields
from pathlib import Path

import pytest

from exaln.engines.bench import cuda_bound
from exaln.engines.cuda.long import arguments as long_arguments
from exaln.engines.cuda.pairs import arguments as pairs_arguments
from exaln.engines.cuda.runtime.arguments import KernelArguments
from exaln.engines.cuda.scan import arguments as scan_arguments
from fake_cuda import argument_types

KERNELS = Path(scan_arguments.__file__).parents[1] / "kernels"
SIGNATURE = re.compile(r'extern "C" __global__ void\s+(?:__launch_bounds__\([^)]*\)\s+)?(\w+)\s*\(([^)]*)\)')
NUMBERS = {
    "int": ctypes.c_int32,
    "unsigned": ctypes.c_uint32,
    "long long": ctypes.c_int64,
    "unsigned long long": ctypes.c_uint64,
}
MODULES = (scan_arguments, pairs_arguments, long_arguments, cuda_bound)
CLASSES = {
    kernel: arguments
    for module in MODULES
    for arguments in vars(module).values()
    if isinstance(arguments, type) and issubclass(arguments, KernelArguments)
    for kernel in arguments.kernels
}


def parameters(text):
    """Types of ctypes by name, of the parameters of a kernel."""
    found = {}
    for parameter in text.split(","):
        declared, name = re.match(r"(.*?)(\w+)$", parameter.replace("__restrict__", "").strip(), re.DOTALL).groups()
        kind = " ".join(declared.replace("const ", "").split())
        found[name] = ctypes.c_void_p if kind.endswith("*") else NUMBERS[kind]
    return found


SIGNATURES = {
    name: parameters(text)
    for path in sorted(KERNELS.rglob("*.cu"))
    for name, text in SIGNATURE.findall(path.read_text(encoding="utf-8"))
}


def test_every_kernel_has_a_dataclass():
    assert set(CLASSES) == set(SIGNATURES)
    assert len(CLASSES) == len([kernel for arguments in set(CLASSES.values()) for kernel in arguments.kernels]) > 10


@pytest.mark.parametrize("kernel", sorted(SIGNATURES))
def test_fields_have_the_types_of_the_parameters_in_order(kernel):
    assert list(argument_types(CLASSES[kernel]).values()) == list(SIGNATURES[kernel].values())


@pytest.mark.parametrize("kernel", sorted(SIGNATURES))
def test_fields_are_named_as_the_parameters(kernel):
    assert list(argument_types(CLASSES[kernel])) == list(SIGNATURES[kernel])


@pytest.mark.parametrize("kernel", sorted(SIGNATURES))
def test_values_come_in_the_order_of_the_fields(kernel):
    arguments = CLASSES[kernel]
    numbers = list(range(len(fields(arguments))))
    assert arguments(*numbers).values() == numbers


def test_the_parser_knows_pointers_and_numbers():
    text = "const unsigned char* __restrict__ codes, unsigned long long n,\n    int limit, uint4* kept"
    kinds = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int32, ctypes.c_void_p]
    assert parameters(text) == dict(zip(("codes", "n", "limit", "kept"), kinds, strict=True))
