"""Databases of workers at paths and URLs, copies of segments, units, certificates, and SLURM jobs."""

import stat
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from exaln import Database, DatabaseError, InputError, Scoring, SearchOptions
from exaln.cluster import database_source, slurm, unit_search
from exaln.cluster.part_hits import as_batch, from_bytes
from exaln.cluster.security import Certificates, require_safe
from exaln.cluster.slurm import SlurmJobs
from exaln.cluster.units import Unit
from exaln.database.gather import whole_targets
from exaln.engines.contracts import Tuning
from exaln.engines.cpu.engine import CpuEngine
from exaln.engines.tasks import ScanTask, SeveralTask
from exaln.search.spec import SearchSpec
from exaln.sequences.fasta import read_records
from golden_data import GOLDEN


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database.build(GOLDEN / "scop20_part.fasta", tmp_path / "targets.exaln")


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def test_a_damaged_copy_is_fetched_again_and_a_damaged_original_is_named(tmp_path: Path, database: Database) -> None:
    assert database.path is not None
    location, cache = f"file://{database.path}", database_source.Cache(tmp_path / "cache")
    manifest = database_source.manifest_at(location)
    assert manifest.digest == database.manifest.digest
    entry, original = manifest.segments[0], database.path / manifest.segments[0].file
    ids = database_source.open_segment(location, entry, manifest.alphabet, cache).ids.to_list()
    copy = tmp_path / "cache" / entry.file
    assert copy.read_bytes() == original.read_bytes()
    flip(copy)
    again = database_source.open_segment(location, entry, manifest.alphabet, cache)
    assert copy.read_bytes() == original.read_bytes()
    assert again.ids.to_list() == ids
    flip(copy)
    flip(original)
    with pytest.raises(DatabaseError, match=f"{location}/{entry.file}: damaged between byte"):
        database_source.open_segment(location, entry, manifest.alphabet, cache)
    original.unlink()
    copy.unlink()
    for place, keeping, said in ((location, cache, "cannot be read"), (str(database.path), None, "is missing")):
        with pytest.raises(DatabaseError, match=said):
            database_source.open_segment(place, entry, manifest.alphabet, keeping)


