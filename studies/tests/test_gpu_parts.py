"""All parts of every study, small and on an emulated device: they run to the end, and their pages are complete."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import emulated_cuda
from exaln.engines.bench.cpu import synthetic_proteins
from exaln.engines.cpu.engine import CpuEngine
from exaln.engines.reference.engine import local_score
from exaln.sequences.alphabet import PROTEIN
from exaln_studies import (
    chaibou_sie,
    cluster_runs,
    hains_databases,
    hains_et_al,
    hains_peers,
    munekawa_ino_hagihara,
    search_lab,
    searches,
    study_named,
    taluzzi_gpu101,
    whole_tables,
    xiao_aji_feng,
)
from exaln_studies.figures import rendered
from exaln_studies.gpu import StudyDevice
from exaln_studies.measurements import Measurements, PartRun
from exaln_studies.page import page_text
from exaln_studies.study import Bench

RANDOM, LENGTH = np.random.default_rng(4), np.array([20])

pytestmark = pytest.mark.skipif(emulated_cuda.COMPILER is None, reason="g++ is missing")


def measured(name, device):
    """Measure all parts of a study with small sizes."""
    result = Measurements(name)
    machine = {"processor": "A CPU", "cores": 2}
    for part in study_named(name).parts:
        bench = Bench(quick=True, threads=2, device=device if part.device == "gpu" else None)
        rows = list(part.measure(bench))
        assert bench.n_checks > 0
        run = PartRun(part.name, part.device, machine, "A GPU", "exaln study", "2026-01-01", "0", True, 1.0, 1, rows)
        result.add(run)
    return result


def check_page(name, device):
    measurements = measured(name, device)
    text, drawn = page_text(study_named(name), measurements)
    assert "Not measured yet" not in text
    assert "nan" not in text
    for figure in drawn:
        assert rendered(figure).startswith(b"<?xml")
    assert measurements.text()
    return text


def counted(bench, study, counters):
    """Stand-in for the profiler: runs and compares the launches, with meaningless counters."""
    for one in study_named(study).launches(bench):
        one.launch()
        one.check()
        yield {**one.label, **dict.fromkeys(counters, 1000.0)}


@pytest.fixture
def device(monkeypatch):
    for module in (xiao_aji_feng, hains_et_al, munekawa_ino_hagihara):
        monkeypatch.setattr(module, "counted", counted)
    return emulated_cuda.emulated_device(monkeypatch, StudyDevice)


def test_chaibou_sie_is_measured_and_its_page_made(device, monkeypatch):
    monkeypatch.setattr(chaibou_sie, "QUICK_LENGTHS", (40, 60))
    monkeypatch.setattr(chaibou_sie, "QUICK_BLOCK_SIZES", (32, 256))
    monkeypatch.setattr(chaibou_sie, "N_EMPTY_LAUNCHES", 10)
    monkeypatch.setattr(chaibou_sie, "_cuda_engine", lambda: CpuEngine(1))
    text = check_page("chaibou-sie", device)
    assert "alpha + Teg" in text


def test_taluzzi_is_measured_and_its_page_made(device, monkeypatch):
    monkeypatch.setattr(taluzzi_gpu101, "QUICK_PAIRS", 1)
    monkeypatch.setattr(taluzzi_gpu101, "_cuda_engine", lambda: CpuEngine(1))
    text = check_page("taluzzi-gpu101", device)
    assert "not run: needs 268,300 bytes of shared memory, there are 232,448" in text


def test_xiao_is_measured_and_its_page_made(device, monkeypatch):
    monkeypatch.setattr(xiao_aji_feng, "QUICK_LENGTH", 40)
    monkeypatch.setattr(xiao_aji_feng, "QUICK_LARGER", (50,))
    monkeypatch.setattr(xiao_aji_feng, "_cuda_engine", lambda: CpuEngine(1))
    monkeypatch.setitem(whole_tables.BARRIERS, "cooperative", 2)  # CUDA's own needs its headers
    text = check_page("xiao-aji-feng", device)
    assert "barrier, cooperative groups" in text


class Parasail:
    """Stand-in for the package, which need not be installed: computes exaln's scores."""

    blosum62 = "BLOSUM62"

    @staticmethod
    def profile_create_sat(query, matrix):
        return query

    @staticmethod
    def sw_striped_profile_sat(query, target, gap_first, gap_extend):
        codes = [PROTEIN.encode(text) for text in (query, target)]
        costs = searches.scoring()
        assert (gap_first, gap_extend) == (costs.gap_first, costs.gap_extend)
        return SimpleNamespace(score=local_score(*codes, costs))


def test_hains_is_measured_and_its_page_made(device, monkeypatch):
    monkeypatch.setitem(sys.modules, "parasail", Parasail)
    small = {"QUICK_TARGETS": 40, "QUICK_QUERIES": (20,), "QUICK_LONG": 2, "SAMPLED": 4, "THRESHOLD": 60, "POOL": 1000}
    small |= {"LOW_THRESHOLD": 40, "QUICK_SPREADS": (100,), "QUICK_CPU_TARGETS": 40, "BEST": searches.Shape(32, 4)}
    small |= {
        "cuda_engine": lambda: CpuEngine(1),
        "random_query": lambda length: synthetic_proteins(RANDOM, LENGTH).codes,
    }
    small |= {"shapes": lambda quick: [searches.Shape(32)], "rates": lambda lab, query, samples: (1e6, 1e5)}
    small |= {"synthetic_swissprot": lambda n: synthetic_proteins(RANDOM, RANDOM.integers(5, 90, n))}
    small |= {"every": lambda targets, step: searches.sorted_targets(targets.records.rows(0, 2))}
    for module in (hains_et_al, hains_databases, hains_peers, search_lab):
        for name in small.keys() & vars(module).keys():
            monkeypatch.setattr(module, name, small[name])
    monkeypatch.setattr(searches.GpuSearch, "group_size", 32)
    monkeypatch.setattr(searches, "ORIGINAL_THREADS", 32)
    text = check_page("hains-et-al", device)
    assert "improved, threshold of the model" in text


def test_the_model_chooses_the_threshold_by_the_rates():
    targets = searches.sorted_targets(synthetic_proteins(RANDOM, np.array([10] * 64 + [1000])))
    assert hains_databases.best_threshold(targets, 32, 1e6, 5e5) == 10
    assert hains_databases.best_threshold(targets, 1, 1e6, 1e3) == 1000


def test_munekawa_is_measured_and_its_page_made(device, monkeypatch):
    pytest.importorskip("distributed")
    small = {"QUICK_TARGETS": 20, "QUICK_QUERIES": (9, 255), "AT_A_TIME": 8, "cuda_engine": lambda: CpuEngine(1)}
    small |= {"QUICK_COUNTED": 6}
    monkeypatch.setattr(cluster_runs, "QUICK_TARGETS", 100)
    small |= {"synthetic_swissprot": lambda n: synthetic_proteins(RANDOM, RANDOM.integers(1, 50, n))}
    for name, value in small.items():
        monkeypatch.setattr(munekawa_ino_hagihara, name, value)
    monkeypatch.setattr(searches, "ORIGINAL_THREADS", 32)
    text = check_page("munekawa-ino-hagihara", device)
    assert "1/34, 1/4 and together 1/136" in text
