"""Arguments of every public function: any value works, or an error of one line says what was expected."""

from __future__ import annotations

import inspect
import io
import math
import shutil
import warnings
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exaln
from exaln.errors import ExalnError, ExalnWarning, InputError
from exaln.foundation import arguments

DEMO = Path(__file__).parents[2] / "examples"
QUERY = "MVLSPADKTNVKAAWGKVGAHAGEYGAEALERMFLSFPTTKTYFPHF"
FEW = ">one first\nHEAGAWGHEE\n>two\nPAWHEAE\n>three\nMVLSPADKTNVKAAWGKVGA\n"

WRONG = [
    None,
    object(),
    "",
    "nonsense",
    "HE\udc80AG",
    b"\xff\xfe",
    True,
    -1,
    0,
    2.5,
    math.nan,
    math.inf,
    10**30,
    [],
    [None],
    [object()],
    ["a", 1],
    {},
    {1: 2},
    (),
    object,
    np.array([[1.5]]),
    np.array(["x", None], object),
    io.StringIO("text"),
]
"""Values that are wrong for most parameters; what a parameter takes must work."""

EXEMPT = {
    "Alignment": "made by align",
    "Alignments": "made by align_many",
    "Alignments.pair_hits": "for reports",
    "Alignments.query_hits": "for reports",
    "Alphabet.from_values": "for state files, which are checked where they are read",
    "Database": "made by Database.open and Database.build",
    "Database.locate": "for engines",
    "Database.part": "for engines",
    "Hits": "made by search",
    "Hits.collect": "for the pipeline",
    "Mode": "made by Mode.parse",
    "Records": "columns for engines; Records.of is checked",
    "Records.of_columns": "columns for engines; Records.of is checked",
    "Records.quality": "a view for reports",
    "Records.rows": "a view for engines",
    "Records.sequence": "a view for engines",
    "Scoring.folded": "for engines",
    "Scoring.from_values": "for state files, which are checked where they are read",
    "Scoring.require_positive": "for the pipeline",
    "Scoring.unscale": "arithmetic",
    "SearchOptions.require_resolved": "for the pipeline",
}
"""Public by their names alone, and why nothing is checked."""
SAID_INSTEAD = {
    "batches": ["sequences found in the input"],
    "name": ["databases"],
    "path": ["databases is empty", "no such database"],
    "devices": ["cuda"],
    "gpu_memory": ["cuda"],
    "outfmt": ["output format"],
    "sequence": ["at position"],
    "text": ["mode", "alphabet"],
}
"""What messages may name in place of a parameter."""


def public_callables() -> Iterator[tuple[str, Any]]:
    """Every function of the package, every class that is called, and every public method, by name."""
    for name in exaln.__all__:
        value = getattr(exaln, name)
        if inspect.isfunction(value):
            yield name, value
        elif inspect.isclass(value) and not issubclass(value, Exception):
            yield name, value
            for attribute, member in inspect.getmembers(value, callable):
                if not attribute.startswith("_") and attribute in vars(value):
                    yield f"{name}.{attribute}", member


def parameters_of(function: Any) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name != "self"]


