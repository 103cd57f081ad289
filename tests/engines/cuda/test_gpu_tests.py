"""The tests of the GPU, looked at on any machine: what is marked, what the sanitizer's run covers, that they pass."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import cuda_sanitize
from exaln.engines.cuda.engine import CudaEngine

TESTS = Path(__file__).parents[2]
ROOT = Path(__file__).parents[3]
MARK = r"^pytestmark = .*pytest\.mark\.gpu\b"


def files_with(pattern):
    paths = TESTS.rglob("test_*.py")
    found = (path for path in paths if re.search(pattern, path.read_text(encoding="utf-8"), re.MULTILINE))
    return {str(path.relative_to(TESTS)) for path in found}


def test_files_that_open_a_gpu_are_marked_as_a_whole_and_make_test_gpu_finds_them():
    marked = files_with(MARK)
    expected = ("test_engine", "scan/test_number_limits", "scan/test_tile_shapes", "scan/test_scan", "test_searches")
    assert {f"engines/cuda/{name}.py" for name in expected} <= marked
    assert files_with("^(import|from) cuda_cases") <= marked
    rules = (Path(__file__).parent / "gpu.mk").read_text(encoding="utf-8")
    assert "grep -rl --include='test_*.py' 'mark\\.gpu' tests" in rules


def test_a_machine_without_a_gpu_says_why_in_one_line():
    reason = CudaEngine.unavailable_reason()
    assert reason is None or (reason and "\n" not in reason)


@pytest.mark.parametrize("path", sorted(cuda_sanitize.KERNELS.glob("*.cu")), ids=lambda path: path.name)
def test_the_sanitizers_run_knows_every_kernel(path):
    """It fails on the GPU if one of these was not launched."""
    text = path.read_text(encoding="utf-8")
    assert len(cuda_sanitize.kernel_functions(text)) == text.count("__global__") > 0


def test_kernels_that_only_benchmarks_launch_exist():
    assert cuda_sanitize.all_kernels() > cuda_sanitize.FOR_BENCHMARKS


def on_the_cpu(*arguments):
    environment = {**os.environ, "EXALN_TEST_ENGINE": "cpu"}
    return subprocess.run([sys.executable, *arguments], env=environment, cwd=ROOT, capture_output=True, text=True)


def test_the_sanitizers_run_passes_with_the_cpu_engine():
    done = on_the_cpu("tests/support/cuda_sanitize.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("every kernel ran, and all scores are right\n")


def test_tests_of_the_gpu_pass_with_the_cpu_engine():
    """The quick ones: what they expect is right."""
    done = on_the_cpu(
        "-m", "pytest", "-q", "-m", "gpu", "-p", "no:cacheprovider", "tests/engines/cuda/scan/test_number_limits.py"
    )
    assert done.returncode == 0, done.stdout
    assert "passed" in done.stdout
