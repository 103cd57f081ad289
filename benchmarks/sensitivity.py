"""Measure how many true relatives exaln and other programs rank before the first false positive.

    EXALN_DATA=DATA python benchmarks/sensitivity.py
    EXALN_DATA=DATA python benchmarks/sensitivity.py --n-scop20 100 --n-labelled 0 --only exaln,blastp      # quick
    EXALN_DATA=DATA python benchmarks/sensitivity.py --exaln "mode 2=--comp-based-stats 2" --only exaln
    python benchmarks/sensitivity.py --draw RUN/sensitivity.json

The targets are the 7,616 domains of scop20, of which no two share more than 20 % of their letters. There are two sets
of queries: domains of scop20 themselves, and labelled sequences of UniProt (the queries of the MMseqs2 benchmark). Of
each set the sequences with a relative on any level are taken, and of these every n-th, in the order of the file.

A label is class.fold.superfamily.family. Relatives on the level of families are targets with the same family;
superfamily: the same superfamily, but another family; fold: the same fold, but another superfamily. A false positive is
a target of another fold. For each query and level: the number of relatives ranked before the first false positive,
divided by that of all relatives on this level; then the mean over the queries that have any. Targets are ranked by
E-value, equal ones as the program lists them; relatives with the E-value and the score of the first false positive
count as after it. A query that is a target itself is left out of its ranking.

Every program reports all targets with E <= 100, so that nearly every ranking has a false positive; where it has none,
all relatives that are reported count. Prints a table and writes sensitivity.txt, .json and .svg into --out, by default
benchmarks/runs/<date>-<machine>. The seconds are those of whole processes, without the making of databases.
EXALN_PROGRAM names another exaln than that of this Python.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from sensitivity_parts.figure import draw
from sensitivity_parts.measure import (
    LEVELS,
    Found,
    found_before_false_positive,
    mean_and_error,
    numbers_of_relatives,
    shares,
)
from sensitivity_parts.programs import PEERS, SEARCHES, Done, Program, exaln, run, version_of
from sensitivity_parts.sequences import Sequence, every_nth, read_labelled, write_fasta

from exaln.engines.bench.runs import machine, runs_folder, write_run

THRESHOLDS = [step / 50 for step in range(51)]
LEGEND = """
family, superfamily, fold: mean share of relatives before the first false positive, and its standard error
ended     share of queries with a false positive in their ranking; the others end before one
below     mean difference to the best search of exaln on this level, query by query, and its standard error;
          negative: the program finds less
wall, CPU seconds of the process
"""


def parsed() -> argparse.Namespace:
    """The command line's options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n-scop20", type=int, default=1000, metavar="N", help="queries from scop20 (1000)")
    parser.add_argument("--n-labelled", type=int, default=500, metavar="N", help="labelled queries (500)")
    parser.add_argument("--only", default="", metavar="NAMES", help="programs whose names begin so, with commas")
    parser.add_argument("--exaln", action="append", default=[], metavar="NAME=OPTIONS", help="one more search of exaln")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--draw", type=Path, metavar="JSON", help="draw the figure of a run again, and no more")
    parser.add_argument("--out", type=Path, help="folder for the table, the run and the figure")
    options = parser.parse_args()
    if options.draw is None and "EXALN_DATA" not in os.environ:
        parser.exit(1, "sensitivity.py: set EXALN_DATA to the folder of real data\n")
    return options


def programs_of(options: argparse.Namespace) -> list[Program]:
    """The programs to run: searches of exaln first."""
    more = [exaln(f"exaln, {name}", words) for name, _, words in (text.partition("=") for text in options.exaln)]
    wanted = tuple(name for name in options.only.split(",") if name) or ("",)
    return [program for program in (*SEARCHES, *more, *PEERS) if program.name.startswith(wanted)]


def run_set(
    name: str, queries: list[Sequence], targets: list[Sequence], n_queries: int, programs: list[Program], threads: int
) -> dict[str, Any]:
    """What the run file has of one set of queries."""
    labels = {target.id: target.label for target in targets}
    relatives = numbers_of_relatives([query.label for query in queries], labels.values(), is_target=queries is targets)
    eligible = [number for number, counts in enumerate(relatives) if any(counts.values())]
    chosen = every_nth(eligible, n_queries)
    some, numbers = [queries[number] for number in chosen], [relatives[number] for number in chosen]
    print(f"\n{name}: {len(some):,} of {len(eligible):,} queries with relatives", flush=True)
    tools = []
    with tempfile.TemporaryDirectory() as folder:
        write_fasta(Path(folder) / "queries.fasta", some)
        write_fasta(Path(folder) / "targets.fasta", targets)
        for program in programs:
            done = run(program, Path(folder), threads)
            tools.append(tool_of(program, done, [found_in(done, query, labels) for query in some], numbers, threads))
            means = "  ".join(f"{tools[-1]['levels'][level]['mean']:.4f}" for level in LEVELS)
            print(f"{program.name:32} {means}  {done.wall_seconds:7.1f} s", flush=True)
    add_differences(tools)
    return {
        "name": name,
        "n_queries": len(some),
        "n_query_residues": sum(len(query.letters) for query in some),
        "n_eligible": len(eligible),
        "n_targets": len(targets),
        "n_target_residues": sum(len(target.letters) for target in targets),
        "n_queries_of_level": {level: sum(1 for counts in numbers if counts[level]) for level in LEVELS},
        "tools": tools,
    }