def test_old_copies_are_removed_when_the_disk_is_full(
    tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, entry = database_source.Cache(tmp_path), database.manifest.segments[0]
    for age, name in enumerate(["new.arrow", "old.arrow"]):
        (tmp_path / name).write_bytes(b"1234")
        database_source.os.utime(tmp_path / name, (1000 - age, 1000 - age))
    frees = iter([0, 2 * database_source.SPARE_BYTES])
    usage = type("Usage", (), {"free": property(lambda self: next(frees))})
    monkeypatch.setattr(database_source.shutil, "disk_usage", lambda folder: usage())
    cache.fetch(str(database.path), entry)
    assert sorted(path.name for path in tmp_path.glob("*.arrow")) == sorted(["new.arrow", entry.file])


@pytest.mark.parametrize("location", ["file:///nowhere/db.exaln", "nosuch://x/db.exaln", "/nowhere/db.exaln"])
def test_a_location_without_a_database_is_named(location: str) -> None:
    with pytest.raises(DatabaseError, match=r"db\.exaln"):
        database_source.manifest_at(location)


def test_a_worker_searches_a_unit_or_returns_its_error(database: Database, tmp_path: Path) -> None:
    import json

    queries = read_records(GOLDEN / "cudasw4q_part.fasta").rows(0, 2)
    spec = SearchSpec.of("db", database.manifest, Scoring("BLOSUM62"), SearchOptions(evalue=1e4))
    unit_search.configure(unit_search.Settings("cpu", 1))
    about = unit_search.introduce(None)
    assert about["engine"].startswith("cpu")
    assert about["speed"] > 1e6
    data = unit_search.queries_to_bytes(queries)
    assert unit_search.queries_from_bytes(data, spec).ids.to_list() == queries.ids.to_list()
    unit = Unit(7, 9, 100, 9000)
    result = unit_search.run_unit(json.dumps(spec.to_values()), str(database.path), (7, 9, 100, 9000), data)
    batch = from_bytes(result["hits"])
    assert batch.column("query_index").to_pylist() == [7, 8]
    targets = {hit["ordinal"] for row in batch.column("hits").to_pylist() for hit in row}
    expected = {int(o) for rows in database.part(unit.first, unit.end).segments for o in rows.ordinals}
    assert targets
    assert targets <= expected
    assert result["times"] == sorted(result["times"])
    for column in ("query_id", "hits"):
        place = batch.schema.get_field_index(column)
        nothing = pa.nulls(2, batch.schema.field(column).type)
        with pytest.raises(ValueError, match="a value is missing"):
            as_batch(pa.Table.from_batches([batch.set_column(place, batch.schema.field(column), nothing)]))
    unit_search.configure(
        unit_search.Settings("cpu", 1)
    )  # what it holds is known by its content, wherever it came from
    other = Database.build(GOLDEN / "cudasw4q_part.fasta", tmp_path / "other.exaln")
    result = unit_search.run_unit(json.dumps(spec.to_values()), str(other.path), (7, 9, 100, 9000), data)
    assert result["error"] == "DatabaseError"
    assert "the database has changed since the search began" in result["message"]
    assert unit_search.introduce(unit_search.Settings("cuda", devices=(99,))).get("error") == "EngineError"
    unit_search.configure(unit_search.Settings())


@pytest.mark.parametrize("is_idle", [True, False])
def test_where_the_cpu_is_idle_a_unit_is_scanned_while_another_one_is_aligned(
    database: Database, monkeypatch: pytest.MonkeyPatch, is_idle: bool
) -> None:
    import json

    events: list[str] = []
    scan, align = CpuEngine.scan, CpuEngine.align_several

    def recorded_scan(self: CpuEngine, task: ScanTask) -> Iterator[Any]:
        events.append("scan")
        yield from scan(self, task)

    def recorded_align(self: CpuEngine, task: SeveralTask) -> Any:
        deadline = time.monotonic() + (10 if is_idle else 0.3)
        while events.count("scan") < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        events.append("align")
        return align(self, task)

    monkeypatch.setattr(CpuEngine, "tuning", Tuning(scans_beside_cpu=is_idle))
    monkeypatch.setattr(CpuEngine, "scan", recorded_scan)
    monkeypatch.setattr(CpuEngine, "align_several", recorded_align)
    unit_search.configure(unit_search.Settings("cpu", 1))
    spec = SearchSpec.of("db", database.manifest, Scoring("BLOSUM62"), SearchOptions(evalue=1e4))
    text, data = (
        json.dumps(spec.to_values()),
        unit_search.queries_to_bytes(read_records(GOLDEN / "cudasw4q_part.fasta")),
    )
    n_queries = len(unit_search.queries_from_bytes(data, spec))

    def run(edges: tuple[int, int]) -> dict[str, Any]:
        return unit_search.run_unit(text, str(database.path), (0, n_queries, *edges), data)

    with ThreadPoolExecutor(2) as threads:
        results = list(threads.map(run, [(0, 9000), (9000, 16000)]))
    unit_search.configure(unit_search.Settings())
    assert events == (["scan", "scan", "align", "align"] if is_idle else ["scan", "align", "scan", "align"])
    for result in results:
        assert result["times"] == sorted(result["times"])
    (_, _, first, first_end, _), (_, _, second, second_end, _) = sorted(result["times"] for result in results)
    assert first < first_end
    assert second < second_end
    assert max(first, second) >= min(first_end, second_end)


def test_certificates_are_private_and_all_or_none(tmp_path: Path) -> None:
    made = Certificates.temporary(tmp_path)
    for path in (made.ca, made.cert, made.key):
        assert stat.S_IMODE(Path(path).stat().st_mode) == 0o600
    assert Certificates.of(made.ca, made.cert, made.key) == made
    assert Certificates.of(None, None, None) is None
    assert made.for_dask().get_connection_args("worker")["require_encryption"]
    with pytest.raises(InputError, match="go together"):
        Certificates.of(made.ca, None, None)
    with pytest.raises(InputError, match="no such file"):
        Certificates.of(made.ca, made.cert, "nowhere.pem")
    require_safe("tls://10.0.0.1:1", made, insecure=False)
    require_safe("tcp://10.0.0.1:1", None, insecure=True)
    require_safe("tcp://127.0.0.1:1", None, insecure=False)


def test_slurm_configurations_are_read(tmp_path: Path) -> None:
    assert SlurmJobs.read(None) == SlurmJobs()
    path = tmp_path / "jobs.toml"
    path.write_text('jobs = 3\ngres = "gpu:1"\npartition = "gpu"\ndirectives = ["--exclusive"]\n')
    jobs = SlurmJobs.read(str(path))
    assert (jobs.jobs, jobs.partition, jobs.directive_lines()) == (3, "gpu", ["--gres=gpu:1", "--exclusive"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("jobs = 0", "jobs is 0"),
        ('jobs = "3"', "jobs is '3'"),
        ("jobs = true", "jobs is True"),
        ("gpus = 1", "gpus is unknown; the keys are jobs"),
        ('prologue = "module load"', "prologue must be a list"),
        ("partition = 3", "partition is 3"),
        ("jobs =", "cannot be read"),
    ],
)
def test_bad_slurm_configurations_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "jobs.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        SlurmJobs.read(str(path))


@pytest.mark.parametrize("text", ["x = " + "[" * 100_000, "jobs = 10000000000", "jobs = 0", "jobs = true", "\xff"])
def test_impossible_slurm_numbers_are_refused_by_name(tmp_path: Path, text: str) -> None:
    (tmp_path / "jobs.toml").write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match=r"jobs\.toml: "):
        SlurmJobs.read(str(tmp_path / "jobs.toml"))


