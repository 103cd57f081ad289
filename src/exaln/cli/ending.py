"""How a process ends: by a signal, or with an exit code and without a clean-up of memory.

Standard library only: it is imported before anything else.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
from types import FrameType
from typing import NoReturn

INTERRUPTED = 128 + signal.SIGINT
TERMINATED = 128 + signal.SIGTERM


class Terminated(BaseException):
    """Raised on SIGTERM, so that unfinished output is removed as after Ctrl-C."""


def raised_by_signal(error: BaseException) -> BaseException:
    """The exception itself, or the one of a signal that it hides.

    Python 3.11 raises a RuntimeError for whatever is raised while a class is made, in `__set_name__`.
    """
    hidden = error.__cause__
    return hidden if isinstance(error, RuntimeError) and isinstance(hidden, KeyboardInterrupt | Terminated) else error


IMPORT_SYSTEM = "<frozen importlib."
"""The files of the code that imports modules begin with this. It holds locks that other threads wait for."""

RETRY_SECONDS = 0.001


def raise_on_signals() -> None:
    """Let SIGTERM raise Terminated in the main thread, and SIGINT KeyboardInterrupt, unless it is ignored.

    Neither is raised within the code that imports modules: an exception there could leave a lock taken, and other
    threads that import would wait without end. It is raised a little later instead.
    """
    signals = _Signals()
    signal.signal(signal.SIGTERM, signals.arrived)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signals.arrived)


class _Signals:
    """Raises the exception of a signal, at once or when the import system has been left."""

    def __init__(self) -> None:
        self._waiting: int | None = None
        signal.signal(signal.SIGALRM, self._try_again)

    def arrived(self, signal_number: int, frame: FrameType | None) -> None:
        if frame is not None and frame.f_code.co_filename.startswith(IMPORT_SYSTEM):
            self._waiting = signal_number
            signal.setitimer(signal.ITIMER_REAL, RETRY_SECONDS)
            return
        raise Terminated if signal_number == signal.SIGTERM else KeyboardInterrupt

    def _try_again(self, signal_number: int, frame: FrameType | None) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            self.arrived(waiting, frame)


class Ending:
    """The end of this process: once all exit handlers have run, it ends at once.

    Freeing modules, arrays and the contexts of GPUs one by one takes a tenth of a second, and the system frees them
    anyway. Create it before other exit handlers are registered: the first of them runs last.
    """

    def __init__(self) -> None:
        self._code: int | None = None
        if "coverage" not in sys.modules:  # which writes its data in a handler that was registered before
            atexit.register(self._leave)

    def exit(self, code: int) -> NoReturn:
        """Run the exit handlers, and end the process with this code."""
        self._code = code
        sys.exit(code)

    def _leave(self) -> None:
        if self._code is None:
            return
        try:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
        except (OSError, ValueError):
            return  # the interpreter tries again, and reports it
        os._exit(self._code)
