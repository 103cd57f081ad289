"""Dask schedulers and workers without an HTTP server.

Dask always starts an HTTP server on a port that every user of the machine can reach, with pages about tasks, workers
and logs. These classes do not. With --dashboard, Dask's own classes are used.
"""

from __future__ import annotations

from typing import Any

import distributed
from distributed.http.routing import RoutingApplication


class _WithoutHttp:
    def start_http_server(self, routes: Any, *address: Any, **options: Any) -> None:
        """Create only the application object that Dask closes at the end, without a port."""
        self.http_application = RoutingApplication([])


class SilentScheduler(_WithoutHttp, distributed.Scheduler):  # type: ignore[misc]
    """A scheduler without an HTTP server."""


class SilentWorker(_WithoutHttp, distributed.Worker):  # type: ignore[misc]
    """A worker without an HTTP server."""
