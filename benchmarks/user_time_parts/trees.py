"""The two trees that are compared, and the processes that run inside them."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from user_time_parts.host_memory import MemorySampler

WORKER = Path(__file__).with_name("worker.py")


class PartFailed(Exception):
    """A command or a call of a part has failed; other parts can still be measured."""


@dataclass(frozen=True)
class Ended:
    """A command that has ended: wall and CPU seconds, what it wrote, and the largest samples of its memory in bytes."""

    seconds: float
    cpu_seconds: float
    stdout: bytes
    stderr: str
    memory: dict[str, int] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """Of the standard output."""
        return hashlib.sha256(self.stdout).hexdigest()[:16]


class Tree:
    """A version of exaln. path: a checkout with .venv, or an installed copy; None for the version of this process."""

    def __init__(self, name: str, path: Path | None) -> None:
        self.name = name
        own = None if path is None else path.absolute() / ".venv" / "bin" / "python"
        self.python = str(own) if own is not None and own.exists() else sys.executable
        self.environment = dict(os.environ)
        if path is not None and self.python == sys.executable:
            if not (path / "exaln" / "__init__.py").exists():
                raise SystemExit(f"{path}: neither a checkout made with `make setup` nor an installed copy")
            found = [str(path.absolute()), os.environ.get("PYTHONPATH", "")]
            self.environment["PYTHONPATH"] = os.pathsep.join(filter(None, found))

    def facts(self) -> dict[str, Any]:
        """The file that is imported, after everything was compiled to bytecode, as an installation would have it."""
        code = "import exaln, pathlib; print(pathlib.Path(exaln.__file__).resolve().parent)"
        package = self._checked([self.python, "-c", code]).stdout.decode().strip()
        environment = {name: value for name, value in self.environment.items() if name != "PYTHONDONTWRITEBYTECODE"}
        subprocess.run([self.python, "-m", "compileall", "-q", package], env=environment, capture_output=True)
        return {"file": package, "python": self.python}

    def exaln(self, arguments: Sequence[str], *, with_memory: bool = False, **environment: str) -> Ended:
        """Run `exaln ARGUMENTS` to its end. Raises PartFailed if it fails."""
        return self._checked([self.python, "-m", "exaln", *arguments], with_memory=with_memory, **environment)

    def program(self, *arguments: str, **environment: str) -> Ended:
        """Run the interpreter of this tree."""
        return self._checked([self.python, *arguments], **environment)

    @contextmanager
    def worker(self, **environment: str) -> Iterator[Worker]:
        """A fresh process in this tree that answers requests."""
        command = [self.python, str(WORKER)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "env": {**self.environment, **environment}}
        with subprocess.Popen(command, text=True, **pipes) as process:  # type: ignore[call-overload]
            try:
                yield Worker(self, process)
            finally:
                process.stdin.close()

    def _checked(self, command: list[str], *, with_memory: bool = False, **environment: str) -> Ended:
        started = time.perf_counter()
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": {**self.environment, **environment}}
        before = os.times()
        with subprocess.Popen(command, **pipes) as process:  # type: ignore[call-overload]
            sampler = MemorySampler(process.pid) if with_memory else None
            stdout, stderr = process.communicate()
            seconds = time.perf_counter() - started
            memory = sampler.stop() if sampler else {}
        after = os.times()
        if process.returncode:
            raise PartFailed(f"{self.name}: {' '.join(command)}: exit code {process.returncode}\n{stderr.decode()}")
        used = after.children_user + after.children_system - before.children_user - before.children_system
        return Ended(seconds, used, stdout, stderr.decode(), memory)


class Worker:
    """A process that runs worker.py."""

    def __init__(self, tree: Tree, process: subprocess.Popen[str]) -> None:
        self.tree, self.pid, self._process = tree, process.pid, process

    def ask(self, do: str, **request: Any) -> Any:
        """Send a request and return the answer. Raises PartFailed if the worker has failed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": do, **request}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        answer = json.loads(line) if line else {"error": "the worker has ended"}
        if "error" in answer:
            raise PartFailed(f"{self.tree.name}: {do} {request}: {answer['error']}")
        return answer


def trees_of(before: Path | None) -> list[Tree]:
    """The trees to measure, the earlier one first."""
    return [*([] if before is None else [Tree("before", before)]), Tree("now", None)]


@contextmanager
def workers(trees: Sequence[Tree], **environment: str) -> Iterator[list[Worker]]:
    """A fresh worker in each tree."""
    with ExitStack() as stack:
        yield [stack.enter_context(tree.worker(**environment)) for tree in trees]


def best(times: dict[str, list[float]], name: str, scale: float = 1.0) -> float | None:
    """The least time of a tree in a unit; None if there is none."""
    return min(times[name]) * scale if times.get(name) else None
