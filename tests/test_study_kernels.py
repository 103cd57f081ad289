"""The kernels of the studies: they compile for every architecture, and run on an emulated card and on a real one."""

import numpy as np
import pytest

import emulated_cuda
from exaln.cuda.compiler import compiler_version, cubins
from exaln.studies import chaibou_sie
from exaln.studies.gpu import KERNELS, Lab, source
from exaln.studies.pairs import answer_of
from exaln.studies.rotation import BY_DIAGONALS, ROTATED, rotated_back
from exaln.studies.study import Bench

SOURCES = [source("rotated.cu")]
ARCHITECTURES = ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"]

needs_nvrtc = pytest.mark.skipif(compiler_version() is None, reason="NVRTC is not installed")


@pytest.fixture(
    params=[
        pytest.param("emulated", marks=pytest.mark.skipif(emulated_cuda.COMPILER is None, reason="g++ is missing")),
        pytest.param("gpu", marks=pytest.mark.gpu),
    ]
)
def lab(request, monkeypatch):
    """A card on which the kernels run: an emulated one everywhere, a real one under make test-gpu."""
    if request.param == "emulated":
        return Lab(emulated_cuda.emulated_card(monkeypatch))
    from exaln.cuda.card import Card

    card = Card(0)
    card.set_budget(8 << 30)
    return Lab(card)


@needs_nvrtc
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_kernel_compiles(arch, tmp_path, monkeypatch):
    monkeypatch.setenv("EXALN_CACHE", str(tmp_path))
    found = cubins(SOURCES, arch)
    assert all(code.startswith(b"\x7fELF") for code in found.values())


def test_every_kernel_file_is_compiled_in_the_tests():
    assert {path.name for path in KERNELS.glob("*.cu")} == {one.file for one in SOURCES}


# Chaibou and Sie


def small_pair(kind, m, n):
    pair = chaibou_sie.Pair(kind, max(m, n))
    pair.query, pair.target = pair.query[:m], pair.target[:n]
    pair.answer = answer_of(pair.query, pair.target, pair.scoring)
    return pair


@pytest.mark.parametrize("layout", [BY_DIAGONALS, ROTATED])
@pytest.mark.parametrize("graph", [False, True])
@pytest.mark.parametrize(("m", "n"), [(1, 1), (33, 70), (70, 33), (120, 120)])
def test_a_launch_per_diagonal(lab, layout, graph, m, n):
    pair = small_pair("proteins", m, n)
    held = chaibou_sie.GpuPair(lab, pair, layout)
    held.fill_seconds(32, graph=graph)
    table = lab.get(held.table, np.int32, held.n_cells)
    expected = np.full(held.n_cells, -1, np.int32)
    pair.fill(expected, layout)
    np.testing.assert_array_equal(rotated_back(table, layout, *pair.shape), rotated_back(expected, layout, *pair.shape))
    assert held.best() == pair.answer.score
    bench = Bench(quick=True, threads=1)
    pair.check(bench, "the pair", table, layout, path=True)
    assert bench.n_checks == 2
