"""bench: the synthetic database, what is measured and checked, what is kept."""

import json
from dataclasses import fields
from types import SimpleNamespace

import numpy as np
import pytest

import engine_calls
from exaln.__main__ import run
from exaln.cli import bench_command
from exaln.database.database import Database
from exaln.engines import choice
from exaln.engines.bench import cuda, cuda_bound, runs, scans, swissprot
from exaln.engines.bench.cuda_bound import bare_tcups
from exaln.engines.bench.scans import Bench, FoundTargets, Measurement, Scan
from exaln.engines.bench.swissprot import standard_queries, synthetic_swissprot
from exaln.engines.cpu.engine import CpuEngine
from exaln.engines.cuda.scan.results import ScanTimes
from exaln.errors import EngineError, OutputError
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import DNA, PROTEIN
from exaln.sequences.records import Records
from exaln.sequences.strands import reverse_complement
from exaln.statistics.length_bins import N_BINS

LAB_LENGTHS = [35213, 34350, 22152, 166, 219, 155, 305, 693, 214, 197, 402, 369]
"""The first lengths that the program gives which made the database of the published figures."""


# The database


def test_synthetic_lengths_have_the_published_figures():
    lengths = synthetic_swissprot(570_000).lengths
    assert lengths[: len(LAB_LENGTHS)].tolist() == LAB_LENGTHS
    assert (lengths.min(), lengths.max(), int(lengths.sum())) == (15, 35213, 205_684_219)
    assert np.median(lengths) == pytest.approx(294, abs=1)
    assert np.log(lengths[3:]).std() == pytest.approx(0.64, abs=0.005)


def test_letters_have_the_composition_of_swissprot():
    records = synthetic_swissprot(20_000)
    counts = np.bincount(records.codes, minlength=len(PROTEIN.letters))
    expected = np.zeros(len(counts))
    expected[PROTEIN.encode(swissprot.LETTERS)] = [float(percent) for percent in swissprot.PERCENT.split()]
    assert counts[expected == 0].sum() == 0
    share, n = expected / expected.sum(), len(records.codes)
    np.testing.assert_allclose(counts / n, share, atol=5 * np.sqrt(0.1 / n))


@pytest.mark.parametrize("n_targets", [1, 2, 3, 4, 50])
def test_a_synthetic_database_of_any_number_of_targets(n_targets):
    records = synthetic_swissprot(n_targets)
    assert len(records) == n_targets
    assert records.lengths[:3].tolist() == [35213, 34350, 22152][:n_targets]
    assert [records.ids[0], records.ids[-1]] == ["s0", f"s{n_targets - 1}"]
    assert records.n_residues == len(records.codes)
    assert Database.in_memory([records]).n_targets == n_targets


def test_a_seed_decides_the_synthetic_sequences():
    first, again, other = synthetic_swissprot(20), synthetic_swissprot(20), synthetic_swissprot(20, seed=8)
    np.testing.assert_array_equal(first.codes, again.codes)
    assert first.lengths[3:].tolist() != other.lengths[3:].tolist()


def test_queries_have_the_standard_lengths():
    queries = standard_queries()
    assert len(queries) == 20
    assert queries.lengths.tolist()[:3] == [144, 189, 222]
    assert queries.lengths.sum() == 41_752
    target = synthetic_swissprot(1).sequence(0)
    assert (queries.sequence(0) != target[:144]).any()


def test_synthetic_dna_has_the_same_lengths_and_four_letters():
    records = synthetic_swissprot(2000, alphabet=DNA)
    assert records.lengths.tolist() == synthetic_swissprot(2000).lengths.tolist()
    counts = np.bincount(records.codes, minlength=len(DNA.letters))
    bases = DNA.encode("ACGT")
    assert counts[bases].sum() == records.n_residues
    np.testing.assert_allclose(counts[bases] / records.n_residues, 0.25, atol=0.005)
    assert standard_queries(alphabet=DNA).lengths.sum() == 41_752


# What is measured


