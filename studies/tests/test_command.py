"""`exaln study` on the command line: what it refuses, what it writes, and where."""

import sys
from pathlib import Path

import pytest

from command import Exaln
from exaln_studies import chaibou_sie, run
from exaln_studies.command import default_folder

CLONE = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "missing argument"),
        (["nobody"], "nobody"),
        (["chaibou-sie", "--part", "x"], "has no part 'x'; there are sequential, threads, gpu"),
        (["chaibou-sie", "--from", "no.json"], "no.json: No such file"),
        (["chaibou-sie", "--quick", "--from", "no.json"], "--from measures nothing"),
    ],
)
def test_wrong_arguments_are_refused_and_nothing_is_written(
    exaln: Exaln, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: list[str], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    code, message = exaln.error("study", *arguments)
    assert code == 1
    assert says in message
    assert list(tmp_path.iterdir()) == []


def test_a_quick_study_and_its_page_made_again_from_the_measurements(
    exaln: Exaln, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(chaibou_sie, "QUICK_LENGTHS", (60, 90))
    monkeypatch.setattr(run, "_no_gpu", lambda: "there is none")
    monkeypatch.chdir(tmp_path)
    result = exaln("study", "chaibou-sie", "--quick", "--threads", "2")
    assert result.code == 0
    assert "written to study-pages/chaibou-sie.md" in result.err
    text = (tmp_path / "study-pages" / "chaibou-sie.md").read_text()
    assert "Te = " in text
    assert exaln("study", "chaibou-sie", "--from", "study-pages/chaibou-sie.json", "--out", "again").code == 0
    assert (tmp_path / "again" / "chaibou-sie.md").read_text() == text


def test_a_missing_matplotlib_is_reported_before_anything_is_measured(
    exaln: Exaln, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def measured(*arguments: object, **options: object) -> None:
        raise AssertionError("measured without matplotlib")

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr(run, "measure", measured)
    monkeypatch.chdir(tmp_path)
    code, message = exaln.error("study", "chaibou-sie", "--quick")
    assert code == 1
    assert 'plots need matplotlib, which is not installed: pip install "exaln[plots]"' in message
    assert list(tmp_path.iterdir()) == []


def test_pages_of_full_runs_go_to_the_clone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(CLONE / "studies" / "src")
    assert default_folder(quick=False) == CLONE / "studies" / "pages"
    assert default_folder(quick=True) == Path("study-pages")
    monkeypatch.chdir(tmp_path)
    assert default_folder(quick=False) == Path("study-pages")
