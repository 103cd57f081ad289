"""The kept pages: they are what the measurements give, their links resolve, and their prose is wrapped."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from exaln_studies import NAMES, run, study_named
from exaln_studies.measurements import merged

PAGES = Path(__file__).parents[1] / "pages"
MARKDOWN = [*sorted(PAGES.glob("*.md")), PAGES.parent / "README.md"]


def anchors(path):
    """Anchors of the headings of a page, as GitHub makes them."""
    titles = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("name", NAMES)
def test_the_kept_page_is_made_from_the_kept_measurements(name):
    text, drawn = run.page_text(study_named(name), merged(name, [PAGES / f"{name}.json"]))
    assert (PAGES / f"{name}.md").read_text() == text
    for figure in drawn:
        assert (PAGES / run.figure_file(study_named(name), figure)).exists()


def test_every_plot_is_shown_on_a_page():
    shown = {link for path in MARKDOWN for link in re.findall(r"\]\(([\w-]+\.svg)\)", path.read_text())}
    assert shown == {path.name for path in PAGES.glob("*.svg")}


@pytest.mark.parametrize("path", MARKDOWN, ids=lambda path: path.name)
def test_links_of_a_page_resolve(path):
    for link in re.findall(r"\]\(([^)\s]+)\)", path.read_text()):
        file, _, anchor = link.partition("#")
        target = path.parent / file if file else path
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("path", MARKDOWN, ids=lambda path: path.name)
def test_prose_is_wrapped_and_no_line_turns_into_a_list(path):
    lines = path.read_text().splitlines()
    assert [line for line in lines if len(line) > 100 and not line.startswith("|")] == []
    broken = [
        line
        for before, line in pairwise(lines)
        if before and not before.startswith(("-", "  ")) and re.match(r"([-+*>]|\d+[.)]) ", line)
    ]
    assert broken == []