class FakeGpu:
    """The seam: scores are those of the cpu engine, times are made up. `spoil` changes what a scan returns."""

    def __init__(self, targets, spoil=None, wrong_scores=0):
        self.engine, self.scoring = CpuEngine(2), Scoring.default(targets.alphabet)
        self.database = Database.in_memory([targets])
        self.spoil, self.wrong_scores = spoil, wrong_scores
        self.n_scans = 0

    def scan(self, queries, cutoff):
        self.n_scans += 1
        # A superset in two pieces, as an engine may return it.
        parts = list(engine_calls.scan(self.engine, queries, self.database, self.scoring, np.maximum(cutoff - 3, 0)))
        columns = ("query", "ordinal", "length", "score")
        found = FoundTargets(*(np.concatenate([getattr(part, name) for part in parts]) for name in columns))
        found = found if self.spoil is None else self.spoil(found)
        cells = queries.n_residues * self.database.n_residues
        return Scan(1.5, 0.25, 0.125, 2.0, 0.5, 4.0, 1_000_000, 2 * cells, found)

    def scores(self, queries):
        scores = engine_calls.scores(self.engine, queries, self.database, self.scoring)
        scores[:, : self.wrong_scores] += 1
        return scores

    def describe(self):
        return "cuda, Fake 100"

    def gpus(self):
        return [{"name": "Fake 100 (PCIe)", "number": 0}]

    def versions(self):
        return {"driver": "600.1", "nvrtc": "13.4"}

    def bound_tcups(self):
        return 0.5

    def report(self):
        return ["resident"]


@pytest.fixture(scope="module")
def targets():
    """Without the giants: the checks, not the speed, are tested."""
    random = np.random.default_rng(5)
    return swissprot.random_sequences(random, random.integers(2, 60, 300), [f"t{number}" for number in range(300)])


@pytest.fixture(scope="module")
def content(targets):
    return cuda.report_of(FakeGpu(targets), targets, made_seconds=1.0, seconds=5.0, threads=2, gpu_memory=None)


def test_every_query_their_sum_and_the_batch_are_measured(content, targets):
    rows = content["measurements"]
    assert [row["query"] for row in rows] == [*standard_queries().ids.to_list(), "one by one", "batch"]
    first, alone, batch = rows[0], rows[-2], rows[-1]
    assert (first["n_queries"], first["query_residues"], first["repeats"]) == (1, 144, 1)
    assert (first["compile_seconds"], first["upload_seconds"], first["first_seconds"]) == (1.5, 0.25, 4.0)
    cells = 144 * targets.n_residues
    assert first["useful_tcups"] == pytest.approx(cells / 2.0 / 1e12)
    assert first["raw_tcups"] == pytest.approx(2 * first["useful_tcups"])
    assert first["total_tcups"] == pytest.approx(first["useful_tcups"] / 2)
    assert first["of_bound"] == pytest.approx(first["useful_tcups"] / 0.5)
    assert first["sent"] == pytest.approx(1_000_000 / targets.n_residues)
    assert (alone["n_queries"], alone["query_residues"], alone["scan_seconds"]) == (20, 41_752, 40.0)
    assert alone["useful_tcups"] == pytest.approx(41_752 * targets.n_residues / 40.0 / 1e12)
    assert alone["raw_tcups"] == pytest.approx(2 * alone["useful_tcups"])
    assert batch["useful_tcups"] == pytest.approx(20 * alone["useful_tcups"])
    assert alone["score_sum"] == batch["score_sum"] == sum(row["score_sum"] for row in rows[:20])
    assert alone["n_candidates"] == batch["n_candidates"] == sum(row["n_candidates"] for row in rows[:20]) > 0


def test_scores_are_those_of_the_cpu_engine(content, targets):
    expected = engine_calls.scores(CpuEngine(2), standard_queries(), FakeGpu(targets).database, Scoring())
    assert [row["score_sum"] for row in content["measurements"][:20]] == expected.sum(axis=1).tolist()
    assert content["checks"]["scores"] == expected.size
    assert content["checks"]["sampled_scores"] == content["checks"]["sampled_targets"] * 20
    assert content["checks"]["sampled_targets"] >= 255
    assert content["checks"]["unchecked"] is None


def test_both_strands_of_dna_are_measured_together():
    random = np.random.default_rng(6)
    targets = swissprot.random_sequences(random, random.integers(2, 60, 300), [f"t{n}" for n in range(300)], DNA)
    content = cuda.report_of(FakeGpu(targets), targets, made_seconds=1.0, seconds=5.0, threads=2, gpu_memory=None)
    rows = content["measurements"]
    assert [row["query"] for row in rows] == [*standard_queries().ids.to_list(), "one by one", "batch"]
    assert (rows[0]["n_queries"], rows[0]["query_residues"], rows[-1]["n_queries"]) == (2, 288, 40)
    queries = standard_queries(alphabet=DNA)
    strands = Records.of(DNA, [queries.sequence(0), reverse_complement(queries.sequence(0), DNA)])
    expected = engine_calls.scores(CpuEngine(2), strands, FakeGpu(targets).database, Scoring.default(DNA))
    assert rows[0]["score_sum"] == expected.sum()
    assert content["checks"]["sampled_scores"] == content["checks"]["sampled_targets"] * 40
    assert content["database"]["alphabet"] == "dna"
    assert cuda.run_name(content) == "bench-cuda-dna-300-targets"


