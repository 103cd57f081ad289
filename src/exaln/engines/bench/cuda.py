"""The report of `exaln bench --engine cuda`: timed scans, with the GPUs, the versions and the bound."""

from __future__ import annotations

import datetime
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from exaln.database.database import Database
from exaln.database.views import target_origins
from exaln.engines.bench.runs import command, dashed, driver_version, machine
from exaln.engines.bench.scans import Bench, FoundTargets, Scan, Scanner
from exaln.engines.bench.swissprot import SEED, standard_queries, synthetic_swissprot
from exaln.engines.contracts import score_matrix
from exaln.engines.tasks import Candidates, QueryRows, ScanTask
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import PROTEIN, Alphabet
from exaln.sequences.records import Records

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.cuda.engine import CudaEngine


class Measured(Scanner, Protocol):
    """An engine on GPUs that holds a database, with its description for the report."""

    def describe(self) -> str:
        """The engine and its resources, for logs."""
        ...

    def gpus(self) -> list[dict[str, Any]]:
        """Properties of each GPU, among them its "name"."""
        ...

    def versions(self) -> dict[str, str | None]:
        """Versions of the driver, the compiler and the CUDA packages."""
        ...

    def bound_tcups(self) -> float:
        """The speed of the cell update alone, in registers, on all these GPUs, in 1e12 cells per second."""
        ...

    def report(self) -> list[str]:
        """Details of the last scan, as lines for --verbose."""
        ...


class EngineOnDatabase:
    """The cuda engine with a resident database."""

    def __init__(self, engine: CudaEngine, database: Database) -> None:
        self._engine, self._scoring = engine, Scoring.default(database.alphabet)
        self._database, self._resident = database, engine.open(database)

    def scan(self, queries: Records, cutoff: NDArray[np.int32]) -> Scan:
        """Scan as a search does. All times but the total are the engine's own."""
        task = ScanTask(QueryRows.of_sequences(queries, self._scoring), self._resident, cutoff)
        started = time.perf_counter()
        found = list(self._engine.scan(task))
        total = time.perf_counter() - started
        times, n_devices = self._engine.times, len(self._engine.devices)
        return Scan(
            compile=times.compile,
            upload=times.upload,
            pack=times.pack / n_devices,
            scan=times.scan / n_devices,
            collect=times.collect / n_devices,
            total=total,
            bytes_sent=times.bytes_sent,
            raw_cells=times.raw_cells,
            candidates=self._targets_of(found),
        )

    def scores(self, queries: Records) -> NDArray[np.int32]:
        """int32[n_queries, n_targets]: all scores, in the order of the targets."""
        task = ScanTask(QueryRows.of_sequences(queries, self._scoring), self._resident)
        return score_matrix(self._engine, task)

    def _targets_of(self, parts: list[Candidates]) -> FoundTargets:
        """The candidates of all pieces of a scan, with their targets."""
        query, row, score = (
            np.concatenate([np.empty(0, kind), *(getattr(part, name) for part in parts)])
            for name, kind in (("query", np.int32), ("row", np.int64), ("score", np.int32))
        )
        origins = target_origins(self._database, row)
        return FoundTargets(query, origins.ordinal, origins.length, score)

    def describe(self) -> str:
        """The engine and its resources, for logs."""
        return self._engine.describe()

    def gpus(self) -> list[dict[str, Any]]:
        """Properties of each GPU that the engine uses, each GPU once."""
        from exaln.engines.cuda.runtime.probe import probe_machine

        return [gpu for gpu in probe_machine()["gpus"] if gpu["number"] in self._engine.devices]

    def versions(self) -> dict[str, str | None]:
        """Versions of the driver, the compiler and the CUDA packages."""
        from exaln.engines.cuda.runtime.probe import probe_machine

        facts = probe_machine()
        names = ("driver_cuda", "nvrtc", "cuda_bindings")
        return {"driver": driver_version(), **{name: facts[name] for name in names}}

    def bound_tcups(self) -> float:
        """The sum over the devices; a device that is opened twice counts once."""
        from exaln.engines.bench.cuda_bound import bare_tcups
        from exaln.engines.cuda.runtime.device import Device

        gap_first, gap_extend = self._scoring.gap_first, self._scoring.gap_extend
        devices = [Device(number) for number in sorted(set(self._engine.devices))]
        for device in devices:
            device.set_budget(None)
        return sum(bare_tcups(device, gap_first, gap_extend) for device in devices)

    def report(self) -> list[str]:
        """Details of the last scan, as lines for --verbose."""
        return self._engine.scan_report()


def measure_engine(
    engine: CudaEngine,
    *,
    alphabet: Alphabet,
    n_targets: int,
    seconds: float,
    threads: int | None,
    gpu_memory: int | None,
) -> dict[str, Any]:
    """Measure the cuda engine on a synthetic Swiss-Prot; see `report_of` for the result."""
    started = time.perf_counter()
    targets = synthetic_swissprot(n_targets, alphabet=alphabet)
    database = Database.in_memory([targets])
    made = time.perf_counter() - started
    measured = EngineOnDatabase(engine, database)
    return report_of(measured, targets, made_seconds=made, seconds=seconds, threads=threads, gpu_memory=gpu_memory)


def report_of(
    measured: Measured,
    targets: Records,
    *,
    made_seconds: float,
    seconds: float,
    threads: int | None,
    gpu_memory: int | None,
) -> dict[str, Any]:
    """All figures, with the hardware, the versions and the data, as plain values. Wrong scores raise EngineError."""
    import exaln

    bound = measured.bound_tcups()
    bench = Bench(measured, standard_queries(alphabet=targets.alphabet), targets, bound)
    measurements, checks = bench.run(seconds, threads)
    return {
        "exaln": exaln.__version__,
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": command(),
        "machine": machine(),
        "gpus": measured.gpus(),
        "versions": {**measured.versions(), "numpy": np.__version__},
        "engine": measured.describe(),
        "gpu_memory": gpu_memory,
        "scoring": bench.scoring.describe(),
        "database": {
            "alphabet": targets.alphabet.name,
            "targets": len(targets),
            "residues": targets.n_residues,
            "longest": int(targets.lengths.max()),
            "seed": SEED,
            "made_seconds": made_seconds,
        },
        "bound_tcups": bound,
        "measurements": [asdict(measurement) for measurement in measurements],
        "checks": asdict(checks),
        "scan_report": measured.report(),
    }


def run_name(content: dict[str, Any]) -> str:
    """The file name of a run, without extension, from the alphabet, the size of the database and the memory limit."""
    database = content["database"]
    alphabet = [] if database["alphabet"] == PROTEIN.name else [database["alphabet"]]
    memory = [] if content["gpu_memory"] is None else [f"{content['gpu_memory']}-bytes"]
    return "-".join(["bench-cuda", *alphabet, f"{database['targets']}-targets", *memory])


def machine_name(content: dict[str, Any]) -> str:
    """The name of the GPUs in the folder name of a run."""
    names = [gpu["name"] for gpu in content["gpus"]]
    return dashed(" ".join(dict.fromkeys(names))) + (f"-x{len(names)}" if len(names) > 1 else "")


def kept_in(out: Path | None, content: dict[str, Any]) -> Path | None:
    """The folder for a run: `out` if given, else the one in the clone of exaln; None outside of a clone."""
    from exaln.engines.bench.runs import runs_folder

    return out or runs_folder(machine_name(content))
