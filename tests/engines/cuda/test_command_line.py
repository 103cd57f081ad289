"""The command line with a GPU: searches as on the CPU, bench with every score checked."""

import json
from pathlib import Path

import pytest

from command import Exaln
from exaln.errors import EngineError
from golden_data import GOLDEN

pytestmark = pytest.mark.gpu

QUERIES, TARGETS, GLOBINS = (
    str(GOLDEN / name) for name in ("cudasw4q_part.fasta", "scop20_part.fasta", "hba_hbb.fasta")
)


@pytest.fixture(name="run")
def runner(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Exaln:
    monkeypatch.delenv("EXALN_ENGINE", raising=False)
    return Exaln(capsys)


@pytest.mark.parametrize("options", [[], ["--devices", "0"], ["--devices", "0,0"], ["--gpu-memory", "300M"]])
def test_a_search_on_a_gpu_is_the_same_as_on_the_cpu(run: Exaln, options: list[str]) -> None:
    arguments = ["search", "--query", QUERIES, "--db", TARGETS, "--evalue", "1e3", "--outfmt", "6 std score cigar"]
    on_cpu, on_gpu = run(*arguments, "--engine", "cpu"), run(*arguments, "--engine", "cuda", *options, "--verbose")
    assert (on_gpu.code, on_gpu.out) == (0, on_cpu.out)
    assert len(on_cpu.rows) > 10
    assert "cuda, " in on_gpu.err.splitlines()[-1]
    assert any("resident" in line or "streamed" in line for line in on_gpu.err.splitlines())


def test_scores_on_a_gpu_are_the_same_as_on_the_cpu(run: Exaln) -> None:
    arguments = ["score", "--query", QUERIES, "--db", TARGETS]
    for more in ([], ["--top", "5"]):
        on_cpu, on_gpu = run(*arguments, *more, "--engine", "cpu"), run(*arguments, *more, "--engine", "cuda")
        assert (on_gpu.code, on_gpu.out) == (0, on_cpu.out)


def test_auto_is_the_gpu(run: Exaln) -> None:
    assert "cuda, " in run("search", "--query", GLOBINS, "--db", GLOBINS).err


def test_a_gpu_that_is_not_there_is_an_error(run: Exaln) -> None:
    code, message = run.error("search", "--query", GLOBINS, "--db", GLOBINS, "--devices", "99")
    assert (code, "there is no GPU 99" in message) == (EngineError.exit_code, True)


def test_bench_on_a_gpu(run: Exaln, tmp_path: Path) -> None:
    arguments = ["bench", "--engine", "cuda", "--targets", "3000", "--seconds", "0.01", "--out", tmp_path]
    result = run(*arguments, "--json")
    assert result.code == 0, result.err
    content = json.loads(result.out)
    assert content == json.loads((tmp_path / "bench-cuda-3000-targets.json").read_text())
    assert f"written to {tmp_path}" in result.err
    assert len(content["measurements"]) == 22
    for row in content["measurements"]:
        assert row["scan_seconds"] > 0
        assert row["useful_tcups"] <= row["raw_tcups"] < 1.1 * content["bound_tcups"]
    assert content["checks"]["scores"] == 20 * 3000
    assert content["gpus"][0]["name"] in content["engine"]


def test_bench_streams(run: Exaln, tmp_path: Path) -> None:
    arguments = ["bench", "--engine", "cuda", "--targets", "60000", "--seconds", "0.01", "--gpu-memory", "16M"]
    result = run(*arguments, "--out", tmp_path, "--json")
    assert result.code == 0, result.err
    batch = json.loads(result.out)["measurements"][-1]
    assert 1.0 <= batch["sent"] <= 1.05
