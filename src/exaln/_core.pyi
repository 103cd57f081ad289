"""Signatures of the C++ core, grouped by the file in native/ that binds them."""

from collections.abc import Callable, Sequence
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

class FastaBlocks:
    """The parser for a FASTA file that is read on several threads; its results are those of `FastaReader`."""

    def __init__(
        self,
        descriptor: int,
        size: int,
        table: NDArray[np.uint8],
        strip_gaps: bool,
        max_header_bytes: int,
        max_record_bytes: int,
        block_bytes: int,
        threads: int,
    ) -> None:
        """Parse the file of a descriptor, which stays the caller's, from its first byte. size: that of the file."""
    def take(self) -> tuple[Any, ...] | None:
        """Take the columns of the next block, as `FastaReader.take`; None after the last and after a problem."""
    def stop(self) -> None:
        """End the threads. Call it before the descriptor is closed."""
    def tallies(self) -> dict[str, tuple[int, int]]:
        """As `FastaReader.tallies`, for the blocks that were taken."""
    @property
    def problem(self) -> tuple[str, int, int, str] | None:
        """As `FastaReader.problem`, for the blocks that were taken."""
    @property
    def bytes_taken(self) -> int:
        """Bytes of the file in the blocks that were taken."""

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
def argsort_bytes(
    data: NDArray[np.uint8], offsets: NDArray[np.int64], threads: int = 1
) -> tuple[NDArray[np.int32], int]: ...
def take_rows(data: NDArray[np.uint8], begins: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.uint8]: ...
def letters_in(codes: NDArray[np.uint8]) -> bytes: ...
def problem_of_offsets(offsets: NDArray[np.int64], n_values: int, is_sorted: bool) -> int: ...
def length_runs(offsets: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
def find_bytes(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    order: NDArray[np.int32],
    wanted_data: NDArray[np.uint8],
    wanted_offsets: NDArray[np.int64],
) -> NDArray[np.int64]: ...

class OrderedColumn:
    """A column of variable-length rows that lie in several pieces, as if it were one column in another order."""

    def __init__(
        self,
        data: list[NDArray[np.uint8]],
        offsets: list[NDArray[np.int64]],
        ranks: NDArray[np.int32],
        threads: int = 1,
    ) -> None:
        """Row i of all pieces together becomes row ranks[i]. The data are referenced, not copied."""
    @property
    def offsets(self) -> NDArray[np.int64]:
        """int64[n + 1]: the bytes of row i are [offsets[i], offsets[i + 1])."""
    def copy(self, begin: int, end: int, out: NDArray[np.uint8], threads: int = 1) -> None:
        """Write the bytes [begin, end) of the column to the beginning of `out`."""

def start_writeback(descriptor: int, begin: int, n_bytes: int) -> None:
    """Ask the system to write a range of a file to the disk now; a hint that does not wait and has no errors."""

# bindings/text_rows.cpp
class TextRows:
    """Texts, and arrays of codes, of one list: where their bytes lie, and references to the objects."""

    def __init__(self) -> None: ...
    def __len__(self) -> int: ...
    def add_items(self, items: Sequence[Any], array: type) -> list[int]:
        """Add a row for each item: str, bytes, or codes as an array of uint8 without gaps. array: numpy.ndarray.

        Returns the numbers of all other items, of which the rows are empty; also of str with lone surrogates.
        """
    def add_matrix(self, matrix: NDArray[np.uint8]) -> None:
        """Add the rows of a matrix of letters; NUL bytes at the end of a row are left out."""
    def add_wide_matrix(self, matrix: NDArray[np.uint32], threads: int = 1) -> bool:
        """The same for characters of four bytes, which are copied. False, and no rows, if one is not ASCII."""
    def add_column(self, data: NDArray[np.uint8], offsets: NDArray[np.int32] | NDArray[np.int64]) -> None:
        """Add rows of letters, data[offsets[i]:offsets[i + 1]]. Raises IndexError if offsets lead outside the data."""
    def add_views(self, views: NDArray[np.uint8], buffers: list[NDArray[np.uint8]]) -> None:
        """Add rows of letters as Arrow's string_view has them, 16 bytes each. Raises IndexError as `add_column`."""
    @property
    def n_bytes(self) -> int: ...
    @property
    def has_codes(self) -> bool: ...
    def offsets(self) -> NDArray[np.int64]:
        """int64[n + 1]: where each row begins if they are joined."""
    def bytes_of(self, row: int, most: int = ...) -> bytes:
        """The first bytes of a row, `most` at most."""
    def is_codes(self, row: int) -> bool: ...
    def letter_counts(self, threads: int = 1, isa: str = "") -> NDArray[np.int64]:
        """int64[256]: how often each byte occurs in rows of letters; a to z count as A to Z."""
    def encode(
        self, table: NDArray[np.uint8], n_codes: int, codes: NDArray[np.uint8], threads: int = 1, isa: str = ""
    ) -> tuple[int, int, int] | None:
        """Write the codes of all rows, uint8[n_bytes]: table[letter]. Returns None, or row, position and byte of the
        first letter or code that is not below n_codes.
        """

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
    block_columns: int = 0,
) -> NDArray[np.int32]:
    """int32[n_queries, n_targets]: exact local scores. on_progress(cells) is called about ten times a second.

    block_columns: a multiple of 64; instead of a column per target there is one for each block of so many residues of a
    target, with the best score of an alignment that ends in it.
    """

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

