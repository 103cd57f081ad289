"""Read the files in tests/golden/ without any code of the package."""

from pathlib import Path

GOLDEN = Path(__file__).parents[1] / "golden"


def fasta(name: str) -> dict[str, str]:
    """Sequences of a golden FASTA file by id, in the order of the file."""
    sequences: dict[str, list[str]] = {}
    for line in (GOLDEN / name).read_text(encoding="ascii").splitlines():
        if line.startswith(">"):
            current = sequences.setdefault(line[1:].split()[0], [])
        else:
            current.append(line)
    return {name: "".join(lines) for name, lines in sequences.items()}


def queries() -> dict[str, str]:
    """The 10 queries of the score table."""
    return fasta("cudasw4q_part.fasta")


def targets() -> dict[str, str]:
    """The 60 targets of the score table."""
    return fasta("scop20_part.fasta")


def scores() -> dict[tuple[str, str], int]:
    """(query id, target id) -> exact score, BLOSUM62 with gaps 11/1."""
    lines = (GOLDEN / "cudasw4q_x_scop20_part.tsv").read_text(encoding="ascii").splitlines()
    rows = (line.split("\t") for line in lines if not line.startswith("#"))
    return {(query, target): int(score) for query, target, score in rows}


def rows(name: str) -> list[list[str]]:
    """The rows of a golden table, without its comments."""
    lines = (GOLDEN / name).read_text(encoding="ascii").splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]
