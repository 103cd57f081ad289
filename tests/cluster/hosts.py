"""Several hosts on one machine: network namespaces with addresses of their own, TLS between them, and accidents.

As root, with iproute2: python tests/cluster/hosts.py QUERIES DATABASE [SCENARIO...]. The scheduler is Dask's own
command on 10.77.0.1, workers are `exaln worker` on 10.77.0.11 and on, the client is on 10.77.0.2. Each scenario must
give the bytes of a search on one machine, or the error that it says.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from exaln.cluster.security import Certificates

PYTHON = sys.executable
BRIDGE = "exalnbr"


def ip(*arguments: str, check: bool = True) -> None:
    subprocess.run(["ip", *arguments], check=check, stderr=None if check else subprocess.DEVNULL)


class Host:
    """A network namespace with one address."""

    def __init__(self, number: int) -> None:
        self.name, self.address = f"exaln{number}", f"10.77.0.{number}"
        self._link = f"exv{number}"
        ip("netns", "add", self.name)
        ip("link", "add", self._link, "type", "veth", "peer", "name", "eth0", "netns", self.name)
        ip("link", "set", self._link, "master", BRIDGE, "up")
        self._inside("addr", "add", f"{self.address}/24", "dev", "eth0")
        self._inside("link", "set", "eth0", "up")
        self._inside("link", "set", "lo", "up")

    def _inside(self, *arguments: str) -> None:
        ip("-n", self.name, *arguments)

    def start(self, *arguments: str, log: Path) -> subprocess.Popen[bytes]:
        command = ["ip", "netns", "exec", self.name, PYTHON, "-m", *arguments]
        with log.open("ab") as file:
            return subprocess.Popen(command, stdout=file, stderr=file)

    def cut(self) -> None:
        """No packet comes through any more, and nobody is told."""
        ip("link", "set", self._link, "down")

    def join(self) -> None:
        ip("link", "set", self._link, "up")

    def remove(self) -> None:
        ip("netns", "del", self.name, check=False)
        ip("link", "del", self._link, check=False)


class Network:
    """The hosts of a cluster, a scheduler and workers on them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for host in subprocess.run(["ip", "netns"], capture_output=True, text=True).stdout.split():
            if host.startswith("exaln"):
                ip("netns", "del", host, check=False)
        ip("link", "del", BRIDGE, check=False)
        ip("link", "add", BRIDGE, "type", "bridge")
        ip("link", "set", BRIDGE, "up")
        self.scheduler_host, self.client_host = Host(1), Host(2)
        self.worker_hosts = [Host(11 + number) for number in range(4)]
        (folder / "tls").mkdir()
        self.certificates = Certificates.temporary(folder / "tls")
        self.address = f"tls://{self.scheduler_host.address}:8786"
        self.processes: list[subprocess.Popen[bytes]] = []

    def tls(self, ca: str) -> list[str]:
        own = self.certificates
        return [ca, own.ca, "--tls-cert", own.cert, "--tls-key", own.key]

    def start(self, n_workers: int) -> list[subprocess.Popen[bytes]]:
        """A scheduler and n workers, one thread each."""
        options = ["--host", self.address, "--dashboard-address", "127.0.0.1:0", *self.tls("--tls-ca-file")]
        self.processes = [
            self.scheduler_host.start("distributed.cli.dask_scheduler", *options, log=self.folder / "scheduler.log")
        ]
        time.sleep(3)
        for number, host in enumerate(self.worker_hosts[:n_workers]):
            own = ["--engine", "cpu", "--threads", "1", "--cache", str(self.folder / f"cache-{number}")]
            arguments = ["exaln", "worker", self.address, *own, *self.tls("--tls-ca")]
            self.processes.append(host.start(*arguments, log=self.folder / f"worker-{number}.log"))
        return self.processes

    def search(self, *arguments: object) -> subprocess.Popen[bytes]:
        options = ["--cluster", self.address, *self.tls("--tls-ca"), *map(str, arguments)]
        return self.client_host.start("exaln", "search", *options, log=self.folder / "client.log")

    def stop(self) -> None:
        for process in self.processes:
            send(process.pid, signal.SIGKILL)
        for process in self.processes:
            process.wait()
        self.processes = []
        for host in self.worker_hosts:
            host.join()

    def remove(self) -> None:
        self.stop()
        for host in [self.scheduler_host, self.client_host, *self.worker_hosts]:
            host.remove()
        ip("link", "del", BRIDGE, check=False)