def test_scans_are_repeated_for_the_time_given(targets):
    fake = FakeGpu(targets)
    bench = Bench(fake, standard_queries(), targets, 1.0)
    assert [row.repeats for row in bench.rows(12.5)] == [3] * 22
    assert fake.n_scans == 21 * 4


@pytest.mark.parametrize(
    "spoil",
    [
        lambda c: FoundTargets(c.query[1:], c.ordinal[1:], c.length[1:], c.score[1:] + 1),
        lambda c: FoundTargets(*(np.r_[column, column[-1:]] for column in (c.query, c.ordinal, c.length, c.score))),
        lambda c: FoundTargets(c.query[:0], c.ordinal[:0], c.length[:0], c.score[:0]),
        lambda c: FoundTargets(c.query, c.ordinal ^ 1, c.length, c.score),
    ],
    ids=["wrong scores", "twice", "nothing", "other targets"],
)
def test_wrong_candidates_of_a_scan_are_an_error(targets, spoil):
    with pytest.raises(EngineError, match="the candidates of the scan are not those of all scores"):
        list(Bench(FakeGpu(targets, spoil), standard_queries(), targets, 1.0).rows(1e-9))


def test_wrong_scores_of_a_scan_are_an_error(targets):
    bench = Bench(FakeGpu(targets, wrong_scores=len(targets)), standard_queries(), targets, 1.0)
    bench.scores = bench.scanner.scores(bench.queries)
    with pytest.raises(EngineError, match=r"5,\d\d\d of 5,\d\d\d scores are not those of the cpu engine"):
        bench.check(1)


def test_without_the_core_the_report_says_that_scores_were_not_compared(targets, monkeypatch):
    monkeypatch.setattr(CpuEngine, "unavailable_reason", staticmethod(lambda: "no core today"))
    bench = Bench(FakeGpu(targets), standard_queries(), targets, 1.0)
    checks = bench.check(1)
    assert (checks.sampled_targets, checks.sampled_scores, checks.unchecked) == (0, 0, "no core today")


class SlowCard(CpuEngine):
    """The cpu engine as if it were two GPUs, with the attributes that bench reads of the cuda engine."""

    name, devices = "cuda", (0, 0)
    times = ScanTimes(compile=1.0, upload=0.5, pack=0.2, scan=4.0, collect=0.6, bytes_sent=7, raw_cells=9)

    def describe(self):
        return "cuda, 2 x Slow"

    def scan_report(self):
        return ["resident, as everything here"]


def test_times_of_several_gpus_are_averaged(targets):
    engine = SlowCard(2)
    measured = cuda.EngineOnDatabase(engine, Database.in_memory([targets]))
    scan = measured.scan(standard_queries().rows(0, 1), np.zeros((1, N_BINS), np.int32))
    assert (scan.compile, scan.upload, scan.pack, scan.scan, scan.collect) == (1.0, 0.5, 0.1, 2.0, 0.3)
    assert (scan.bytes_sent, scan.raw_cells) == (7, 9)
    assert scan.total > 0
    assert sorted(scan.candidates.ordinal.tolist()) == list(range(len(targets)))
    assert set(measured.versions()) == {"driver", "driver_cuda", "nvrtc", "cuda_bindings"}


