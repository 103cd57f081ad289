"""exaln warm: what it compiles, what it says, and that searches then find their kernels."""

import pytest

import fake_cuda
from exaln.cli import warm_command
from exaln.engines.bench.swissprot import STANDARD_LENGTHS
from exaln.engines.cuda import common_kernels
from exaln.engines.cuda.common_kernels import common_sources
from exaln.engines.cuda.engine import CudaEngine
from exaln.engines.cuda.runtime import compiler
from exaln.engines.cuda.runtime.compiler import Source
from exaln.engines.cuda.runtime.device import DeviceProperties
from exaln.engines.cuda.runtime.nvrtc import compiler_version
from exaln.engines.cuda.scan.strips import StreamStatistics, plan_strips
from exaln.scoring.modes import GLOBAL, LOCAL
from exaln.scoring.scoring import Scoring

H200 = DeviceProperties(132, 232448, True, "sm_90")
T4 = DeviceProperties(40, 65536, False, "sm_75")


@pytest.fixture
def two_kernels(monkeypatch, tmp_path):
    """A machine with an H200, on which two kernels are usual; the cache is empty."""
    sources = [Source("collect.cu", (("BINS", 8),)), Source("pack.cu", (("LETTERS", 4),))]
    monkeypatch.setattr(common_kernels, "common_sources", lambda properties: sources)
    monkeypatch.setattr(warm_command, "gpus", lambda devices: {"NVIDIA H200": H200})
    monkeypatch.setenv("EXALN_CACHE", str(tmp_path / "cache"))
    return sources


@pytest.mark.skipif(compiler_version() is None, reason="NVRTC is not installed")
def test_the_second_run_has_nothing_to_do(two_kernels, exaln, tmp_path, monkeypatch):
    first = exaln("warm", "--verbose")
    assert (first.code, first.out) == (0, "")
    compiling, compiled = first.err.splitlines()
    assert compiling == "exaln: compiling 2 kernels of 2"
    assert compiled.startswith(f"exaln: compiled 2 kernels for NVIDIA H200 (sm_90) in {tmp_path / 'cache'} in ")
    monkeypatch.setattr(compiler, "_compile", lambda *_: pytest.fail("compiled again"))
    again = exaln("warm")
    assert again.err == f"exaln: nothing to do: 2 kernels for NVIDIA H200 (sm_90) in {tmp_path / 'cache'}\n"
    assert exaln("warm", "--quiet").err == ""


def test_each_kind_of_gpu_counts_once(monkeypatch):
    fake_cuda.install(monkeypatch, fake_cuda.FakeDriver(n_gpus=3), 20)
    assert [(name, one.arch) for name, one in warm_command.gpus(None).items()] == [("Fake GPU", "sm_90")]
    assert list(warm_command.gpus((1,))) == ["Fake GPU"]


def test_without_a_gpu_the_reason_is_one_line(monkeypatch, exaln):
    monkeypatch.setattr(CudaEngine, "unavailable_reason", staticmethod(lambda: "no GPU today"))
    result = exaln("warm")
    assert (result.code, result.err) == (3, "exaln: error: engine 'cuda' cannot be used: no GPU today\n")


@pytest.mark.parametrize("properties", [H200, T4], ids=["H200", "T4"])
@pytest.mark.parametrize(("kind", "n_letters", "n_strands"), [("protein", 20, 1), ("dna", 4, 2), ("dna", 5, 2)])
def test_searches_of_large_databases_find_their_kernels(properties, kind, n_letters, n_strands):
    common, scoring = set(common_sources(properties)), Scoring.default(kind)
    for n_targets in (570_000, 5_000_000):
        n_tiles = 90 * n_targets
        targets = StreamStatistics(n_targets, n_tiles, n_tiles // 2, 4000, n_letters)
        searches = [*([length] * n_strands for length in STANDARD_LENGTHS), [*STANDARD_LENGTHS] * n_strands]
        for lengths in searches:
            for strip in plan_strips(lengths, properties, targets):
                costs = scoring.gap_first, scoring.gap_extend
                assert strip.shape.source(n_letters, *costs, keeps_rows=strip.keeps_rows) in common


def test_pairs_find_their_kernels():
    from exaln.engines.cuda.pairs.shapes import PAIR_SHAPES

    common = set(common_sources(H200))
    for kind, n_letters in (("protein", 20), ("dna", 4)):
        for mode in (LOCAL, GLOBAL):
            for shape in PAIR_SHAPES:
                assert shape.source(n_letters, Scoring.default(kind), mode, paths=True) in common


def test_a_moderate_number_of_kernels_is_usual():
    for properties in (H200, T4):
        sources = common_sources(properties)
        assert len(sources) == len(set(sources))
        assert {source.file for source in sources} >= {"stream.cu", "block.cu", "pairs.cu", "long.cu", "pack.cu"}
        assert 100 < len(sources) < 400
