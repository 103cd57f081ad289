"""Locks: one holder at a time, released with the process, and safe against links and deleted lock files."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from exaln.foundation import lock_file
from exaln.foundation.lock_file import Lock, LockHeld, try_lock

HOLDER = """
import sys, time
from pathlib import Path
from exaln.foundation.lock_file import Lock
lock = Lock.on_file(Path(sys.argv[1]), note=b"holder")
print("locked", flush=True)
time.sleep(60)
"""


def test_a_second_lock_on_a_file_is_refused_with_the_note_of_the_holder(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    with Lock.on_file(path, note=b"first") as lock:
        assert lock.note() == b"first"
        with pytest.raises(LockHeld) as caught:
            Lock.on_file(path, note=b"second")
        assert caught.value.note == b"first"
    with Lock.on_file(path) as lock:
        assert lock.note() == b"first"


def test_a_shorter_note_replaces_a_longer_one(tmp_path: Path) -> None:
    Lock.on_file(tmp_path / ".lock", note=b"a long note").close()
    with Lock.on_file(tmp_path / ".lock", note=b"short") as lock:
        assert lock.note() == b"short"


def test_closing_twice_closes_no_other_file(tmp_path: Path) -> None:
    lock = Lock.on_file(tmp_path / ".lock")
    lock.close()
    descriptor = os.open(tmp_path, os.O_RDONLY)  # likely gets the number that was just freed
    lock.close()
    assert stat.S_ISDIR(os.fstat(descriptor).st_mode)
    os.close(descriptor)


def test_a_folder_can_be_locked_without_a_file_in_it(tmp_path: Path) -> None:
    with Lock.on_folder(tmp_path), pytest.raises(LockHeld):
        Lock.on_folder(tmp_path)
    Lock.on_folder(tmp_path).close()
    assert list(tmp_path.iterdir()) == []


def test_a_killed_process_releases_its_lock(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"locked\n"
    with pytest.raises(LockHeld):
        Lock.on_file(path)
    process.send_signal(signal.SIGKILL)
    process.wait(30)
    process.stdout.close()
    with Lock.on_file(path) as lock:
        assert lock.note() == b"holder"


def test_a_symbolic_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / ".lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        Lock.on_file(tmp_path / ".lock", note=b"x")
    assert not (tmp_path / "elsewhere").exists()


def test_a_missing_file_or_folder_is_an_error_where_none_is_created(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Lock.on_file(tmp_path / "none" / ".lock")
    with pytest.raises(FileNotFoundError):
        Lock.on_file(tmp_path / ".lock", create=False)
    assert list(tmp_path.iterdir()) == []


def test_a_lock_file_deleted_before_it_was_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, deleted = tmp_path / ".lock", []

    def delete_and_lock(descriptor: int, *, required: bool) -> bool:
        if not deleted:
            path.unlink()
            deleted.append(path)
        return try_lock(descriptor, required=required)

    monkeypatch.setattr(lock_file, "try_lock", delete_and_lock)
    with Lock.on_file(path), pytest.raises(LockHeld):
        Lock.on_file(path)
    assert deleted == [path]


def test_a_file_system_without_locks_is_an_error_unless_locks_are_optional(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(descriptor: int, flags: int) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(lock_file.fcntl, "flock", unsupported)
    with pytest.raises(OSError, match="No locks available"):
        Lock.on_file(tmp_path / ".lock")
    Lock.on_file(tmp_path / ".lock", note=b"x", required=False).close()
    assert (tmp_path / ".lock").read_bytes() == b"x"
