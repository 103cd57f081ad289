"""Time of batches of pairs with paths on a GPU: on the device by kernel, and of the whole call.

    python benchmarks/gpu_pairs.py                # needs an NVIDIA GPU
    python benchmarks/gpu_pairs.py --quick

The pairs are random DNA, and DNA with a tenth of its letters changed; match 2, mismatch -3, gaps 5/2. The whole call is
`exaln.align_many`, from arrays of codes to a list of alignments; the fastest of several counts. A sample is compared
with the cpu engine, path by path. Writes benchmarks/runs/<date>-<GPU>/gpu_pairs.json.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from collections import defaultdict
from contextlib import contextmanager
from typing import Any

import numpy as np

import exaln
from exaln.engines.bench.cuda import machine_name
from exaln.engines.bench.runs import driver_version, machine, runs_folder, write_run
from exaln.engines.cuda.engine import CudaEngine
from exaln.engines.cuda.runtime.device import Device
from exaln.engines.cuda.runtime.probe import probe_machine

SCORING = exaln.Scoring(match=2, mismatch=-3, gap_open=5, gap_extend=2)
SIZES = [(1000, 512, 512), (20_000, 150, 200), (100_000, 512, 512)]
MODES = ["local", "global", "semiglobal", "overlap"]
REPEATS = 5
SAMPLE = 200


def sequences(n: int, m: int, length: int, *, similar: bool) -> tuple[Any, Any]:
    """Two arrays of codes, one sequence per row."""
    random = np.random.default_rng(1)
    queries = random.integers(0, 4, (n, m)).astype(np.uint8)
    targets = random.integers(0, 4, (n, length)).astype(np.uint8)
    if similar:
        common = min(m, length)
        kept = random.random((n, common)) >= 0.1
        targets[:, :common] = np.where(kept, queries[:, :common], targets[:, :common])
    return queries, targets


@contextmanager
def timed_kernels(seconds: dict[str, float]) -> Any:
    """Add the time on the device of every launched kernel to `seconds`."""
    launch = Device.launch
    launched: list[tuple[Device, str, Any, Any]] = []

    def timed(device: Device, kernel: Any, grid: Any, n_threads: int, stream: Any, arguments: Any) -> None:
        begin, end = device.event(has_time=True), device.event(has_time=True)
        device.record(begin, stream)
        launch(device, kernel, grid, n_threads, stream, arguments)
        device.record(end, stream)
        launched.append((device, kernel.name, begin, end))

    Device.launch = timed  # type: ignore[method-assign]
    try:
        yield
    finally:
        Device.launch = launch  # type: ignore[method-assign]
        for device, name, begin, end in launched:
            device.wait(end)
            seconds[name] += device.seconds(begin, end)


def measure(n: int, m: int, length: int, mode: str, *, similar: bool) -> dict[str, Any]:
    """Measure one batch in one mode."""
    queries, targets = sequences(n, m, length, similar=similar)

    def align(engine: str, count: int = n) -> list[exaln.Alignment]:
        return list(exaln.align_many(queries[:count], targets[:count], scoring=SCORING, mode=mode, engine=engine))

    align("cuda")
    walls = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        found = align("cuda")
        walls.append(time.perf_counter() - began)
    expected = align("cpu", SAMPLE)
    for ours, theirs in zip(found[:SAMPLE], expected, strict=True):
        if (ours.score, ours.cigar_extended) != (theirs.score, theirs.cigar_extended):
            sys.exit(f"{n} x {m} x {length}, {mode}: an alignment differs from that of the cpu engine")
    kernels: dict[str, float] = defaultdict(float)
    with timed_kernels(kernels):
        align("cuda")
    cells = n * m * length
    return {
        "pairs": n,
        "query": m,
        "target": length,
        "mode": mode,
        "similar": similar,
        "wall_seconds": min(walls),
        "device_seconds": sum(kernels.values()),
        "kernel_seconds": dict(kernels),
        "device_tcups": cells / sum(kernels.values()) / 1e12,
        "wall_tcups": cells / min(walls) / 1e12,
        "score_sum": int(sum(alignment.score for alignment in found)),
    }


def main() -> None:
    """Measure all sizes and modes, print the figures and write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="only 1,000 pairs")
    parser.add_argument("--modes", nargs="+", choices=MODES, default=MODES)
    options = parser.parse_args()
    reason = CudaEngine.unavailable_reason()
    if reason is not None:
        sys.exit(f"no GPU to measure: {reason}")
    rows = []
    for n, m, length in SIZES[: 1 if options.quick else None]:
        for mode in options.modes:
            for similar in (True, False):
                row = measure(n, m, length, mode, similar=similar)
                rows.append(row)
                print(
                    f"{n:7,} x {m} x {length} {mode:10} {'similar' if similar else 'random':7} "
                    f"wall {row['wall_seconds'] * 1e3:7.2f} ms  device {row['device_seconds'] * 1e3:7.2f} ms  "
                    f"{row['device_tcups']:.2f} TCUPS on the device",
                    flush=True,
                )
    content = {
        "exaln": exaln.__version__,
        "command": shlex.join(["python", "benchmarks/gpu_pairs.py", *sys.argv[1:]]),
        "machine": machine(),
        "gpus": probe_machine()["gpus"][:1],
        "driver": driver_version(),
        "scoring": SCORING.describe(),
        "measurements": rows,
    }
    folder = runs_folder(machine_name(content))
    if folder is None:
        print(json.dumps(content, indent=1))
    else:
        print(f"written to {write_run(folder, 'gpu_pairs', content)}")


if __name__ == "__main__":
    main()
