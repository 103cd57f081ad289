"""Scratch folders: private, removed with their process, and swept by the next one if it was killed."""

import fcntl
import os
import re
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from exaln.cluster import scratch
from exaln.cluster.scratch import KINDS, ScratchFolder, scratch_folder, sweep

PACKAGE = Path(__file__).parents[2] / "src" / "exaln"

OWNER = """
import sys, time
from pathlib import Path
from exaln.cluster.scratch import KINDS, ScratchFolder
folders = [ScratchFolder(kind, Path(sys.argv[1])) for kind in KINDS]
for folder in folders:
    (folder.path / "sub").mkdir()
    (folder.path / "sub" / "key.pem").write_text("secret")
print("ready", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_is_private_and_goes_with_its_block(tmp_path: Path, kind: str) -> None:
    with scratch_folder(kind, tmp_path) as folder:
        assert folder.parent == tmp_path
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        (folder / "inside").mkdir()
        sweep(tmp_path)  # its owner lives
        assert (folder / "inside").is_dir()
    assert list(tmp_path.iterdir()) == []


def test_folders_of_a_killed_process_are_swept_at_the_next_start_and_those_of_a_living_one_are_not(
    tmp_path: Path,
) -> None:
    owners = [
        subprocess.Popen([sys.executable, "-c", OWNER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for owner in owners:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "ready\n"
    assert len(list(tmp_path.iterdir())) == 2 * len(KINDS)
    owners[0].send_signal(signal.SIGKILL)
    owners[0].wait()
    with scratch_folder(KINDS[0], tmp_path):
        assert len(list(tmp_path.iterdir())) == len(KINDS) + 1
    owners[1].kill()
    for owner in owners:
        owner.communicate()
    sweep(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_folders_that_may_belong_to_others_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def abandoned(name: str, mode: int = 0o700, host: bytes | None = None) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "lock").write_bytes(scratch._host() if host is None else host)
        folder.chmod(mode)
        return folder

    mine = abandoned("exaln-worker-abcdefgh")
    kept = [
        abandoned("exaln-worker-abcdefgi", 0o755),
        abandoned("exaln-worker-abcdefgj", host=b"another machine"),
        abandoned("exaln-thesis-abcdefgh"),
        abandoned("exaln-worker-abcdefgh.bak"),
    ]
    young = tmp_path / "exaln-worker-abcdefgk"
    young.mkdir(0o700)
    old = tmp_path / "exaln-worker-abcdefgl"
    old.mkdir(0o700)
    os.utime(old, (1000, 1000))
    full = tmp_path / "exaln-worker-abcdefgm"
    full.mkdir(0o700)
    (full / "precious").write_text("x")
    os.utime(full, (1000, 1000))
    link = tmp_path / "exaln-worker-abcdefgn"
    link.symlink_to(kept[2])
    sweep(tmp_path)
    assert not mine.exists()
    assert not old.exists()
    assert all(path.exists() for path in [*kept, young, full, link])
    others = abandoned("exaln-worker-abcdefgo")
    monkeypatch.setattr(scratch.os, "getuid", lambda: 12345)
    sweep(tmp_path)
    assert others.exists()


def test_a_folder_that_is_swept_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flock, taken = fcntl.flock, []

    def swept_first(descriptor: int, operation: int) -> None:
        if not taken:
            taken.append(descriptor)
            sweep(tmp_path)
        flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", swept_first)
    folder = ScratchFolder(KINDS[0], tmp_path)
    assert folder.path.is_dir()
    folder.close()
    folder.close()
    assert not folder.path.exists()


def test_a_folder_whose_removal_is_interrupted_keeps_its_lock_file_and_is_swept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = ScratchFolder(KINDS[0], tmp_path)
    for name in ("a", "z"):
        (folder.path / name).mkdir()
        (folder.path / name / "file").write_text("x")
    with monkeypatch.context() as patch:
        patch.setattr(scratch.shutil, "rmtree", lambda path, **options: None)
        folder.close()
    assert sorted(path.name for path in folder.path.iterdir()) == ["a", "lock", "z"]
    sweep(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_every_temporary_folder_of_the_package_is_a_scratch_folder() -> None:
    found = dict[str, list[str]]()
    for path in PACKAGE.rglob("*.py"):
        code = "\n".join(line for line in path.read_text(encoding="utf-8").splitlines() if ">>>" not in line)
        used = re.findall(
            r"tempfile\.mkdtemp|tempfile\.TemporaryDirectory|scratch_folder\(\"|ScratchFolder\.of_process\(", code
        )
        if used:
            found[path.relative_to(PACKAGE).as_posix()] = used
    assert found == {
        "cluster/scratch.py": ["tempfile.mkdtemp"],
        "cluster/hosts.py": ['scratch_folder("'],
        "cluster/slurm.py": ['scratch_folder("'],
        "cluster/worker_process.py": ['scratch_folder("'],
        "cluster/database_source.py": ["ScratchFolder.of_process("],
    }
