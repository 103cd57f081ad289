"""Run parasail over pairs on request: one JSON request per line on stdin, one JSON answer per line on stdout.

It runs in a separate environment, which `make bench` sets up, and does not import exaln.
"""

import ctypes
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import parasail

LEAST_SECONDS = 0.1
"""A call is repeated for this time, and the fastest counts."""


def built_loop():
    """parasail_pairs.cpp, compiled against the parasail of this environment."""
    package = Path(parasail.__file__).parent
    library = Path(tempfile.mkdtemp()) / "parasail_pairs.so"
    source = Path(__file__).with_name("parasail_pairs.cpp")
    flags = ["-O2", "-shared", "-fPIC", "-pthread", f"-I{package / 'include'}", f"-Wl,-rpath,{package}"]
    subprocess.run(["c++", *flags, str(source), str(package / "libparasail.so"), "-o", str(library)], check=True)
    return ctypes.CDLL(str(library)).parasail_pairs


class Sequences:
    """The letters of all sequences, and the offset of each."""

    def __init__(self, texts):
        self.letters = "".join(texts).encode()
        self.offsets = np.cumsum([0] + [len(text) for text in texts]).astype(np.int64)


class Workload:
    """Pairs and their scoring."""

    def __init__(self, request):
        self.queries, self.targets = Sequences(request["queries"]), Sequences(request["targets"])
        costs = request["costs"]
        self.costs = (
            costs["matrix"].encode(),
            costs["match"],
            costs["mismatch"],
            costs["gap_first"],
            costs["gap_extend"],
        )

    def run(self, loop, function, threads, wants_cigar):
        n = len(self.queries.offsets) - 1
        scores, n_operations = np.zeros(n, np.int32), np.zeros(n, np.int32)
        arrays = [
            ctypes.c_void_p(array.ctypes.data)
            for array in (self.queries.offsets, self.targets.offsets, scores, n_operations)
        ]
        sequences = (self.queries.letters, arrays[0], self.targets.letters, arrays[1], ctypes.c_int64(n))
        best = end = float("inf")
        begin = time.perf_counter()
        while best == float("inf") or end - begin < LEAST_SECONDS:
            start = time.perf_counter()
            failed = loop(function.encode(), *self.costs, *sequences, threads, int(wants_cigar), *arrays[2:])
            end = time.perf_counter()
            best = min(best, end - start)
        return {"seconds": best, "scores": None if failed else scores.tolist()}


def main():
    """Answer requests until stdin ends. A request with pairs sets the pairs of the following requests."""
    loop, workload = built_loop(), None
    print(json.dumps({"parasail": parasail.__version__}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        if "queries" in request:
            workload, answer = Workload(request), {}
        else:
            answer = workload.run(loop, request["function"], request["threads"], request["wants_cigar"])
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
