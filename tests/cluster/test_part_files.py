"""Part files: their metadata are checked, and forged or damaged ones are named and never reported."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from exaln import Database
from exaln.__main__ import run
from exaln.cluster.part_file import FORMAT, METADATA, METADATA_OF_FORMAT_1
from exaln.cluster.part_hits import as_batch, content_hash
from exaln.foundation.state_file import HASH_KEY
from golden_data import GOLDEN
from hit_forgery import IMPOSSIBLE, forged

QUERIES, TARGETS = GOLDEN / "cudasw4q_part.fasta", GOLDEN / "scop20_part.fasta"
Content = dict[str, Any]


def exaln(*arguments: object) -> int:
    return run([str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The two shards of a search."""
    folder = tmp_path_factory.mktemp("parts")
    Database.build(TARGETS, folder / "db.exaln")
    files = [folder / f"part-{number}.parquet" for number in (1, 2)]
    for number, file in enumerate(files, start=1):
        arguments = ["--query", QUERIES, "--db", folder / "db.exaln", "--evalue", "inf", "--out", file]
        assert exaln("search", *arguments, "--shard", f"{number}/2", "--quiet") == 0
    return files


def content_of(path: Path) -> Content:
    content: Content = json.loads(pq.read_metadata(path).metadata[METADATA])
    return content


def rewritten(path: Path, to: Path, change: Callable[[Any], Any], *, of_content: Callable[[Content], Any]) -> None:
    """A part file with another first row group and other metadata, whose hashes are right."""
    file, content = pq.ParquetFile(path), content_of(path)
    batches = [as_batch(file.read_row_group(number)) for number in range(file.num_row_groups)]
    batches[0] = change(batches[0])
    content["groups"] = [
        {"queries": batch.num_rows, "hits": len(batch.column("hits").flatten()), "xxh3_64": content_hash(batch)}
        for batch in batches
    ]
    for name in ("queries", "hits"):
        content[name] = sum(group[name] for group in content["groups"])
    for name in ("format", "format_version", HASH_KEY):
        del content[name]
    of_content(content)
    with pq.ParquetWriter(to, batches[0].schema) as writer:
        for batch in batches:
            writer.write_table(pa.Table.from_batches([batch]))
        writer.add_key_value_metadata({METADATA: FORMAT.dump(content)})


def merge_says(capsys: pytest.CaptureFixture[str], code: int, bad: Path, *others: Path) -> str:
    """The one line that is printed for a bad part; nothing is reported."""
    out = bad.with_name("merged")
    assert exaln("merge", bad, *others, "--out", out) == code
    assert not out.exists()
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert str(bad) in error
    return error


def test_a_part_file_says_what_it_holds(parts: list[Path]) -> None:
    contents = [content_of(path) for path in parts]
    assert [(one["shard"], one["shards"]) for one in contents] == [(1, 2), (2, 2)]
    assert contents[0]["residues"][1] == contents[1]["residues"][0]
    assert (contents[0]["residues"][0], contents[1]["residues"][1]) == (
        0,
        Database.open(parts[0].with_name("db.exaln")).n_residues + 1,
    )
    rows = pq.read_table(parts[0]).column("hits").to_pylist()
    assert contents[0]["queries"] == len(rows)
    assert contents[0]["hits"] == sum(map(len, rows)) > 100


