"""Searches with real schedulers and worker processes: the report of one machine, whatever happens to them."""

import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from exaln import Database
from exaln.__main__ import run
from exaln.cluster import groups, hosts, unit_pool, units, worker_process
from golden_data import GOLDEN

QUERIES, TARGETS = GOLDEN / "cudasw4q_part.fasta", GOLDEN / "scop20_part.fasta"

pytest.importorskip("distributed")


@pytest.fixture(autouse=True)
def _small_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some forty units of what would be one."""
    monkeypatch.setattr(unit_pool, "LEAST_PLACES", 2000)
    monkeypatch.setattr(unit_pool.UnitSize, "cells", lambda self, speed, total_speed, cells_left: 0.0)
    monkeypatch.setattr(units, "GROUP_QUERIES", 2)
    monkeypatch.setattr(units, "MOST_GROUP_QUERIES", 2)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    Database.build(TARGETS, tmp_path / "targets.exaln")
    return tmp_path / "targets.exaln"


@pytest.fixture
def arguments(database: Path, tmp_path: Path) -> list[object]:
    return ["search", "--query", QUERIES, "--db", database, "--evalue", 1e4, "--outfmt", 7, "--engine", "cpu"]


@pytest.fixture
def expected(arguments: list[object], tmp_path: Path) -> bytes:
    assert exaln(*arguments, "--out", tmp_path / "expected", "--quiet") == 0
    return (tmp_path / "expected").read_bytes()


def exaln(*arguments: object) -> int:
    return run([str(argument) for argument in arguments])


@pytest.fixture
def after_units(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, Callable[[], object]], list[units.Unit]]:
    """Does something when so many units have come back; the units that did are listed."""

    def after(n: int, action: Callable[[], object]) -> list[units.Unit]:
        came: list[units.Unit] = []
        add = groups.GroupResults.add

        def add_and_act(self: groups.GroupResults, unit: units.Unit, data: bytes) -> None:
            add(self, unit, data)
            came.append(unit)
            if len(came) == n:
                action()

        monkeypatch.setattr(groups.GroupResults, "add", add_and_act)
        return came

    return after


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The processes of local workers, in the order in which they start."""
    started: list[int] = []
    start = hosts.LocalWorker._start

    def start_and_tell(self: hosts.LocalWorker) -> subprocess.Popen[bytes]:
        process = start(self)
        started.append(process.pid)
        return process

    monkeypatch.setattr(hosts.LocalWorker, "_start", start_and_tell)
    return started


