"""A process inside the measured tree: reads a request per line, as JSON, and answers with a line of JSON.

Only calls that the earlier tree has too are made, and everything is imported when it is needed, so that a search in a
fresh process pays for what it imports.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parent.parent))

COSTS = {"dna": {"match": 2, "mismatch": -3, "gap_open": 5, "gap_extend": 2}, "protein": {}}
KERNELS = ("score_all", "score_pairs", "align_pairs", "trace_all")
"""Native functions whose time is that of the kernels, by the start of their names."""


class Requests:
    """The requests that a worker answers, one method each."""

    def __init__(self) -> None:
        self.queries: Any = None
        self.targets: Any = None
        self.molecule = "dna"
        self.found: Any = None

    def make(self, form: str, n: int, length: int | str, molecule: str = "dna") -> dict[str, Any]:
        """Make the sequences of later calls."""
        from user_time_parts.sequences import FORMS, random_pairs

        self.queries = self.targets = self.found = None
        self.molecule = molecule
        made = random_pairs(n, length, molecule)
        self.queries, self.targets = (FORMS[form](codes, molecule) for codes in made)
        del made
        gc.collect()
        return {}

    def pairs(self, do_align: bool, engine: str, mode: str = "local", reads: str = "") -> dict[str, Any]:
        """Time one whole call. reads: "kernels", the time in native functions; "device", that of kernels on the GPU."""
        import exaln

        call = exaln.align_many if do_align else exaln.score_many
        scoring = exaln.Scoring(**COSTS[self.molecule])  # type: ignore[arg-type]
        self.found = None
        gc.collect()
        read = {"kernels": native_seconds, "device": device_seconds, "": no_seconds}[reads]
        answer: dict[str, Any] = {}

        def work() -> None:
            began = time.perf_counter()
            self.found = call(self.queries, self.targets, scoring=scoring, mode=mode, engine=engine)  # type: ignore[operator]
            answer["seconds"] = time.perf_counter() - began

        answer["read"] = read(work)
        return answer

    def small(self, do_align: bool, length: int, has_scoring: bool, repeats: int) -> dict[str, Any]:
        """Seconds per call of exaln.align or exaln.score on two strings, which are others in every call."""
        import exaln
        from user_time_parts.sequences import FORMS, random_pairs

        queries, targets = (FORMS["str"](codes, "protein") for codes in random_pairs(repeats, length, "protein"))
        more: dict[str, Any] = {"scoring": exaln.Scoring("BLOSUM62")} if has_scoring else {}
        call: Callable[..., Any] = exaln.align if do_align else exaln.score
        call(queries[0], targets[0], **more)
        began = time.perf_counter()
        for query, target in zip(queries, targets, strict=True):
            call(query, target, **more)
        return {"seconds": (time.perf_counter() - began) / repeats}

    def cigars(self) -> dict[str, Any]:
        """Time the CIGARs of all alignments of the last call, as text."""
        began = time.perf_counter()
        cigars = self.found.cigars
        return {"seconds": time.perf_counter() - began, "n": len(cigars)}

    def digest(self) -> dict[str, Any]:
        """A digest of the last result: scores, and positions and CIGARs if there are any."""
        import numpy as np

        digest = hashlib.sha256(np.ascontiguousarray(getattr(self.found, "scores", self.found)).tobytes())
        if hasattr(self.found, "positions"):
            digest.update(np.ascontiguousarray(self.found.positions).tobytes())
            digest.update("\n".join(self.found.cigars_extended).encode())
        return {"digest": digest.hexdigest()[:16]}

    def scores_digest(self) -> dict[str, Any]:
        """A digest of the scores of the last result alone."""
        import numpy as np

        scores = np.ascontiguousarray(getattr(self.found, "scores", self.found), np.int64)
        return {"digest": hashlib.sha256(scores.tobytes()).hexdigest()[:16]}

    def search(self, query: str, database: str, engine: str) -> dict[str, Any]:
        """Time exaln.search of a query file and a database; later calls find the database open."""
        import exaln

        if self.found is None:
            self.found = exaln.Database.open(database)
        began = time.perf_counter()
        hits = exaln.search(Path(query), self.found, engine=engine, evalue=1000.0, max_target_seqs=10)
        seconds = time.perf_counter() - began
        rows = [(hit.query_id, hit.target_id, hit.score, hit.cigar) for hit in hits]
        return {"seconds": seconds, "digest": hashlib.sha256(repr(rows).encode()).hexdigest()[:16]}

    def build(self, source: str | list[str], database: str) -> dict[str, Any]:
        """Time exaln.Database.build, without the process."""
        import exaln

        given = [Path(one) for one in source] if isinstance(source, list) else Path(source)
        began = time.perf_counter()
        exaln.Database.build(given, database, force=True)
        return {"seconds": time.perf_counter() - began}

    def use_cores(self, n: int) -> dict[str, Any]:
        """Run on the first n of the cores of this process."""
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:n])
        return {}

    def decompress(self, path: str) -> dict[str, Any]:
        """Time the decompression of a file in memory, by the fastest library that exaln's dependencies bring."""
        try:
            from isal.igzip import decompress
        except ImportError:
            from gzip import decompress
        packed = Path(path).read_bytes()
        began = time.perf_counter()
        n = len(decompress(packed))
        return {"seconds": time.perf_counter() - began, "bytes": n, "library": decompress.__module__}

    def memory(self) -> dict[str, Any]:
        """Counters of memory of this process now; the peak of RSS starts again from here where the kernel allows it."""
        from user_time_parts.host_memory import counters

        gc.collect()
        found: dict[str, Any] = dict(counters(os.getpid()))
        try:
            Path("/proc/self/clear_refs").write_text("5")
        except OSError:
            found["peak_was_reset"] = False
        return found


def no_seconds(work: Callable[[], None]) -> None:
    """Only run the work."""
    work()


def native_seconds(work: Callable[[], None]) -> dict[str, float]:
    """Seconds in each native function during the work."""
    from exaln import _core

    seconds: dict[str, float] = {}
    functions = {name: value for name, value in vars(_core).items() if callable(value) and not isinstance(value, type)}

    def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            began = time.perf_counter()
            try:
                return function(*arguments, **named)
            finally:
                seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - began

        return call

    for name, function in functions.items():
        setattr(_core, name, timed(name, function))
    try:
        work()
    finally:
        for name, function in functions.items():
            setattr(_core, name, function)
    return {**seconds, "kernels": sum(value for name, value in seconds.items() if name.startswith(KERNELS))}


def device_seconds(work: Callable[[], None]) -> dict[str, float]:
    """Seconds of the kernels on the GPU that the work launches through the bindings of the driver."""
    from cuda.bindings import driver

    launch, events, seconds = driver.cuLaunchKernel, [], 0.0

    def timed(*arguments: Any) -> Any:
        pair = driver.cuEventCreate(0)[1], driver.cuEventCreate(0)[1]
        driver.cuEventRecord(pair[0], arguments[8])
        status = launch(*arguments)
        driver.cuEventRecord(pair[1], arguments[8])
        events.append(pair)
        return status

    driver.cuLaunchKernel = timed
    try:
        work()
    finally:
        driver.cuLaunchKernel = launch
    for begin, end in events:
        driver.cuEventSynchronize(end)
        seconds += driver.cuEventElapsedTime(begin, end)[1] / 1e3
    return {"kernels": seconds, "launches": len(events)}


def main() -> None:
    """Answer requests until the input ends."""
    requests = Requests()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = getattr(requests, request.pop("do"))(**request)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
