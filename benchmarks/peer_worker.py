"""Run parasail and pyopal on request: one JSON request per line on stdin, one JSON answer per line on stdout.

Lives in an environment of its own (`make bench` sets it up) and knows nothing of exaln.
"""

import ctypes
import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import parasail
import pyopal

GAP_FIRST, GAP_EXTEND = 12, 1


class Parasail:
    """Striped, 8-bit saturating with 16-bit repetition, the best instruction set it finds; threads over targets."""

    version = parasail.__version__

    def __init__(self, targets):
        self.letters = "".join(targets).encode()
        self.offsets = np.cumsum([0] + [len(t) for t in targets]).astype(np.int64)
        self.scores = np.zeros(len(targets), np.int32)
        package = Path(parasail.__file__).parent
        library = Path(tempfile.mkdtemp()) / "parasail_loop.so"
        source = Path(__file__).with_name("parasail_loop.cpp")
        flags = ["-O2", "-shared", "-fPIC", "-pthread", f"-I{package / 'include'}", f"-Wl,-rpath,{package}"]
        subprocess.run(["c++", *flags, str(source), str(package / "libparasail.so"), "-o", str(library)], check=True)
        self.loop = ctypes.CDLL(str(library)).parasail_loop

    def run(self, query, threads):
        pointers = (self.offsets.ctypes.data, len(self.scores), threads, GAP_FIRST, GAP_EXTEND, self.scores.ctypes.data)
        self.loop(
            query.encode(),
            len(query),
            self.letters,
            ctypes.c_void_p(pointers[0]),
            ctypes.c_int64(pointers[1]),
            *pointers[2:5],
            ctypes.c_void_p(pointers[5]),
        )
        return self.scores.tolist()


class Pyopal:
    """Inter-sequence, 8 bits first, overflow="simple"; chunks of the database over threads."""

    version = pyopal.__version__

    def __init__(self, targets):
        self.database = pyopal.Database(targets)
        self.aligner = pyopal.Aligner("BLOSUM62", gap_open=GAP_FIRST, gap_extend=GAP_EXTEND)

    def run(self, query, threads):
        n = len(self.database)
        edges = np.linspace(0, n, 8 * threads + 1).astype(int).tolist()

        def chunk(start, end):
            found = self.aligner.align(
                query, self.database, mode="score", overflow="simple", algorithm="sw", start=start, end=end
            )
            return [result.score for result in found]

        if threads == 1:
            return chunk(0, n)
        with ThreadPoolExecutor(threads) as pool:
            return [score for part in pool.map(chunk, edges[:-1], edges[1:]) for score in part]


def main():
    """Answer requests until stdin ends."""
    setup = json.loads(sys.stdin.readline())
    peers = {"parasail": Parasail(setup["targets"]), "pyopal": Pyopal(setup["targets"])}
    print(json.dumps({name: peer.version for name, peer in peers.items()}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        start = time.perf_counter()
        scores = peers[request["peer"]].run(request["query"], request["threads"])
        print(json.dumps({"seconds": time.perf_counter() - start, "scores": scores}), flush=True)


if __name__ == "__main__":
    main()