def test_a_part_file_that_is_rewritten_without_a_change_is_merged(parts: list[Path], tmp_path: Path) -> None:
    rewritten(parts[0], tmp_path / "part", lambda batch: batch, of_content=lambda content: None)
    assert exaln("merge", *parts, "--out", tmp_path / "expected", "--quiet") == 0
    assert exaln("merge", tmp_path / "part", parts[1], "--out", tmp_path / "merged", "--quiet") == 0
    assert (tmp_path / "merged").read_bytes() == (tmp_path / "expected").read_bytes() != b""


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_forged_values_with_right_hashes_are_refused(
    parts: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    rewritten(parts[0], tmp_path / "part", lambda batch: forged(batch, IMPOSSIBLE[name][0]), of_content=lambda _: None)
    assert f"{tmp_path / 'part'}: damaged: " in merge_says(capsys, 2, tmp_path / "part", parts[1])


def test_values_that_were_changed_without_the_hashes_are_refused(
    parts: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = pq.read_table(parts[0])
    column = table.schema.get_field_index("query_id")
    table = table.set_column(column, table.schema.field(column), pa.array(["x"] * len(table), pa.large_string()))
    with pq.ParquetWriter(tmp_path / "part", table.schema) as writer:
        for number in range(pq.ParquetFile(parts[0]).num_row_groups):
            writer.write_table(table.slice(16 * number, 16))
        writer.add_key_value_metadata({METADATA: pq.read_metadata(parts[0]).metadata[METADATA]})
    assert "its content differs from what was written" in merge_says(capsys, 2, tmp_path / "part", parts[1])


WRONG_CONTENT: dict[str, tuple[Content, int]] = {
    "another shard": ({"shard": 2}, 2),
    "shard 0": ({"shard": 0}, 2),
    "a shard that is text": ({"shard": "1"}, 2),
    "a range of residues": ({"residues": [0, 1 << 62]}, 2),
    "a range that is no list": ({"residues": None}, 2),
    "a number of queries": ({"queries": 1 << 62}, 2),
    "a number of hits": ({"hits": 0}, 2),
    "no row groups": ({"groups": []}, 2),
    "row groups that are numbers": ({"groups": [1, 2]}, 2),
    "a row group without a hash": ({"groups": [{"queries": 1, "hits": 1}]}, 2),
    "a search that is no text": ({"search": {}}, 2),
    "a search that is not JSON": ({"search": "{"}, 2),
    "a search of deep lists": ({"search": "[" * 100_000}, 2),
    "a search that is a number": ({"search": "5"}, 2),
    "an empty search": ({"search": "{}"}, 2),
}


@pytest.mark.parametrize("name", WRONG_CONTENT)
def test_wrong_metadata_with_a_right_hash_are_refused(
    parts: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    change, code = WRONG_CONTENT[name]
    rewritten(parts[0], tmp_path / "part", lambda batch: batch, of_content=lambda content: content.update(change))
    merge_says(capsys, code, tmp_path / "part", parts[1])


def test_a_target_in_two_parts_is_refused(
    parts: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The hits of the second shard in a file that says it is the first."""
    rewritten(
        parts[1], tmp_path / "part", lambda batch: batch, of_content=lambda content: content.update(_first(parts))
    )
    assert "a target occurs twice" in merge_says(capsys, 2, tmp_path / "part", parts[1])


def _first(parts: list[Path]) -> Content:
    content = content_of(parts[0])
    return {name: content[name] for name in ("shard", "residues")}


def test_other_files_are_distinguished_from_damaged_part_files(
    parts: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.parquet"
    pq.write_table(pa.table({"x": [1]}), other)
    assert "Parquet, but not a part file" in merge_says(capsys, 1, other)
    other.write_text(">q\nACGT\n")
    assert "not a part file of exaln search --shard" in merge_says(capsys, 1, other)
    assert "no such file" in merge_says(capsys, 1, tmp_path / "none.parquet")
    merge_says(capsys, 1, tmp_path)
    other.write_bytes(parts[0].read_bytes()[:-100])
    assert "damaged" in merge_says(capsys, 2, other, parts[1])


def test_a_part_file_with_whole_targets_is_refused_by_its_format(
    parts: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = content_of(parts[0])
    for name in ("format", "format_version", HASH_KEY):
        del content[name]
    old = {METADATA: replace(FORMAT, version=2).dump(content)}
    pq.write_table(pq.read_table(parts[0]).replace_schema_metadata(old), tmp_path / "old")
    error = merge_says(capsys, 2, tmp_path / "old", parts[1])
    assert "part file of format 2, but this exaln reads format 4; use the exaln that wrote it, or search this" in error


def test_a_part_file_of_the_first_format_says_what_to_do(
    parts: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, old = pq.read_table(parts[0]), {"search": json.loads(content_of(parts[0])["search"]), "shard": {"number": 1}}
    pq.write_table(table.replace_schema_metadata({METADATA_OF_FORMAT_1: json.dumps(old)}), tmp_path / "old")
    error = merge_says(capsys, 2, tmp_path / "old", parts[1])
    assert "a part file of an earlier exaln (format 1), which has no hashes; search this shard again" in error
