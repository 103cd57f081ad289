"""Finished units in a folder: found again, never of another search, and redone where they are damaged."""

import json
from pathlib import Path

import pytest

from exaln import Database, ExalnWarning, InputError, Records, Scoring, SearchOptions
from exaln.cluster.parts import from_bytes, to_bytes
from exaln.cluster.spec import SearchSpec
from exaln.cluster.store import Store
from exaln.cluster.units import Unit
from exaln.engines.cpu import CpuEngine
from exaln.fasta import read_records
from exaln.pipeline import Search
from golden_data import GOLDEN

SCORING, OPTIONS = Scoring("BLOSUM62"), SearchOptions(evalue=1e4)


@pytest.fixture(scope="module")
def made() -> tuple[SearchSpec, Records, Unit, bytes]:
    database = Database.in_memory([read_records(GOLDEN / "scop20_part.fasta")])
    queries = read_records(GOLDEN / "cudasw4q_part.fasta").rows(0, 2)
    hits = list(Search(database, SCORING, CpuEngine(1), OPTIONS).run([queries]))
    assert sum(map(len, hits)) > 10
    unit = Unit(0, 2, 0, database.n_residues + 1)
    return SearchSpec.of("db", database.manifest, SCORING, OPTIONS), queries, unit, to_bytes(hits)


def test_units_are_found_again(tmp_path: Path, made: tuple[SearchSpec, Records, Unit, bytes]) -> None:
    spec, queries, unit, data = made
    store = Store(tmp_path / "new" / "folder", spec, queries)
    assert (store.units, store.edges) == ([], None)
    store.edges = [0, 2]
    store.add(unit, data)
    store.save()
    (store.folder / "unit-left-over.parquet").write_bytes(b"half of a fi")
    again = Store(store.folder, spec, queries)
    assert (again.units, again.edges) == ([unit], [0, 2])
    assert again.batch(unit).equals(from_bytes(data))
    assert not (store.folder / "unit-left-over.parquet").exists()


def test_another_search_is_refused(tmp_path: Path, made: tuple[SearchSpec, Records, Unit, bytes]) -> None:
    spec, queries, unit, data = made
    store = Store(tmp_path, spec, queries)
    store.add(unit, data)
    store.save()
    other = SearchSpec(spec.database, spec.database_digest, spec.space, SCORING, SearchOptions(evalue=1))
    for search, sequences in ((other, queries), (spec, queries.rows(0, 1))):
        with pytest.raises(InputError, match="of another search"):
            Store(tmp_path, search, sequences)
    assert Store(tmp_path, spec, queries).units == [unit]


def test_a_folder_with_other_things_is_refused(tmp_path: Path, made: tuple[SearchSpec, Records, Unit, bytes]) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(InputError, match="neither empty nor of an earlier search"):
        Store(tmp_path, made[0], made[1])
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(InputError, match="damaged"):
        Store(tmp_path, made[0], made[1])
    assert (tmp_path / "thesis.tex").exists()


@pytest.mark.parametrize("damage", ["flip", "remove", "truncate"])
def test_a_damaged_unit_is_done_again(
    tmp_path: Path, made: tuple[SearchSpec, Records, Unit, bytes], damage: str
) -> None:
    spec, queries, unit, data = made
    store = Store(tmp_path, spec, queries)
    store.add(unit, data)
    store.save()
    path = tmp_path / json.loads((tmp_path / "manifest.json").read_text())["units"][0]["file"]
    content = bytearray(path.read_bytes())
    if damage == "remove":
        path.unlink()
    elif damage == "truncate":
        path.write_bytes(content[: len(content) // 2])
    else:
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    with pytest.warns(ExalnWarning, match="queries 1 to 2, residues 0 to .* are searched again"):
        assert Store(tmp_path, spec, queries).units == []