def found_in(done: Done, query: Sequence, labels: dict[str, str]) -> Found:
    """What a run of a program found of one query."""
    return found_before_false_positive(query.id, query.label, done.ranking.get(query.id, []), labels)


def tool_of(
    program: Program, done: Done, found: list[Found], relatives: list[dict[str, int]], threads: int
) -> dict[str, Any]:
    """What the run file has of one program; `shares` are dropped before it is written."""
    levels = {}
    for level in LEVELS:
        values = shares(found, relatives, level)
        mean, error = mean_and_error(values)
        distribution = [round(sum(value >= least for value in values) / max(len(values), 1), 4) for least in THRESHOLDS]
        levels[level] = {"mean": mean, "error": error, "distribution": distribution, "shares": values}
    words = program.arguments(threads)
    return {
        "name": program.name,
        "version": version_of(program),
        "command": " ".join([Path(words[0]).name, *(f'"{word}"' if " " in word else word for word in words[1:])]),
        "is_profile": program.is_profile,
        "n_rows": done.n_rows,
        "share_ended": sum(one.has_false_positive for one in found) / len(found),
        "wall_seconds": round(done.wall_seconds, 2),
        "cpu_seconds": round(done.cpu_seconds, 2),
        "levels": levels,
    }


def add_differences(tools: list[dict[str, Any]]) -> None:
    """Compare each program with the best search of exaln on each level, query by query; drop the shares."""
    for level in LEVELS:
        ours = [tool["levels"][level] for tool in tools if tool["name"].startswith("exaln")]
        best = max(ours, key=lambda values: values["mean"])["shares"] if ours else None
        for tool in tools:
            values = tool["levels"][level]
            if best is not None:
                pairs = zip(values["shares"], best, strict=True)
                values["below"], values["below_error"] = mean_and_error([one - other for one, other in pairs])
        for tool in tools:
            del tool["levels"][level]["shares"]


def table_of(one_set: dict[str, Any]) -> str:
    """A set of queries as text."""
    counts = ", ".join(f"{n:,} with relatives in the {level}" for level, n in one_set["n_queries_of_level"].items())
    lines = [
        f"{one_set['name']}: {one_set['n_queries']:,} queries ({one_set['n_query_residues']:,} residues; {counts}) x "
        f"{one_set['n_targets']:,} targets ({one_set['n_target_residues']:,} residues)",
        "",
        f"{'program':<32}{'family':>16}{'superfamily':>16}{'fold':>16}  ended{'wall':>8}{'CPU':>8}"
        f"{'below: family':>19}{'superfamily':>17}{'fold':>17}",
    ]
    for tool in one_set["tools"]:
        levels = [tool["levels"][level] for level in LEVELS]
        means = "".join(f"{of['mean']:>9.4f} ±{of['error']:.3f}" for of in levels)
        below = "".join(f"{of.get('below', 0):>+10.4f} ±{of.get('below_error', 0):.4f}" for of in levels)
        seconds = f"{tool['wall_seconds']:>8.1f}{tool['cpu_seconds']:>8.1f}"
        lines.append(f"{tool['name']:<32}{means}{tool['share_ended']:>7.1%}{seconds} {below}")
    return "\n".join(lines)


def main() -> None:
    """Run all programs on both sets of queries and write the results."""
    options = parsed()
    if options.draw is not None:
        draw(json.loads(options.draw.read_text(encoding="utf-8")), options.draw.with_suffix(".svg"))
        return
    data = Path(os.environ["EXALN_DATA"]) / "scop"
    targets = read_labelled(data / "scop20.fasta.gz")
    labelled = read_labelled(data / "mmseqs_query_labelled.fasta.gz")
    programs = programs_of(options)
    load_before = os.getloadavg()[0]
    sets = [
        run_set(name, queries, targets, n, programs, options.threads)
        for name, queries, n in (("scop20", targets, options.n_scop20), ("labelled", labelled, options.n_labelled))
        if n
    ]
    about = machine()
    content = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": about,
        "load_before": load_before,
        "threads": options.threads,
        "thresholds": THRESHOLDS,
        "sets": sets,
    }
    versions = "; ".join(dict.fromkeys(f"{tool['name'].split(',')[0]} {tool['version']}" for tool in sets[0]["tools"]))
    commands = [tool["command"] for tool in sets[0]["tools"]]
    title = f"{about['processor']}, {options.threads} threads; {versions}"
    text = "\n\n".join(["\n".join([title, *commands]), *map(table_of, sets), LEGEND.strip()]) + "\n"
    print(f"\n{text}")
    folder = options.out or runs_folder(f"{about['cores']}-cores") or Path()
    path = write_run(folder, "sensitivity", content)
    path.with_suffix(".txt").write_text(text, encoding="utf-8")
    draw(content, path.with_suffix(".svg"))


if __name__ == "__main__":
    main()
