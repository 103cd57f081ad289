"""The requirements of a cluster beyond those of a search on one machine: Dask, and its settings."""

from __future__ import annotations

import importlib.util
import logging

from exaln.errors import EngineError

DASHBOARD = "127.0.0.1:0"
"""The address of dashboards: reachable only from this machine, at any free port."""

TIMEOUTS = {
    "distributed.comm.timeouts.connect": "20s",
    "distributed.comm.timeouts.tcp": "30s",
    "distributed.scheduler.worker-ttl": "60s",
    "distributed.scheduler.allowed-failures": 1_000,  # exaln counts failures itself
    "distributed.scheduler.work-stealing": False,  # and assigns units itself
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.limit": "1h",  # no warnings about a busy event loop
}
"""Settings of Dask. A cut connection is noticed after 30 s, a silent worker after 60 s."""


def require_dask() -> None:
    """EngineError if Dask is not installed; does not import it."""
    if importlib.util.find_spec("distributed") is None:
        raise EngineError('a cluster needs Dask: pip install "exaln[cluster]"')


def configure_dask() -> None:
    """Import Dask, set its timeouts, and silence its loggers."""
    require_dask()
    import dask
    import distributed  # noqa: F401  its loggers get their levels when it is imported

    dask.config.set(TIMEOUTS)
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "tornado", "asyncio", "dask_jobqueue"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
