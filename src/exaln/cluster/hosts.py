"""Dask clusters: one that is already running, or workers on this machine. Each is a context manager.

`slurm` has the third kind, SLURM jobs.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from exaln.cluster.requirements import DASHBOARD, configure_dask, require_dask
from exaln.cluster.scratch import scratch_folder
from exaln.cluster.security import Certificates, require_safe
from exaln.cluster.unit_search import Settings
from exaln.cluster.worker_process import scheduler_address
from exaln.errors import EngineError, InputError
from exaln.foundation.resources import available_threads

MOST_RESTARTS = 3
"""A local worker that dies is restarted this many times."""


@dataclass
class Cluster:
    """A cluster on which a search runs.

    n_expected: workers to wait for. patience_s: how long a search waits while there is no worker. has_dashboard:
    False if the scheduler certainly has none. processes: workers that this process has started. settings: for
    workers that were started without any.
    """

    client: Any
    name: str
    n_expected: int = 1
    patience_s: float = 60.0
    has_dashboard: bool = True
    processes: list[LocalWorker] = field(default_factory=list)
    settings: Settings | None = None

    @property
    def dashboard(self) -> str | None:
        """The address of Dask's dashboard, or None."""
        try:
            return (self.client.dashboard_link or None) if self.has_dashboard else None
        except KeyError:  # the scheduler has none
            return None

    @property
    def addresses(self) -> set[str]:
        """The addresses of all workers, from the scheduler: the client's own list is sometimes empty."""
        return set(self.client.nthreads())

    def result_of(self, key: str, timeout_s: float) -> Any:
        """The result of a finished task, fetched through the scheduler; None if it is lost."""
        gathered = self.client.sync(self.client.scheduler.gather, keys=[key], callback_timeout=timeout_s)
        return gathered.get("data", {}).get(key)

    def check(self) -> None:
        """Restart local workers that have died."""
        for process in self.processes:
            process.check()


class LocalWorker:
    """A worker process on this machine."""

    def __init__(self, arguments: list[str], log: Path) -> None:
        self._arguments, self._log = arguments, log
        self._n_restarts = 0
        self._is_terminated = False
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            command = [sys.executable, "-m", "exaln", "worker", *self._arguments]
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def check(self) -> None:
        """Restart the worker if it died; EngineError after MOST_RESTARTS."""
        code = self.process.poll()
        if code is None:
            return
        if self._n_restarts >= MOST_RESTARTS:
            last = self._log.read_text(errors="replace").strip().splitlines()[-1:] or ["it said nothing"]
            raise EngineError(f"a worker ended {MOST_RESTARTS + 1} times, the last time with {code}: {last[0]}")
        self._n_restarts += 1
        self.process = self._start()

    def terminate(self) -> None:
        """Send SIGTERM, once: a second signal would interrupt the removal of its folder."""
        if not self._is_terminated:
            self._is_terminated = True
            self.process.terminate()

    def stop(self) -> None:
        """End the worker, with SIGKILL if SIGTERM does not."""
        self.terminate()
        try:
            self.process.wait(3)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@contextmanager
def running_cluster(address: str, certificates: Certificates | None, *, insecure: bool) -> Iterator[Cluster]:
    """A cluster that is already running; address: of its scheduler, or its scheduler file."""
    configure_dask()
    address = scheduler_address(address)
    require_safe(address, certificates, insecure=insecure)
    with connected(address, certificates) as client:
        cluster = Cluster(client, address)
        cluster.n_expected = max(1, len(cluster.addresses))
        yield cluster


@contextmanager
def local_cluster(n_workers: int, settings: Settings, *, dashboard: bool = False) -> Iterator[Cluster]:
    """A scheduler in this process, and workers on this machine that share its cores and GPUs."""
    require_dask()
    with ExitStack() as stack:
        folder = stack.enter_context(scratch_folder("exaln-cluster-"))
        file, certificates = folder / "scheduler.json", Certificates.in_folder(folder)
        processes = []
        for number in range(n_workers):  # workers start while the scheduler starts, and wait for its file
            arguments = [str(file), *_tls_options(certificates), *_share(settings, number, n_workers)]
            arguments += ["--dashboard"] if dashboard else []
            processes.append(LocalWorker(arguments, folder / f"worker-{number}.log"))
            stack.callback(processes[-1].stop)
        address = stack.enter_context(_scheduler(folder, certificates, dashboard=dashboard))
        stack.callback(_stop, processes)  # before their scheduler
        _write_at_once(file, json.dumps({"address": address}))
        client = stack.enter_context(connected(address, certificates))
        yield Cluster(
            client,
            f"local:{n_workers}",
            n_workers,
            has_dashboard=dashboard and can_draw_dashboards(),
            processes=processes,
        )


