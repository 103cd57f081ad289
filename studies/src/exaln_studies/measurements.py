"""Measurements of a study as JSON: what each part measured, on what machine, with what command.

A part that is measured again takes the place of what it measured before; the other parts stay. So a file grows on
several machines, and a page can be made from it without measuring.
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
    """What one part measured; `checks` results were compared with the oracle on the way.

    is_whole: whether it ran to its end; of one that was cut short the rows are kept, but few pages show them.
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
    """All parts of a study that were measured, by name."""

    study: str
    runs: dict[str, PartRun] = field(default_factory=dict)
    gradual: frozenset[str] = frozenset()
    """Parts of which a run that was cut short counts, too."""

    def add(self, run: PartRun) -> None:
        """In the place of an earlier run of the same part."""
        self.runs[run.part] = run

    def rows(self, part: str, **equal: Any) -> list[Row]:
        """Measurements of a part whose columns have these values; none if the part was not measured to its end."""
        run = self.runs.get(part)
        rows = run.rows if run is not None and (run.is_whole or part in self.gradual) else []
        return [row for row in rows if all(row.get(name) == value for name, value in equal.items())]

    def values(self, part: str, column: str, **equal: Any) -> list[Any]:
        """One column of these rows, each value once, in the order of the measurements."""
        return list(dict.fromkeys(row[column] for row in self.rows(part, **equal) if column in row))

    def one(self, part: str, **equal: Any) -> Row | None:
        """The only such row, or None."""
        rows = self.rows(part, **equal)
        return rows[0] if len(rows) == 1 else None

    def text(self) -> str:
        """As JSON, a row per line."""
        runs = []
        for run in self.runs.values():
            fields = asdict(run)
            del fields["rows"]
            head = json.dumps({**fields, "rows": []}, indent=1)[:-1].rstrip()
            lines = ",\n".join(f"  {json.dumps(row)}" for row in run.rows)
            runs.append(head.removesuffix("[]") + "[\n" + lines + "\n ]\n}")
        return f'{{"format": {FORMAT}, "study": {json.dumps(self.study)}, "runs": [\n' + ",\n".join(runs) + "\n]}\n"


def merged(study: str, files: Iterable[Path]) -> Measurements:
    """The measurements of several files; of a part that several have, those of the last."""
    found = Measurements(study)
    for path in files:
        for run in _read(study, path):
            found.add(run)
    return found


def _read(study: str, path: Path) -> list[PartRun]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except ValueError:
        raise InputError(f"{path}: no JSON, so no measurements of a study") from None
    try:
        if content["format"] != FORMAT or content["study"] != study:
            raise InputError(f"{path}: no measurements of the study {study}")
        return [PartRun(**run) for run in content["runs"]]
    except (KeyError, TypeError):
        raise InputError(f"{path}: no measurements of the study {study}") from None


def now() -> str:
    """The date of a run."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