def pair_times() -> tuple[float, float]:
    """Seconds that all threads have spent on pairs so far, and on their kernels alone; for benchmarks."""

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

def align_several(
    queries: Sequences,
    targets: Sequences,
    pairs: PairRows,
    costs: Costs,
    most: int,
    least: NDArray[np.int64],
    known_scores: NDArray[np.int32] | None,
    upper: NDArray[np.int64] | None,
    margin: NDArray[np.int64] | None,
    threads: int = 1,
    isa: str = "",
    only_this_isa: bool = False,
    max_bytes: int = ...,
    tile: tuple[int, int] = ...,
    least_bits: int = 8,
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64], *Columns]:
    """Up to `most` local alignments of each pair, of at least its least score, that share no aligned letters.

    Returns whether the result is certain uint8[n], the pair int64[k] and the score int64[k] of each alignment, then the
    columns of `trace_all`. upper, margin: see `TargetEnds`. MemoryError if the tables take more than max_bytes, over
    all threads. For tests: tile, its rows and columns, with which all
    alignments are found in tables of tiles; least_bits, the narrowest values.
    """

PairScores = tuple[NDArray[np.int32], int, int]  # tables [n, n_letters, n_letters], gap_first, gap_extend

def score_own_tables(
    queries: Sequences,
    targets: Sequences,
    pairs: PairRows,
    tables: PairScores,
    threads: int = 1,
    isa: str = "",
    only_this_isa: bool = False,
) -> NDArray[np.int64]:
    """int64[n]: exact local scores of pairs with a table each."""

def align_own_tables(
    queries: Sequences,
    targets: Sequences,
    pairs: PairRows,
    tables: PairScores,
    most: int,
    least: NDArray[np.int64],
    known_scores: NDArray[np.int32] | None,
    threads: int = 1,
    isa: str = "",
    only_this_isa: bool = False,
    max_bytes: int = ...,
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64], *Columns]:
    """As `align_several`, of pairs with a table each."""

def several_bytes(n_rows: int, n_columns: int, costs: Costs) -> float:
    """The least memory in which `align_several` can compute a pair of this size."""

# bindings/device_pairs.cpp
DeviceShape = tuple[int, int]  # lanes, rows
DeviceTables = tuple[bool, bool, bool]  # is local, has a last row, has paths
# codes, offsets, the sequence of each pair, whether letters travel in blocks, and the first code on the device if not
PairSide = tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64], bool, int]