CHECKED = {name: function for name, function in public_callables() if name not in EXEMPT}


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    """For each public callable, how it is called, with arguments that are right."""
    monkeypatch.chdir(tmp_path)
    Path("few.fasta").write_text(FEW)
    database = exaln.Database.build("few.fasta", "few")
    memory = exaln.Database.open("few.fasta")
    hits = exaln.search({"q": QUERY}, memory)
    alignment = exaln.align("HEAGAWGHEE", "PAWHEAE")
    alphabet = exaln.Alphabet.named("dna")
    records = exaln.Records.of(alphabet, [alphabet.encode("ACGT")])
    pair = {"query": "HEAGAWGHEE", "target": "PAWHEAE"}
    pairs = {"queries": ["HEAGAWGHEE"], "targets": ["PAWHEAE"]}
    searched = {"queries": QUERY, "database": memory}

    def build(**given: Any) -> Any:
        shutil.rmtree("new.exaln", ignore_errors=True)
        return exaln.Database.build(**given)

    def build_records(**given: Any) -> Any:
        shutil.rmtree("new.exaln", ignore_errors=True)
        return exaln.Database.build_records(**given)

    right: dict[str, dict[str, Any]] = {
        "Alignment.from_biopython": {"alignment": alignment.to_biopython()},
        "Alignment.plot": {"path": "plot.svg"},
        "Alignments.plot": {"path": "plot.svg"},
        "Alphabet": {"name": "hp", "letters": "HP"},
        "Alphabet.decode": {"codes": [0, 1]},
        "Alphabet.encode": {"sequence": "ACGT"},
        "Alphabet.named": {"name": "dna"},
        "Alphabet.parse": {"text": "dna"},
        "Database.append": {"inputs": "few.fasta"},
        "Database.append_records": {
            "batches": [exaln.Records.of(database.alphabet, [database.alphabet.encode("HEAG")])]
        },
        "Database.build": {"inputs": "few.fasta", "path": "new.exaln"},
        "Database.build_records": {"batches": [records], "path": "new.exaln"},
        "Database.export": {"out": "out.fasta"},
        "Database.fetch": {"ids": "one"},
        "Database.in_memory": {"batches": [records]},
        "Database.joined": {"databases": [memory, memory]},
        "Database.of": {"databases": [memory, "few.fasta"]},
        "Database.open": {"path": "few.fasta"},
        "Database.ordinals": {"ids": "one"},
        "Hits.of": {"query": 0},
        "Hits.write": {"path": "hits.tsv"},
        "Mode.parse": {"text": "global"},
        "Records.of": {"alphabet": alphabet, "sequences": [alphabet.encode("ACGT")]},
        "Scoring.default": {"alphabet": "dna"},
        "Scoring.of_task": {"task": "blastp-short"},
        "SearchOptions.resolved": {"database": memory},
        "SequenceFile": {"source": "few.fasta"},
        "align": pair,
        "align_many": pairs,
        "mask": {"sequences": ["HEAGAWGHEE", QUERY]},
        "score": pair,
        "score_many": pairs,
        "scores": searched,
        "search": searched,
    }
    objects = {
        "Alignment": alignment,
        "Alignments": exaln.align_many(["HEAG"], ["HEAG"]),
        "Alphabet": alphabet,
        "Database": database,
        "Hits": hits,
        "Scoring": exaln.Scoring(),
        "SearchOptions": exaln.SearchOptions(ids="one"),
    }

    def read(**given: Any) -> Any:
        with exaln.SequenceFile(**given) as file:
            return list(file)

    def read_and_close() -> None:
        exaln.SequenceFile("few.fasta").close()

    special: dict[str, Callable[..., Any]] = {
        "Database.build": build,
        "Database.build_records": build_records,
        "SequenceFile": read,
        "SequenceFile.close": read_and_close,
    }
    found: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {}
    for name, function in CHECKED.items():
        kind, _, method = name.partition(".")
        call = getattr(objects[kind], method) if method and kind in objects else function
        found[name] = special.get(name, call), right.get(name, {})
    return found


@pytest.mark.filterwarnings("ignore::exaln.errors.ExalnWarning")
@pytest.mark.parametrize("name", CHECKED)
def test_every_argument_works_or_is_named_in_one_line(
    calls: dict[str, tuple[Callable[..., Any], dict[str, Any]]], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b">x\nHEAG\n")))
    call, right = calls[name]
    call(**right)
    wrong = [
        f"{name}({parameter}={arguments.shown(value)}): {problem}"
        for parameter in parameters_of(CHECKED[name])
        for value in WRONG
        if (problem := problem_with(call, right, parameter, value)) is not None
    ]
    assert wrong == []


def problem_with(call: Callable[..., Any], right: dict[str, Any], parameter: str, value: Any) -> str | None:
    """What is wrong with how a call takes a value: None if it works, or says in one line which argument is wrong."""
    if isinstance(value, io.StringIO):
        value.seek(0)  # an earlier call may have read it
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", ExalnWarning)
            call(**right | {parameter: value})
    except ExalnError as error:
        message = str(error)
        names = [parameter.rstrip("s"), *SAID_INSTEAD.get(parameter, [])]
        if isinstance(value, str) and value:  # right in kind, so it is enough to name the value
            names += [value, ascii(value).strip("'")]
        is_named = any(name in message for name in names)
        return None if message.isprintable() and is_named else f"the message is {message!r}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def test_the_list_of_exemptions_names_what_there_is() -> None:
    assert set(EXEMPT) <= {name for name, _ in public_callables()}


# What the checks accept and say


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)])
def test_whole_numbers_of_numpy_are_whole_numbers(value: Any) -> None:
    assert arguments.integer("n", value) == 3
    assert type(arguments.integer("n", value)) is int


@pytest.mark.parametrize("value", [2.5, "3", None, True, np.array([1, 2]), math.nan, -1, 11])
def test_what_is_no_whole_number_in_range_is_refused(value: Any) -> None:
    with pytest.raises(InputError, match=r"^n is .*; expected a whole number of at least 0 and at most 10$"):
        arguments.integer("n", value, most=10)


def test_messages_have_one_line_of_bounded_length() -> None:
    class Awkward:
        def __repr__(self) -> str:
            raise RuntimeError

    assert "Awkward" in arguments.shown(Awkward())
    for value in ("x" * 10_000, list(range(10_000)), np.zeros((100, 100)), "a\nb", "\x1b[31m", "\udc80", b"\xff" * 999):
        text = arguments.shown(value)
        assert len(text) <= arguments.LONGEST_SHOWN
        assert text.isprintable()


