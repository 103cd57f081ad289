"""The kernels of the studies: they compile for every architecture, and run on an emulated card and on a real one."""

import numpy as np
import pytest

import emulated_cuda
from exaln.alphabet import DNA
from exaln.cuda.compiler import compiler_version, cubins
from exaln.studies import chaibou_sie, taluzzi_gpu101
from exaln.studies.batches import GpuBatch, batch_of, random_batch
from exaln.studies.gpu import KERNELS, Lab, source
from exaln.studies.pairs import answer_of, changed
from exaln.studies.rotation import BY_DIAGONALS, ROTATED, rotated_back
from exaln.studies.study import Bench

SOURCES = [
    source("rotated.cu"),
    *(source("one_thread.cu", length=length) for length in taluzzi_gpu101.LENGTHS),
    *(
        source("one_block.cu", length=length, where=kept.number)
        for length in taluzzi_gpu101.LENGTHS
        for kept in taluzzi_gpu101.KEPT
    ),
    *(source("walk_pairs.cu", length=512, where=where) for where in (2, 3)),
]
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
    one_each = list({one.file: one for one in SOURCES}.values())
    found = cubins(SOURCES if arch == "sm_90" else one_each, arch)
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


# Taluzzi


def similar_batch(n_pairs, length):
    """Similar, equal, and wholly different pairs."""
    random = np.random.default_rng(length)
    letters = DNA.encode("ACGT")
    queries = letters[random.integers(0, 4, (n_pairs, length))]
    targets = np.stack([changed(random, query, letters) for query in queries])
    queries[0], targets[0] = letters[0], letters[1]
    targets[1] = queries[1]
    return batch_of(queries, targets)


@pytest.mark.parametrize(("make", "length"), [(random_batch, 33), (similar_batch, 50), (similar_batch, 128)])
def test_a_batch_with_one_thread_per_block(lab, make, length):
    bench = Bench(quick=True, threads=1)
    row = taluzzi_gpu101.one_thread_row(bench, GpuBatch(lab, make(4, length)))
    assert row["fill"] > 0
    assert bench.n_checks == 3


@pytest.mark.parametrize("kept", taluzzi_gpu101.KEPT, ids=lambda kept: kept.name)
@pytest.mark.parametrize(("make", "length"), [(random_batch, 33), (similar_batch, 50), (similar_batch, 128)])
def test_a_batch_with_a_thread_per_row(lab, make, length, kept):
    bench = Bench(quick=True, threads=1)
    rows = list(taluzzi_gpu101.one_block_rows(bench, GpuBatch(lab, make(4, length)), kept))
    assert [row["what"] for row in rows] == ["one block", *["walked together"] * (kept.number >= 2)]
    assert bench.n_checks == 3 * len(rows)


def test_bytes_do_not_fit_shared_memory_at_512_and_two_bits_do(lab):
    needs = {kept.name: taluzzi_gpu101.shared_bytes(kept, 512) for kept in taluzzi_gpu101.KEPT}
    assert needs["shared memory, a byte each"] == 512 * 512 + 3 * 513 * 4
    assert needs["shared memory, two bits each"] == 512 * 512 // 4 + 3 * 513 * 4
    bench = Bench(quick=True, threads=1)
    (row,) = taluzzi_gpu101.one_block_rows(bench, GpuBatch(lab, random_batch(1, 512)), taluzzi_gpu101.KEPT[0])
    assert (row["refused"], row["needs"]) == (True, needs["shared memory, a byte each"])


def test_the_example_of_the_report():
    batch = batch_of(*(DNA.encode(letters)[None] for letters in ("AGCACACA", "ACACACTA")))
    assert batch.answers[0].score == 12
    bench = Bench(quick=True, threads=1)
    assert taluzzi_gpu101.core_row(bench, batch)["pairs"] == 1
    assert bench.n_checks == 3


def test_a_plain_core_on_similar_pairs():
    bench = Bench(quick=True, threads=1)
    taluzzi_gpu101.core_row(bench, similar_batch(20, 100))
    assert bench.n_checks == 3
