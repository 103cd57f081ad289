"""Time of the kernel for long pairs: the score of one pair, measured on the GPU.

    python benchmarks/long_kernel.py 3_000 100_000 1_000_000 --out long_kernel.json

Pairs are made as in long_pairs.py: a random sequence and a mutated copy. All cells are computed for the score and the
end of the alignment, without checkpoints. The best of several runs counts. Scores of small pairs are compared with
those of the cpu engine.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from long_pairs import made_pair, strict_scoring

import exaln
from exaln.engines.bench.runs import driver_version, machine
from exaln.engines.cpu.engine import CpuEngine
from exaln.engines.cuda.engine import CudaEngine
from exaln.engines.cuda.long import slab
from exaln.engines.cuda.long.device_part import DevicePart
from exaln.pairwise.long.driver import LongOptions, score_long
from exaln.scoring.modes import LOCAL

if TYPE_CHECKING:
    from exaln.engines.cuda.runtime.device import Event

BUSY_WORDS = 1 << 27
"""Words that are cleared before a launch, to keep the GPU busy until the launch arrives."""

MANY_CELLS = 10**10
MOST_CHECKED = 10**10


class TimedPart(DevicePart):
    """A DevicePart that records when its kernel begins and ends."""

    def launch(self) -> None:
        """Launch the kernel between two events."""
        device, stream = self._device, self._workspace.stream
        device.activate()
        device.fill(self._scratch("nothing", 4 * BUSY_WORDS), 0, BUSY_WORDS, stream)
        self._began = self._now()
        super().launch()
        self._ended = self._now()
        launched.append(self)

    def seconds(self) -> float:
        """Seconds of the kernel, after it has ended."""
        self._device.activate()
        self._device.wait(self._ended)
        return self._device.seconds(self._began, self._ended)

    def shape_facts(self) -> dict[str, int]:
        """The shape of the kernel and of its launch."""
        shape = self._shape
        return {"rows": shape.rows, "threads": shape.threads, "blocks": self._n_blocks, "strips": len(self._strips)}

    def _now(self) -> Event:
        return self._device.record(self._device.event(has_time=True), self._workspace.stream)


launched: list[TimedPart] = []


def measure(length: int, repeats: int) -> dict[str, Any]:
    """Measure a pair of one length. Parts on the same GPU run concurrently, so the slowest part counts."""
    query, target = made_pair(length)
    case = (query, target, strict_scoring(), LOCAL, LongOptions(prunes=False))
    best, score = float("inf"), 0
    for _ in range(repeats):
        launched.clear()
        score = score_long(CudaEngine(), *case)
        best = min(best, max(part.seconds() for part in launched))
    if len(query) * len(target) <= MOST_CHECKED:
        assert score == score_long(CpuEngine(), *case), length
    return {
        "query": len(query),
        "target": len(target),
        "score": score,
        "kernel_seconds": best,
        "tcups": len(query) * len(target) / best / 1e12,
        "parts": [part.shape_facts() for part in launched],
    }


def main() -> None:
    """Measure all lengths, print the figures and write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lengths", nargs="+", type=int, metavar="N")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    slab.DevicePart = TimedPart  # type: ignore[misc]
    facts: dict[str, Any] = {"exaln": exaln.__version__, "command": sys.argv, "machine": machine()}
    facts |= {"driver": driver_version(), "engine": CudaEngine().describe(), "sizes": []}
    for length in arguments.lengths:
        found = measure(length, 2 if length**2 > MANY_CELLS else 20)
        facts["sizes"].append(found)
        print(f"{length:>11,}: {1e3 * found['kernel_seconds']:.3f} ms, {found['tcups']:.3f} TCUPS", flush=True)
        if arguments.out is not None:
            arguments.out.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
