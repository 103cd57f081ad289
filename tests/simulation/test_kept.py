"""Simulated parameters are computed once; a damaged or foreign file is computed again and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from exaln import Scoring
from exaln.engines.choice import choose_engine
from exaln.foundation import user_cache
from exaln.foundation.user_cache import write_sealed
from exaln.simulation import kept
from exaln.simulation.estimate import NoGumbelLawError
from exaln.simulation.kept import parameters_of_any
from exaln.statistics.simulated import SimulatedParameters

SCORING = Scoring("BLOSUM62", gap_open=9, gap_extend=3)
PARAMETERS = SimulatedParameters(0.3, 0.1, 0.2, 1.5, -20.0, 20.0, -100.0, 20.0, -100.0, -20.0, 0.01, 0.05, 1)


@pytest.fixture
def computed(simulation: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The seeds of the simulations that were done; each gives PARAMETERS at once."""
    seeds: list[int] = []

    def compute(scoring: Scoring, engine: object, seed: int) -> SimulatedParameters | str:
        seeds.append(seed)
        return "no law" if scoring.gap_open == 0 else PARAMETERS

    monkeypatch.setattr(kept, "_computed", compute)
    return seeds


def forget() -> None:
    kept._in_memory.clear()


def test_parameters_are_computed_once_for_each_seed(computed: list[int]) -> None:
    for _ in range(2):
        assert parameters_of_any(SCORING, None, 1) == PARAMETERS
        forget()
        parameters_of_any(SCORING, None, 2)
    assert computed == [1, 2]


def test_a_refusal_is_kept_too(computed: list[int]) -> None:
    free_gaps = Scoring("BLOSUM62", gap_open=0, gap_extend=1)
    for _ in range(2):
        with pytest.raises(NoGumbelLawError, match="no law"):
            parameters_of_any(free_gaps, None, 1)
        forget()
    assert computed == [1]


def test_scores_and_gaps_decide_and_names_do_not(computed: list[int]) -> None:
    parameters_of_any(SCORING, None, 1)
    renamed = Scoring(SCORING.matrix, gap_open=9, gap_extend=3, alphabet="protein")
    parameters_of_any(renamed, None, 1)
    assert len(computed) == 1
    parameters_of_any(Scoring("BLOSUM62", gap_open=9, gap_extend=4), None, 1)
    assert len(computed) == 2


def test_multiples_of_a_scoring_share_a_simulation(computed: list[int]) -> None:
    plain = parameters_of_any(Scoring(match=1, mismatch=-3, gap_open=5, gap_extend=2), None, 1)
    doubled = parameters_of_any(Scoring(match=2, mismatch=-6, gap_open=10, gap_extend=4), None, 1)
    assert computed == [1]
    assert (doubled.lambda_, doubled.k, doubled.h, doubled.a) == (plain.lambda_ / 2, plain.k, plain.h, plain.a / 2)
    assert (doubled.b, doubled.beta) == (plain.b, plain.beta)


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[20] ^= 1
    file.write_bytes(content)


def seal_something_else(file: Path) -> None:
    write_sealed(file, b'{"parameters": {"lambda_": -1}}')


def seal_a_list(file: Path) -> None:
    write_sealed(file, b"[1]")


def seal_junk(file: Path) -> None:
    write_sealed(file, b"\xff{")


def empty(file: Path) -> None:
    file.write_bytes(b"")


def link(file: Path) -> None:
    file.rename(file.with_suffix(".real"))
    file.symlink_to(file.with_suffix(".real"))


def open_to_others(file: Path) -> None:
    file.chmod(0o666)


@pytest.mark.parametrize(
    "damage", [cut, flip, seal_something_else, seal_a_list, seal_junk, empty, link, open_to_others]
)
def test_a_file_that_cannot_be_trusted_is_computed_again(
    computed: list[int], simulation: Path, damage: Callable[[Path], None]
) -> None:
    parameters_of_any(SCORING, None, 1)
    (file,) = simulation.glob("statistics-*.json")
    damage(file)
    forget()
    assert parameters_of_any(SCORING, None, 1) == PARAMETERS
    assert computed == [1, 1]


def test_the_folder_of_another_user_is_not_used(
    computed: list[int], simulation: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parameters_of_any(SCORING, None, 1)
    monkeypatch.setattr(user_cache, "_trusted_users", lambda: {-1})
    forget()
    assert parameters_of_any(SCORING, None, 1) == PARAMETERS
    assert computed == [1, 1]


def test_a_folder_that_cannot_be_written_changes_nothing(
    computed: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("EXALN_CACHE", str(tmp_path / "file" / "below"))
    assert parameters_of_any(SCORING, None, 1) == PARAMETERS


def test_the_reference_engine_leaves_the_simulation_to_the_cpu_engine(simulation: Path) -> None:
    by_reference = parameters_of_any(SCORING, choose_engine("reference"), 1)
    forget()
    (file,) = simulation.glob("statistics-*.json")
    file.unlink()
    assert by_reference == parameters_of_any(SCORING, choose_engine("cpu"), 1)