@pytest.mark.parametrize("dashboard", [False, True])
def test_jobs_of_slurm_serve_web_pages_only_if_they_are_asked_for(tmp_path: Path, dashboard: bool) -> None:
    pytest.importorskip("dask_jobqueue")
    certificates = Certificates.temporary(tmp_path)
    with slurm._started(SlurmJobs(), certificates, tmp_path, dashboard=dashboard) as cluster:
        assert ("--worker-class exaln.cluster.without_http.SilentWorker" in cluster.job_script()) == (not dashboard)
        assert ("dashboard" in cluster.scheduler.services) == dashboard


@pytest.mark.parametrize("text", ["", "[]", "{}", "5", "[" * 100_000, '{"format_version": 1}'])
def test_a_worker_that_cannot_read_its_search_returns_an_error(text: str) -> None:
    result = unit_search.run_unit(text, "/nowhere", (0, 1, 0, 1), b"")
    assert result["error"] == "EngineError"
    assert result["message"].startswith("the search cannot be read: ")


def test_a_copy_that_is_used_again_does_not_look_changed(tmp_path: Path, database: Database) -> None:
    """Other workers may have it open, and would take another modification time for damage."""
    cache, entry = database_source.Cache(tmp_path), database.manifest.segments[0]
    location = str(database.path)
    opened = database_source.open_segment(location, entry, database.alphabet, cache)
    database_source.os.utime(tmp_path / entry.file, ns=(0, (tmp_path / entry.file).stat().st_mtime_ns))
    assert cache.fetch(location, entry) == tmp_path / entry.file
    assert (tmp_path / entry.file).stat().st_atime_ns > 10**18
    opened.require_unchanged()


def test_whole_targets_are_read_from_a_url(database: Database) -> None:
    location = f"file://{database.path}"
    fetched = database_source.FetchedTargets(location, database_source.manifest_at(location))
    ordinals = np.array([5, 0, 5, database.n_targets - 1])
    wanted = [codes.tolist() for codes in whole_targets(database, ordinals)]
    assert [codes.tolist() for codes in whole_targets(fetched, ordinals)] == wanted
