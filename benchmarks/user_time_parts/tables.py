"""The table of a part: what was called, before, now, the required figure, the aim, and whether it is met."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Row:
    """One figure of both trees; None where a tree was not measured. unit: "ms", "s", "us", "MB/s" or "MB".

    required: the most that is accepted, or the least for a speed. about: what the aim or the row refers to.
    """

    call: str
    unit: str
    before: float | None
    now: float | None
    required: float | None = None
    aim: float | None = None
    about: str = ""

    @property
    def is_met(self) -> bool | None:
        """Whether the figure of this tree is accepted; None if nothing is required or measured."""
        if self.required is None or self.now is None:
            return None
        return self.now >= self.required if self.unit.endswith("/s") else self.now <= self.required

    def cells(self) -> list[str]:
        """The cells of this row in the table."""
        met = {None: "", True: "yes", False: "NO"}[self.is_met]
        figures = [shown(value) for value in (self.before, self.now, self.required, self.aim)]
        return [f"{self.call}, {self.unit}", *figures, met, self.about]


@dataclass
class Table:
    """The rows of a part, its notes, and all single measurements as they were taken."""

    part: str
    title: str
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)
    measured: dict[str, Any] = field(default_factory=dict)
    n_compared: int = 0
    failure: str = ""

    def add(self, row: Row) -> None:
        """Add a row, and print it at once, because a run may be cut off."""
        self.rows.append(row)
        print(f"  {self.part}: " + " | ".join(row.cells()), flush=True)

    def note(self, text: str) -> None:
        """Add a line below the table."""
        self.notes.append(text)

    def keep(self, name: str, value: Any) -> None:
        """Keep single measurements for the JSON file."""
        self.measured[name] = value

    def compare(self, what: str, digests: dict[str, str]) -> None:
        """Compare the digests of a result by tree, or by whatever else must give the same result."""
        self.n_compared += len(digests) > 1
        if len(set(digests.values())) > 1:
            self.differences.append(f"{what}: {digests}")
            print(f"  {self.part}: RESULTS DIFFER: {self.differences[-1]}", flush=True)

    @property
    def is_good(self) -> bool:
        """Whether all figures are met and all results are the same."""
        return not self.failure and not self.differences and all(row.is_met is not False for row in self.rows)

    def text(self) -> str:
        """The table in Markdown, with its notes."""
        head = ["call", "before", "now", "required", "aim", "met", "about"]
        lines = [head, ["---"] * len(head), *(row.cells() for row in self.rows)]
        table = "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n" if self.rows else ""
        compared = f"{self.n_compared} results compared: " + ("all the same" if not self.differences else "DIFFERENT")
        notes = "".join(f"{line}\n" for line in [*self.notes, compared, *self.differences])
        if self.failure:
            notes += f"FAILED: {self.failure}\n"
        return f"\n## {self.part}: {self.title}\n\n{table}\n{notes}"

    def content(self) -> dict[str, Any]:
        """Everything, for the JSON file."""
        rows = [{**asdict(row), "is_met": row.is_met} for row in self.rows]
        return {
            "rows": rows,
            "notes": self.notes,
            "failure": self.failure,
            "differences": self.differences,
            "measured": self.measured,
        }


def shown(value: float | None) -> str:
    """A figure with three digits or more."""
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