def _stop(processes: Sequence[LocalWorker]) -> None:
    for process in processes:
        process.terminate()
    for process in processes:
        process.stop()


@contextmanager
def _scheduler(folder: Path, certificates: Certificates, *, dashboard: bool) -> Iterator[str]:
    """Run a scheduler in this process that writes only to this folder, with new certificates; yields its address."""
    configure_dask()
    import dask
    from distributed import Scheduler, SpecCluster

    from exaln.cluster.without_http import SilentScheduler

    certificates.make()
    security = certificates.for_dask()
    options = {"host": "127.0.0.1", "protocol": "tls://", "security": security, "dashboard_address": DASHBOARD}
    options |= {"dashboard": dashboard}
    scheduler = {"cls": Scheduler if dashboard else SilentScheduler, "options": options}
    with (
        dask.config.set({"temporary-directory": str(folder)}),
        SpecCluster(scheduler=scheduler, workers={}, worker=None, security=security, silence_logs=False) as cluster,
    ):
        yield cluster.scheduler_address


def _write_at_once(file: Path, text: str) -> None:
    """Write a file in one step, so that no reader sees half of it."""
    temporary = file.with_suffix(".new")
    temporary.write_text(text, encoding="ascii")
    temporary.replace(file)


def can_draw_dashboards() -> bool:
    """True if bokeh is installed, which draws Dask's dashboards."""
    return importlib.util.find_spec("bokeh") is not None


def _share(settings: Settings, number: int, n_workers: int) -> list[str]:
    """The options of one of several workers on a machine: its share of the cores, and one of the GPUs."""
    threads = settings.threads or max(1, available_threads() // n_workers)
    options = ["--engine", settings.engine, "--threads", str(threads), "--name", f"local-{number}"]
    devices = _devices(settings)
    if devices:
        options += ["--device", str(devices[number % len(devices)])]
    if settings.gpu_memory:
        options += ["--gpu-memory", str(settings.gpu_memory)]
    if settings.cache:
        options += ["--cache", settings.cache]
    return options


def _devices(settings: Settings) -> list[int]:
    """The GPUs that workers share; empty for another engine, or if no GPU can be used."""
    from exaln.engines.cuda.engine import CudaEngine

    if settings.devices is not None:
        return list(settings.devices)
    if settings.engine not in ("auto", "cuda") or CudaEngine.unavailable_reason() is not None:
        return []
    return list(CudaEngine().devices)


def _tls_options(certificates: Certificates) -> list[str]:
    return ["--tls-ca", certificates.ca, "--tls-cert", certificates.cert, "--tls-key", certificates.key]


@contextmanager
def connected(address: str, certificates: Certificates | None) -> Iterator[Any]:
    """A Dask client of the scheduler at this address; EngineError if it does not answer."""
    from distributed import Client

    security = None if certificates is None else certificates.for_dask()
    try:
        client = Client(address, security=security, timeout="20s", set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        said = " ".join(str(error).split()) or type(error).__name__
        raise EngineError(f"{address}: no scheduler answers: {said}") from None
    try:
        yield client
    finally:
        client.close(timeout=2)


def parse_cluster(text: str) -> tuple[str, int]:
    """The value of --cluster as ("local", n), ("slurm", 0) or (address or file, 0).

    >>> parse_cluster("local:4"), parse_cluster("slurm"), parse_cluster("tls://node1:8786")
    (('local', 4), ('slurm', 0), ('tls://node1:8786', 0))
    """
    if text.partition(":")[0] != "local":
        return text, 0
    number = text.partition(":")[2]
    if not number.isdigit() or not 1 <= int(number) <= 4096:
        raise InputError(f"{text!r}: write local:N with the number of workers, such as local:4")
    return "local", int(number)
