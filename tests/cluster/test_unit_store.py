"""The folder of --resume: units are found again, not mixed with other searches, and searched again if damaged."""

import json
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xxhash

from exaln import Database, DatabaseError, ExalnWarning, InputError, Records, Scoring, SearchOptions
from exaln.cluster.groups import GroupResults, Tiling
from exaln.cluster.part_hits import from_bytes, to_bytes
from exaln.cluster.unit_store import FORMAT, Store
from exaln.cluster.units import Unit, groups_between
from exaln.database.manifest import Manifest
from exaln.engines.cpu.engine import CpuEngine
from exaln.foundation.state_file import HASH_KEY
from exaln.search.pipeline import Search
from exaln.search.spec import SearchSpec
from exaln.sequences.fasta import read_records
from golden_data import GOLDEN
from hit_forgery import IMPOSSIBLE, forged

SCORING, OPTIONS = Scoring("BLOSUM62"), SearchOptions(evalue=1e4)
EDGES = [0, 2, 4]
Made = tuple[SearchSpec, Records, Manifest, dict[Unit, bytes]]


@pytest.fixture(scope="module")
def made() -> Made:
    """A search of four queries in two groups, and its four units."""
    database = Database.in_memory([read_records(GOLDEN / "scop20_part.fasta")])
    queries = read_records(GOLDEN / "cudasw4q_part.fasta").rows(0, 4)
    end = database.n_residues + 1
    found = {}
    for query_first, query_end in ((0, 2), (2, 4)):
        for first, stop in ((0, 5000), (5000, end)):
            search = Search(database.part(first, stop), SCORING, CpuEngine(1), OPTIONS)
            hits = list(search.run([queries.rows(query_first, query_end)], first_index=query_first))
            assert sum(map(len, hits)) > 10
            found[Unit(query_first, query_end, first, stop)] = to_bytes(hits)
    return SearchSpec.of("db", database.manifest, SCORING, OPTIONS), queries, database.manifest, found


@pytest.fixture
def folder(tmp_path: Path, made: Made) -> Path:
    """The folder of that search, finished."""
    spec, queries, _, units = made
    with Store(tmp_path / "new" / "folder", spec, queries) as store:
        assert (store.units, store.edges, store.is_finished) == ([], None, False)
        store.edges = EDGES
        for unit, data in units.items():
            assert not store.is_finished
            store.add(unit, from_bytes(data))
        store.save()
        assert store.is_finished
    return store.folder


