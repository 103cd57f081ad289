"""Signatures of the native core."""

import os

import numpy as np
from numpy.typing import NDArray

# fasta_text.cpp
def fasta_text(
    ids: NDArray[np.uint8],
    id_offsets: NDArray[np.int64],
    descriptions: NDArray[np.uint8],
    description_offsets: NDArray[np.int64],
    codes: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    mask_starts: NDArray[np.int64],
    mask_ends: NDArray[np.int64],
    mask_offsets: NDArray[np.int64],
    upper: NDArray[np.uint8],
    lower: NDArray[np.uint8],
    width: int,
    rows: NDArray[np.int32],
) -> NDArray[np.uint8]: ...

# mapped_file.cpp
def map_file(path: str | os.PathLike[str]) -> NDArray[np.uint8]: ...

# rows.cpp
def argsort_stable(keys: NDArray[np.int64]) -> NDArray[np.int32]: ...
def argsort_bytes(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> tuple[NDArray[np.int32], int]: ...
def scatter_rows(
    data: NDArray[np.uint8], offsets: NDArray[np.int64], starts: NDArray[np.int64], out: NDArray[np.uint8]
) -> None: ...
def find_bytes(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    order: NDArray[np.int32],
    wanted_data: NDArray[np.uint8],
    wanted_offsets: NDArray[np.int64],
) -> NDArray[np.int64]: ...
