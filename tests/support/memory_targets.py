"""A database in memory, as engines see it: any number of segments, each sorted by length, ordinals in input order."""

from dataclasses import dataclass, field

import numpy as np

from exaln.database.views import RowsInMemory
from exaln.sequences.alphabet import Alphabet
from kernel_cases import join


@dataclass(eq=False)
class Rows(RowsInMemory):
    codes: np.ndarray
    offsets: np.ndarray
    ordinals: np.ndarray


@dataclass(eq=False)
class MemoryTargets:
    alphabet: Alphabet
    segments: tuple[Rows, ...]
    n_targets: int = field(init=False)
    n_residues: int = field(init=False)

    def __post_init__(self):
        self.n_targets = sum(len(segment.ordinals) for segment in self.segments)
        self.n_residues = sum(int(segment.offsets[-1] - segment.offsets[0]) for segment in self.segments)


def memory_targets(alphabet, sequences, n_segments=1):
    """Target i goes to segment i % n_segments."""
    segments = []
    for number in range(n_segments):
        ordinals = np.arange(number, len(sequences), n_segments)
        ordinals = ordinals[np.argsort([len(sequences[i]) for i in ordinals], kind="stable")]
        segments.append(Rows(*join([sequences[i] for i in ordinals]), ordinals))
    return MemoryTargets(alphabet, tuple(segments))
