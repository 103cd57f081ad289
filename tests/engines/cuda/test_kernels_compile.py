"""Every kernel compiles for every architecture, without a GPU."""

import pytest

from exaln.engines.bench.cuda_kernels import all_sources
from exaln.engines.cuda.runtime.compiler import cubins
from exaln.engines.cuda.runtime.nvrtc import compiler_version

pytestmark = pytest.mark.skipif(compiler_version() is None, reason="NVRTC is not installed")

OTHER_ARCHITECTURES = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_100", "sm_120"]


@pytest.fixture(autouse=True)
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("EXALN_CACHE", str(tmp_path))
    monkeypatch.delenv("EXALN_CUDA_DPX", raising=False)


def check(sources, arch):
    found = cubins(sources, arch)
    assert list(found) == sources
    assert all(code.startswith(b"\x7fELF") for code in found.values())


def one_per_family(sources):
    """The first of each kernel file; of stream.cu, of each packing."""
    families = {(source.file, dict(source.constants).get("PACKING")): source for source in reversed(sources)}
    return list(families.values())


@pytest.mark.parametrize("dpx", ["0", "1"])
def test_every_variant_for_sm_90(monkeypatch, dpx):
    monkeypatch.setenv("EXALN_CUDA_DPX", dpx)
    check(list(all_sources()), "sm_90")


@pytest.mark.parametrize("arch", OTHER_ARCHITECTURES)
def test_every_family_for_other_architectures(arch):
    check(one_per_family(list(all_sources())), arch)
