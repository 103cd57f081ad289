"""Compare the masks of exaln with those of segmasker, dustmasker and tantan, interval by interval, on real data.

    EXALN_DATA=DATA python benchmarks/mask_peers.py        # about a minute

Every FASTA file below DATA/protein, DATA/scop and DATA/dna is masked by both. The table has the number of intervals,
those that only one of both has, and the seconds of one thread: of the method in exaln, and of the whole process of the
other program. Differences are listed below it. Writes mask_peers.txt and .json into --out, by default
benchmarks/runs/<date>-<machine>. Exit code 1: a program is missing, or SEG or dust differ.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from exaln.engines.bench.runs import dashed, machine, runs_folder, write_run
from exaln.masking.intervals import Intervals
from exaln.masking.methods import Masking
from exaln.masking.output import fasta_text
from exaln.sequences.fasta import read_records
from exaln.sequences.records import Records

SUFFIXES = {".fa", ".faa", ".fasta", ".fna"}
MOST_LISTED = 5
CASES = {
    "protein": ("seg 12 2.2 2.5", "seg 10 1.8 2.1", "tantan"),
    "dna": ("dust 20 64 1", "dust 20 64 10", "tantan"),
}

Pairs = list[list[tuple[int, int]]]


def program(method: str, kind: str, path: str) -> list[str]:
    """The command line that does the same."""
    name, *numbers = method.split()
    if name == "seg":
        return ["segmasker", "-in", path, *_options(("-window", "-locut", "-hicut"), numbers)]
    if name == "dust":
        return ["dustmasker", "-in", path, *_options(("-level", "-window", "-linker"), numbers)]
    return ["tantan", *(["-p"] if kind == "protein" else []), path]


def _options(names: tuple[str, ...], numbers: list[str]) -> Iterator[str]:
    for name, number in zip(names, numbers, strict=True):
        yield from (name, number)


def intervals_of(text: str) -> Pairs:
    """The intervals that a program printed, sequence by sequence: in lines, or as lower case."""
    found: Pairs = []
    for record in ("\n" + text).split("\n>")[1:]:
        _, _, body = record.partition("\n")
        if re.match(r"\d+ - \d+", body) or not body.strip():
            lines = [line.split(" - ") for line in body.split("\n") if line]
            found.append([(int(first), int(last) + 1) for first, last in lines])
        else:
            found.append([match.span() for match in re.finditer("[a-z]+", body.replace("\n", ""))])
    return found


def pairs_of(found: Intervals) -> Pairs:
    pairs = list(zip(found.begins.tolist(), found.ends.tolist(), strict=True))
    return [pairs[begin:end] for begin, end in pairwise(found.offsets.tolist())]


def compared(records: Records, method: str, kind: str, path: str) -> dict[str, Any]:
    """One file masked by both."""
    masking = Masking.parse(method)
    start = time.perf_counter()
    own = pairs_of(masking.find(records))
    middle = time.perf_counter()
    done = subprocess.run(program(method, kind, path), capture_output=True, text=True, check=True)
    end = time.perf_counter()
    theirs = intervals_of(done.stdout)
    differences = [
        {
            "sequence": records.ids[row],
            "exaln": sorted(set(a) - set(b)),
            "other": sorted(set(b) - set(a)),
            "letters": letters_around(records, row, sorted(set(a) ^ set(b))),
        }
        for row, (a, b) in enumerate(zip(own, theirs, strict=True))
        if a != b
    ]
    return {
        "method": method,
        "sequences": len(records),
        "residues": records.n_residues,
        "intervals": sum(map(len, own)),
        "only_exaln": sum(len(one["exaln"]) for one in differences),
        "only_other": sum(len(one["other"]) for one in differences),
        "seconds": middle - start,
        "other_seconds": end - middle,
        "differences": differences,
    }


def letters_around(records: Records, row: int, intervals: list[tuple[int, int]]) -> str:
    """Up to 60 letters from the first difference on."""
    if not intervals:
        return ""
    begin, end = intervals[0]
    return records.alphabet.decode(records.sequence(row)[begin : min(end, begin + 60)])


def line_of(name: str, row: dict[str, Any]) -> str:
    return (
        f"{row['method']:<16} {name:<40} {row['sequences']:>7,} {row['residues']:>11,} {row['intervals']:>9,} "
        f"{row['only_exaln']:>10,} {row['only_other']:>10,} {row['seconds']:>8.2f} {row['other_seconds']:>8.2f}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="folder of the run")
    given = parser.parse_args()
    folder = Path(os.environ["EXALN_DATA"])
    here = machine()
    lines = [
        f"{here['processor']}, one thread; only: intervals that one of both has; s: exaln, then the other program",
        f"{'method':<16} {'file':<40} {'records':>7} {'residues':>11} {'intervals':>9} {'only exaln':>10} "
        f"{'only other':>10} {'exaln s':>8} {'other s':>8}",
    ]
    rows: list[dict[str, Any]] = []
    print("\n".join(lines), flush=True)
    files = [(kind, path) for room, kind in (("protein", "protein"), ("scop", "protein"), ("dna", "dna"))
             for path in sorted((folder / room).rglob("*"))]  # fmt: skip
    with tempfile.TemporaryDirectory() as scratch:
        for kind, path in files:
            if not SUFFIXES & set(path.suffixes):
                continue
            records = read_records(path, alphabet=None)
            plain = Path(scratch) / "plain.fasta"
            unmasked = Intervals.none(len(records)).masks(records)
            plain.write_bytes(fasta_text(unmasked, range_of(len(records)), 80))
            for method in CASES[kind]:
                row = {"file": str(path.relative_to(folder))} | compared(records, method, kind, str(plain))
                rows.append(row)
                lines.append(line_of(row["file"], row))
                print(lines[-1], flush=True)
    for row in rows:
        for one in row["differences"][:MOST_LISTED]:
            lines.append(
                f"{row['method']}, {row['file']}, {one['sequence']}: exaln {one['exaln']}, other {one['other']}, "
                f"from {one['letters']}"
            )
            print(lines[-1])
    is_equal = not any(row["differences"] for row in rows if row["method"] != "tantan")
    total = {key: sum(row[key] for row in rows) for key in ("intervals", "only_exaln", "only_other")}
    lines.append(f"in all {total['intervals']:,} intervals; SEG and dust are {'equal' if is_equal else 'NOT equal'}")
    print(lines[-1])
    run_folder = given.out or runs_folder(f"{here['cores']} cores") or Path(dashed("masks"))
    write_run(run_folder, "mask_peers", {"machine": here, "rows": rows})
    (run_folder / "mask_peers.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0 if is_equal else 1


def range_of(n: int) -> Any:
    import numpy as np

    return np.arange(n, dtype=np.int32)


if __name__ == "__main__":
    sys.exit(main())
