"""A progress bar for notebooks: HTML that is updated in place through IPython."""

from __future__ import annotations

import html
import sys
import time
from importlib import import_module
from typing import Any

SECONDS_BETWEEN_UPDATES = 0.2


def is_notebook() -> bool:
    """Whether this process is a notebook kernel, such as Jupyter's, which can display HTML."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


class NotebookBar:
    """A bar for one task, with the methods of `rich.progress.Progress` that `exaln.foundation.progress` calls."""

    def __init__(self) -> None:
        self._description, self._rate = "", ""
        self._done = 0
        self._total: int | None = None
        self._handle: Any = None
        self._began = self._last = time.monotonic()

    def add_task(self, description: str, *, total: int | None = None, rate: str = "") -> int:
        """Set what the bar shows before work begins. Returns the task number, always 0."""
        self._description, self._total, self._rate = description, total, rate
        return 0

    def start(self) -> None:
        """Show the bar."""
        display = import_module("IPython.display")
        self._began = self._last = time.monotonic()
        if self._handle is None:
            self._handle = display.display(display.HTML(self.html()), display_id=True)

    def stop(self) -> None:
        """Draw the final state; the bar stays in the notebook."""
        self._draw()

    def reset(self, task: int, *, total: int | None = None, completed: int = 0, description: str = "") -> None:
        """Start another stage of the work."""
        self._description = description
        self.update(task, completed=completed, total=total)

    def update(self, task: int, *, completed: int, total: int | None = None, rate: str = "") -> None:
        """Set how much is done; the bar is redrawn at most five times per second."""
        self._done, self._total, self._rate = completed, total, rate
        now = time.monotonic()
        if now - self._last >= SECONDS_BETWEEN_UPDATES:
            self._last = now
            self._draw()

    def html(self) -> str:
        """The bar as HTML."""
        share = f' value="{min(self._done / self._total, 1.0):.3f}"' if self._total else ""
        percent = f"{100 * min(self._done / self._total, 1.0):.0f}%" if self._total else ""
        parts = [percent, self._rate, f"{time.monotonic() - self._began:.0f} s"]
        text = html.escape(", ".join(part for part in parts if part))
        return f"<div>{html.escape(self._description)} <progress{share}></progress> {text}</div>"

    def _draw(self) -> None:
        if self._handle is not None:
            self._handle.update(import_module("IPython.display").HTML(self.html()))
