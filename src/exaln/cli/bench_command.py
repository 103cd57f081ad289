"""The command bench: the speed of an engine on this machine, and the bound of the hardware."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from exaln.cli import options
from exaln.cli.command import Command
from exaln.cli.messages import Messages, pass_messages
from exaln.errors import InputError
from exaln.foundation.plurals import number_of

if TYPE_CHECKING:
    from rich.table import Table

    from exaln.engines.cpu.engine import CpuEngine
    from exaln.engines.cuda.engine import CudaEngine

WIDEST = 1000
"""Columns of the console that tables are drawn on, so that none is cut off."""


@click.command(cls=Command, example="exaln bench --engine cuda")
@options.engine
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True, max=60),
    default=0.25,
    show_default=True,
    metavar="S",
    help="Time for each measurement.",
)
@click.option(
    "--targets",
    type=click.IntRange(min=1),
    metavar="N",
    help="Targets of the synthetic database, for cuda. [default: 570,000, as Swiss-Prot]",
)
@click.option(
    "--alphabet",
    type=click.Choice(["protein", "dna"]),
    help="Kind of sequences, for cuda; both strands of dna are scanned. [default: protein]",
)
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder for the results as JSON, for cuda. [default: benchmarks/runs in a clone]",
)
@options.as_json
@pass_messages
def bench(
    messages: Messages,
    engine: options.EngineOptions,
    seconds: float,
    targets: int | None,
    alphabet: str | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Measure the speed of an engine on synthetic sequences, and compare it with the bound of the machine.

    GCUPS are 1e9 cells per second, TCUPS 1e12; the bound is the cell update alone, in registers, on every thread.
    """
    measured = engine.choose()
    if measured.name == "cuda":
        content = measured_on_gpus(
            cast("CudaEngine", measured), alphabet, targets, seconds, engine.threads, engine.gpu_memory
        )
        path = write_gpu_run(content, out)
        click.echo(json.dumps(content, indent=1) if as_json else gpu_text(content), nl=as_json)
        messages.details(content["scan_report"])
        if path is not None:
            messages.note(f"written to {path}")
        return
    for name, value in (("--targets", targets), ("--alphabet", alphabet), ("--out", out)):
        if value is not None:
            raise InputError(f"{name} needs --engine cuda, but the engine is {measured.name!r}")
    if measured.name != "cpu":
        raise InputError(f"bench measures the cuda and cpu engines, but the engine is {measured.name!r}")
    bench_cpu(cast("CpuEngine", measured), seconds, as_json)


def bench_cpu(engine: CpuEngine, seconds: float, as_json: bool) -> None:
    """Measure the cpu engine on one thread and on all threads, and print the results."""
    from exaln.engines.bench.cpu import measure

    isa, results = measure(engine.threads, seconds)
    if as_json:
        click.echo(json.dumps({"isa": isa, "results": [vars(result) for result in results]}, indent=2))
        return
    table = new_table(f"cpu engine, {isa}, BLOSUM62 11/1")
    for heading in ("query length", "threads", "targets", "GCUPS", "bound", "reached"):
        table.add_column(heading, justify="right")
    for r in results:
        cells = [f"{r.query_length:,}", str(r.threads), f"{r.n_targets:,}", f"{r.gcups:.1f}", f"{r.bound_gcups:.1f}"]
        table.add_row(*cells, f"{r.gcups / r.bound_gcups:.0%}")
    click.echo(drawn([table]), nl=False)


def measured_on_gpus(
    engine: CudaEngine,
    alphabet: str | None,
    n_targets: int | None,
    seconds: float,
    threads: int | None,
    gpu_memory: int | None,
) -> dict[str, Any]:
    """All results of the cuda engine, as values for JSON."""
    from exaln.engines.bench.cuda import measure_engine
    from exaln.engines.bench.swissprot import N_TARGETS
    from exaln.sequences.alphabet import DNA, PROTEIN

    return measure_engine(
        engine,
        alphabet=DNA if alphabet == DNA.name else PROTEIN,
        n_targets=n_targets or N_TARGETS,
        seconds=seconds,
        threads=threads,
        gpu_memory=gpu_memory,
    )


def write_gpu_run(content: dict[str, Any], out: Path | None) -> Path | None:
    """Write the results to a folder; returns the path, or None if there is neither --out nor a clone."""
    from exaln.engines.bench.cuda import kept_in, run_name
    from exaln.engines.bench.runs import write_run

    folder = kept_in(out, content)
    return None if folder is None else write_run(folder, run_name(content), content)


GPU_COLUMNS: dict[str, Callable[[dict[str, Any]], str]] = {
    "query": lambda m: m["query"],
    "residues": lambda m: f"{m['query_residues']:,}",
    "compile s": lambda m: f"{m['compile_seconds']:.2f}",
    "upload s": lambda m: f"{m['upload_seconds']:.3f}",
    "scan s": lambda m: f"{m['scan_seconds']:.4f}",
    "total s": lambda m: f"{m['total_seconds']:.4f}",
    "useful": lambda m: f"{m['useful_tcups']:.2f}",
    "raw": lambda m: f"{m['raw_tcups']:.2f}",
    "of bound": lambda m: f"{m['of_bound']:.0%}",
    "sent": lambda m: f"{m['sent']:.2f} x",
    "hits": lambda m: f"{m['n_candidates']:,}",
    "score sum": lambda m: f"{m['score_sum']:,}",
}
"""Heading and text of each column of the table, from a measurement."""


def gpu_text(content: dict[str, Any]) -> str:
    """The results of the cuda engine as a table and two lines."""
    database, checks = content["database"], content["checks"]
    kind = "proteins" if database["alphabet"] == "protein" else "DNA sequences, both strands of the queries"
    size = f"{database['targets']:,} synthetic {kind}, {database['residues']:,} residues"
    table = new_table(f"{content['engine']}; {content['scoring']}\n{size}; TCUPS, bound {content['bound_tcups']:.2f}")
    for heading in GPU_COLUMNS:
        table.add_column(heading, justify="right", no_wrap=True)
    for measurement in content["measurements"]:
        table.add_row(*(show(measurement) for show in GPU_COLUMNS.values()))
    lines = [f"{checks['candidates']:,} candidates of the scans agree with {checks['scores']:,} scores"]
    if checks["unchecked"] is None:
        sampled = number_of(checks["sampled_targets"], "target")
        lines.append(f"{checks['sampled_scores']:,} scores of {sampled} equal the cpu engine's")
    else:
        lines.append(f"scores were not compared with the cpu engine: {checks['unchecked']}")
    return drawn([table, *lines])


def new_table(title: str) -> Table:
    """An empty table with this title."""
    from rich import box
    from rich.table import Table

    return Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)


def drawn(parts: list[Any]) -> str:
    """Tables and lines as text, with colours on a terminal."""
    from rich.console import Console

    console = Console(width=WIDEST)
    with console.capture() as captured:
        for part in parts:
            console.print(part, highlight=False)
    return captured.get()
