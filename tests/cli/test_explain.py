"""explain: what a search would do, in words and as JSON, for every engine; and that nothing is scored."""

import json
from pathlib import Path

import numpy as np
import pytest

from command import Exaln
from exaln import _core
from exaln.database.database import Database
from exaln.engines import contracts
from exaln.engines.cpu import core_calls
from exaln.engines.cpu.engine import CpuEngine
from exaln.engines.outline import target_lengths
from exaln.engines.tasks import QueryRows, ScanTask
from exaln.scoring.scoring import Scoring
from exaln.sequences.inputs import as_records
from golden_data import GOLDEN

QUERIES, TARGETS = GOLDEN / "cudasw4q_part.fasta", GOLDEN / "scop20_part.fasta"


@pytest.fixture
def explained(exaln: Exaln, monkeypatch: pytest.MonkeyPatch):
    """The JSON of `exaln explain`, with nothing that scores at hand."""
    monkeypatch.setattr(core_calls, "score_arrays", None)
    monkeypatch.setattr(contracts, "score_matrix", None)

    def run(*arguments: object) -> dict:
        result = exaln("explain", "--query", QUERIES, "--db", TARGETS, "--json", *arguments)
        assert (result.code, result.err) == (0, "")
        return json.loads(result.out)

    return run


@pytest.mark.parametrize("engine", ["cpu", "reference"])
def test_cells_kernels_and_memory_are_those_of_the_search(explained, engine: str) -> None:
    found = explained("--engine", engine, "--threads", "2")
    database = Database.open(TARGETS)
    queries = as_records(QUERIES, database.alphabet)
    assert found["format_version"] == 1
    assert found["cells"] == queries.n_residues * database.n_residues
    assert (found["n_queries"], found["n_targets"]) == (len(queries), database.n_targets)
    outline = found["outline"]
    assert sum(use["n_targets"] for use in outline["kernels"]) == database.n_targets
    assert sum(use["n_residues"] for use in outline["kernels"]) == database.n_residues
    assert outline["seconds"] > 0
    assert outline["host_bytes"] > 0
    assert found["reasons"][engine] == "used"
    assert found["engine"].startswith(engine)


def test_both_strands_of_nucleotides_double_the_cells(exaln: Exaln, tmp_path: Path) -> None:
    (tmp_path / "q.fa").write_text(">q\nACGTACGTACGT\n")
    (tmp_path / "t.fa").write_text(">t\nACGTACGTACGTAAAA\n")
    arguments = ["explain", "--query", tmp_path / "q.fa", "--db", tmp_path / "t.fa", "--json"]
    assert json.loads(exaln(*arguments).out)["cells"] == 2 * 12 * 16
    assert json.loads(exaln(*arguments, "--strand", "plus").out)["cells"] == 12 * 16


def test_long_targets_are_striped_as_the_core_plans_it() -> None:
    lengths = np.array([350] * 2000 + [40_000])
    lanes, n_striped = _core.plan_scan(np.array([300]), lengths, 2, CpuEngine(2).isa)
    assert lanes >= 16
    assert n_striped == 1
    view = Database.in_memory([as_records(["A" * int(length) for length in lengths], None)])
    engine = CpuEngine(2)
    task = ScanTask(
        QueryRows.of_sequences(as_records(["ACGT" * 75], view.alphabet), Scoring.default(view.alphabet)),
        engine.open(view),
    )
    uses = engine.outline(task).kernels
    assert [use.n_targets for use in uses] == [2000, 1]
    assert uses[1].shortest == 40_000
    assert target_lengths(view).tolist() == lengths.tolist()


def test_the_text_names_everything(exaln: Exaln) -> None:
    result = exaln("explain", "--query", QUERIES, "--db", TARGETS, "--engine", "cpu", "--threads", "1")
    headings = {line.split("  ")[0] for line in result.out.splitlines() if not line.startswith(" ")}
    assert headings == {
        "engine", "queries", "database", "cells", "scoring", "statistics", "blocks", "batches", "kernel", "host memory",
        "time",
    }  # fmt: skip


def test_bad_input_is_one_line(exaln: Exaln, tmp_path: Path) -> None:
    code, line = exaln.error("explain", "--query", tmp_path / "none.fa", "--db", TARGETS)
    assert code == 1
    assert "none.fa" in line
    assert exaln.error("explain", "--query", QUERIES, "--db", tmp_path / "none.exaln")[0] == 2
