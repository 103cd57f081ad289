"""Two distributions in one repository: exaln has no study code, and exaln-studies belongs to its version of exaln."""

import re
import tomllib
from pathlib import Path

import exaln

ROOT = Path(__file__).parents[2]


def settings(path):
    return tomllib.loads(path.read_text(encoding="utf-8"))


def test_exaln_contains_no_study_code():
    build = settings(ROOT / "pyproject.toml")["tool"]["scikit-build"]
    assert build["wheel"]["packages"] == ["src/exaln"]
    assert "studies" in build["sdist"]["exclude"]
    files = [path for folder in ("src", "native") for path in (ROOT / folder).rglob("*") if path.is_file()]
    assert len(files) > 100
    assert [path for path in files if re.search("stud(y|ies)", str(path.relative_to(ROOT)))] == []
    sources = [path for path in files if path.suffix in (".py", ".pyi", ".cpp", ".hpp", ".txt")]
    assert [path for path in sources if re.search(r"exaln_studies|\bstudy_\w", path.read_text(encoding="utf-8"))] == []


def test_the_studies_require_the_exaln_of_this_repository():
    project = settings(ROOT / "studies" / "pyproject.toml")["project"]
    assert project["version"] == exaln.__version__
    assert f"exaln=={exaln.__version__}" in project["dependencies"]
    assert any(one.startswith("matplotlib") for one in project["dependencies"])
