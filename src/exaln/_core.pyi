"""Signatures of the C++ core, grouped by the file in native/ that binds them."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

# native/bindings/sequences.cpp
class FastaReader:
    """Incremental FASTA and FASTQ parser: takes bytes in pieces of any size and gives encoded columns."""

    def __init__(
        self,
        table: NDArray[np.uint8],
        strip_gaps: bool = False,
        max_header_bytes: int = ...,
        max_record_bytes: int = ...,
        keep_qualities: bool = False,
    ) -> None: ...
    def feed(self, data: bytes | bytearray | memoryview) -> bool:
        """Parse more bytes. Returns False once there is a problem."""
    def finish(self) -> bool:
        """Mark the end of the file. Returns False if it must not end here."""
    def set_max_record_bytes(self, n_bytes: int) -> None:
        """Change the size limit of a record, also for the one being read."""
    def take(self) -> tuple[Any, ...]:
        """Take the columns of the complete records: ids and descriptions (data and offsets each), codes, offsets, mask,
        mask offsets, and qualities or None.
        """
    def code_counts(self) -> NDArray[np.int64]:
        """int64[256]: how often each code occurs in all records not yet taken, also in the one being read."""
    def tallies(self) -> dict[str, tuple[int, int]]:
        """(count, first line) of each oddity: empty, gaps, latin1, unnamed."""
    @property
    def problem(self) -> tuple[str, int, int, str] | None:
        """Kind (`Problem` in native/sequences/fasta_reader.hpp), line, byte, and the id of the last header read."""
    @property
    def n_complete(self) -> int: ...
    @property
    def n_residues(self) -> int:
        """Residues not yet taken, with those of the record being read."""
    @property
    def n_bytes(self) -> int: ...

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

class MappedFile:
    """A file as read-only memory. Bytes that can no longer be read are zeros; `has_faulted` is then True."""

    def __init__(self, descriptor: int) -> None:
        """Map the file of a descriptor, which is duplicated and stays the caller's."""
    @property
    def bytes(self) -> NDArray[np.uint8]:
        """uint8[n]: the content as a view, which may outlive this object."""
    @property
    def descriptor(self) -> int:
        """The descriptor of the file, valid as long as this object; do not close it."""
    @property
    def identity(self) -> tuple[int, int, int, int]:
        """Device, inode, size, and modification time in nanoseconds of the file as it is now."""
    @property
    def has_faulted(self) -> bool: ...

def argsort_stable(keys: NDArray[np.int64]) -> NDArray[np.int32]: ...
def argsort_bytes(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> tuple[NDArray[np.int32], int]: ...
def scatter_rows(
    data: NDArray[np.uint8], offsets: NDArray[np.int64], starts: NDArray[np.int64], out: NDArray[np.uint8]
) -> None: ...
def join_pieces(pieces: list[NDArray[np.uint8]], out: NDArray[np.uint8], threads: int = 1) -> None: ...
def find_bytes(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    order: NDArray[np.int32],
    wanted_data: NDArray[np.uint8],
    wanted_offsets: NDArray[np.int64],
) -> NDArray[np.int64]: ...

# bindings/kernels.cpp
STRIP_ROWS: int

def score_kernel(
    isa: str,
    family: str,
    bits: int,
    query: NDArray[np.uint8],
    target_codes: NDArray[np.uint8],
    target_offsets: NDArray[np.int64],
    matrix: NDArray[np.int32],
    gap_first: int,
    gap_extend: int,
) -> NDArray[np.int32]:
    """int32[n_targets]: scores by one kernel (family group or striped; 8, 16 or 32 bits); -1 on overflow."""

def kernel_shapes(isa: str) -> list[tuple[int, int, int]]:
    """(bits, lanes, columns of a tile) of each kernel of an instruction set."""

# bindings/scan.cpp
def score_all(
    query_codes: NDArray[np.uint8],
    query_offsets: NDArray[np.int64],
    target_codes: NDArray[np.uint8],
    target_offsets: NDArray[np.int64],
    matrix: NDArray[np.int32],
    gap_first: int,
    gap_extend: int,
    threads: int = 1,
    isa: str = "",
    on_progress: Callable[[int], None] | None = None,
) -> NDArray[np.int32]:
    """int32[n_queries, n_targets]: exact local scores. on_progress(cells) is called about ten times a second."""

def plan_scan(
    query_lengths: NDArray[np.int64], target_lengths: NDArray[np.int64], threads: int = 1, isa: str = ""
) -> tuple[int, int]:
    """(lanes, n_striped) for targets with these ascending lengths: the striped kernel would score the last n_striped,
    the group kernel the others, in groups of `lanes`.
    """

def isas() -> list[tuple[str, bool]]:
    """(name, whether this CPU has it) of the built-in instruction sets, fastest first."""

def bare_loop(isa: str, bits: int, seconds: float) -> float:
    """GCUPS of the cell update alone, in registers: the bound of one core."""

# bindings/pairs.cpp
Sequences = tuple[NDArray[np.uint8], NDArray[np.int64]]  # codes, offsets
PairRows = tuple[NDArray[np.int64], NDArray[np.int64]]  # of the queries, of the targets
Costs = tuple[NDArray[np.int32], int, int]  # matrix, gap_first, gap_extend
# is_local; whether query start, query end, target start and target end are free
ModeFlags = tuple[bool, bool, bool, bool, bool]
Columns = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.uint32], NDArray[np.int64]]