@pytest.mark.parametrize("as_json", [True, False])
def test_exaln_bench_measures_the_cuda_engine(as_json, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(choice, "choose_engine", lambda *given, **named: SlowCard(2))
    monkeypatch.setattr(cuda.EngineOnDatabase, "bound_tcups", lambda self: 1.0)
    monkeypatch.setattr(cuda.EngineOnDatabase, "gpus", lambda self: [{"name": "Slow"}])
    arguments = ["bench", "--targets", "1", "--seconds", "0.001", "--out", str(tmp_path), "--verbose"]
    assert run([*arguments, *(["--json"] if as_json else [])]) == 0
    out, err = capsys.readouterr()
    kept = json.loads((tmp_path / "bench-cuda-1-targets.json").read_text())
    assert out == (json.dumps(kept, indent=1) + "\n" if as_json else bench_command.gpu_text(kept))
    assert kept["database"]["residues"] == 35_213
    assert err.splitlines() == [
        "exaln: resident, as everything here",
        f"exaln: written to {tmp_path / 'bench-cuda-1-targets.json'}",
    ]


# The bound


class FakeCard:
    """A device that does a round of its loop in a microsecond, if it is asked in the right way."""

    properties = SimpleNamespace(n_sms=100)

    def kernel(self, source, name):
        assert (source.file, name) == ("recurrence_bound.cu", "bare_loop")
        self.constants = dict(source.constants)
        return "kernel"

    def allocate(self, n_bytes):
        return SimpleNamespace(address=4096, free=lambda: None)

    def stream(self):
        return "stream"

    def event(self, *, has_time):
        assert has_time
        return object()

    def record(self, event, stream):
        return event

    def launch(self, kernel, grid, n_threads, stream, arguments):
        assert (kernel, stream, arguments.out) == ("kernel", "stream", 4096)
        self.launched, self.cells_per_round = arguments.n, grid * n_threads * self.constants["ROWS"] * 4 * 2

    def wait(self, event):
        pass

    def seconds(self, begin, end):
        return self.launched * 1e-6


def test_the_bound_counts_every_cell():
    device = FakeCard()
    assert bare_tcups(device, 12, 1) == pytest.approx(device.cells_per_round / 1e-6 / 1e12)
    assert device.launched * 1e-6 >= cuda_bound.MIN_SECONDS
    assert (device.constants["GAP_FIRST"], device.constants["GAP_EXTEND"]) == (12, 1)


# What is kept and shown


def test_a_run_is_plain_data_with_machine_and_figures(content):
    assert json.loads(json.dumps(content)) == content
    assert set(content) == {
        *("exaln", "date", "command", "machine", "gpus", "versions", "engine", "gpu_memory", "scoring", "database"),
        *("bound_tcups", "measurements", "checks", "scan_report"),
    }
    assert set(content["machine"]) == {"processor", "cores", "system", "python"}
    assert content["database"]["seed"] == swissprot.SEED
    assert set(content["measurements"][0]) == {field.name for field in fields(Measurement)}
    assert set(content["checks"]) == {field.name for field in fields(scans.Checks)}


def test_a_run_is_written_to_the_given_folder(content, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert bench_command.write_gpu_run(content, None) is None
    path = bench_command.write_gpu_run(content, tmp_path / "new" / "folder")
    assert path == tmp_path / "new" / "folder" / "bench-cuda-300-targets.json"
    assert json.loads(path.read_text()) == content
    limited = bench_command.write_gpu_run({**content, "gpu_memory": 5000}, tmp_path)
    assert limited.name == "bench-cuda-300-targets-5000-bytes.json"
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match=r"file/here: Not a directory; choose another folder with --out"):
        bench_command.write_gpu_run(content, tmp_path / "file" / "here")


def test_inside_a_clone_runs_go_to_benchmarks_runs(content, tmp_path, monkeypatch):
    for folder in ("benchmarks/runs", "src/exaln", "docs/deep"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "docs" / "deep")
    path = bench_command.write_gpu_run(content, None)
    assert path.parent.parent == tmp_path / "benchmarks" / "runs"
    assert path.parent.name.endswith("-fake-100-pcie")
    two = {**content, "gpus": content["gpus"] * 2}
    assert bench_command.write_gpu_run(two, None).parent.name.endswith("-fake-100-pcie-x2")
    assert runs.runs_folder("x").name.startswith("20")


def test_the_printed_table_shows_every_figure_in_full(content):
    text = bench_command.gpu_text(content)
    lines = text.splitlines()
    assert "cuda, Fake 100" in lines[0]
    assert "bound 0.50" in text
    row = next(line for line in lines if line.split()[:1] == ["batch"])
    assert row.split()[1:5] == ["41,752", "1.50", "0.250", "2.0000"]
    assert row.split()[-1] == f"{content['measurements'][-1]['score_sum']:,}"
    assert len([line for line in lines if line.split()[:1] and line.split()[0].startswith("q")]) == 21
    assert "equal the cpu engine's" in lines[-1]
    unchecked = {**content, "checks": {**content["checks"], "unchecked": "no core"}}
    assert bench_command.gpu_text(unchecked).endswith("not compared with the cpu engine: no core\n")
