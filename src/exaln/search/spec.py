"""The specification of a search: everything besides the queries that decides what it finds, as plain values.

A specification is sent to cluster workers and stored in part files, where it is compared.
"""

from __future__ import annotations

import base64
import json
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import xxhash

from exaln import __version__
from exaln.database.manifest import Manifest
from exaln.database.part import SearchSpace
from exaln.report.summary import SearchSummary
from exaln.scoring.scoring import Scoring
from exaln.search.evaluation import HitEvaluator
from exaln.search.options import SearchOptions
from exaln.search.spec_values import IDS, ORDINALS, require_search
from exaln.statistics.simulated import SimulatedParameters

FORMAT_VERSION = 4
"""Version 2 gave options the names of the command line, version 3 several alignments to targets, version 4 masks and
simulated statistics and composition-based ones to the search.
"""


@dataclass(frozen=True)
class SearchSpec:
    """A search of one database.

    database: its name as the user gave it; database_digest: a hash of its content; space: the size of the whole.
    simulated: the parameters of E-values if they come from a simulation, which is done once, by the client.
    """

    database: str
    database_digest: str
    space: SearchSpace
    scoring: Scoring
    options: SearchOptions
    simulated: SimulatedParameters | None = None

    @staticmethod
    def of(
        name: str,
        manifest: Manifest,
        scoring: Scoring,
        options: SearchOptions,
        simulated: SimulatedParameters | None = None,
    ) -> SearchSpec:
        """The search of the database with this manifest."""
        options.require_resolved()
        space = SearchSpace(manifest.n_targets, manifest.n_residues)
        return SearchSpec(name, manifest.digest, space, scoring, options, simulated)

    @cached_property
    def evaluator(self) -> HitEvaluator:
        """The E-values and filters of this search."""
        space = self.space
        return HitEvaluator(
            self.scoring,
            self.options,
            n_targets=space.n_targets,
            n_residues=space.n_residues,
            simulated=self.simulated,
        )

    @property
    def summary(self) -> SearchSummary:
        """The description of the search in reports."""
        return SearchSummary(
            database=self.database,
            n_targets=self.space.n_targets,
            n_residues=self.space.n_residues,
            scoring=self.scoring,
            statistics=self.evaluator.statistics,
            max_evalue=self.options.evalue,
        )

    @property
    def digest(self) -> str:
        """A hash that is equal for searches that find the same; the name of the database is not part of it."""
        return xxhash.xxh3_128_hexdigest(json.dumps({**self.to_values(), "database": ""}, sort_keys=True).encode())

    def to_values(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        options = {name: value for name, value in asdict(self.options).items() if name not in IDS}
        return {
            "format_version": FORMAT_VERSION,
            "written_by": f"exaln {__version__}",
            "database": self.database,
            "database_digest": self.database_digest,
            "space": asdict(self.space),
            "scoring": self.scoring.to_values(),
            "options": options | {name: _as_text(options[name]) for name in ORDINALS},
            "simulated": None if self.simulated is None else self.simulated.to_values(),
        }

    @staticmethod
    def from_values(values: dict[str, Any]) -> SearchSpec:
        """The search with these values. Raises KeyError, TypeError or ValueError if they do not describe one."""
        if values["format_version"] != FORMAT_VERSION:
            raise ValueError(f"format {values['format_version']}, but this exaln reads format {FORMAT_VERSION}")
        require_search(values)
        options, simulated = values["options"], values["simulated"]
        try:
            return SearchSpec(
                database=values["database"],
                database_digest=values["database_digest"],
                space=SearchSpace(**values["space"]),
                scoring=Scoring.from_values(values["scoring"]),
                options=SearchOptions(**options | {name: _from_text(options[name]) for name in ORDINALS}),
                simulated=None if simulated is None else SimulatedParameters.from_values(simulated),
            )
        except ArithmeticError as error:
            raise ValueError(f"a number cannot be used: {error}") from None


def _as_text(ordinals: np.ndarray | None) -> str | None:
    return None if ordinals is None else base64.b64encode(ordinals.astype("<i8").tobytes()).decode("ascii")


def _from_text(text: str | None) -> np.ndarray | None:
    return None if text is None else np.frombuffer(base64.b64decode(text, validate=True), "<i8").astype(np.int64)
