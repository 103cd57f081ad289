"""The house: public names, imports that go one way, what is documented, what must not be imported early."""

import ast
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

import exaln

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "exaln"
SOURCES = sorted(PACKAGE.rglob("*.py"))
STUBS = ast.parse((PACKAGE / "_core.pyi").read_text(encoding="utf-8"))

ROOMS = [
    "errors",
    "foundation",
    "sequences",
    "masking",
    "scoring",
    "statistics",
    "alignments",
    "database",
    "engines",
    "simulation",
    "report",
    "plots",
    "pairwise",
    "search",
    "cluster",
    "cli",
]
"""A room imports only from rooms before it."""

ENGINE_ROOMS = ["tasks", "outline", "regions", "contracts", "reference", "cpu", "cuda", "choice", "bench"]
"""The same within engines/."""

NOT_ROOMS = {"__init__", "__main__"}


def module_of(path):
    """("engines", "cpu") for engines/cpu.py, ("scoring", "") for scoring.py."""
    first, *rest = path.relative_to(PACKAGE).with_suffix("").parts
    return first, "/".join(rest)


def imports_of(path):
    """Modules of the package that a file imports, wherever in the file, as (module, submodule)."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            package, *parts = name.split(".")
            if package == "exaln":
                yield from resolved(parts)


def resolved(parts):
    """The file that a dotted name stands for; nothing for attributes of the package itself, and for the core."""
    for length in range(len(parts), 0, -1):
        if (PACKAGE / Path(*parts[:length])).with_suffix(".py").is_file():
            yield parts[0], "/".join(parts[1:length])
            return
        if (PACKAGE / Path(*parts[:length]) / "__init__.py").is_file():
            yield parts[0], "/".join([*parts[1:length], "__init__"])
            return


def in_fresh_python(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


def test_public_names_are_listed_sorted_and_resolve():
    assert exaln.__all__ == sorted(exaln.__all__)
    assert set(exaln.__all__) == {*exaln._HOME, "__version__"}
    assert dir(exaln) == exaln.__all__
    for name, home in exaln._HOME.items():
        assert getattr(exaln, name).__module__ == f"exaln.{home}"


def test_type_checkers_see_the_same_names():
    imported = set()
    for node in ast.walk(ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("exaln."):
            imported |= {(alias.name, node.module.removeprefix("exaln.")) for alias in node.names}
    assert imported == set(exaln._HOME.items())


def test_search_is_the_function_although_a_package_has_its_name():
    told = in_fresh_python(
        "import exaln\nimport exaln.search.pipeline\nfrom exaln.search import ranking\n"
        "print(exaln.search.__name__, exaln.search.__module__, ranking.__name__)"
    )
    assert told == ["search exaln.search.pipeline exaln.search.ranking"]


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'exaln' has no attribute 'serach'"):
        exaln.serach  # noqa: B018


def test_every_module_is_in_a_room():
    assert {module_of(path)[0] for path in SOURCES} - NOT_ROOMS == set(ROOMS), "list the new room in ROOMS"
    assert len(ROOMS) <= 16


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_one_way(path):
    room, part = module_of(path)
    if room in NOT_ROOMS:
        return
    for imported, imported_part in imports_of(path):
        assert ROOMS.index(imported) <= ROOMS.index(room), f"{room} imports {imported}, a later room"
        if imported == room == "engines" and part != "__init__":
            inner, outer = imported_part.split("/")[0], part.split("/")[0]
            assert ENGINE_ROOMS.index(inner) <= ENGINE_ROOMS.index(outer), f"{part} imports {imported_part}"

    found = set(imports_of(PACKAGE / "engines" / "cpu" / "engine.py"))
    found = set(imports_of(PACKAGE / "engines" / "cpu" / "engine.py"))
    assert {("engines", "contracts"), ("foundation", "plurals"), ("database", "views")} <= found
    assert ("errors", "") in set(imports_of(PACKAGE / "engines" / "choice.py"))
    assert ("scoring", "matrices") in set(imports_of(PACKAGE / "scoring" / "scoring.py"))
    assert ("sequences", "fasta") in set(imports_of(PACKAGE / "sequences" / "inputs.py"))


def variables_read(path):
    """Names of environment variables in a file: looked up by name, or written out as a constant."""
    text = path.read_text(encoding="utf-8")
    looked_up = re.findall(r"""(?:environ(?:\.get)?|getenv|environ\.setdefault)[\[(]\s*["']([A-Z0-9_]+)""", text)
    written = re.findall(r"""["'](_?EXALN_[A-Z_]+)["']""", text)
    return {*looked_up, *written}


def test_every_environment_variable_is_documented_and_every_documented_one_is_read():
    lines = (ROOT / "docs" / "environment.md").read_text(encoding="utf-8").splitlines()
    rows = [
        [cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines if line.startswith("| `")
    ]
    documented = {row[0]: ROOT / row[2] for row in rows}
    read = set().union(*(variables_read(path) for path in [*SOURCES, *(ROOT / "studies" / "src").rglob("*.py")]))
    assert {"EXALN_ENGINE", "EXALN_ISA", "SLURM_CPUS_PER_TASK"} <= read
    assert read <= set(documented), "add it to docs/environment.md"
    for name, path in documented.items():
        assert name in variables_read(path), f"docs/environment.md: {name} is not read in {path}"


def test_no_file_is_long():
    lengths = {path: path.read_bytes().count(b"\n") for path in code_files()}
    assert len(lengths) > 50
    assert [str(p) for p, n in lengths.items() if n > 700] == []
    assert [str(p) for p in lengths if p.stem in ("utils", "util", "helpers", "misc")] == []


PAGES = [path for path in ROOT.rglob("*.md") if not {".venv", "build", ".gpu", "node_modules"} & set(path.parts)]
PAGE_LINES = {"README.md": 130, "ARCHITECTURE.md": 220}


def prose_of(path):
    """(number, line) of the lines of a page that are neither code nor a table row, a link target or a picture."""
    is_code = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code and not line.startswith(("|", "    ", "![", "[")):
            yield number, line


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_prose_ends_at_100_columns(path):
    assert [number for number, line in prose_of(path) if len(line) > 100] == []


@pytest.mark.parametrize(("name", "most"), PAGE_LINES.items())
def test_first_pages_are_short(name, most):
    assert len((ROOT / name).read_text(encoding="utf-8").splitlines()) <= most


def code_files():
    folders = ("src", "native", "tests", "benchmarks", "studies/src", "studies/native", "studies/tests")
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in CODE_SUFFIXES)


CODE_SUFFIXES = {".py", ".pyi", ".cpp", ".hpp", ".cu", ".cuh"}


def test_every_source_file_opens_with_its_purpose():
    """A docstring in Python; elsewhere a comment, which clang-format directives may precede."""
    without = []
    for path in code_files():
        text = path.read_text(encoding="utf-8")
        if path.suffix in (".py", ".pyi"):
            opening = ast.get_docstring(ast.parse(text)) or ""
        else:
            lines = [line for line in text.splitlines() if not line.startswith("// clang-format")]
            opening = lines[0].removeprefix("//").strip() if lines[0].startswith("// ") else ""
        if len(opening.split()) < 3:
            without.append(str(path.relative_to(ROOT)))
    assert without == []


def test_the_stubs_name_what_the_core_has():
    from exaln import _core

    stubs = {node.name for node in STUBS.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    stubs |= {node.target.id for node in STUBS.body if isinstance(node, ast.AnnAssign)}
    assert stubs == {name for name in dir(_core) if not name.startswith("__")}


@pytest.mark.parametrize(
    ("statement", "slow"),
    [
        ("import exaln", {"numpy", "pyarrow", "xopen", "zstandard", "click", "rich", "exaln._core"}),
        ("from exaln import Scoring, Alphabet, score", {"pyarrow", "xopen", "zstandard", "click", "rich"}),
        (
            "import exaln; exaln.align('ACGT', 'ACGT')",
            {"exaln.engines.contracts", "exaln.engines.cpu.engine", "exaln.statistics.evalues", "exaln.database"},
        ),
    ],
)
def test_slow_modules_are_imported_only_where_they_are_used(statement, slow):
    loaded = set(in_fresh_python(f"import sys; {statement}; print(*sys.modules, sep='\\n')"))
    assert "exaln" in loaded
    assert loaded & slow == set()


SEARCH = """
import sys
from exaln.__main__ import run
assert run([{command!r}, "--quiet", "--engine", "cpu", *sys.argv[1:]]) == 0
print(*sys.modules, sep="\\n", file=sys.stderr)
"""
NEVER_NEEDED = (
    "rich", "rich_click", "cuda", "importlib.metadata", "exaln.engines.cuda", "exaln.engines.reference",
    "exaln.engines.regions", "exaln.engines.bench", "exaln.pairwise.long.driver", "exaln.plots", "exaln.cluster",
    "exaln.search.hits", "exaln.database.build", "exaln.database.segment_writer",
    "exaln.cli.align_command", "exaln.cli.bench_command", "exaln.cli.about_commands",
    "exaln.report.sam", "exaln.report.json_report", "exaln.report.arrow", "exaln.report.pairwise_text",
)  # fmt: skip
"""Modules that no plain search or score on the CPU needs; each costs milliseconds at every start."""


@pytest.mark.parametrize(("command", "more"), [("search", {"numpy.ma", "pandas"}), ("score", set())])
def test_a_command_imports_only_what_it_needs(tmp_path, command, more):
    """One that imports more is slower at every start: a module without bytecode takes several milliseconds."""
    fasta, database, out = tmp_path / "q.fasta", tmp_path / "d.exaln", tmp_path / "out.tsv"
    fasta.write_text(">q\nMKVLAAGIWQ\n")
    exaln.Database.build([fasta], database)
    code, named = SEARCH.format(command=command), ["--query", fasta, "--db", database, "--out", out]
    done = subprocess.run([sys.executable, "-c", code, *named], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    loaded = set(done.stderr.split())
    assert {"exaln.cli.program", "numpy"} <= loaded
    assert loaded & {*NEVER_NEEDED, *more} == set()


WITHOUT_CORE = """
import sys

class NoCore:
    def find_spec(self, name, path=None, target=None):
        if name == "exaln._core":
            raise ImportError("No module named 'exaln._core'")

sys.meta_path.insert(0, NoCore())
"""


def test_the_package_works_without_the_core():
    told = in_fresh_python(
        WITHOUT_CORE
        + """
import exaln
from exaln.engines.choice import choose_engine
from exaln.engines.cpu.engine import CpuEngine
print(choose_engine("auto").describe())
print(CpuEngine.unavailable_reason())
print(exaln.score("HEAGAWGHEE", "PAWHEAE", scoring=exaln.Scoring("BLOSUM50", gap_open=0, gap_extend=8)))
try:
    exaln.score("ACGT", "ACGT", engine="cpu")
except exaln.EngineError as error:
    print(error)
for name in exaln.__all__:
    getattr(exaln, name)
"""
    )
    reason = "the C++ core is not built (No module named 'exaln._core'); install exaln with pip"
    assert told == ["reference, NumPy", reason, "28", f"engine 'cpu' cannot be used: {reason}"]


COUNTED = r" (?:[a-z]+ )?(hits|queries|targets|sequences|segments|pairs|records|threads|workers|parts|units)\b"
SAID_OTHERWISE = {
    "hits found",  # BLAST's format 7 says "1 hits found"
    "queries\n",
    "sequences; ",  # BLAST's format 0
}


def is_number(value):
    """Whether a value in an f-string is a number, by its format or its name."""
    form = ast.unparse(value.format_spec) if value.format_spec is not None else ""
    return "," in form or re.match(r"(\w+\.)*n_\w+$|len\(", ast.unparse(value.value)) is not None


def test_numbers_and_nouns_agree():
    """A number before a noun in the plural is written by `number_of`, which knows the singular."""
    wrong = []
    for path in SOURCES:
        if "bench" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.JoinedStr):
                continue
            for value, text in pairwise(node.values):
                if isinstance(value, ast.FormattedValue) and is_number(value) and isinstance(text, ast.Constant):
                    said = str(text.value)
                    if re.match(COUNTED, said) and not any(said[1:].startswith(one) for one in SAID_OTHERWISE):
                        wrong.append(f"{path.name}:{node.lineno}: ...{said}")
    assert not wrong
