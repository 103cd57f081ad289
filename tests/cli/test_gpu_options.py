"""--engine cuda, --devices and --gpu-memory: how they are parsed, passed on and refused.

tests/engines/cuda/test_command_line.py has the tests that need a GPU.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import exaln
from command import Exaln
from exaln.cli.options import parse_devices, parse_size
from exaln.engines import choice
from exaln.engines.cpu.engine import CpuEngine
from exaln.errors import EngineError, InputError
from exaln.search import pipeline
from golden_data import GOLDEN

GLOBINS = str(GOLDEN / "hba_hbb.fasta")


@pytest.fixture(name="run")
def runner(capsys: pytest.CaptureFixture[str]) -> Exaln:
    return Exaln(capsys)


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    """What engines were asked for; all requests are met by the cpu engine."""
    asked: list[tuple[object, ...]] = []

    def choose(name: str = "auto", threads: int | None = None, **more: object) -> CpuEngine:
        asked.append((name, threads, more.pop("devices"), more.pop("gpu_memory")))
        assert not more
        return CpuEngine(threads)

    monkeypatch.setattr(choice, "choose_engine", choose)
    monkeypatch.setattr(pipeline, "choose_engine", choose)
    return asked


# Reading


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [
        ("1", 1),
        ("123456789", 123456789),
        ("8G", 8 << 30),
        ("8g", 8 << 30),
        ("500M", 500 << 20),
        ("0.5G", 1 << 29),
        (".25 GiB", 1 << 28),
        ("1.5k", 1536),
        ("2.T", 2 << 40),
        ("80GB", 80 << 30),
        ("7B", 7),
        (" 1M ", 1 << 20),
        ("0.1G", 107374182),
    ],
)
def test_sizes_are_parsed(text: str, n_bytes: int) -> None:
    assert parse_size(text) == n_bytes


@pytest.mark.parametrize(
    "text", ["", "G", "-1", "-1G", "0", "0G", "0.5", "8X", "8GG", "1e9", "nan", "8 000", "8,5G", "all", "½G", "1.2.3"]
)
def test_texts_that_are_not_sizes_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not a size; write bytes, or a number with K, M, G or T, such as 8G or 5"):
        parse_size(text)


@pytest.mark.parametrize(
    ("text", "numbers"), [("0", (0,)), ("1,0", (1, 0)), ("0,0", (0, 0)), (" 2 , 3", (2, 3)), ("10,11,12", (10, 11, 12))]
)
def test_lists_of_gpus_are_parsed(text: str, numbers: tuple[int, ...]) -> None:
    assert parse_devices(text) == numbers


@pytest.mark.parametrize("text", ["", ",", "0,", "-1", "0;1", "a", "0,1.0", "all", "12345", "²"])
def test_texts_that_are_not_lists_of_gpus_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not a list of GPUs; write their numbers separated by commas, such as 0,1"):
        parse_devices(text)


@pytest.mark.parametrize("command", ["search", "score", "bench"])
@pytest.mark.parametrize(
    ("option", "value", "says"),
    [("--devices", "0,one", "'0,one' is not a list of GPUs"), ("--gpu-memory", "lots", "'lots' is not a size")],
)
def test_a_bad_value_is_one_line_with_the_name_of_the_option(
    run: Exaln, command: str, option: str, value: str, says: str
) -> None:
    files = [] if command == "bench" else ["--query", GLOBINS, "--db", GLOBINS]
    code, message = run.error(command, *files, option, value)
    assert (code, f"error: {option}: {says}" in message) == (1, True)


# Passing on


@pytest.mark.parametrize("command", ["search", "score"])
def test_the_engine_gets_the_command_line_options(run: Exaln, chosen: list[tuple[object, ...]], command: str) -> None:
    files = ["--query", GLOBINS, "--db", GLOBINS]
    assert run(command, *files, "--engine", "cuda", "--devices", "1,0", "--gpu-memory", "2G", "--threads", 1).code == 0
    assert run(command, *files).code == 0
    assert chosen == [("cuda", 1, (1, 0), 2 << 30), ("auto", None, None, None)]


def test_the_engine_gets_the_python_arguments(chosen: list[tuple[object, ...]]) -> None:
    queries, database = ["HEAGAWGHEE"], GLOBINS
    exaln.search(queries, database, engine="cuda", threads=1, devices=[0, 1], gpu_memory=1 << 30)
    exaln.scores(queries, database, devices=[0], gpu_memory=5)
    exaln.scores(queries, database)
    assert chosen == [("cuda", 1, [0, 1], 1 << 30), ("auto", None, [0], 5), ("auto", None, None, None)]


@pytest.mark.parametrize("command", ["search", "score"])
def test_verbose_prints_the_scan_report_of_the_engine(
    run: Exaln, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr(CpuEngine, "scan_report", lambda self: ["streamed, 4 batches", "sent 1.00 x the database"])
    arguments = [command, "--query", GLOBINS, "--db", GLOBINS, "--engine", "cpu"]
    lines = run(*arguments, "--verbose").err.splitlines()
    assert lines[-3:-1] == ["exaln: streamed, 4 batches", "exaln: sent 1.00 x the database"]
    assert lines[-1].endswith(f"({CpuEngine().describe()})")
    assert "batches" not in run(*arguments).err


def test_the_cpu_engine_has_no_scan_report() -> None:
    assert CpuEngine(1).scan_report() == []


# Refusing


@pytest.mark.parametrize("engine", ["cpu", "reference"])
@pytest.mark.parametrize("option", [["--devices", "0"], ["--gpu-memory", "1G"]])
@pytest.mark.parametrize("command", ["search", "score", "bench"])
def test_gpu_options_need_the_cuda_engine(run: Exaln, command: str, engine: str, option: list[str]) -> None:
    files = [] if command == "bench" else ["--query", GLOBINS, "--db", GLOBINS]
    code, message = run.error(command, *files, "--engine", engine, *option)
    assert code == 1
    assert f"--devices and --gpu-memory need --engine cuda, and the engine is '{engine}'" in message


def test_gpu_arguments_in_python_need_the_cuda_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="need --engine cuda"):
        exaln.search(["ACGT"], GLOBINS, engine="cpu", devices=[0])
    monkeypatch.setenv("EXALN_ENGINE", "reference")
    with pytest.raises(InputError, match="the engine is 'reference'"):
        exaln.scores(["ACGT"], GLOBINS, gpu_memory=1 << 30)


@pytest.mark.parametrize("option", [["--targets", "10"], ["--out", "folder"]])
def test_bench_options_for_gpus_need_the_cuda_engine(run: Exaln, option: list[str]) -> None:
    code, message = run.error("bench", "--engine", "cpu", *option)
    assert (code, f"{option[0]} needs --engine cuda, but the engine is 'cpu'" in message) == (1, True)


def test_bench_does_not_measure_the_reference(run: Exaln) -> None:
    code, message = run.error("bench", "--engine", "reference")
    assert (code, "bench measures the cuda and cpu engines" in message) == (1, True)


def without_gpus(*arguments: str) -> subprocess.CompletedProcess[str]:
    """`exaln ARGUMENTS` in a process that sees no GPU."""
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    environment.pop("EXALN_ENGINE", None)
    command = [sys.executable, "-m", "exaln", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)


@pytest.mark.parametrize("options", [["--engine", "cuda"], ["--devices", "0"], ["--gpu-memory", "1G"]])
@pytest.mark.parametrize("command", ["search", "score", "bench"])
def test_without_a_gpu_gpu_options_are_one_error_line(command: str, options: list[str], tmp_path: Path) -> None:
    out = tmp_path / "out.tsv"
    files = [] if command == "bench" else ["--query", GLOBINS, "--db", GLOBINS, "--out", str(out)]
    done = without_gpus(command, *files, *options)
    assert (done.returncode, done.stdout) == (EngineError.exit_code, "")
    assert done.stderr.startswith("exaln: error: engine 'cuda' cannot be used: ")
    assert done.stderr.count("\n") == 1
    assert not out.exists()


def test_without_a_gpu_auto_uses_the_cpu_and_says_so() -> None:
    done = without_gpus("search", "--query", GLOBINS, "--db", GLOBINS, "--max-hsps", "1")
    assert done.returncode == 0
    assert done.stderr.count("\n") == 1
    assert done.stderr.endswith(f"({CpuEngine().describe()})\n")
    assert len(done.stdout.splitlines()) == 4
