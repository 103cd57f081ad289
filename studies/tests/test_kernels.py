"""The kernels of the studies: they compile for every architecture, and give the expected results on a device."""

from dataclasses import asdict
from functools import cache

import numpy as np
import pytest

import emulated_cuda
import golden_data
import real_data
from exaln.engines.bench.cpu import synthetic_proteins
from exaln.engines.cpu.engine import CpuEngine
from exaln.engines.cuda.runtime.compiler import cubins
from exaln.engines.cuda.runtime.nvrtc import compiler_version
from exaln.engines.reference.engine import local_score
from exaln.errors import EngineError
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import DNA, PROTEIN
from exaln.sequences.records import Records
from exaln_studies import chaibou_sie, munekawa_ino_hagihara, searches, taluzzi_gpu101
from exaln_studies.batches import GpuBatch, batch_of, random_batch
from exaln_studies.gpu import KERNELS, Lab, StudyDevice, source
from exaln_studies.pairs import answer_of, changed
from exaln_studies.rotation import BY_DIAGONALS, ROTATED, rotated_back
from exaln_studies.study import Bench
from exaln_studies.whole_tables import LOADS, RELAUNCHES, TECHNIQUES, AffinePair, GpuTables, diagonal_starts

SOURCES = [
    source("rotated.cu"),
    *(source("one_thread.cu", length=length) for length in taluzzi_gpu101.LENGTHS),
    *(
        source("one_block.cu", length=length, where=store.number)
        for length in taluzzi_gpu101.LENGTHS
        for store in taluzzi_gpu101.STORES
    ),
    *(source("traceback_pairs.cu", length=512, where=where) for where in (2, 3)),
    *(source("diagonals.cu", barrier=barrier, loads=0, local=1) for barrier in (1, 2, 3)),
    *(source("diagonals.cu", barrier=0, loads=loads, local=local) for loads in (0, 1, 2) for local in (0, 1)),
    *(source("tiles.cu", barrier=barrier) for barrier in (0, 1, 2, 3)),
    *(source("traceback_tables.cu", tiled=tiled) for tiled in (0, 1)),
    *(
        source("query_rows.cu", rows_each=packing.rows, columns_each=packing.columns)
        for packing in munekawa_ino_hagihara.PACKINGS
    ),
    source("inter_task.cu"),
    *(source("intra_original.cu", threads=256, bypass=bypass) for bypass in (0, 1)),
    *(source("intra_improved.cu", **asdict(searches.Shape(256, 4, 1, version))) for version in range(4)),
    source("intra_improved.cu", **asdict(searches.Shape(320, 8, 4))),
    *(
        source("intra_improved.cu", **asdict(searches.Shape(256, 4, 1, 3, boundary, one_fill)))
        for boundary in range(3)
        for one_fill in (0, 1)
    ),
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
    """A device that runs the kernels: emulated everywhere, and real under make test-gpu."""
    is_emulated = request.param == "emulated"
    made = Lab(emulated_cuda.emulated_device(monkeypatch, StudyDevice) if is_emulated else real_device())
    made.is_emulated = is_emulated
    return made


@cache
def real_device():
    """Open the GPU once, so that each kernel is loaded once: under a sanitizer this takes longer than most tests."""
    device = StudyDevice(0)
    device.set_budget(8 << 30)
    return device


@needs_nvrtc
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_kernel_compiles(arch, tmp_path, monkeypatch):
    monkeypatch.setenv("EXALN_CACHE", str(tmp_path))
    one_each = list({one.file: one for one in SOURCES}.values())
    compiled = cubins(SOURCES if arch == "sm_90" else one_each, arch)
    assert all(code.startswith(b"\x7fELF") for code in compiled.values())


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
    """Similar pairs, an equal pair, and a pair without a common letter."""
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


@pytest.mark.parametrize("store", taluzzi_gpu101.STORES, ids=lambda store: store.name)
@pytest.mark.parametrize(("make", "length"), [(random_batch, 33), (similar_batch, 50), (similar_batch, 128)])
def test_a_batch_with_a_thread_per_row(lab, make, length, store):
    bench = Bench(quick=True, threads=1)
    rows = list(taluzzi_gpu101.one_block_rows(bench, GpuBatch(lab, make(4, length)), store))
    assert [row["what"] for row in rows] == ["one block", *["walked together"] * (store.number >= 2)]
    assert bench.n_checks == 3 * len(rows)


def test_bytes_do_not_fit_shared_memory_at_512_and_two_bits_do(lab):
    needs = {store.name: taluzzi_gpu101.shared_bytes(store, 512) for store in taluzzi_gpu101.STORES}
    assert needs["shared memory, a byte each"] == 512 * 512 + 3 * 513 * 4
    assert needs["shared memory, two bits each"] == 512 * 512 // 4 + 3 * 513 * 4
    bench = Bench(quick=True, threads=1)
    (row,) = taluzzi_gpu101.one_block_rows(bench, GpuBatch(lab, random_batch(1, 512)), taluzzi_gpu101.STORES[0])
    assert (row["refused"], row["needs"]) == (True, needs["shared memory, a byte each"])


def test_one_core_aligns_the_example_of_the_report():
    batch = batch_of(*(DNA.encode(letters)[None] for letters in ("AGCACACA", "ACACACTA")))
    assert batch.answers[0].score == 12
    bench = Bench(quick=True, threads=1)
    assert taluzzi_gpu101.core_row(bench, batch)["pairs"] == 1
    assert bench.n_checks == 3


def test_one_core_aligns_similar_pairs():
    bench = Bench(quick=True, threads=1)
    taluzzi_gpu101.core_row(bench, similar_batch(20, 100))
    assert bench.n_checks == 3


# Xiao, Aji and Feng


def affine_pair(m, n):
    pair = AffinePair(max(m, n))
    pair.query, pair.target = pair.query[:m], pair.target[:n]
    return pair


SHAPES = [(1, 1), (40, 70), (70, 33), (100, 100)]


@pytest.mark.parametrize("technique", TECHNIQUES, ids=lambda technique: technique.name)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_pair_with_a_launch_per_step(lab, technique, shape):
    bench, held = Bench(quick=True, threads=1), GpuTables(lab, affine_pair(*shape), technique)
    for by in RELAUNCHES:
        assert min(held.relaunch_seconds(3, by)) > 0
        held.check(bench, f"{technique.name}, {by}")
    assert bench.n_checks == 2


@pytest.mark.parametrize("technique", TECHNIQUES, ids=lambda technique: technique.name)
@pytest.mark.parametrize("barrier", ["counter", "flags", "cooperative"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_pair_with_a_barrier_per_step(lab, technique, barrier, shape):
    if barrier == "cooperative" and lab.is_emulated:
        pytest.skip("needs CUDA's own headers")
    bench, held = Bench(quick=True, threads=1), GpuTables(lab, affine_pair(*shape), technique)
    for n_blocks in (1, 3):
        held.barrier_seconds(n_blocks, barrier)
        held.check(bench, f"{technique.name}, {barrier}, {n_blocks}")
    assert bench.n_checks == 2


@pytest.mark.parametrize("loads", LOADS)
@pytest.mark.parametrize("technique", TECHNIQUES[:3], ids=lambda technique: technique.name)
def test_every_kind_of_load_and_a_global_alignment(lab, technique, loads):
    bench, held = Bench(quick=True, threads=1), GpuTables(lab, affine_pair(60, 50), technique)
    held.barrier_seconds(2, "counter", loads)
    held.check(bench, loads)
    held.barrier_seconds(2, "flags", loads, is_local=False)
    assert held.corner() == held.pair.global_score


def test_a_check_notices_a_table_that_was_not_filled(lab):
    held = GpuTables(lab, affine_pair(60, 50), TECHNIQUES[0])
    held.invalidate()
    with pytest.raises(EngineError, match="nothing was filled"):
        held.check(Bench(quick=True, threads=1), "nothing was filled")


@pytest.mark.parametrize("words", [1, 16, 32])
def test_diagonals_start_at_multiples_of_their_alignment(words):
    for m, n in SHAPES:
        starts = diagonal_starts(m, n, words)
        counts = [sum(0 <= d - i <= n for i in range(m + 1)) for d in range(m + n + 1)]
        assert (starts % words == 0).all()
        assert all(
            begin + count <= end < begin + count + words
            for begin, end, count in zip(starts[:-1], starts[1:], counts, strict=True)
        )


# Hains et al.


def small_search(lab, n_targets, longest, query_length, seed=3):
    random = np.random.default_rng(seed)
    lengths = np.minimum(random.lognormal(3.2, 0.8, n_targets).astype(np.int64) + 1, longest)
    lengths[0] = longest
    records = synthetic_proteins(random, lengths)
    targets = searches.sorted_targets(records)
    query = np.concatenate(
        [targets.records.sequence(n_targets - 1)[5:], synthetic_proteins(random, np.array([30])).codes]
    )
    query = np.resize(query, query_length)
    expected = searches.expected_scores(CpuEngine(1), query, targets)
    for row in (0, n_targets // 2, n_targets - 1):
        assert expected[row] == local_score(query, targets.records.sequence(row), searches.scoring())
    return searches.GpuSearch(lab, targets, query), expected


def from_index(expected, first):
    return np.where(np.arange(len(expected)) >= first, expected, -1)


@pytest.mark.parametrize("query_length", [1, 8, 29, 64])
def test_a_thread_per_target(lab, query_length):
    search, expected = small_search(lab, 70, 90, query_length)
    search.group_size = 32
    bench = Bench(quick=True, threads=1)
    search.check(bench, "all in groups", [search.inter(70)], expected)
    for end in (1, 64, 69):
        search.check(bench, f"up to {end}", [search.inter(end)], np.where(np.arange(70) < end, expected, -1))
    assert bench.n_checks == 4


@pytest.mark.parametrize("bypass", [False, True])
def test_a_block_per_target_original(lab, bypass):
    search, expected = small_search(lab, 12, 60, 40)
    bench = Bench(quick=True, threads=1)
    search.check(bench, "all", [search.original(0, bypass=bypass)], expected)
    search.check(bench, "some", [search.original(7, bypass=bypass)], from_index(expected, 7))
    assert bench.n_checks == 2


SHAPES_IMPROVED = [
    *(searches.Shape(32, 4, 1, version) for version in range(4)),
    *(searches.Shape(32, 8, width) for width in (1, 2, 4)),
    *(searches.Shape(32, 4, 1, 3, boundary, one_fill) for boundary in range(3) for one_fill in (0, 1)),
    searches.Shape(64, 4, 2, 3, 2, 1),
    searches.Shape(32, 4, 1, 3, 0, 0, bypass=1),
]


@pytest.mark.parametrize("shape", SHAPES_IMPROVED, ids=str)
@pytest.mark.parametrize(("query_length", "longest"), [(40, 60), (300, 33), (420, 200)])
def test_a_block_per_target_improved(lab, shape, query_length, longest):
    search, expected = small_search(lab, 6, longest, query_length)
    bench = Bench(quick=True, threads=1)
    search.check(bench, str(shape), [search.improved(2, shape)], from_index(expected, 2))
    assert bench.n_checks == 1


def test_targets_are_sorted_and_padded():
    records = synthetic_proteins(np.random.default_rng(1), np.array([7, 3, 0, 12]))
    targets = searches.sorted_targets(records)
    assert targets.lengths.tolist() == [0, 3, 7, 12]
    assert targets.starts.tolist() == [0, 4, 8, 16]
    for place, row in enumerate([2, 1, 0, 3]):
        begin, length = targets.starts[place], targets.lengths[place]
        assert targets.codes[begin : begin + length].tolist() == records.sequence(row).tolist()
        assert (targets.codes[begin + length : begin + max(4, -(-length // 4) * 4)] == len(PROTEIN.letters)).all()
    assert targets.first_over(3) == 2


# Munekawa, Ino and Hagihara


@pytest.mark.parametrize("packing", munekawa_ino_hagihara.PACKINGS, ids=lambda packing: packing.name)
@pytest.mark.parametrize("query_length", [1, 4, 33, 63])
def test_a_thread_per_row_on_chip(lab, packing, query_length):
    search, _ = small_search(lab, 9, 70, query_length)
    costs = munekawa_ino_hagihara.scoring()
    expected = searches.expected_scores(CpuEngine(1), search.query, search.targets, costs)
    assert expected[4] == local_score(search.query, search.targets.records.sequence(4), costs)
    rows = munekawa_ino_hagihara.RowSearch(lab, search.query, packing)
    for first, n in ((0, 9), (5, 4)):
        rows.launch(*search.arguments, first, n)
        np.testing.assert_array_equal(rows.scores(n), expected[first : first + n])


def test_the_kernel_on_chip_on_the_example_of_the_paper(lab):
    linear = Scoring(match=2, mismatch=-1, gap_open=0, gap_extend=1, alphabet=DNA)
    query, target = DNA.encode("GTCTAC"), DNA.encode("TCTCGAT")
    assert local_score(query, target, linear) == 7
    padded = lab.put(np.append(target, np.uint8(27)))
    starts, lengths = lab.put(np.zeros(1, np.int64)), lab.put(np.array([7], np.int32))
    for packing in munekawa_ino_hagihara.PACKINGS:
        rows = munekawa_ino_hagihara.RowSearch(lab, query, packing)
        rows.costs = linear
        rows.launch(padded.address, starts.address, lengths.address, 0, 1)
        assert rows.scores(1).tolist() == [7]


# Real sequences, with scores that other programs computed


def real_pair():
    return [PROTEIN.encode(letters) for letters in golden_data.fasta("hba_hbb.fasta").values()]


@pytest.mark.parametrize("technique", TECHNIQUES, ids=lambda technique: technique.name)
def test_haemoglobins_over_the_whole_device(lab, technique):
    pair = AffinePair(10)
    pair.query, pair.target = real_pair()
    assert pair.answer.score == 285  # by other programs, BLOSUM62 with gaps 11/1
    bench, held = Bench(quick=True, threads=1), GpuTables(lab, pair, technique)
    held.relaunch_seconds(2, "host")
    held.check(bench, "host")
    held.barrier_seconds(3, "flags")
    held.check(bench, "flags")
    assert bench.n_checks == 2


@pytest.mark.parametrize("layout", [BY_DIAGONALS, ROTATED])
def test_haemoglobins_rotated(lab, layout):
    pair = chaibou_sie.Pair("proteins", 10)
    pair.query, pair.target = real_pair()
    pair.answer = answer_of(pair.query, pair.target, pair.scoring)
    held = chaibou_sie.GpuPair(lab, pair, layout)
    held.fill_seconds(64, graph=False)
    bench = Bench(quick=True, threads=1)
    pair.check(bench, "haemoglobins", lab.get(held.table, np.int32, held.n_cells), layout, path=True)
    assert bench.n_checks == 2


def real_search(lab):
    """The shortest standard query and every fifth target, with the scores of parasail."""
    letters, costs = golden_data.targets(), Scoring("BLOSUM62", gap_open=11, gap_extend=1)
    name, query = next(iter(golden_data.queries().items()))
    chosen = sorted(list(letters)[::5], key=lambda target: len(letters[target]))[:10]
    targets = searches.sorted_targets(Records.of(PROTEIN, [PROTEIN.encode(letters[target]) for target in chosen]))
    expected = np.array([golden_data.scores()[name, target] for target in chosen], np.int32)
    return searches.GpuSearch(lab, targets, PROTEIN.encode(query), costs), expected


def test_real_proteins_by_every_kernel_of_a_search(lab):
    search, expected = real_search(lab)
    bench = Bench(quick=True, threads=1)
    launches = {"inter": search.inter(len(expected)), "original": search.original(0)}
    launches |= {str(shape): search.improved(0, shape) for shape in (searches.Shape(32, 4), searches.Shape(64, 8, 2))}
    for name, launch in launches.items():
        search.check(bench, name, [launch], expected)
    assert bench.n_checks == 4


@pytest.mark.parametrize("packing", munekawa_ino_hagihara.PACKINGS, ids=lambda packing: packing.name)
def test_real_proteins_on_chip(lab, packing):
    search, _ = real_search(lab)
    costs = munekawa_ino_hagihara.scoring()
    expected = [local_score(search.query, search.targets.records.sequence(row), costs) for row in range(10)]
    rows = munekawa_ino_hagihara.RowSearch(lab, search.query, packing)
    rows.launch(*search.arguments, 0, 10)
    assert rows.scores(10).tolist() == expected


@real_data.needs_real_data
@pytest.mark.parametrize("store", taluzzi_gpu101.STORES, ids=lambda store: store.name)
def test_mitochondria_in_a_batch(lab, store):
    human, orang = (next(iter(real_data.fasta(f"dna/MT-{name}.fa").values())).upper() for name in ("human", "orang"))
    starts = range(1000, 9000, 2000)
    queries, targets = (
        np.stack([DNA.encode(genome[first + shift : first + shift + 128]) for first in starts])
        for genome, shift in ((human, 575), (orang, 0))
    )
    bench = Bench(quick=True, threads=1)
    held = GpuBatch(lab, batch_of(queries, targets))
    rows = [*taluzzi_gpu101.one_block_rows(bench, held, store), taluzzi_gpu101.one_thread_row(bench, held)]
    assert bench.n_checks == 3 * len(rows)
    assert min(answer.score for answer in held.batch.answers) > 60
