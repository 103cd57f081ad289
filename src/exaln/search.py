"""Queries against a database."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from exaln.database import Database
from exaln.engines import choose_engine
from exaln.engines.base import comparable
from exaln.errors import InputError
from exaln.queries import as_records
from exaln.scoring import Scoring

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from exaln.engines.base import Progress
    from exaln.queries import Sequences


def scores(
    queries: Sequences,
    database: Database | str | os.PathLike[str],
    *,
    scoring: Scoring | None = None,
    engine: str = "auto",
    threads: int | None = None,
    progress: Progress | None = None,
) -> NDArray[np.int32]:
    """Exact local scores of all queries against all targets: int32[n_queries, n_targets], in the order of the input.

    `database` is a Database, the path of one, or a FASTA file. Without `scoring` the default of the database's letters
    is used. Scores of a scoring with fractions are multiplied by `scoring.scale`. A result too large for memory is
    refused.

    >>> import pathlib, tempfile
    >>> fasta = pathlib.Path(tempfile.mkdtemp()) / "targets.fasta"
    >>> _ = fasta.write_text(">t1\\nPAWHEAE\\n>t2\\nHEAGAWGHEE\\n")
    >>> scores(["HEAGAWGHEE"], fasta)
    array([[17, 62]], dtype=int32)
    """
    opened = database if isinstance(database, Database) else Database.open(database)
    chosen = scoring or Scoring.default(opened.alphabet)
    records = as_records(queries, opened.alphabet)
    if not comparable(records.alphabet, opened.alphabet):
        raise InputError(f"the queries are {records.alphabet.name}, the database is {opened.alphabet.name}")
    working = choose_engine(engine, threads)
    return working.scores(records, working.place(opened), chosen, progress)