def test_old_names_of_options_work_as_keywords_and_attributes() -> None:
    options = exaln.SearchOptions(max_hits=7, strands="plus", db_residues=10**6)  # type: ignore[call-arg]
    assert options == exaln.SearchOptions(max_target_seqs=7, strand="plus", dbsize=10**6)
    assert (options.max_hits, options.strands, options.db_residues) == (7, "plus", 10**6)  # type: ignore[attr-defined]
    few = exaln.search(QUERY, DEMO / "domains.fasta", max_hits=2)  # type: ignore[call-arg]
    assert few == exaln.search(QUERY, DEMO / "domains.fasta", max_target_seqs=2)
    assert len(few) == 2
    with pytest.raises(InputError, match="max_hits is the old name of max_target_seqs; give one of them"):
        exaln.SearchOptions(max_hits=7, max_target_seqs=7)  # type: ignore[call-arg]
    assert "max_hits" not in inspect.signature(exaln.search).parameters


def test_options_and_an_argument_that_they_have_exclude_each_other() -> None:
    options = exaln.SearchOptions(evalue=1e-6)
    for name, value in {"evalue": 10.0, "max_target_seqs": 500, "max_hits": 3, "ids": ["a"], "strand": "both"}.items():
        with pytest.raises(InputError, match=f"options and {name.replace('hits', 'target_seqs')} were given"):
            exaln.search(QUERY, DEMO / "domains.fasta", options=options, **{name: value})
    assert len(exaln.search(QUERY, DEMO / "domains.fasta", options=options)) > 0


def cli_names(command: str) -> set[str]:
    from exaln.cli import cli

    return {parameter.opts[0].lstrip("-").replace("-", "_") for parameter in cli.commands[command].params}


def test_options_have_the_same_names_in_search_in_search_options_and_on_the_command_line() -> None:
    options = {field.name for field in fields(exaln.SearchOptions)} - {"include", "exclude"}
    signature = inspect.signature(exaln.search).parameters
    own = {"queries", "database", "scoring", "options", "preset", "progress"}
    running = {"engine", "threads", "devices", "gpu_memory"}
    assert set(signature) == options | own | running
    scoring = set(inspect.signature(exaln.Scoring).parameters)
    about_files = {"query", "db", "out", "outfmt", "strip_gaps", "max_record_size"}
    cluster = {"shard", "cluster", "cluster_config", "plan", "resume", "dashboard"}
    cluster |= {"tls_ca", "tls_cert", "tls_key", "insecure"}
    messages = {"quiet", "verbose", "debug", "version"}
    of_blast = {"preset", "task", "seg", "dust", "lcase_masking", "soft_masking"}
    assert options | running | scoring <= cli_names("search")
    assert cli_names("search") - options - running - scoring - about_files - cluster - messages == of_blast
    for field in fields(exaln.SearchOptions):
        if field.name in options:
            assert signature[field.name].default == field.default


@pytest.mark.parametrize("command", ["search", "score", "align"])
def test_scorings_have_the_same_names_on_the_command_line(command: str) -> None:
    assert set(inspect.signature(exaln.Scoring).parameters) <= cli_names(command)
    assert {"engine", "threads", "devices", "gpu_memory"} <= cli_names(command)


def test_every_function_takes_an_engine_and_what_it_may_use() -> None:
    for function in (exaln.search, exaln.scores, exaln.score, exaln.score_many, exaln.align, exaln.align_many):
        assert {"scoring", "engine", "threads", "devices", "gpu_memory"} <= set(inspect.signature(function).parameters)


@pytest.mark.parametrize("function", ["align", "score", "align_many", "score_many", "search", "scores"])
def test_a_matrix_is_a_scoring_by_its_name_or_file(function: str, tmp_path: Path) -> None:
    from exaln.scoring.matrices import DATA

    path = shutil.copy(DATA / "BLOSUM45.txt", tmp_path / "mine.txt")
    second = DEMO / "domains.fasta" if function in ("search", "scores") else "PAWHEAE"
    found = {
        scoring: repr(getattr(exaln, function)("HEAGAWGHEE", second, scoring=scoring))
        for scoring in ("BLOSUM45", "blosum45", exaln.Scoring("BLOSUM45"))
    }
    assert len(set(found.values())) == 1
    with pytest.raises(InputError, match=r"matrix 'BLOSUM46' is neither a file nor one of the built-in matrices"):
        getattr(exaln, function)("HEAGAWGHEE", second, scoring="BLOSUM46")
    with pytest.raises(InputError, match="scoring is 45; expected a Scoring, the name of a matrix"):
        getattr(exaln, function)("HEAGAWGHEE", second, scoring=45)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExalnWarning)  # a file has no statistics
        assert len(repr(getattr(exaln, function)("HEAGAWGHEE", second, scoring=Path(path)))) > 0
