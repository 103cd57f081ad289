"""Import a module on another thread, before it is needed."""

from __future__ import annotations

import sys
import threading
from contextlib import suppress
from importlib import import_module


def import_ahead(module: str) -> None:
    """Begin to import a module. The import statement that follows waits for it, and raises its error."""
    if module not in sys.modules:
        # A daemon: Ctrl-C within an import of the main thread can leave the import lock taken. This thread would wait
        # for it without end, and the interpreter would wait for this thread.
        threading.Thread(target=_import, args=(module,), name=f"exaln-import-{module}", daemon=True).start()


def _import(module: str) -> None:
    with suppress(Exception):
        import_module(module)
