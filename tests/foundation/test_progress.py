"""progress= of the public functions: a function, a bar on a terminal, a bar in a notebook, nothing in a pipe."""

from __future__ import annotations

import io
import sys
import types
from pathlib import Path
from typing import Any

import pytest

import exaln
from exaln.errors import InputError
from exaln.foundation import notebook_bar
from exaln.foundation.notebook_bar import NotebookBar, is_notebook
from exaln.foundation.progress import ReadingProgress, ScoringProgress, showing

DOMAINS = Path(__file__).parents[2] / "examples" / "domains.fasta"
QUERY = "MVLSPADKTNVKAAWGKVGAHAGEYGAEALERMFLSFPTTKTYFPHF"


class Terminal(io.StringIO):
    """A stderr that says it is a terminal."""

    def isatty(self) -> bool:
        return True


class FakeNotebook(types.ModuleType):
    """As much of IPython as a bar needs: it keeps what is displayed."""

    def __init__(self) -> None:
        super().__init__("IPython")
        self.shown: list[str] = []
        self.display = types.ModuleType("IPython.display")
        self.display.HTML = lambda text: text  # type: ignore[attr-defined]
        self.display.display = self._display  # type: ignore[attr-defined]

    def get_ipython(self) -> Any:
        return types.SimpleNamespace(kernel=object())

    def _display(self, text: str, *, display_id: bool) -> Any:
        assert display_id
        self.shown.append(text)
        return types.SimpleNamespace(update=self.shown.append)


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> FakeNotebook:
    fake = FakeNotebook()
    monkeypatch.setitem(sys.modules, "IPython", fake)
    monkeypatch.setitem(sys.modules, "IPython.display", fake.display)
    monkeypatch.setattr(notebook_bar, "SECONDS_BETWEEN_UPDATES", 0.0)
    return fake


def every_call(folder: Path, progress: Any) -> list[str]:
    """The functions that take `progress`, called with it; what a bar of each is called."""
    exaln.search(QUERY, DOMAINS, progress=progress)
    exaln.scores(QUERY, DOMAINS, progress=progress)
    exaln.score_many([QUERY], [QUERY], progress=progress)
    exaln.align_many([QUERY], [QUERY], progress=progress)
    database = exaln.Database.build(DOMAINS, folder / "new", progress=progress)
    database.append(DOMAINS, progress=progress).compact(progress=progress)
    return ["Searching", "Scoring", "Scoring", "Aligning", "Reading", "Reading", "Reading"]


@pytest.mark.filterwarnings("ignore::exaln.errors.ExalnWarning")
def test_true_shows_a_bar_in_notebooks_that_reaches_100_percent(notebook: FakeNotebook, tmp_path: Path) -> None:
    assert is_notebook()
    names = every_call(tmp_path, True)
    assert {text.split("<div>")[1].split()[0] for text in notebook.shown} == set(names)
    for name in ("Searching", "Scoring", "Aligning"):
        last = [text for text in notebook.shown if name in text][-1]
        assert '<progress value="1.000"></progress> 100%' in last


@pytest.mark.filterwarnings("ignore::exaln.errors.ExalnWarning")
def test_true_shows_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    for name in set(every_call(tmp_path, True)):
        assert name in terminal.getvalue()


@pytest.mark.parametrize("progress", [True, False, None])
@pytest.mark.filterwarnings("ignore::exaln.errors.ExalnWarning")
def test_nothing_is_shown_in_a_pipe_or_without_being_asked(
    progress: bool | None, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    every_call(tmp_path, progress)
    assert capsys.readouterr() == ("", "")


def test_nothing_is_shown_where_stderr_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    assert len(exaln.search(QUERY, DOMAINS, progress=True)) > 0


def test_a_function_is_called_with_the_cells_done() -> None:
    cells: list[int] = []
    exaln.search(QUERY, DOMAINS, progress=cells.append)
    assert cells[-1] == len(QUERY) * exaln.Database.open(DOMAINS).n_residues


@pytest.mark.parametrize("wrong", ["yes", 1, [], object(), int])
def test_other_values_of_progress_are_refused(wrong: Any) -> None:
    with pytest.raises(
        InputError, match=r"^progress is .*; expected True for a bar, a function that is called with what is done"
    ):
        exaln.search(QUERY, DOMAINS, progress=wrong)


def test_a_bar_is_escaped_and_has_no_share_without_a_total() -> None:
    bar = NotebookBar()
    task = bar.add_task("<b>", total=None)
    bar.update(task, completed=5, rate="3 <GB>")
    assert bar.html() == "<div>&lt;b&gt; <progress></progress> 3 &lt;GB&gt;, 0 s</div>"


def test_without_ipython_nothing_is_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert not is_notebook()
    with showing(None, ScoringProgress, lambda: 1) as nothing:
        assert nothing is None
    with showing(True, ReadingProgress, lambda: None) as work:
        work(1, None, 1)
        assert work.done == 1