def plan_device_pairs(
    m: NDArray[np.int64],
    n: NDArray[np.int64],
    shapes: list[tuple[int, int, int]],
    tables: DeviceTables,
    limits: tuple[int, int],
    sends: tuple[bool, bool],
    head_bytes: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The order of pairs of m rows and n columns, and int64[12 n_batches], the fields of `DeviceBatch` in
    native/pairs/device_plan.hpp. shapes: lanes, rows and cost of a step; limits: bytes of the arena and of a block;
    sends: whether letters of queries and targets travel in blocks.
    """

def pair_couple_bytes(
    m: NDArray[np.int64], n: NDArray[np.int64], shapes: list[DeviceShape], tables: DeviceTables
) -> NDArray[np.int64]:
    """int64[k]: the most bytes of the arena, in any of these shapes, for couples of m rows and n columns."""

def used_codes(side: PairSide, few: int, threads: int = 1) -> NDArray[np.uint8]:
    """uint8[256]: 1 for each code that occurs in the sequences of pairs. A sequence whose codes are all below `few`
    counts as having all of these.
    """

def fill_pair_block(
    block: NDArray[np.uint8],
    batch: NDArray[np.int64],
    order: NDArray[np.int64],
    queries: PairSide,
    targets: PairSide,
    shape: DeviceShape,
    tables: DeviceTables,
    threads: int = 1,
) -> None:
    """Write what the device needs for a batch into its block, after the head."""

def collect_pair_block(
    block: NDArray[np.uint8],
    batch: NDArray[np.int64],
    order: NDArray[np.int64],
    columns: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]],
    runs: NDArray[np.uint32],
    n_runs: int,
    first_run: int,
    threads: int = 1,
) -> None:
    """Copy the results of a batch to the rows of its pairs, and n_runs runs of paths to `runs`. columns: scores,
    positions, counts, runs of each path, and its first run, to which `first_run` is added.
    """

def collect_pair_scores(
    block: NDArray[np.uint8], batch: NDArray[np.int64], order: NDArray[np.int64], scores: NDArray[np.int64]
) -> None:
    """Copy the scores of a batch to the rows of its pairs."""

def gather_paths(
    pieces: list[NDArray[np.uint32]],
    first_runs: NDArray[np.int64],
    offsets: NDArray[np.int64],
    operations: NDArray[np.uint32],
    threads: int = 1,
) -> None:
    """Write the path of each row i, which begins at first_runs[i] in the consecutive pieces, to
    operations[offsets[i]:].
    """

# bindings/alignments.cpp
def cigar_column(
    operations: NDArray[np.uint32], offsets: NDArray[np.int64], extended: bool, threads: int = 1
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """CIGARs as a column of text: data and offsets."""

def cigar_list(
    operations: NDArray[np.uint32], offsets: NDArray[np.int64], extended: bool, threads: int = 1
) -> list[str]: ...
def ascii_strings(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> list[str]:
    """The strings of a column of ASCII text. Raises UnicodeDecodeError for other text."""

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

# native/bindings/short_pairs.cpp
class ShortPairs:
    """Scores and alignments of one pair of texts at a time; any number of threads may use an object at once.

    Results are None if a byte is not a letter, if nothing can align, if scores need more than 32 bits, and for strands
    that the sequences do not have.
    """

    def __init__(
        self,
        matrix: NDArray[np.int32],
        gap_first: int,
        gap_extend: int,
        codes: NDArray[np.uint8],
        complements: NDArray[np.uint8],
        is_nucleotide: bool,
        isa: str,
    ) -> None:
        """codes: uint8[256], the code of each byte. complements: uint8[n_letters], or empty."""
    def score(self, query: str | bytes, target: str | bytes, mode: ModeFlags) -> int | None: ...
    def align(
        self, query: str | bytes, target: str | bytes, mode: ModeFlags, strand: int = 0
    ) -> tuple[tuple[int, ...], bytes] | None:
        """Score, positions (4), counts (6) and strand; operations as the bytes of uint32."""

def class_counts(
    first: str | bytes, second: str | bytes, members: bytes
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]] | None:
    """How many letters of both texts, of the first and of the second belong to each of eight classes.

    None if one cannot be encoded. members: 8 bytes for each byte, 1 if it belongs to the class, else 0.
    """

# native/bindings/masking.cpp
def seg(
    codes: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    kinds: NDArray[np.uint8],
    window: int,
    locut: float,
    hicut: float,
    threads: int = 1,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Stretches of low complexity: begins, ends, and the offsets of those of each sequence, as found. They may overlap.

    kinds: uint8[256], the amino acid of each code, numbered from 0; 20 and more are unknown letters.
    """

# native/bindings/composition.cpp
AminoAcidCounts = tuple[NDArray[np.int64], NDArray[np.int64]]  # counts [n, 20], lengths
# joint frequencies [20, 20], background [20], frequency ratios [27, 27], lambda
MatrixFrequencies = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], float]

def count_amino_acids(sequences: Sequences) -> NDArray[np.int64]:
    """int64[n * 20]: how often each amino acid occurs in each sequence; U counts as C."""

def adjusted_scores(
    matrix: MatrixFrequencies,
    queries: AminoAcidCounts,
    targets: AminoAcidCounts,
    pairs: PairRows,
    mode: int,
    threads: int = 1,
) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """int32[n * 27 * 27]: the substitution scores of each pair; uint8[n]: 0 where they are scaled, 1 where they are
    optimized.
    """

def target_frequencies(
    joint: NDArray[np.float64], rows: NDArray[np.float64], columns: NDArray[np.float64], entropy: float
) -> tuple[NDArray[np.float64], int, bool]:
    """Target frequencies float64[400], steps of Newton's method, and whether it converged."""
