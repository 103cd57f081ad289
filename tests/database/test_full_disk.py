"""A full disk (a small file system, or a limit on file size): exit code 6, and the old database is intact."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from database_samples import content_of, files_in, needed_files, random_sequences, records_of
from exaln.database.database import Database
from exaln.errors import OutputError
from exaln.sequences.alphabet import PROTEIN
from exaln.sequences.records import Records

OLD = random_sequences(50, seed=20)
LIMITED = """
import resource, sys
from pathlib import Path
from exaln.database.database import Database
from exaln.errors import OutputError
source, path, task = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    if task == "append":
        Database.open(path).append(source)
    elif task == "export":
        Database.open(source).export(path)
    else:
        Database.build(source, path, force=task == "replace")
except OutputError as error:
    print(error)
    sys.exit(error.exit_code)
"""


def large_records() -> Records:
    """Three megabytes of sequence."""
    random = np.random.default_rng(21)
    return Records.of(PROTEIN, [random.integers(0, 20, 1000).astype(np.uint8) for _ in range(3000)])


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)], capture_output=True, text=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"cannot mount a small file system here: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def test_a_write_on_a_full_disk_leaves_the_old_database(small_disk: Path) -> None:
    with pytest.raises(OutputError, match="No space left on device") as caught:
        Database.build_records([large_records()], small_disk / "new")
    assert caught.value.exit_code == 6
    assert files_in(small_disk) == set()
    database = Database.build_records([records_of(OLD)], small_disk / "db")
    with pytest.raises(OutputError, match="No space left on device"):
        database.append_records([large_records()])
    with pytest.raises(OutputError, match="No space left on device"):
        Database.build_records([large_records()], small_disk / "db", force=True)
    with pytest.raises(OutputError, match="No space left on device"):
        Database.in_memory([large_records()]).export(small_disk / "out.fasta")
    assert files_in(small_disk) == {"db.exaln"}
    assert files_in(small_disk / "db.exaln") == needed_files(database)
    assert content_of(Database.open(small_disk / "db")) == OLD


def fill(path: Path) -> None:
    """Use all space that is left."""
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))


def test_disk_full_to_the_last_byte(small_disk: Path) -> None:
    database = Database.build_records([records_of(OLD)], small_disk / "db")
    fill(small_disk / "filler")
    with pytest.raises(OutputError, match="No space left on device"):
        database.append_records([records_of(OLD[:1])])
    with pytest.raises(OutputError, match="No space left on device"):
        Database.build_records([records_of(OLD[:1])], small_disk / "new")
    database = Database.open(small_disk / "db")
    database.verify()
    assert files_in(small_disk / "db.exaln") == needed_files(database)
    assert files_in(small_disk) == {"db.exaln", "filler"}


@pytest.mark.parametrize("task", ["build", "replace", "append", "export"])
def test_a_limit_on_file_size_is_an_output_error_and_leaves_nothing(task: str, tmp_path: Path) -> None:
    source = tmp_path / "large.exaln"
    Database.build_records([large_records()], source)
    fasta = tmp_path / "large.fasta"
    Database.open(source).export(fasta)
    place = tmp_path / "place"
    place.mkdir()
    path = place / ("new.fasta" if task == "export" else "db.exaln")
    if task in ("replace", "append"):
        Database.build_records([records_of(OLD)], path)
    arguments = [str(source if task == "export" else fasta), str(path), task]
    done = subprocess.run([sys.executable, "-c", LIMITED, *arguments], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (6, "")
    assert "File too large" in done.stdout
    assert str(path) in done.stdout
    if task in ("replace", "append"):
        database = Database.open(path)
        assert content_of(database) == OLD
        assert files_in(path) == needed_files(database)
    else:
        assert files_in(place) == set()
