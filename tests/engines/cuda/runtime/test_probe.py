"""The probe of the cuda engine, with drivers and packages of all kinds."""

import json
import os
import subprocess
import sys

import pytest

from exaln.engines.cuda.runtime.nvrtc import compiler_version
from exaln.engines.cuda.runtime.probe import probe_machine, unavailable_reason
from fake_driver import built_driver

TELL = "import json; from exaln.engines.cuda.runtime.probe import *; print(json.dumps(unavailable_reason()))"
PROBE = "import json; from exaln.engines.cuda.runtime.probe import *; print(json.dumps(probe_machine()))"

WITHOUT = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name == MISSING:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
for name in list(sys.modules):  # the packages of CUDA 12 are begun to be imported when Python starts
    if f"{name}.".startswith(f"{MISSING}."):
        del sys.modules[name]
"""
WITHOUT_NVRTC = """
from cuda.bindings import nvrtc
from cuda.pathfinder import DynamicLibNotFoundError

def missing():
    raise DynamicLibNotFoundError("libnvrtc.so")

nvrtc.nvrtcVersion = missing
"""

needs_packages = pytest.mark.skipif(compiler_version() is None, reason="cuda-bindings or NVRTC is not installed")


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    """A folder with a driver that says what the environment tells it to."""
    return built_driver(tmp_path_factory.mktemp("driver"))


def told(code, folder, **environment):
    """What a fresh Python prints, which looks for the driver in `folder` first."""
    kept = {name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}
    environment = kept | {"LD_LIBRARY_PATH": str(folder)} | environment
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_reason_without_a_driver(tmp_path):
    (tmp_path / "libcuda.so.1").write_text("not a library")
    assert told(TELL, tmp_path) == "no NVIDIA driver is installed (libcuda.so.1 cannot be loaded)"


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        ({"FAKE_INIT": "100"}, "no NVIDIA GPU is found"),
        ({"FAKE_GPUS": "0"}, "no NVIDIA GPU is found"),
        ({"FAKE_INIT": "100", "CUDA_VISIBLE_DEVICES": ""}, "no NVIDIA GPU is found (CUDA_VISIBLE_DEVICES is '')"),
        ({"FAKE_INIT": "999"}, "the NVIDIA driver does not work (CUDA_ERROR_UNKNOWN)"),
        ({"FAKE_INIT": "77"}, "the NVIDIA driver does not work (CUDA error 77)"),
        (
            {"FAKE_CAPABILITY": "70"},
            "GPU 0 (Fake GPU A) has compute capability 7.0; 7.5 or later is needed",
        ),
        (
            {"FAKE_CUDA": "11080"},
            "the NVIDIA driver supports CUDA 11.8; update it to one for CUDA 12 or later",
        ),
    ],
)
def test_the_reason_names_what_is_wrong_with_the_driver(driver, environment, reason):
    assert told(TELL, driver, **environment) == reason


@pytest.mark.parametrize(("cuda", "extra"), [("13000", "cuda"), ("12040", "cuda12")])
@pytest.mark.parametrize("missing", ["cuda", "cuda.bindings", "cuda.bindings.driver"])
def test_the_reason_names_a_missing_package(driver, cuda, extra, missing):
    if missing != "cuda" and compiler_version() is None:
        pytest.skip("cuda-bindings or NVRTC is not installed")
    reason = told(f"MISSING = {missing!r}\n{WITHOUT}\n{TELL}", driver, FAKE_CUDA=cuda)
    assert reason == f'cuda-bindings is not installed (No module named {missing!r}); pip install "exaln[{extra}]"'


@needs_packages
def test_a_driver_that_is_too_old_for_the_packages(driver):
    import cuda.bindings

    if not cuda.bindings.__version__.startswith("13."):
        pytest.skip("the packages are for CUDA 12")
    assert told(TELL, driver, FAKE_CUDA="12040") == (
        "the NVIDIA driver supports CUDA 12.4, but the installed packages are for CUDA 13; "
        'pip install "exaln[cuda12]", or update the driver'
    )


@needs_packages
def test_the_reason_without_nvrtc(driver, tmp_path):
    reason = told(WITHOUT_NVRTC + TELL, driver, FAKE_CUDA="13000", EXALN_CACHE=str(tmp_path))
    assert reason.startswith('NVRTC, the compiler of CUDA kernels, is missing; pip install "exaln[cuda')


@needs_packages
@pytest.mark.parametrize("cuda", ["13000", "14020"])
def test_no_reason_where_the_engine_can_be_used(driver, cuda):
    assert told(TELL, driver, FAKE_CUDA=cuda) is None


@needs_packages
def test_the_probe_reports_gpus_versions_and_the_cache(driver, tmp_path):
    (tmp_path / "a.cubin").write_bytes(b"12345")
    (tmp_path / "other").write_bytes(b"1")
    facts = told(PROBE, driver, FAKE_GPUS="2", EXALN_CACHE=str(tmp_path))
    assert facts["unavailable_reason"] is None
    assert [gpu["name"] for gpu in facts["gpus"]] == ["Fake GPU A", "Fake GPU B"]
    assert facts["gpus"][1] == {
        "number": 1,
        "name": "Fake GPU B",
        "compute_capability": "9.0",
        "multiprocessors": 132,
        "memory_bytes": 80 << 30,
        "free_bytes": 60 << 30,
        "pci_bus": "0000:01:00.0",
    }
    assert (facts["driver_cuda"], facts["nvrtc"]) == ("13.0", compiler_version())
    assert facts["cache"] == {"folder": str(tmp_path), "files": 1, "bytes": 5}


def test_the_probe_without_nvml_and_without_gpus(driver):
    assert told(PROBE, driver, FAKE_NVML="9")["gpus"][0]["free_bytes"] is None
    facts = told(PROBE, driver, FAKE_INIT="100")
    assert (facts["gpus"], facts["unavailable_reason"]) == ([], "no NVIDIA GPU is found")


def test_exaln_info_shows_the_probe(driver, tmp_path):
    environment = os.environ | {"LD_LIBRARY_PATH": str(driver), "EXALN_CACHE": str(tmp_path), "FAKE_CUDA": "12040"}
    done = subprocess.run([sys.executable, "-m", "exaln", "info"], capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    section = done.stdout.split("GPUs of the cuda engine\n")[1].split("\n\n")[0].splitlines()
    assert section[0] == "  GPU 0  Fake GPU A  compute capability 9.0  132 SMs  80.0 GiB  60.0 GiB free"
    assert "  driver         for CUDA 12.4 and earlier" in section
    assert f"  cache          {tmp_path}, 0 kernels, 0.0 MB" in section


def test_the_probe_of_this_machine_agrees_with_its_reason():
    reason = unavailable_reason()
    facts = probe_machine()
    assert facts["unavailable_reason"] == reason
    assert bool(facts["gpus"]) or reason
