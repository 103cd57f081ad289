"""Real sequences and scores outside the repository, used only if EXALN_DATA names their folder."""

import csv
import gzip
import os
from pathlib import Path

import pytest

IS_HERE = "EXALN_DATA" in os.environ
FOLDER = Path(os.environ.get("EXALN_DATA", ""))
needs_real_data = pytest.mark.skipif(not IS_HERE, reason="EXALN_DATA does not name a folder")


def fasta(name):
    """Sequences of a FASTA file by id, in the order of the file; shares no code with the package."""
    path = FOLDER / name
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        sequences = {}
        for line in lines:
            if line.startswith(">"):
                current = sequences.setdefault(line[1:].split()[0], [])
            else:
                current.append(line.strip())
    return {name: "".join(parts) for name, parts in sequences.items()}


def scores(name):
    """(query id, target id) -> score of a table."""
    with gzip.open(FOLDER / name, "rt") as lines:
        rows = csv.reader((line for line in lines if not line.startswith("#")), delimiter="\t")
        return {(query, target): int(score) for query, target, score in rows}
