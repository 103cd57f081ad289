"""Commands of other packages: found through entry points, only when they are asked for, and harmless when broken."""

import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from command import Exaln
from exaln.cli import cli, plugins

PLUGIN = """import click

@click.command()
@click.argument("words", nargs=-1)
def echo(words):
    "Print the words."
    click.echo(" ".join(words))

broken = 3
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package with three commands: one that works, one that is no command, one whose module does not exist."""
    (tmp_path / "plugin_of_a_test.py").write_text(PLUGIN)
    metadata = tmp_path / "plugin_of_a_test-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin-of-a-test\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(
        "[exaln.commands]\necho = plugin_of_a_test:echo\nnot-one = plugin_of_a_test:broken\n"
        "gone = no_such_module_at_all:command\nsearch = plugin_of_a_test:echo\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(plugins, "_entry_points", plugins._entry_points.__wrapped__)


@pytest.mark.usefixtures("installed")
def test_a_command_of_another_package_runs_and_is_in_the_help(exaln: Exaln) -> None:
    assert exaln("echo", "two", "words").out == "two words\n"
    assert "Print the words." in exaln("--help").out
    assert "did you mean 'echo'?" in exaln.error("ecko")[1]


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("not-one", "TypeError: plugin_of_a_test:broken is not a click command"),
        ("gone", "ModuleNotFoundError: No module named 'no_such_module_at_all'"),
    ],
)
def test_a_command_that_cannot_be_loaded_is_one_line(exaln: Exaln, name: str, says: str) -> None:
    for arguments in ([], ["--help"], ["--option", "value", "word"]):
        code, message = exaln.error(name, *arguments)
        assert code == 1
        assert message == f"exaln: error: exaln {name} cannot be loaded from the package plugin-of-a-test: {says}\n"
    help_page = exaln("--help")
    assert (help_page.code, help_page.err) == (0, "")
    assert f"{name} " in help_page.out


@pytest.mark.usefixtures("installed")
def test_a_command_of_another_package_does_not_replace_one_of_exaln(exaln: Exaln) -> None:
    assert "--query" in exaln("search", "--help").out
    assert exaln("--help").out.count("│ search ") == 1


def test_without_the_studies_their_command_says_how_to_install_them(
    exaln: Exaln, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugins, "_entry_points", dict)
    for arguments in ([], ["--help"], ["chaibou-sie", "--quick"]):
        code, message = exaln.error("study", *arguments)
        assert code == 1
        assert "exaln-studies, which is not installed: pip install ./studies" in message
    assert "│ study " not in exaln("--help").out


def test_commands_of_exaln_do_not_look_for_plugins(exaln: Exaln, monkeypatch: pytest.MonkeyPatch) -> None:
    def looked_up() -> None:
        raise AssertionError("entry points were read")

    monkeypatch.setattr(plugins, "_entry_points", looked_up)
    monkeypatch.delitem(sys.modules, "exaln.cli.plugins")
    for name in cli.commands:
        assert exaln(name, "--help").code == 0
    assert exaln("--version").code == 0
    assert "exaln.cli.plugins" not in sys.modules


def test_the_studies_are_installed_as_a_package_of_their_own() -> None:
    (study,) = entry_points(group=plugins.GROUP, name="study")
    assert study.dist is not None
    assert study.dist.name == "exaln-studies"
    assert study.value.startswith("exaln_studies.")
