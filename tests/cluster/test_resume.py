"""--resume: finished units are kept, with or without a cluster, and the report has the same bytes."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from exaln import Database
from exaln.__main__ import run
from exaln.cluster import hosts, local_search, unit_pool, units
from exaln.cluster.units import Unit
from golden_data import GOLDEN

QUERIES, TARGETS = GOLDEN / "cudasw4q_part.fasta", GOLDEN / "scop20_part.fasta"


@pytest.fixture(autouse=True)
def _small_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some forty units of what would be one."""
    monkeypatch.setattr(unit_pool, "LEAST_PLACES", 2000)
    monkeypatch.setattr(unit_pool.UnitSize, "cells", lambda self, speed, total_speed, cells_left: 0.0)
    monkeypatch.setattr(units, "GROUP_QUERIES", 2)
    monkeypatch.setattr(units, "MOST_GROUP_QUERIES", 2)


def exaln(*arguments: object) -> int:
    return run([str(argument) for argument in arguments])


@pytest.fixture
def arguments(tmp_path: Path) -> list[object]:
    Database.build(TARGETS, tmp_path / "db.exaln")
    return ["search", "--query", QUERIES, "--db", tmp_path / "db.exaln", "--evalue", 1e4, "--engine", "cpu"]


@pytest.fixture
def expected(arguments: list[object], tmp_path: Path) -> bytes:
    assert exaln(*arguments, "--outfmt", 7, "--out", tmp_path / "expected", "--quiet") == 0
    return (tmp_path / "expected").read_bytes()


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[Unit]:
    """The units that are computed in this process."""
    found: list[Unit] = []
    search = local_search.LocalSearch._search

    def search_and_tell(self: local_search.LocalSearch, unit: Unit) -> None:
        search(self, unit)
        found.append(unit)

    monkeypatch.setattr(local_search.LocalSearch, "_search", search_and_tell)
    return found


