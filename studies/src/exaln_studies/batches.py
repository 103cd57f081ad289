"""Batches of pairs of equal length for the study of Taluzzi: their expected alignments, and the batch on a device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import DNA
from exaln_studies.gpu import Lab
from exaln_studies.pairs import SEED, Answer, answers_of
from exaln_studies.study import Bench

if TYPE_CHECKING:
    from numpy.typing import NDArray

MATCH, MISMATCH, GAP = 2, -1, 1
STEPS = np.frombuffer(b"?MDI", np.uint8)
"""Letters of the directions of kernels/cells.cuh and of _native.align_pairs."""


def scoring() -> Scoring:
    """+2 / -1 and a linear gap of 1, as inferred from Fig. 2.1 of the report."""
    return Scoring(match=MATCH, mismatch=MISMATCH, gap_open=0, gap_extend=GAP, alphabet=DNA)


@dataclass(frozen=True)
class Batch:
    """Queries and targets, uint8[n_pairs, length], and the expected alignment of each pair."""

    queries: NDArray[np.uint8]
    targets: NDArray[np.uint8]
    answers: list[Answer]

    @property
    def length(self) -> int:
        """Length of every sequence."""
        return int(self.queries.shape[1])

    def __len__(self) -> int:
        return len(self.queries)

    def check(
        self, bench: Bench, what: str, scores: NDArray[np.int32], ends: NDArray[np.int64], paths: list[str]
    ) -> None:
        """Compare every score, end and path."""
        bench.check(f"{what}: scores", scores, [answer.score for answer in self.answers])
        bench.check(f"{what}: ends", ends, [(answer.query_end, answer.target_end) for answer in self.answers])
        bench.check(f"{what}: paths", paths, [answer.steps for answer in self.answers])


def batch_of(queries: NDArray[np.uint8], targets: NDArray[np.uint8]) -> Batch:
    """Return a batch with its expected alignments."""
    return Batch(queries, targets, answers_of(list(queries), list(targets), scoring()))


def random_batch(n_pairs: int, length: int) -> Batch:
    """Return a batch of random nucleotides."""
    random = np.random.default_rng((SEED, n_pairs, length))
    letters = DNA.encode("ACGT")
    queries, targets = letters[random.integers(0, 4, (2, n_pairs, length))]
    return batch_of(queries, targets)


def forward(steps: NDArray[np.uint8]) -> str:
    """Convert the directions of a path, from its end, to letters from its start."""
    return bytes(STEPS[steps[::-1]]).decode()


class GpuBatch:
    """A batch on a device, with memory for the results that kernels/steps.cuh describes."""

    def __init__(self, lab: Lab, batch: Batch) -> None:
        self.lab, self.batch = lab, batch
        self.queries, self.targets = lab.put(batch.queries), lab.put(batch.targets)
        self.ends = lab.zeros(8 * len(batch))
        self.steps = lab.zeros(2 * batch.length * len(batch))
        self.n_steps = lab.zeros(4 * len(batch))

    @property
    def inputs(self) -> tuple[int, int, int, int, int]:
        """First arguments of every kernel."""
        return self.queries.address, self.targets.address, MATCH, MISMATCH, GAP

    @property
    def outputs(self) -> tuple[int, int, int]:
        """Addresses of ends, steps and numbers of steps."""
        return self.ends.address, self.steps.address, self.n_steps.address

    def check(self, bench: Bench, what: str) -> None:
        """Copy the results from the device, compare them, and clear them there."""
        n, lab = len(self.batch), self.lab
        keys = lab.get(self.ends, np.uint64, n)
        scores = (keys >> np.uint64(32)).astype(np.int32)
        ends = np.stack(
            [0xFFFF - (keys >> np.uint64(shift) & np.uint64(0xFFFF)).astype(np.int64) for shift in (0, 16)], 1
        )
        ends[scores == 0] = 0
        steps = lab.get(self.steps, np.uint8, (n, 2 * self.batch.length))
        counts = lab.get(self.n_steps, np.int32, n)
        paths = [forward(row[:count]) for row, count in zip(steps, counts, strict=True)]
        self.batch.check(bench, what, scores, ends, paths)
        for memory in (self.ends, self.steps, self.n_steps):
            lab.device.fill(memory.address, 0, memory.n_bytes // 4, lab.stream)
