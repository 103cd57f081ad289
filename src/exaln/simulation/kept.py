"""Simulated statistics by scoring, kept in the user's cache folder: what was found, or why there is no law.

The name of a file is a digest of everything that decides its content. A file that is missing, damaged, or could have
been written by another user is computed again; one that cannot be written is not kept.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.engines.choice import choose_engine
from exaln.foundation.user_cache import UntrustedError, cache_folder, read_sealed, write_sealed
from exaln.simulation.estimate import METHOD, NoGumbelLawError, simulated_parameters, without_common_factor
from exaln.simulation.random_sequences import background
from exaln.statistics.simulated import SimulatedParameters

if TYPE_CHECKING:
    from collections.abc import Callable

    from exaln.engines.contracts import Engine
    from exaln.scoring.scoring import Scoring

MOST_IN_MEMORY = 64


def parameters_of_any(scoring: Scoring, engine: Engine | None, seed: int) -> SimulatedParameters:
    """The parameters of a scoring, computed once for each user and seed. Raises NoGumbelLawError if it has none.

    engine: where to compute them; None, and the reference engine, which would take hours, for the cpu engine. The
    parameters are the same on each.
    """
    plain, divisor = without_common_factor(scoring)
    outcome = _outcome(_key(plain, seed), lambda: _computed(plain, engine, seed))
    if isinstance(outcome, str):
        raise NoGumbelLawError(outcome)
    if divisor == 1:
        return outcome
    return replace(
        outcome,
        lambda_=outcome.lambda_ / divisor,
        a=outcome.a / divisor,
        alpha=outcome.alpha / divisor,
        sigma=outcome.sigma / divisor,
    )


def _computed(scoring: Scoring, engine: Engine | None, seed: int) -> SimulatedParameters | str:
    if engine is None or engine.name == "reference":
        engine = choose_engine("cpu")
    try:
        return simulated_parameters(scoring, engine, seed=seed)
    except NoGumbelLawError as error:
        return str(error)


def _key(scoring: Scoring, seed: int) -> str:
    """A digest of what decides the parameters: the scores of the letters that occur, gaps, background, seed, method."""
    weights = background(scoring.alphabet)
    used = np.flatnonzero(weights)
    values: list[Any] = [
        METHOD,
        seed,
        weights[used].tolist(),
        scoring.matrix[np.ix_(used, used)].tolist(),
        scoring.gap_open,
        scoring.gap_extend,
    ]
    return hashlib.sha256(json.dumps(values).encode("ascii")).hexdigest()[:32]


_in_memory: dict[str, SimulatedParameters | str] = {}


def _outcome(key: str, compute: Callable[[], SimulatedParameters | str]) -> SimulatedParameters | str:
    """The parameters or the refusal with this key: from memory, from the cache, or computed."""
    found = _in_memory.get(key)
    if found is None:
        file = cache_folder() / f"statistics-{key}.json"
        found = _read(file)
        if found is None:
            found = compute()
            _write(file, found)
        if len(_in_memory) >= MOST_IN_MEMORY:
            _in_memory.clear()
        _in_memory[key] = found
    return found


def _read(file: Path) -> SimulatedParameters | str | None:
    with suppress(UntrustedError, ValueError, TypeError, RecursionError):
        content = read_sealed(file)
        if content is not None:
            values = json.loads(content)
            refusal = values.get("refusal") if isinstance(values, dict) else None
            return refusal if isinstance(refusal, str) else SimulatedParameters.from_values(values["parameters"])
    return None


def _write(file: Path, outcome: SimulatedParameters | str) -> None:
    values = {"refusal": outcome} if isinstance(outcome, str) else {"parameters": outcome.to_values()}
    with suppress(UntrustedError, OSError):
        write_sealed(file, json.dumps(values).encode("ascii"))