@pytest.fixture
def no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of a cluster may start."""

    def fail(*arguments: object, **options: object) -> None:
        raise AssertionError("a cluster was started")

    monkeypatch.setattr(hosts.LocalWorker, "_start", fail)
    monkeypatch.setattr(hosts, "_scheduler", fail)
    monkeypatch.setattr(hosts, "connected", fail)


def stop_after(monkeypatch: pytest.MonkeyPatch, n: int, error: type[BaseException]) -> None:
    """A search that ends with an error after so many units."""
    search, left = local_search.LocalSearch._search, [n]

    def search_or_stop(self: local_search.LocalSearch, unit: Unit) -> None:
        if not left[0]:
            raise error
        left[0] -= 1
        search(self, unit)

    monkeypatch.setattr(local_search.LocalSearch, "_search", search_or_stop)


@pytest.mark.usefixtures("no_cluster")
def test_without_a_cluster_a_search_goes_on_where_it_was_stopped(
    arguments: list[object],
    expected: bytes,
    tmp_path: Path,
    searched: list[Unit],
    capsys: pytest.CaptureFixture[str],
) -> None:
    resumed = [*arguments, "--outfmt", 7, "--out", tmp_path / "out", "--resume", tmp_path / "kept"]
    with pytest.MonkeyPatch.context() as patch:
        stop_after(patch, 7, KeyboardInterrupt)
        assert exaln(*resumed) == 130
    assert not (tmp_path / "out").exists()
    assert len(searched) == 7
    assert exaln(*resumed) == 0
    assert (tmp_path / "out").read_bytes() == expected
    n_units = len(searched)
    assert n_units == len(set(searched)) > 20
    assert "cpu" in capsys.readouterr().err.splitlines()[-1]
    # all is there: nothing is computed, in any format
    assert exaln(*resumed) == 0
    assert (tmp_path / "out").read_bytes() == expected
    assert len(searched) == n_units
    assert f"all from {tmp_path / 'kept'}" in capsys.readouterr().err.splitlines()[-1]
    for form in ("6", "json", "0"):
        for more in (["--resume", tmp_path / "kept"], []):
            assert exaln(*arguments, "--outfmt", form, "--out", tmp_path / f"out{len(more)}", "--quiet", *more) == 0
        assert (tmp_path / "out2").read_bytes() == (tmp_path / "out0").read_bytes()
    assert len(searched) == n_units


@pytest.mark.usefixtures("no_cluster")
def test_a_damaged_unit_is_searched_again_and_a_damaged_manifest_ends_with_2(
    arguments: list[object],
    expected: bytes,
    tmp_path: Path,
    searched: list[Unit],
    capsys: pytest.CaptureFixture[str],
) -> None:
    kept = tmp_path / "kept"
    resumed = [*arguments, "--outfmt", 7, "--out", tmp_path / "out", "--resume", kept]
    assert exaln(*resumed) == 0
    n_units = len(searched)
    unit = sorted(kept.glob("unit-*"))[3]
    os.truncate(unit, 100)
    (tmp_path / "out").unlink()
    capsys.readouterr()
    assert exaln(*resumed) == 0
    assert f"warning: {unit}: damaged or missing" in capsys.readouterr().err
    assert (tmp_path / "out").read_bytes() == expected
    assert len(searched) == n_units + 1
    manifest = kept / "manifest.json"
    content = json.loads(manifest.read_text())
    content["units"][0]["residues"][0] += 1
    manifest.write_text(json.dumps(content))
    (tmp_path / "out").unlink()
    assert exaln(*resumed) == 2
    assert f"error: {manifest}: damaged" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("no_cluster")
def test_a_finished_search_does_not_start_its_cluster(
    arguments: list[object], expected: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    resumed = [*arguments, "--outfmt", 7, "--out", tmp_path / "out", "--resume", tmp_path / "kept"]
    assert exaln(*resumed, "--quiet") == 0
    for where in ("local:2", "tcp://127.0.0.1:1"):
        (tmp_path / "out").unlink()
        assert exaln(*resumed, "--cluster", where) == 0
        assert (tmp_path / "out").read_bytes() == expected
    capsys.readouterr()
    assert exaln(*resumed, "--cluster", "local:2", "--plan") == 0
    assert capsys.readouterr().out == f"plan: nothing is left to search; all results are in {tmp_path / 'kept'}\n"
    assert exaln(*resumed, "--cluster", "local:0") == 1  # options are checked all the same


def test_a_search_begun_here_ends_on_a_cluster_and_the_other_way_round(
    arguments: list[object], expected: bytes, tmp_path: Path, searched: list[Unit]
) -> None:
    pytest.importorskip("distributed")
    resumed = [*arguments, "--outfmt", 7, "--out", tmp_path / "out", "--resume", tmp_path / "kept", "--quiet"]
    with pytest.MonkeyPatch.context() as patch:
        stop_after(patch, 5, KeyboardInterrupt)
        assert exaln(*resumed) == 130
    assert exaln(*resumed, "--cluster", "local:1") == 0
    assert (tmp_path / "out").read_bytes() == expected
    assert len(searched) == 5
    for unit in sorted((tmp_path / "kept").glob("unit-*"))[::2]:
        unit.unlink()
    (tmp_path / "out").unlink()
    assert exaln(*resumed) == 0
    assert (tmp_path / "out").read_bytes() == expected
    assert len(searched) > 10


KILLED = """
import sys
from exaln.__main__ import run
from exaln.cluster import unit_pool, unit_store, units
unit_pool.LEAST_PLACES, units.GROUP_QUERIES, units.MOST_GROUP_QUERIES, unit_store.SAVE_INTERVAL_S = 2000, 2, 2, 0
unit_pool.UnitSize.cells = lambda self, speed, total_speed, cells_left: 0.0
sys.exit(run(sys.argv[1:]))
"""


@pytest.mark.usefixtures("no_cluster")
def test_a_killed_search_continues(
    arguments: list[object], expected: bytes, tmp_path: Path, searched: list[Unit]
) -> None:
    kept = tmp_path / "kept"
    resumed = [*arguments, "--outfmt", 7, "--out", tmp_path / "out", "--resume", kept, "--quiet"]
    process = subprocess.Popen([sys.executable, "-c", KILLED, *map(str, resumed)])
    while process.poll() is None and len(list(kept.glob("unit-*"))) < 4:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    (kept / f"manifest.json.{'0' * 32}").write_text("half of a fi")
    assert exaln(*resumed) == 0
    assert (tmp_path / "out").read_bytes() == expected
    assert not (kept / f"manifest.json.{'0' * 32}").exists()
    assert len(set(searched)) == len(searched)


def test_nucleotides_on_both_strands_in_every_format(tmp_path: Path) -> None:
    fasta = tmp_path / "dna.fasta"
    fasta.write_text(">a\nACGTACGTTAGCNNR\n>b\nTTTTGCTAACGTACGTTT\n>d\nGATTACA\n>e\nACGTAC\n")
    Database.build(fasta, tmp_path / "dna.exaln")
    search = ["search", "--query", fasta, "--db", tmp_path / "dna.exaln", "--evalue", 1e6, "--engine", "reference"]
    for form in ("6", "json", "sam", "fasta"):
        for more in ([], ["--resume", tmp_path / f"kept-{form}"]):
            assert exaln(*search, "--outfmt", form, "--out", tmp_path / f"out{len(more)}", "--quiet", *more) == 0
        assert (tmp_path / "out2").read_bytes() == (tmp_path / "out0").read_bytes()


@pytest.mark.usefixtures("no_cluster")
def test_resume_refuses_sequence_files_other_searches_and_bad_folders(
    arguments: list[object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    resumed = ["--resume", tmp_path / "kept", "--out", tmp_path / "out"]
    assert exaln("search", "--query", QUERIES, "--db", TARGETS, *resumed) == 1
    assert "build one with exaln makedb" in capsys.readouterr().err
    assert exaln(*arguments, *resumed, "--quiet") == 0
    assert exaln(*arguments, *resumed, "--evalue", 5) == 1
    assert "from another search" in capsys.readouterr().err
    shutil.rmtree(tmp_path / "kept")
    (tmp_path / "kept").write_text("a file")
    assert exaln(*arguments, *resumed) == 6
    assert f"{tmp_path / 'kept'}: cannot be written" in capsys.readouterr().err
