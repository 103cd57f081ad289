"""Who may put kernels into the cache: a cubin is run, so what somebody else could have written is not used."""

from __future__ import annotations

import os
import stat
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from exaln.engines.cuda.runtime import compiler, kernel_cache
from exaln.engines.cuda.runtime.compiler import Source, cubin
from exaln.engines.cuda.runtime.nvrtc import Compiler
from exaln.errors import ExalnWarning
from exaln.foundation import user_cache

SOURCE = Source("strips.cu", (("ROWS", 4),))


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Source]:
    """What was compiled, by a compiler that is quick; the cache is empty."""
    seen: list[Source] = []

    def compile_one(source: Source, arch: str) -> bytes:
        seen.append(source)
        return b"code"

    monkeypatch.setattr(compiler, "_compile", compile_one)
    for name in ("known_compiler", "loaded_compiler"):
        monkeypatch.setattr(compiler, name, lambda: Compiler("13.0", "libnvrtc.so", 1, 1))
    monkeypatch.setattr(kernel_cache, "_warned_folders", set())
    monkeypatch.setenv("EXALN_CACHE", str(tmp_path / "cache"))
    return seen


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def only_file(tmp_path: Path) -> Path:
    (file,) = (tmp_path / "cache").glob("*.cubin")
    return file


def test_folder_and_files_are_for_their_user_alone(compiled: list[Source], tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        assert cubin(SOURCE, "sm_90") == cubin(SOURCE, "sm_90") == b"code"
    finally:
        os.umask(old)
    assert len(compiled) == 1
    assert mode_of(tmp_path / "cache") == 0o700
    assert mode_of(only_file(tmp_path)) == 0o600


def link_file(tmp_path: Path) -> None:
    file = only_file(tmp_path)
    file.rename(tmp_path / "real")
    file.symlink_to(tmp_path / "real")


def link_folder(tmp_path: Path) -> None:
    (tmp_path / "cache").rename(tmp_path / "real")
    (tmp_path / "cache").symlink_to(tmp_path / "real")


UNTRUSTED: dict[str, tuple[Callable[[Path], object], str]] = {
    "folder others can write to": (lambda path: (path / "cache").chmod(0o777), r"other users can write to cache"),
    "folder the group can write to": (lambda path: (path / "cache").chmod(0o770), r"other users can write to cache"),
    "file others can write to": (lambda path: only_file(path).chmod(0o606), r"other users can write to strips-sm_90"),
    "file the group can write to": (lambda path: only_file(path).chmod(0o660), r"other users can write to strips"),
    "folder that is a link": (link_folder, "cache is a link, or not a folder"),
}


@pytest.mark.parametrize("what", UNTRUSTED)
def test_what_others_can_change_is_not_used_and_a_warning_says_so_once(
    compiled: list[Source], tmp_path: Path, what: str
) -> None:
    make, reason = UNTRUSTED[what]
    cubin(SOURCE, "sm_90")
    make(tmp_path)
    before = sorted(path.stat().st_mtime_ns for path in (tmp_path / "cache").iterdir())
    with pytest.warns(ExalnWarning, match=rf"cache: compiled kernels .*{reason}.*; set EXALN_CACHE to another folder"):
        assert cubin(SOURCE, "sm_90") == b"code"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if what.startswith("folder"):
            cubin(SOURCE, "sm_90")
            assert sorted(path.stat().st_mtime_ns for path in (tmp_path / "cache").iterdir()) == before
    assert len(compiled) == 2 + what.startswith("folder")


def test_a_cached_file_that_is_a_link_is_replaced(compiled: list[Source], tmp_path: Path) -> None:
    cubin(SOURCE, "sm_90")
    link_file(tmp_path)
    assert cubin(SOURCE, "sm_90") == b"code"
    assert len(compiled) == 2
    assert not only_file(tmp_path).is_symlink()
    assert (tmp_path / "real").exists()


def test_what_belongs_to_another_user_is_not_used(
    compiled: list[Source], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cubin(SOURCE, "sm_90")
    monkeypatch.setattr(user_cache, "_trusted_users", lambda: {os.geteuid() + 1})
    with pytest.warns(ExalnWarning, match="cache belongs to another user"):
        cubin(SOURCE, "sm_90")
    assert len(compiled) == 2


def test_root_and_this_user_are_trusted() -> None:
    assert user_cache._trusted_users() == {0, os.geteuid()}


def test_a_damaged_file_is_compiled_again(compiled: list[Source], tmp_path: Path) -> None:
    cubin(SOURCE, "sm_90")
    file = only_file(tmp_path)
    file.write_bytes(b"bad!" + file.read_bytes()[4:])
    assert cubin(SOURCE, "sm_90") == b"code"
    assert len(compiled) == 2
