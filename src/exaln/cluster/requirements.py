"""What a cluster needs that a search on one machine does not."""

from __future__ import annotations

import importlib.util
import logging

from exaln.errors import EngineError

DASHBOARD = "127.0.0.1:0"
"""Where dashboards are: for this machine alone, at any port."""

TIMEOUTS = {
    "distributed.comm.timeouts.connect": "20s",
    "distributed.comm.timeouts.tcp": "30s",
    "distributed.scheduler.worker-ttl": "60s",
    "distributed.scheduler.allowed-failures": 1_000,  # exaln counts failures itself
    "distributed.scheduler.work-stealing": False,  # and says itself who does what
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.limit": "1h",  # no words about a loop that was busy
}
"""Settings of Dask. A cut connection is noticed after 30 s, a silent worker after 60 s."""


def require_dask() -> None:
    """An error that says how to get Dask if it is not there. Quick: it is not imported yet."""
    if importlib.util.find_spec("distributed") is None:
        raise EngineError('a cluster needs Dask: pip install "exaln[cluster]"')


def configure_dask() -> None:
    """Dask, imported and configured."""
    require_dask()
    import dask
    import distributed  # noqa: F401  its loggers get their levels when it is imported

    dask.config.set(TIMEOUTS)
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "tornado", "asyncio", "dask_jobqueue"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
