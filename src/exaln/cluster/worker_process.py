"""The worker process of `exaln worker`: it works for a scheduler until the scheduler ends."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import time
from pathlib import Path

from exaln.cluster import unit_search
from exaln.cluster.requirements import DASHBOARD, configure_dask
from exaln.cluster.scratch import scratch_folder
from exaln.cluster.security import Certificates, is_loopback, require_safe
from exaln.errors import EngineError

THREADS = 3
"""Threads of Dask, not of the engine: two for units, of which one is computed, and one for other requests."""

PATIENCE_S = 60
"""How long a worker waits for its scheduler, or for the scheduler file."""

LOOK_S = 0.02
LARGEST_FILE = 1 << 20
"""Limit of the size of a scheduler file, in bytes; Dask writes a few hundred."""


def serve(
    address: str,
    settings: unit_search.Settings,
    certificates: Certificates | None = None,
    *,
    name: str | None = None,
    host: str | None = None,
    insecure: bool = False,
    dashboard: bool = False,
) -> None:
    """Work for the scheduler at this address until it ends; dashboard: serve Dask's pages about the worker."""
    configure_dask()
    require_safe(address, certificates, insecure=insecure)
    unit_search.configure(settings)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # asyncio takes the signal only from this handler
    asyncio.run(_serve(address, certificates, name, host, dashboard=dashboard))


def awaited_scheduler(scheduler: str) -> str:
    """The address of a scheduler; scheduler: the address itself, or its scheduler file, which need not exist yet.

    Does not wait if the folder of the file is gone, as that of a search that was killed.
    """
    configure_dask()  # slow: meanwhile the file may appear
    file, deadline = Path(scheduler), time.monotonic() + PATIENCE_S
    while "://" not in scheduler and not file.exists() and file.parent.is_dir() and time.monotonic() < deadline:
        time.sleep(LOOK_S)
    return scheduler_address(scheduler)


def scheduler_address(scheduler: str) -> str:
    """The address of a scheduler; scheduler: the address itself, or its scheduler file. EngineError for others."""
    if "://" in scheduler:
        return scheduler
    try:
        address = json.loads(_small_file(scheduler))["address"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        address = None
    if not isinstance(address, str):
        raise EngineError(f"{scheduler}: neither the address (tls://HOST:PORT) nor the file of a scheduler")
    return address


def _small_file(path: str) -> bytes:
    """The content of a file; OSError if it is not a regular file, or larger than LARGEST_FILE."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_FILE:
            raise OSError("not a small file")
        return file.read(LARGEST_FILE)


async def _serve(
    address: str, certificates: Certificates | None, name: str | None, host: str | None, *, dashboard: bool
) -> None:
    from distributed import Worker

    from exaln.cluster.without_http import SilentWorker

    with scratch_folder("exaln-worker-") as folder:
        try:
            worker = await (Worker if dashboard else SilentWorker)(
                address,
                nthreads=THREADS,
                name=name,
                host=host or ("127.0.0.1" if is_loopback(address) else None),
                memory_limit=0,
                death_timeout=PATIENCE_S,
                local_directory=str(folder),
                dashboard=dashboard,
                dashboard_address=DASHBOARD,
                security=None if certificates is None else certificates.for_dask(),
            )
        except (OSError, TimeoutError, ValueError) as error:
            raise EngineError(f"{address}: no scheduler answers: {error or type(error).__name__}") from None
        await worker.finished()
