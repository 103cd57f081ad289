"""A cluster of SLURM jobs, with dask-jobqueue: a scheduler in this process, and one worker per job."""

from __future__ import annotations

import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from exaln.cluster.hosts import Cluster, can_draw_dashboards, connected
from exaln.cluster.requirements import DASHBOARD, configure_dask
from exaln.cluster.scratch import scratch_folder
from exaln.cluster.security import Certificates
from exaln.cluster.unit_search import Settings
from exaln.errors import EngineError, InputError

PATIENCE_S = 86_400.0
"""How long a search waits for its first worker: jobs may be queued for a long time."""

MOST = 1_000_000
"""Limit of the numbers in the configuration."""


@dataclass(frozen=True)
class SlurmJobs:
    """The keys of --cluster-config.

    jobs: their number; each runs one worker. cpus, memory, gres (such as gpu:1), partition, account, walltime: of each
    job. directives: further options of sbatch. prologue: lines of the job script before the worker starts. interface:
    the network interface, such as ib0. shared: a folder that all nodes can access, for certificates and logs.
    """

    jobs: int = 1
    cpus: int = 1
    memory: str = "4GB"
    gres: str | None = None
    partition: str | None = None
    account: str | None = None
    walltime: str = "01:00:00"
    directives: tuple[str, ...] = ()
    prologue: tuple[str, ...] = ()
    interface: str | None = None
    shared: str = "."

    @staticmethod
    def read(path: str | None) -> SlurmJobs:
        """The configuration in a TOML file; the defaults without one. InputError for anything else."""
        if path is None:
            return SlurmJobs()
        try:
            content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise InputError(f"{path}: cannot be read: {error}") from None
        known = {one.name: one.default for one in fields(SlurmJobs)}
        for name, value in content.items():
            if name not in known:
                raise InputError(f"{path}: {name} is unknown; the keys are {', '.join(known)}")
            if isinstance(known[name], tuple):
                if not isinstance(value, list) or not all(isinstance(line, str) for line in value):
                    raise InputError(f"{path}: {name} must be a list of strings")
                content[name] = tuple(value)
            elif isinstance(value, bool) or not isinstance(value, int if isinstance(known[name], int) else str):
                raise InputError(f"{path}: {name} is {value!r}; it must be like {known[name] or 'a text'!r}")
            elif isinstance(value, int) and not 1 <= value <= MOST:
                raise InputError(f"{path}: {name} is {value}; it must be from 1 to {MOST:,}")
        return SlurmJobs(**content)

    def directive_lines(self) -> list[str]:
        """Options of sbatch for which dask-jobqueue has no argument."""
        return [*([f"--gres={self.gres}"] if self.gres else []), *self.directives]


@contextmanager
def slurm_cluster(
    config: str | None, settings: Settings, given: Certificates | None, *, dashboard: bool = False
) -> Iterator[Cluster]:
    """A cluster of jobs that are submitted at the start of the block and cancelled at its end.

    Connections are encrypted, with the given certificates or new ones.
    """
    configuration = SlurmJobs.read(config)
    configure_dask()
    import dask

    if shutil.which("sbatch") is None:
        raise EngineError("slurm: sbatch is not installed; search from a login node, or choose another --cluster")
    with ExitStack() as stack:
        shared = Path(configuration.shared).resolve()
        try:
            folder = stack.enter_context(scratch_folder(".exaln-slurm-", shared))
        except OSError as error:
            raise InputError(f"{shared}: cannot hold certificates: {error.strerror}") from None
        stack.enter_context(dask.config.set({"temporary-directory": str(folder)}))  # of the scheduler
        certificates = given or Certificates.temporary(folder)
        jobs = stack.enter_context(_started(configuration, certificates, folder, dashboard=dashboard))
        jobs.scale(jobs=configuration.jobs)
        client = stack.enter_context(connected(jobs.scheduler_address, certificates))
        yield Cluster(
            client,
            "slurm",
            configuration.jobs,
            patience_s=PATIENCE_S,
            has_dashboard=dashboard and can_draw_dashboards(),
            settings=settings,
        )


def _started(configuration: SlurmJobs, certificates: Certificates, folder: Path, *, dashboard: bool) -> Any:
    """A SLURMCluster without jobs yet; EngineError if its scheduler cannot be started."""
    from dask_jobqueue import SLURMCluster
    from distributed import Scheduler

    from exaln.cluster import without_http

    silent_worker = f"{without_http.__name__}.{without_http.SilentWorker.__name__}"
    of_worker = ["--dashboard-address", DASHBOARD] if dashboard else ["--worker-class", silent_worker]

    try:
        return SLURMCluster(
            n_workers=0,
            processes=1,
            cores=configuration.cpus,
            memory=configuration.memory,
            queue=configuration.partition,
            account=configuration.account,
            walltime=configuration.walltime,
            job_extra_directives=configuration.directive_lines(),
            job_script_prologue=list(configuration.prologue),
            job_name="exaln-worker",
            python=sys.executable,
            interface=configuration.interface,
            protocol="tls://",
            security=certificates.for_dask(),
            log_directory=str(folder),
            local_directory=tempfile.gettempdir(),
            scheduler_cls=Scheduler if dashboard else without_http.SilentScheduler,
            scheduler_options={"dashboard": dashboard, "dashboard_address": DASHBOARD},
            worker_extra_args=of_worker,
        )
    except (OSError, RuntimeError, ValueError) as error:
        raise EngineError(f"slurm: the scheduler could not be started: {error}") from None
