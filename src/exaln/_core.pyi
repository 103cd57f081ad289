from typing import Any

import numpy as np
from numpy.typing import NDArray

class FastaReader:
    """Incremental FASTA and FASTQ parser: bytes in pieces of any size, encoded columns out."""

    def __init__(self, table: NDArray[np.uint8], strip_gaps: bool = False) -> None: ...
    def feed(self, data: bytes | bytearray | memoryview) -> bool:
        """Read on; False once there is a problem."""
    def finish(self) -> bool:
        """The file has ended; False if it must not end here."""
    def take(self) -> tuple[NDArray[Any], ...]:
        """Columns of complete records: ids, descriptions (data, offsets each), codes, offsets, mask, its offsets."""
    def code_counts(self) -> NDArray[np.int64]:
        """int64[256]: how often each code occurs in what was not taken yet, the record that is being read included."""
    def tallies(self) -> dict[str, tuple[int, int]]:
        """How often, and in which line first: empty, gaps, latin1, unnamed."""
    @property
    def problem(self) -> tuple[str, int, int, str] | None:
        """Kind (`Problem` in fasta_reader.hpp), line, byte, and the id of the last header read."""
    @property
    def n_complete(self) -> int: ...
    @property
    def n_residues(self) -> int:
        """Not yet taken, the record that is being read included."""
    @property
    def n_bytes(self) -> int: ...
