"""Schedulers and workers of Dask that serve no web pages.

Dask always starts an HTTP server, on a port that every user of the machine can reach; it tells about tasks, workers and
logs. These classes have none. `--dashboard` uses those of Dask.
"""

from __future__ import annotations

from typing import Any

import distributed
from distributed.http.routing import RoutingApplication


class _WithoutHttp:
    def start_http_server(self, routes: Any, *address: Any, **options: Any) -> None:
        """Instead of a server: what Dask closes at the end, without a port."""
        self.http_application = RoutingApplication([])


class SilentScheduler(_WithoutHttp, distributed.Scheduler):  # type: ignore[misc]
    """A scheduler without HTTP server."""


class SilentWorker(_WithoutHttp, distributed.Worker):  # type: ignore[misc]
    """A worker without HTTP server."""