def test_a_worker_that_is_killed_loses_nothing_and_a_search_goes_on_where_it_was(
    arguments: list[object],
    expected: bytes,
    tmp_path: Path,
    processes: list[int],
    after_units: Callable[[int, Callable[[], object]], list[units.Unit]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    came = after_units(3, lambda: os.kill(processes[0], signal.SIGKILL))
    cluster = ["--cluster", "local:2", "--out", tmp_path / "out", "--resume", tmp_path / "kept", "--verbose"]
    assert exaln(*arguments, *cluster) == 0
    assert (tmp_path / "out").read_bytes() == expected
    assert len(processes) == 3
    n_units = len(came)
    assert n_units == len(set(came)) > 10
    assert "plan: 2 workers (2 x cpu" in capsys.readouterr().err
    # all is there: nothing is searched again
    assert exaln(*arguments, *cluster) == 0
    assert (tmp_path / "out").read_bytes() == expected
    assert len(came) == n_units
    # one unit is missing: it alone is searched
    os.unlink(sorted((tmp_path / "kept").glob("unit-*"))[0])  # noqa: PTH108
    assert exaln(*arguments, *cluster) == 0
    assert (tmp_path / "out").read_bytes() == expected
    assert n_units < len(came) <= n_units + 2
    assert exaln(*arguments, "--evalue", 5, *cluster) == 1
    assert "from another search" in capsys.readouterr().err


def test_a_worker_that_hangs_is_not_waited_for(
    arguments: list[object],
    expected: bytes,
    tmp_path: Path,
    processes: list[int],
    after_units: Callable[[int, Callable[[], object]], list[units.Unit]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("exaln.cluster.dask_search.OVERDUE_S", 1.0)
    came = after_units(3, lambda: os.kill(processes[0], signal.SIGSTOP))
    started = time.monotonic()
    assert exaln(*arguments, "--cluster", "local:2", "--out", tmp_path / "out", "--quiet") == 0
    assert time.monotonic() - started < 40
    assert (tmp_path / "out").read_bytes() == expected
    assert len(came) == len(set(came))


def listening_ports(pid: int) -> set[int]:
    """The TCP ports that a process listens on, by way of /proc."""
    inodes = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = str(link.readlink())
        except OSError:
            continue
        if target.startswith("socket:["):
            inodes.add(target[8:-1])
    ports = set()
    for name in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                ports.add(int(fields[1].rpartition(":")[2], 16))
    return ports


def speaks_http(port: int) -> bool:
    """Whether an HTTP server answers there, be it with an error."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        connection.settimeout(2)
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return connection.recv(5) == b"HTTP/"
    return False


@pytest.mark.parametrize("dashboard", [False, True])
def test_web_pages_are_served_only_if_they_are_asked_for(
    arguments: list[object],
    expected: bytes,
    tmp_path: Path,
    processes: list[int],
    after_units: Callable[[int, Callable[[], object]], list[units.Unit]],
    dashboard: bool,
) -> None:
    before, served = listening_ports(os.getpid()), list[tuple[int, int]]()

    def look() -> None:
        for pid in (os.getpid(), *processes):
            ports = listening_ports(pid) - before
            served.append((len(ports), sum(map(speaks_http, ports))))

    after_units(2, look)
    options = ["--dashboard"] if dashboard else []
    assert exaln(*arguments, "--cluster", "local:1", "--out", tmp_path / "out", "--quiet", *options) == 0
    assert (tmp_path / "out").read_bytes() == expected
    assert served == ([(2, 1)] * 2 if dashboard else [(1, 0)] * 2)


def test_folders_of_a_killed_search_and_its_workers_are_swept_by_the_next(
    arguments: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    cluster = [*arguments, "--cluster", "local:1", "--out", tmp_path / "out", "--quiet"]
    environment = {**os.environ, "TMPDIR": str(scratch)}
    process = subprocess.Popen([sys.executable, "-m", "exaln", *map(str, cluster)], env=environment)
    while process.poll() is None and sum(bool(lock.stat().st_size) for lock in scratch.glob("*/lock")) < 2:
        time.sleep(0.01)
    workers = [pid for pid in pids() if f"{scratch}/exaln-cluster-" in command_line(pid)]
    assert workers
    for pid in (process.pid, *workers):
        os.kill(pid, signal.SIGKILL)
    process.wait()
    left = list(scratch.iterdir())
    assert {path.name.rpartition("-")[0] for path in left} == {"exaln-cluster", "exaln-worker"}
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o700 for path in left)
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    monkeypatch.setenv("TMPDIR", str(scratch))
    assert exaln(*cluster) == 0
    assert list(scratch.iterdir()) == []


def pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def command_line(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    return ""


def test_a_damaged_segment_is_named(
    arguments: list[object], database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    segment = next(database.glob("segment-*"))
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 1
    segment.write_bytes(content)
    assert exaln(*arguments, "--cluster", "local:1", "--out", tmp_path / "out") == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert "failed 3 times" in error
    assert f"{segment.name}: damaged between byte 0 and" in error
    assert "queries 1 to 2, residues 14,625 to 16,625" in error
    assert not (tmp_path / "out").exists()


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A scheduler of Dask's own command, and a worker of ours from a URL, with a cache."""
    file = tmp_path / "scheduler.json"
    options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)]
    log = (tmp_path / "log").open("wb")
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", *options]
    running = subprocess.Popen(command, stdout=log, stderr=log)
    ours = [sys.executable, "-m", "exaln", "worker", str(file), "--engine", "cpu", "--threads", "1"]
    waiting = subprocess.Popen(
        [*ours, "--cache", str(tmp_path / "cache")], stdout=log, stderr=log
    )  # waits for the file
    while not file.exists():
        assert running.poll() is None
        time.sleep(0.05)
    yield running
    running.kill()
    running.wait()
    assert waiting.wait(90) == 0  # it ends with its scheduler
    log.close()


def test_a_scheduler_that_is_killed_and_a_database_at_a_url(
    arguments: list[object],
    expected: bytes,
    database: Path,
    tmp_path: Path,
    scheduler: subprocess.Popen[bytes],
    after_units: Callable[[int, Callable[[], object]], list[units.Unit]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    came = after_units(4, scheduler.kill)
    kept = ["--resume", tmp_path / "kept", "--out", tmp_path / "out"]
    at_url = [f"file://{database}" if argument is database else argument for argument in arguments]
    assert exaln(*at_url, "--cluster", tmp_path / "scheduler.json", *kept) == 3
    said = capsys.readouterr().err.splitlines()
    assert "the scheduler is gone; the same command continues from" in said[-1]
    assert [line for line in said if not line.startswith("exaln: ")] == []
    assert not (tmp_path / "out").exists()
    assert [path.suffix for path in (tmp_path / "cache").iterdir()] == [".arrow"]
    before = len(came)
    assert exaln(*arguments, "--cluster", "local:1", *kept) == 0
    assert (tmp_path / "out").read_bytes() == expected
    assert len(came) == len(set(came)) > before >= 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--cluster", "local:0"], "write local:N"),
        (["--cluster", "tcp://10.255.0.1:8786"], "not encrypted"),
        (["--cluster", "tls://10.255.0.1:8786"], "needs certificates"),
        (["--cluster", "http://10.255.0.1:8786"], "not the address of a Dask scheduler"),
        (["--cluster", "local:1", "--tls-ca", "x.pem"], "go together"),
        (["--cluster", "local:1", "--shard", "1/2"], "choose one of the two"),
        (["--cluster", "local:1", "--cluster-config", "x.toml"], "needs --cluster slurm"),
        (["--resume", "folder", "--shard", "1/2"], "choose one of the two"),
        (["--plan"], "need --cluster"),
        (["--dashboard"], "need --cluster"),
        (["--resume", "folder", "--plan"], "need --cluster"),
        (["--cluster", "tls://[10.255.0.1"], "not the address of a Dask scheduler"),
        (["--cluster", "tcp://127.0.0.1:99999"], "not the address of a Dask scheduler"),
    ],
)
def test_bad_cluster_options_are_refused(
    arguments: list[object], options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exaln(*arguments, *options) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_workers_that_cannot_be_used_are_named(
    arguments: list[object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = ["--cluster", "local:1", "--engine", "cuda", "--devices", "99"]
    assert exaln(*arguments, *cluster, "--out", tmp_path / "out") == 3
    assert "cannot be used" in capsys.readouterr().err.splitlines()[-1]


def test_a_worker_waits_for_the_file_of_a_scheduler_but_not_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(worker_process, "PATIENCE_S", 0.1)
    assert exaln("worker", tmp_path / "nowhere.json") == 3
    assert "nowhere.json: neither the address" in capsys.readouterr().err.splitlines()[-1]


SCHEDULER_FILES = {
    "deep lists": "[" * 100_000,
    "deep objects": '{"address":' * 100_000,
    "a list": "[]",
    "a number": "5",
    "no address": "{}",
    "an address that is a list": '{"address": ["tls://10.0.0.1:1"]}',
    "an address that is null": '{"address": null}',
    "not JSON": "{",
    "not text": "\xff\x00",
    "too large": " " * (1 << 21),
}


@pytest.mark.parametrize("name", SCHEDULER_FILES)
def test_a_file_that_no_scheduler_wrote_is_named(
    arguments: list[object], tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    file = tmp_path / "scheduler.json"
    file.write_bytes(SCHEDULER_FILES[name].encode("latin-1"))
    for command in (["worker", file], [*arguments, "--cluster", file]):
        assert exaln(*command, "--quiet") == 3
        error = capsys.readouterr().err
        assert "scheduler.json: neither the address" in error
        assert error.count("\n") == 1


def test_a_folder_or_a_pipe_is_no_scheduler_file(
    arguments: list[object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        assert exaln(*arguments, "--cluster", path) == 3
        assert f"{path}: neither the address" in capsys.readouterr().err


def test_a_worker_that_sends_impossible_hits_is_named_and_its_unit_is_given_up_after_three_times(
    arguments: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    result_of = hosts.Cluster.result_of

    def damaged(self: hosts.Cluster, key: str, timeout_s: float) -> object:
        result = result_of(self, key, timeout_s)
        return result | {"hits": result["hits"][:-100]} if "hits" in result else result

    monkeypatch.setattr(hosts.Cluster, "result_of", damaged)
    assert exaln(*arguments, "--cluster", "local:1", "--out", tmp_path / "out") == 3
    error = capsys.readouterr().err.splitlines()[-1]
    assert "failed 3 times: worker" in error
    assert "sent a damaged result: not an Arrow stream of hits" in error
    assert not (tmp_path / "out").exists()


def test_plan_prints_without_searching(
    arguments: list[object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exaln(*arguments, "--cluster", "local:1", "--plan", "--out", tmp_path / "out") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["plan"] * 3
    assert "about" in lines[2]
    assert not (tmp_path / "out").exists()
