"""Output files: replaced atomically, with mode and owner kept, and nothing left behind by a killed process."""

from __future__ import annotations

import gzip
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from exaln.errors import InputError, OutputError
from exaln.foundation import atomic_write
from exaln.foundation.output_file import open_output, open_text_output, require_extension

WAITING = """
import sys, time
from exaln.foundation.output_file import open_output
with open_output(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    print("written", flush=True)
    time.sleep(60)
"""


@pytest.fixture(params=["unnamed", "named", "unlinkable"])
def file_system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Files without a name; a file system that has none; one that cannot give them a name later."""
    if request.param == "named":
        opened = os.open

        def without_unnamed(path: object, flags: int, *mode: int) -> int:
            if flags & os.O_TMPFILE == os.O_TMPFILE:
                raise OSError(95, "Operation not supported")
            return opened(path, flags, *mode)  # type: ignore[arg-type]

        monkeypatch.setattr(atomic_write.os, "open", without_unnamed)
    if request.param == "unlinkable":

        def no_links(descriptor: int, path: Path) -> None:
            raise OSError(1, "Operation not permitted")

        monkeypatch.setattr(atomic_write, "_link", no_links)
    return str(request.param)


def write(path: Path, content: bytes = b"new") -> None:
    with open_output(path) as file:
        file.write(content)


@pytest.mark.usefixtures("file_system")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o444])
def test_a_replaced_file_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "hits.tsv"
    path.write_text("old")
    path.chmod(mode)
    write(path)
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert [entry.name for entry in tmp_path.iterdir()] == ["hits.tsv"]


@pytest.mark.usefixtures("file_system")
def test_a_new_file_has_the_mode_of_new_files(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write(tmp_path / "hits.tsv")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "hits.tsv").stat().st_mode) == 0o640


@pytest.mark.usefixtures("file_system")
def test_the_target_of_a_symbolic_link_is_replaced_and_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    target, link = tmp_path / "private" / "hits.tsv", tmp_path / "link.tsv"
    target.write_text("old")
    target.chmod(0o600)
    link.symlink_to(target)
    write(link)
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.usefixtures("file_system")
def test_a_replaced_file_keeps_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "hits.tsv"
    path.write_text("old")
    os.chown(path, 1234, 2345)
    write(path)
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 2345)


@pytest.mark.usefixtures("file_system")
def test_another_hard_link_keeps_the_old_content(tmp_path: Path) -> None:
    path, other = tmp_path / "hits.tsv", tmp_path / "other.tsv"
    path.write_text("old")
    other.hardlink_to(path)
    write(path)
    assert (path.read_text(), other.read_text()) == ("new", "old")


@pytest.mark.usefixtures("file_system")
def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "hits.tsv"
    path.write_text("old")

    def failing() -> None:
        with open_output(path) as file:
            file.write(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["hits.tsv"]


def test_a_file_that_appears_meanwhile_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "hits.tsv"
    with open_output(path) as file:
        file.write(b"new")
        path.write_text("of another process")
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("name", ["n" * 250 + ".tsv", "\u00e4" * 120 + ".tsv", "a b\n.tsv", "b\udcff.tsv"])
@pytest.mark.usefixtures("file_system")
def test_a_file_may_have_any_name_that_the_system_allows(tmp_path: Path, name: str) -> None:
    for content in (b"old", b"new"):
        write(tmp_path / name, content)
    assert (tmp_path / name).read_bytes() == b"new"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("existed", [False, True])
def test_a_killed_process_leaves_nothing(tmp_path: Path, existed: bool) -> None:
    path = tmp_path / "hits.tsv"
    if existed:
        path.write_text("old")
    process = subprocess.Popen([sys.executable, "-c", WAITING, str(path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"written\n"
    process.send_signal(signal.SIGKILL)
    process.wait(30)
    process.stdout.close()
    if Path("/proc/self/fd").is_dir() and not list(tmp_path.glob(".*")):  # else the next writer removes it
        assert [entry.name for entry in tmp_path.iterdir()] == ["hits.tsv"][: int(existed)]
    write(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["hits.tsv"]


def test_the_next_writer_removes_what_a_killed_one_left_but_not_what_others_write(tmp_path: Path) -> None:
    left = tmp_path / f".hits.tsv.{'0' * 32}"
    foreign = [tmp_path / ".hits.tsv.swp", tmp_path / f".other.tsv.{'0' * 32}", tmp_path / f"hits.tsv.{'0' * 32}"]
    locked = tmp_path / f".hits.tsv.{'1' * 32}"
    for path in (left, locked, *foreign):
        path.write_text("half")
    program = "import fcntl, sys, time\nf = open(sys.argv[1])\nfcntl.flock(f, 2)\nprint(1, flush=True)\ntime.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", program, str(locked)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    write(tmp_path / "hits.tsv")
    process.kill()
    process.wait(30)
    process.stdout.close()
    assert not left.exists()
    assert all(path.exists() for path in (locked, *foreign))


def test_a_pipe_is_written_directly(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.tsv")
    reader = subprocess.Popen(["cat", str(tmp_path / "pipe.tsv")], stdout=subprocess.PIPE)
    write(tmp_path / "pipe.tsv")
    assert reader.communicate(timeout=30)[0] == b"new"
    assert stat.S_ISFIFO((tmp_path / "pipe.tsv").stat().st_mode)


def test_text_is_compressed_by_name(tmp_path: Path) -> None:
    with open_text_output(tmp_path / "a.fasta.gz") as file:
        file.write(b">a\nACGT\n")
    assert gzip.decompress((tmp_path / "a.fasta.gz").read_bytes()) == b">a\nACGT\n"
    for extension in (".bz2", ".xz", ".zip", ".7z"):
        with pytest.raises(InputError, match=r"text is compressed as \.gz or \.zst"), open_text_output(f"a{extension}"):
            pass


def test_a_name_must_not_promise_another_format() -> None:
    for fine in ("a.tsv", "a.TSV.gz", "a", "a.v2", "-", "swiss.2026_01"):
        require_extension(fine, "a table", (".tsv", ".txt"))
    for wrong in ("a.csv", "a.json.zst", "a.BAM", "a.exaln"):
        with pytest.raises(InputError, match=r"the output is a table; use a name that ends in \.tsv or \.txt"):
            require_extension(wrong, "a table", (".tsv", ".txt"))


def test_a_missing_folder_is_an_output_error_that_names_the_file(tmp_path: Path) -> None:
    started = time.monotonic()
    with pytest.raises(OutputError, match=r"none/hits\.tsv: cannot be written: No such file or directory"):
        write(tmp_path / "none" / "hits.tsv")
    assert time.monotonic() - started < 5
