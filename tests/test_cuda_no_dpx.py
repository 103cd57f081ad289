"""The cuda engine as older cards run it, whatever this one can do: the tests of scores once more, without DPX."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import cuda_cases

pytestmark = pytest.mark.gpu

ROOT = Path(__file__).parents[1]
GPU_SECONDS = 500
FILES = ("engine", "limits", "plans", "scan")


@pytest.fixture(scope="module")
def runs():
    """Output and exit code of the tests in each file, all at the same time."""
    environment = {**os.environ, "EXALN_CUDA_DPX": "0"}
    pytest_command = [sys.executable, "-m", "pytest", "-q", "-m", "gpu", "-p", "no:cacheprovider"]
    processes = {
        name: subprocess.Popen(
            [*pytest_command, f"tests/test_cuda_{name}.py"],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for name in FILES
    }
    with ThreadPoolExecutor(len(FILES)) as pool:
        outputs = dict(zip(FILES, pool.map(lambda name: processes[name].communicate()[0], FILES), strict=True))
    return {name: (outputs[name], process.returncode) for name, process in processes.items()}


@pytest.mark.skipif(not cuda_cases.IS_CUDA, reason="about GPUs")
@pytest.mark.skipif(os.environ.get("EXALN_CUDA_DPX") == "0", reason="all tests run without DPX")
@pytest.mark.parametrize("name", FILES)
def test_without_dpx(runs, name):
    output, code = runs[name]
    assert code == 0, output[-8000:]
    assert " passed" in output
