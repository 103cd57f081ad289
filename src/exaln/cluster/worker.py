"""`exaln worker`: one process that searches for a scheduler until that goes away."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from exaln.cluster import work
from exaln.cluster.needs import DASHBOARD, require_dask
from exaln.cluster.security import Certificates, is_loopback, require_safe
from exaln.errors import EngineError

THREADS = 3
"""Of Dask, not of the engine: one unit computes while another one is prepared; one for questions."""

PATIENCE_S = 60


def serve(
    scheduler: str,
    settings: work.Settings,
    certificates: Certificates | None = None,
    *,
    name: str | None = None,
    host: str | None = None,
    insecure: bool = False,
) -> None:
    """Work until the scheduler is gone. `scheduler`: its address, or the file that it wrote."""
    require_dask()
    address = scheduler_address(scheduler)
    require_safe(address, certificates, insecure=insecure)
    work.configure(settings)
    asyncio.run(_serve(address, certificates, name, host))


def scheduler_address(scheduler: str) -> str:
    """The address itself, or that in a scheduler file."""
    if "://" in scheduler:
        return scheduler
    import json

    try:
        return str(json.loads(Path(scheduler).read_text(encoding="utf-8"))["address"])
    except (OSError, ValueError, KeyError, TypeError):
        raise EngineError(f"{scheduler}: neither an address (tls://HOST:PORT) nor the file of a scheduler") from None


async def _serve(address: str, certificates: Certificates | None, name: str | None, host: str | None) -> None:
    from distributed import Worker

    with tempfile.TemporaryDirectory(prefix="exaln-worker-") as folder:
        try:
            worker = await Worker(
                address,
                nthreads=THREADS,
                name=name,
                host=host or ("127.0.0.1" if is_loopback(address) else None),
                memory_limit=0,
                death_timeout=PATIENCE_S,
                local_directory=folder,
                dashboard_address=DASHBOARD,
                security=None if certificates is None else certificates.for_dask(),
            )
        except (OSError, TimeoutError, ValueError) as error:
            raise EngineError(f"{address}: no scheduler answers: {error or type(error).__name__}") from None
        await worker.finished()
