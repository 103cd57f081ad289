"""Measurements of a study as JSON: the rows of each part, its machine and its command line.

Measuring a part again replaces its rows and keeps those of the other parts. So a file can be filled on several
machines, and a page can be made from it on any.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from exaln.errors import InputError
from exaln_studies.study import Row

FORMAT = 1


@dataclass(frozen=True)
class PartRun:
    """One run of one part. checks: number of results that were compared.

    is_whole: whether the run was completed. The rows of an interrupted run are kept, but few pages show them.
    """

    part: str
    device: str
    machine: dict[str, Any]
    gpu: str | None
    command: str
    date: str
    exaln: str
    quick: bool
    seconds: float
    checks: int
    rows: list[Row]
    is_whole: bool = True


@dataclass
class Measurements:
    """The runs of a study, by the name of their part."""

    study: str
    runs: dict[str, PartRun] = field(default_factory=dict)
    gradual: frozenset[str] = frozenset()
    """Parts whose interrupted runs are shown, too."""

    def add(self, run: PartRun) -> None:
        """Add a run; it replaces an earlier run of the same part."""
        self.runs[run.part] = run

    def rows(self, part: str, **equal: Any) -> list[Row]:
        """Rows of a part whose columns have these values; none if its run was not completed."""
        run = self.runs.get(part)
        rows = run.rows if run is not None and (run.is_whole or part in self.gradual) else []
        return [row for row in rows if all(row.get(name) == value for name, value in equal.items())]

    def values(self, part: str, column: str, **equal: Any) -> list[Any]:
        """Distinct values of a column in these rows, in the order of measurement."""
        return list(dict.fromkeys(row[column] for row in self.rows(part, **equal) if column in row))

    def one(self, part: str, **equal: Any) -> Row | None:
        """The row with these values, or None unless there is exactly one."""
        rows = self.rows(part, **equal)
        return rows[0] if len(rows) == 1 else None

    def text(self) -> str:
        """Return the measurements as JSON, one row per line."""
        runs = []
        for run in self.runs.values():
            fields = asdict(run)
            del fields["rows"]
            head = json.dumps({**fields, "rows": []}, indent=1)[:-1].rstrip()
            lines = ",\n".join(f"  {json.dumps(row)}" for row in run.rows)
            runs.append(head.removesuffix("[]") + "[\n" + lines + "\n ]\n}")
        return f'{{"format": {FORMAT}, "study": {json.dumps(self.study)}, "runs": [\n' + ",\n".join(runs) + "\n]}\n"


def merged(study: str, files: Iterable[Path]) -> Measurements:
    """Read several files and merge their runs; for a part in several files the last file counts.

    Raises InputError for a file that cannot be read or belongs to another study.
    """
    result = Measurements(study)
    for path in files:
        for run in _read(study, path):
            result.add(run)
    return result


def _read(study: str, path: Path) -> list[PartRun]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except ValueError:
        raise InputError(f"{path}: not JSON, so not the measurements of a study") from None
    try:
        if content["format"] != FORMAT or content["study"] != study:
            raise InputError(f"{path}: not the measurements of the study {study}")
        return [PartRun(**run) for run in content["runs"]]
    except (KeyError, TypeError):
        raise InputError(f"{path}: not the measurements of the study {study}") from None


def now() -> str:
    """Return the current time in UTC, as ISO 8601."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