def trace_all(
    queries: Sequences,
    targets: Sequences,
    pairs: PairRows,
    costs: Costs,
    scores: NDArray[np.int32],
    threads: int = 1,
    isa: str = "",
    only_this_isa: bool = False,
    max_bytes: int = ...,
) -> Columns:
    """Local alignments of pairs whose scores are known.

    Returns positions int64[4 n], counts int32[6 n], operations uint32[...] and offsets int64[n + 1].
    """

def score_pairs(
    queries: Sequences,
    targets: Sequences,
    pairs: PairRows,
    costs: Costs,
    mode: ModeFlags,
    threads: int = 1,
    isa: str = "",
    only_this_isa: bool = False,
) -> NDArray[np.int64]:
    """int64[n]: exact scores of pairs."""

def align_pairs(
    queries: Sequences,
    targets: Sequences,
    pairs: PairRows,
    costs: Costs,
    mode: ModeFlags,
    threads: int = 1,
    isa: str = "",
    only_this_isa: bool = False,
    max_bytes: int = ...,
) -> tuple[NDArray[np.int64], *Columns]:
    """Scores int64[n] of pairs, and their alignments as trace_all returns them."""

# bindings/long.cpp
Line = NDArray[np.int32] | NDArray[np.int64]

def fill_region(
    query: NDArray[np.uint8],
    target: NDArray[np.uint8],
    matrix: NDArray[np.int32],
    gap_first: int,
    gap_extend: int,
    is_local: bool,
    top_h: Line,
    top_f: Line,
    left_h: Line,
    left_e: Line,
    corner: int,
    rows: NDArray[np.int64],
    row_h: Line,
    row_f: Line,
    columns: NDArray[np.int64],
    column_h: Line,
    column_e: Line,
    wants_end: bool = False,
    threads: int = 1,
    isa: str = "",
    on_progress: Callable[[int], None] | None = None,
    pruning: tuple[int, int, int] | None = None,
) -> tuple[int, int, int, int]:
    """Fill a region and write its checkpoints. Returns score, row and column of the best cell, in letters of the
    region, which are 0 unless `wants_end`, and the number of pruned cells.

    query, target: the letters of the region. rows, columns: the places of checkpoints in letters of the region,
    ascending. All scores are int32, or all int64. pruning: a score that some alignment reaches, and the rows and
    columns in which an alignment can gain, counted from the first of the region.
    """

class BlockWalker:
    """Traceback through blocks between checkpoints, on a thread pool of its own."""

    def __init__(self, threads: int = 1, isa: str = "") -> None: ...
    def walk(
        self,
        query: NDArray[np.uint8],
        target: NDArray[np.uint8],
        matrix: NDArray[np.int32],
        gap_first: int,
        gap_extend: int,
        is_local: bool,
        top_h: Line,
        top_f: Line,
        left_h: Line,
        left_e: Line,
        corner: int,
        spacing: int,
        rows: NDArray[np.int64],
        row_firsts: NDArray[np.int64],
        row_h: Line,
        row_f: Line,
        columns: NDArray[np.int64],
        column_firsts: NDArray[np.int64],
        column_h: Line,
        column_e: Line,
        row: int,
        column: int,
        left: int = 0,
        gap: int = 0,
    ) -> tuple[NDArray[np.uint8], int, int, int, int]:
        """Follow a path back through blocks of a region. Returns its steps, uint8[n], backwards, and the state after
        them: row, column, remaining score and gap.

        rows: int64[k], the places of checkpoint rows in letters of the region, multiples of `spacing`. row_h, row_f:
        [k, w], their parts, which begin at column row_firsts[k] of the region. Columns have the same form.
        """