def content_of(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    for name in ("format", "format_version", HASH_KEY):
        del content[name]
    return content


def scores(folder: Path, made: Made) -> list[list[int]]:
    """The report of a folder, in short."""
    spec, queries, manifest, _ = made
    with Store(folder, spec, queries) as store:
        groups = groups_between(store.edges or [0], queries.lengths, 1)
        return [hits.score.tolist() for hits in GroupResults(groups, manifest, spec, queries, store).ready()]


def test_units_are_found_again_and_only_what_is_left_over_is_removed(folder: Path, made: Made) -> None:
    spec, queries, _, units = made
    left_over = [folder / f"unit-{'0' * 32}.parquet", folder / f"manifest.json.{'a' * 32}"]
    others = [folder / name for name in ("unit-mine.parquet", "unit-1.parquet", "notes.txt", ".manifest.json.x")]
    for path in [*left_over, *others]:
        path.write_bytes(b"half of a fi")
    (folder / f"unit-{'1' * 32}.parquet").mkdir()
    (folder / f"unit-{'2' * 32}.parquet").symlink_to(others[2])
    with Store(folder, spec, queries) as again:
        assert (list(again.units), again.edges) == (list(units), EDGES)
        assert all(again.batch(unit).equals(from_bytes(data)) for unit, data in units.items())
    assert not any(path.exists() for path in left_over)
    assert all(path.exists() for path in others)
    assert (folder / f"unit-{'1' * 32}.parquet").is_dir()
    assert (folder / f"unit-{'2' * 32}.parquet").is_symlink()


def test_a_search_that_was_killed_before_its_first_manifest_starts_again(tmp_path: Path, made: Made) -> None:
    (tmp_path / f"unit-{'0' * 32}.parquet").write_bytes(b"half of a fi")
    with Store(tmp_path, made[0], made[1]) as store:
        assert list(store.units) == []
    assert list(tmp_path.iterdir()) == []


def test_one_process_at_a_time_has_the_folder(folder: Path, made: Made) -> None:
    with Store(folder, made[0], made[1]), pytest.raises(DatabaseError, match="another search is using this folder"):
        Store(folder, made[0], made[1])
    Store(folder, made[0], made[1]).close()


def test_another_search_is_refused(folder: Path, made: Made) -> None:
    spec, queries = made[:2]
    other = SearchSpec(spec.database, spec.database_digest, spec.space, SCORING, SearchOptions(evalue=1))
    for search, sequences in ((other, queries), (spec, queries.rows(0, 1))):
        with pytest.raises(InputError, match="from another search"):
            Store(folder, search, sequences)
    assert scores(folder, made)


def test_a_folder_with_other_things_is_refused(tmp_path: Path, made: Made) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(InputError, match="neither empty nor from an earlier search"):
        Store(tmp_path, made[0], made[1])
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(DatabaseError, match=r"manifest\.json: damaged"):
        Store(tmp_path, made[0], made[1])
    assert (tmp_path / "thesis.tex").exists()


def test_a_folder_of_the_first_format_says_what_to_do(folder: Path, made: Made) -> None:
    old = {"format": "exaln units", "format_version": 1, "search": "x", "edges": [0, 4], "units": []}
    (folder / "manifest.json").write_text(json.dumps(old))
    with pytest.raises(
        DatabaseError, match=r"manifest\.json: written by an earlier exaln \(format 1\); finish .*remove the f"
    ):
        Store(folder, made[0], made[1])


def test_a_folder_with_whole_targets_is_refused_by_its_format(folder: Path, made: Made) -> None:
    (folder / "manifest.json").write_text(replace(FORMAT, version=2).dump(content_of(folder)))
    with pytest.raises(
        DatabaseError, match=r"folder of format 2, but this exaln reads format 4; .* or remove the fold"
    ):
        Store(folder, made[0], made[1])


def test_a_digit_that_is_changed_in_the_manifest_is_noticed(folder: Path, made: Made) -> None:
    """The case of a report that silently lost hits: the start of a unit."""
    path = folder / "manifest.json"
    text = path.read_text()
    assert text.count("[5000, ") == 2
    path.write_text(text.replace("[5000, ", "[5001, "))
    with pytest.raises(DatabaseError, match=f"{re.escape(str(path))}: damaged: its hash differs from its content"):
        Store(folder, made[0], made[1])


def first_unit(**values: Any) -> Callable[[dict[str, Any]], None]:
    return lambda content: content["units"][0].update(values)


def _swap_files(content: dict[str, Any]) -> None:
    one, two = content["units"][:2]
    for name in ("file", "bytes", "xxh3_64"):
        one[name], two[name] = two[name], one[name]


def _one_file(content: dict[str, Any]) -> None:
    content["units"][1]["file"] = content["units"][0]["file"]


FORGED: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "start of a unit": (first_unit(residues=[1, 6000]), "overlap"),
    "a unit twice": (lambda content: content["units"].append(dict(content["units"][0])), "overlap|one file"),
    "before the database": (first_unit(residues=[-5, 10]), "residues is not"),
    "after the database": (first_unit(residues=[0, 10**12]), "residues is not"),
    "an empty range": (first_unit(residues=[10, 10]), "residues is not"),
    "a range the wrong way round": (first_unit(residues=[20, 10]), "residues is not"),
    "three numbers": (first_unit(residues=[0, 10, 20]), "residues is not"),
    "numbers that are texts": (first_unit(residues=["0", "10"]), "residues is not"),
    "no group": (first_unit(queries=[0, 16]), "queries is not a group"),
    "no queries": (first_unit(queries=[]), "queries is not a group"),
    "half a group": (first_unit(queries=[0, 1]), "queries is not a group"),
    "a path": (first_unit(file="../evil/unit-x.parquet"), "file is not the plain name"),
    "an absolute path": (first_unit(file="/etc/passwd"), "file is not the plain name"),
    "another name": (first_unit(file="thesis.parquet"), "file is not the name of a unit file"),
    "one file for two units": (_one_file, "two units have the same file"),
    "no hash": (first_unit(xxh3_64="zz"), "xxh3_64 is not"),
    "a unit without a file": (lambda content: content["units"][0].pop("file"), "file is missing"),
    "units that are numbers": (lambda content: content.update(units=[1, 2]), "units is not"),
    "units that are missing": (lambda content: content.pop("units"), "units is missing"),
    "an edge": (lambda content: content.update(edges=[0, 3, 4]), "queries is not a group"),
    "edges that end early": (lambda content: content.update(edges=[0, 2]), "edges is not"),
    "edges that begin late": (lambda content: content.update(edges=[1, 4]), "edges is not"),
    "edges that repeat": (lambda content: content.update(edges=[0, 2, 2, 4]), "edges is not"),
    "edges that descend": (lambda content: content.update(edges=[0, 3, 2, 4]), "edges is not"),
    "edges after the last query": (lambda content: content.update(edges=[0, 2, 4, 99]), "edges is not"),
    "no edges": (lambda content: content.update(edges=[]), "edges is not"),
    "edges that are null": (lambda content: content.update(edges=None), "queries is not a group"),
    "edges that are missing": (lambda content: content.pop("edges"), "edges is missing"),
    "deep lists": (lambda content: content.update(edges=[[[[]]]]), "edges is not"),
    "a digest that is a number": (lambda content: content.update(search=5), "search is not"),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_manifest_with_a_right_hash_is_refused(folder: Path, made: Made, name: str) -> None:
    content = content_of(folder)
    change, problem = FORGED[name]
    change(content)
    FORMAT.write(folder / "manifest.json", content)
    with pytest.raises(DatabaseError, match=rf"manifest\.json: damaged: .*({problem})"):
        Store(folder, made[0], made[1])


def test_units_with_each_other_s_files_are_refused(folder: Path, made: Made) -> None:
    content = content_of(folder)
    content["units"][0], content["units"][2] = content["units"][2], content["units"][0]
    _swap_files(content)
    FORMAT.write(folder / "manifest.json", content)
    with pytest.raises(DatabaseError, match=r"unit-.*: damaged: the queries are not those of the search"):
        scores(folder, made)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[]", "5", "null", "", "\xff\x00", "NaN"])
def test_json_that_is_no_manifest_is_refused(folder: Path, made: Made, text: str) -> None:
    (folder / "manifest.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(DatabaseError, match=r"manifest\.json: damaged"):
        Store(folder, made[0], made[1])


def damage_flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def damage_link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to(path.with_name("elsewhere"))


def damage_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "flip": damage_flip,
    "remove": Path.unlink,
    "truncate": lambda path: os.truncate(path, path.stat().st_size // 2),
    "extend": lambda path: path.write_bytes(path.read_bytes() + b"x"),
    "link": damage_link,
    "folder": damage_folder,
    "pipe": lambda path: (path.unlink(), os.mkfifo(path)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_unit_is_done_again(folder: Path, made: Made, damage: str) -> None:
    file = content_of(folder)["units"][0]["file"]
    DAMAGES[damage](folder / file)
    with pytest.warns(
        ExalnWarning, match=f"{file}: damaged or missing; searching queries 1 to 2, residues 0 to .* again"
    ):
        store = Store(folder, made[0], made[1])
    assert list(store.units) == list(made[3])[1:]
    assert not store.is_finished
    store.close()


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_unit_that_is_damaged_after_the_folder_was_read_is_named(folder: Path, made: Made, damage: str) -> None:
    spec, queries, manifest, _ = made
    file = content_of(folder)["units"][3]["file"]
    with Store(folder, spec, queries) as store:
        results = GroupResults(groups_between(EDGES, queries.lengths, 1), manifest, spec, queries, store)
        DAMAGES[damage](folder / file)
        with pytest.raises(DatabaseError, match=f"{file}: damaged: .*; remove this file to search queries 3 to 4"):
            list(results.ready())


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_a_unit_with_forged_values_and_right_hashes_is_refused(folder: Path, made: Made, name: str) -> None:
    content = content_of(folder)
    unit, file = content["units"][1], folder / content["units"][1]["file"]
    batch = forged(from_bytes(list(made[3].values())[1]), IMPOSSIBLE[name][0])
    pq.write_table(pa.Table.from_batches([batch]), file)
    unit.update(bytes=file.stat().st_size, xxh3_64=xxhash.xxh3_64_hexdigest(file.read_bytes()))
    FORMAT.write(folder / "manifest.json", content)
    with pytest.raises(DatabaseError, match=f"{file.name}: damaged: "):
        scores(folder, made)


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_what_workers_send_is_checked(made: Made, name: str) -> None:
    spec, queries, manifest, units = made
    results = GroupResults(groups_between(EDGES, queries.lengths, 1), manifest, spec, queries, None)
    (unit, data), (change, problem) = next(iter(units.items())), IMPOSSIBLE[name]
    sink = pa.BufferOutputStream()
    batch = forged(from_bytes(data), change)
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    with pytest.raises(ValueError, match=f"{problem}|not those of the search"):
        results.add(unit, bytes(sink.getvalue()))
    results.add(unit, data)  # a refused result leaves nothing behind


@pytest.mark.parametrize("data", [b"", b"junk", b"\xff" * 1000, "text", None])
def test_junk_from_workers_is_refused(made: Made, data: Any) -> None:
    spec, queries, manifest, units = made
    results = GroupResults(groups_between(EDGES, queries.lengths, 1), manifest, spec, queries, None)
    with pytest.raises(ValueError, match="not an Arrow stream of hits"):
        results.add(next(iter(units)), data)


def test_hits_are_handed_out_when_every_residue_was_searched_once(made: Made) -> None:
    spec, queries, manifest, units = made
    results = GroupResults(groups_between(EDGES, queries.lengths, 1), manifest, spec, queries, None)
    (one, first), (two, second) = list(units.items())[:2]
    results.add(one, first)
    assert list(results.ready()) == []
    with pytest.raises(ValueError, match="searched twice"):
        results.add(one, first)
    results.add(two, second)
    assert len(list(results.ready())) == 2
    assert not results.is_finished


def test_a_tiling_is_whole_only_without_gaps_and_overlaps() -> None:
    tiling = Tiling(10)
    for first, end in ((4, 6), (0, 4), (8, 10)):
        tiling.add(first, end)
    assert not tiling.is_whole
    for first, end in ((0, 1), (5, 7), (6, 9), (7, 9), (6, 6), (-1, 0), (9, 11), (0, 10)):
        with pytest.raises(ValueError, match="searched twice, or are not in the database"):
            tiling.add(first, end)
    tiling.add(6, 8)
    assert tiling.is_whole


def test_the_folder_can_be_moved(folder: Path, made: Made, tmp_path: Path) -> None:
    expected = scores(folder, made)
    shutil.move(folder, tmp_path / "moved")
    assert scores(tmp_path / "moved", made) == expected
