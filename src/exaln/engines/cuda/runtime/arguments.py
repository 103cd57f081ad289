"""Kernel arguments as dataclasses: one class per signature, with the fields in the order of the parameters.

tests/engines/cuda/test_kernel_arguments.py compares every class with the signatures in kernels/*.cu.
"""

from __future__ import annotations

import ctypes
from typing import Annotated, ClassVar

Address = Annotated[int, ctypes.c_void_p]
"""A pointer to memory of the device."""

Int32 = Annotated[int, ctypes.c_int32]
UInt32 = Annotated[int, ctypes.c_uint32]
Int64 = Annotated[int, ctypes.c_int64]
UInt64 = Annotated[int, ctypes.c_uint64]


class KernelArguments:
    """Base of the arguments of a kernel. Subclasses are dataclasses; `kernels` names the kernels that take them."""

    __slots__ = ()
    __match_args__: ClassVar[tuple[str, ...]] = ()
    kernels: ClassVar[tuple[str, ...]] = ()

    def values(self) -> list[int]:
        """Return the arguments in the order of the kernel's parameters."""
        return [getattr(self, name) for name in self.__match_args__]