def send(pid: int, number: signal.Signals) -> None:
    """To a process that may have ended; `ip netns exec` becomes the process that it starts."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)


class Check:
    """One search after the other on a cluster, compared with that of one machine."""

    def __init__(self, network: Network, queries: Path, database: Path) -> None:
        self.network, self.database = network, database
        self.queries = {"all": queries, "two": network.folder / "two.fasta"}
        records = queries.read_text().split("\n>")
        self.queries["two"].write_text("\n>".join(records[:2]) + "\n")
        self.expected = {name: self._alone(path) for name, path in self.queries.items()}

    def _alone(self, queries: Path) -> bytes:
        out = self.network.folder / "alone"
        command = [PYTHON, "-m", "exaln", "search", "--query", queries, "--db", self.database, "--out", out]
        started = time.monotonic()
        subprocess.run([*map(str, command), "--outfmt", "7", "--quiet"], check=True)
        print(f"one machine, {queries.name}: {time.monotonic() - started:.1f} s", flush=True)
        return out.read_bytes()

    def run(
        self,
        what: str,
        n_workers: int,
        *options: object,
        which: str = "all",
        after: Callable[[list[subprocess.Popen[bytes]]], None] | None = None,
        wait_s: float = 8.0,
        code: int = 0,
        says: str = "",
        database: Path | None = None,
    ) -> None:
        """A search; `after` happens so many seconds after its plan was printed."""
        out, log = self.network.folder / "out", self.network.folder / "client.log"
        out.unlink(missing_ok=True)
        log.unlink(missing_ok=True)
        processes = self.network.start(n_workers)
        started = time.monotonic()
        arguments = ["--query", self.queries[which], "--db", database or self.database, "--outfmt", 7, "--out", out]
        client = self.network.search(*arguments, "--verbose", *options)
        if after is not None:
            threading.Thread(target=self._accident, args=(log, wait_s, after, processes), daemon=True).start()
        ended = client.wait(900)
        seconds = time.monotonic() - started
        self.network.stop()
        text = log.read_text()
        name = str(database or self.database).encode()
        is_same = out.exists() and out.read_bytes().replace(name, str(self.database).encode()) == self.expected[which]
        good = ended == code and says in text and (is_same if code == 0 else not out.exists())
        print(f"{'ok  ' if good else 'FAIL'} {what}: exit {ended}, {seconds:.1f} s", flush=True)
        for line in text.splitlines():
            if "warning" in line or "error" in line or not good:
                print(f"       {line}", flush=True)
        if not good:
            sys.exit(1)

    @staticmethod
    def _accident(
        log: Path, wait_s: float, after: Callable[[list[subprocess.Popen[bytes]]], None], processes: list
    ) -> None:
        while not log.exists() or "about" not in log.read_text():
            time.sleep(0.2)
        time.sleep(wait_s)
        after(processes)


def pause(processes: list[subprocess.Popen[bytes]]) -> None:
    os.kill(processes[1].pid, signal.SIGSTOP)
    time.sleep(30)
    send(processes[1].pid, signal.SIGCONT)


def flipped(database: Path, folder: Path) -> Path:
    copy = folder / database.name
    shutil.copytree(database, copy)
    segment = next(copy.glob("segment-*"))
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 1
    segment.write_bytes(content)
    return copy


def main() -> None:
    queries, database = (Path(argument).resolve() for argument in sys.argv[1:3])
    scenarios = sys.argv[3:] or ["sizes", "killed", "paused", "cut", "flipped", "scheduler"]
    folder = Path(tempfile.mkdtemp(prefix="exaln-hosts-"))
    network = Network(folder)
    try:
        check = Check(network, queries, database)
        if "sizes" in scenarios:
            for n_workers in (1, 2, 4):
                for which in ("two", "all"):
                    check.run(f"{n_workers} workers, {which} queries, TLS", n_workers, which=which)
        if "killed" in scenarios:
            check.run("worker killed", 2, after=lambda ps: send(ps[1].pid, signal.SIGKILL), says="was lost")
        if "paused" in scenarios:
            check.run("worker paused for 30 s", 2, after=pause)
        if "cut" in scenarios:
            check.run("network of a worker cut", 2, after=lambda ps: network.worker_hosts[0].cut(), says="warning")
        if "flipped" in scenarios:
            for cache in folder.glob("cache-*"):
                shutil.rmtree(cache)  # a worker that has a good copy needs no other
            bad = flipped(database, folder / "bad")
            check.run("a flipped byte in a segment", 2, code=2, says="damaged between byte", database=bad)
        if "scheduler" in scenarios:
            kept = ["--resume", folder / "kept"]

            def units() -> int:
                return len(list((folder / "kept").glob("unit-*")))

            def kill(processes: list[subprocess.Popen[bytes]]) -> None:
                while units() < 3:
                    time.sleep(0.1)
                send(processes[0].pid, signal.SIGKILL)

            check.run("scheduler killed", 2, *kept, after=kill, code=3, says="the scheduler is gone")
            n_kept = units()
            check.run(f"goes on after {n_kept} units", 2, *kept, says="done before")
    finally:
        network.remove()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
