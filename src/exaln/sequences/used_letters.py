"""Which letters occur in encoded sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def used_letters(codes: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """bool[256]: which codes occur. Releases the GIL.

    >>> np.flatnonzero(used_letters(np.array([3, 0, 3], np.uint8))).tolist()
    [0, 3]
    """
    from exaln import _core

    return np.frombuffer(_core.letters_in(codes), np.bool_)
