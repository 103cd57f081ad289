"""search --cluster and search --resume: a search in units, by the workers of a cluster or in this process.

The report is the same as that of an undivided search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exaln.cli import options
from exaln.cli.hints import HitNotes
from exaln.cli.messages import Messages
from exaln.cli.report_output import ReportOutput
from exaln.errors import InputError
from exaln.foundation.progress import ClusterProgress, FoundHits, MergeProgress, SearchProgress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from exaln.alignments.query_hits import QueryHits
    from exaln.cluster.division import Plan
    from exaln.cluster.groups import GroupResults
    from exaln.cluster.hosts import Cluster
    from exaln.cluster.unit_search import Settings
    from exaln.cluster.unit_store import Store
    from exaln.cluster.units import Group
    from exaln.database.database import Database
    from exaln.database.gather import LocatedTargets
    from exaln.database.manifest import Manifest
    from exaln.search.options import SearchOptions
    from exaln.search.spec import SearchSpec
    from exaln.sequences.alphabet import Alphabet
    from exaln.sequences.records import Records


@dataclass(frozen=True)
class ClusterOptions:
    """--cluster and the options that belong to it."""

    cluster: str | None
    config: str | None
    plan: bool
    resume: str | None
    dashboard: bool
    insecure: bool
    tls_ca: str | None
    tls_cert: str | None
    tls_key: str | None

    @staticmethod
    def taken_from(chosen: dict[str, Any]) -> ClusterOptions:
        """The cluster options, removed from `chosen`; InputError if some are given without --cluster."""
        names = ("cluster", "plan", "resume", "dashboard", "insecure", "tls_ca", "tls_cert", "tls_key")
        given = {name: chosen.pop(name) for name in names}
        found = ClusterOptions(config=chosen.pop("cluster_config"), **given)
        only_clusters = [value for name, value in given.items() if name != "resume"]
        if found.cluster is None and any(value for value in (found.config, *only_clusters)):
            raise InputError("--plan, --dashboard, --cluster-config, --insecure and --tls-... need --cluster")
        return found

    @property
    def in_units(self) -> bool:
        """True if the search runs in units: on a cluster, or in this process with --resume."""
        return self.cluster is not None or self.resume is not None

    def require_no_shard(self, shard: str | None) -> None:
        """InputError if --shard is combined with --cluster or --resume."""
        if shard is not None and self.in_units:
            other = "--cluster" if self.cluster is not None else "--resume"
            raise InputError(f"--shard and {other} cannot be combined; choose one of the two")

    def start(self, settings: Settings) -> AbstractContextManager[Cluster]:
        """The cluster that --cluster names; it starts when the context manager is entered."""
        from exaln.cluster import hosts
        from exaln.cluster.security import Certificates
        from exaln.cluster.slurm import slurm_cluster

        assert self.cluster is not None
        certificates = Certificates.of(self.tls_ca, self.tls_cert, self.tls_key)
        kind, n_workers = hosts.parse_cluster(self.cluster)
        if self.config is not None and kind != "slurm":
            raise InputError("--cluster-config needs --cluster slurm")
        if kind == "local":
            return hosts.local_cluster(n_workers, settings, dashboard=self.dashboard)
        if kind == "slurm":
            return slurm_cluster(self.config, settings, certificates, dashboard=self.dashboard)
        return hosts.running_cluster(self.cluster, certificates, insecure=self.insecure)


@dataclass(frozen=True)
class ClusterJob:
    """A search that runs in units: location (path or URL) and manifest of the database, search and queries."""

    location: str
    manifest: Manifest
    spec: SearchSpec
    queries: Records

    @property
    def n_strands(self) -> int:
        """How many strands of each target are searched."""
        return 2 if self.manifest.alphabet.is_nucleotide and self.spec.options.strand == "both" else 1

    def whole_targets(self, ordinals: NDArray[np.int64]) -> list[NDArray[np.uint8]]:
        """The codes of whole targets, given their ordinals; segments at a URL are fetched."""
        from exaln.database.gather import whole_targets

        return whole_targets(self._database, ordinals)

    @cached_property
    def _database(self) -> LocatedTargets:
        from exaln.cluster.database_source import FetchedTargets, is_url
        from exaln.database.database import Database

        return FetchedTargets(self.location, self.manifest) if is_url(self.location) else Database.open(self.location)

    def results(self, groups: Sequence[Group], store: Store | None) -> GroupResults:
        """The collector of the hits of units."""
        from exaln.cluster.groups import GroupResults

        return GroupResults(groups, self.manifest, self.spec, self.queries, store)


UnitsProgress = ClusterProgress | MergeProgress | SearchProgress


def search_in_units(
    messages: Messages, job: ClusterJob, cluster: ClusterOptions, engine: options.EngineOptions, report: ReportOutput
) -> None:
    """Run a search on a cluster, or print the plan; without --cluster, run it in this process."""
    from exaln.cluster.unit_search import Settings
    from exaln.cluster.unit_store import Store
    from exaln.search.evaluation import origin_note

    messages.notes(filter(None, [origin_note(job.spec.scoring, job.spec.evaluator.statistics)]))
    settings = Settings(engine.name, engine.threads, engine.devices, engine.gpu_memory)
    starting = None if cluster.cluster is None else cluster.start(settings)
    with nullcontext(None) if cluster.resume is None else Store(cluster.resume, job.spec, job.queries) as store:
        if store is not None and store.is_finished:
            _report_finished(messages, job, store, report, plan_only=cluster.plan)
        elif starting is not None:
            _search_on_cluster(messages, job, starting, store, report, plan_only=cluster.plan)
        else:
            assert store is not None
            _search_here(messages, job, settings, store, report)


def _report_finished(
    messages: Messages, job: ClusterJob, store: Store, report: ReportOutput, *, plan_only: bool
) -> None:
    """Write the report from the folder of a finished search."""
    from exaln.cluster.units import groups_between

    if plan_only:
        click.echo(f"plan: nothing is left to search; all results are in {store.folder}")
        return
    groups = groups_between(store.edges or [0], job.queries.lengths, job.n_strands)
    shown = messages.shows_progress and not report.on_screen
    with MergeProgress(shown=shown, total=len(job.queries)) as work:
        notes = _write(job, job.results(groups, store).ready(), work, report)
    notes.tell(messages)
    messages.note(f"{work.counted_hits()} in {work.spent(f'all from {store.folder}')}")


def _search_here(messages: Messages, job: ClusterJob, settings: Settings, store: Store, report: ReportOutput) -> None:
    from exaln.cluster.local_search import LocalSearch
    from exaln.cluster.unit_search import Resources, measured_speed

    resources = Resources(settings)
    speed = measured_speed(resources.engine)
    messages.detail(f"{job.spec.scoring.describe()}; {resources.engine.describe()}")
    plan = _plan(job, [speed], store)
    pool, results = plan.pool(), job.results(plan.groups, store)
    with SearchProgress(shown=messages.shows_progress and not report.on_screen, total=pool.cells_left) as work:
        search = LocalSearch(resources, job.spec, job.location, job.queries, pool, results, store, speed, work)
        notes = _write(job, search.run(), work, report)
    notes.tell(messages)
    messages.details(resources.engine.scan_report())
    messages.note(f"{work.counted_hits()} in {work.spent(resources.engine.describe())}")


def _search_on_cluster(
    messages: Messages,
    job: ClusterJob,
    starting: AbstractContextManager[Cluster],
    store: Store | None,
    report: ReportOutput,
    *,
    plan_only: bool,
) -> None:
    from exaln.cluster.dask_search import ClusterSearch
    from exaln.cluster.workers import Workers

    with starting as cluster:
        if cluster.dashboard and not plan_only:
            messages.note(f"dashboard: {cluster.dashboard}")
        workers = Workers(cluster)
        present = workers.wait(cluster.n_expected)
        plan = _plan(job, [worker.speed for worker in present], store)
        for line in plan.lines([worker.engine for worker in present]):
            (click.echo if plan_only else messages.note)(f"plan: {line}")
        if plan_only:
            return
        pool, results = plan.pool(), job.results(plan.groups, store)
        with ClusterProgress(shown=messages.shows_progress and not report.on_screen, total=pool.cells_left) as work:
            search = ClusterSearch(workers, job.spec, job.location, job.queries, pool, results, store, work.changed)
            notes = _write(job, search.run(), work, report)
    notes.tell(messages)
    messages.details(worker.describe() for worker in [*workers.present.values(), *workers.gone] if worker.n_units)
    messages.note(f"{work.counted_hits()} in {work.spent(cluster.name)}")


def _plan(job: ClusterJob, speeds: Sequence[float], store: Store | None) -> Plan:
    from exaln.cluster.division import Plan
    from exaln.cluster.units import chunks_of

    edges, done = (None, []) if store is None else (store.edges, store.units)
    plan = Plan.of(chunks_of(job.manifest), job.queries.lengths, job.n_strands, speeds, edges=edges, done=done)
    if store is not None:
        store.edges = plan.edges
    return plan


def _write(job: ClusterJob, hits: Iterator[QueryHits], work: UnitsProgress, report: ReportOutput) -> HitNotes:
    """Write the report; returns the notes on the hits, to be printed after the progress bar."""
    notes = HitNotes(job.spec.options, job.spec.evaluator)
    counted = counted_hits(_with_qualities(hits, job.queries), work)
    report.write(work.ends_before(notes.among(counted), report.out), job.spec, job.whole_targets)
    return notes


def counted_hits(hits: Iterator[QueryHits], work: FoundHits) -> Iterator[QueryHits]:
    """Yield the hits unchanged, adding their number to the progress bar."""
    for query_hits in hits:
        work.found(query_hits.n_targets, len(query_hits))
        yield query_hits


def one_database(databases: Sequence[str]) -> str:
    """The database of --db; InputError if there are several, since workers open only one."""
    if len(databases) > 1:
        raise InputError(
            "--cluster and --resume search one database; combine them with exaln makedb, or search with --shard"
        )
    return databases[0]


def _with_qualities(hits: Iterator[QueryHits], queries: Records) -> Iterator[QueryHits]:
    """The hits with the base qualities of their queries, which workers do not send."""
    if queries.qualities is None:
        return hits
    return (replace(one, query_quality=queries.quality(one.index)) for one in hits)


def open_job(
    query: str,
    database: str,
    alphabet: Alphabet | None,
    chosen: dict[str, Any],
    make_options: Callable[[dict[str, Any], Database | None], SearchOptions],
    reading: dict[str, Any],
) -> ClusterJob:
    """The job of a search in units: reads all queries, and only the manifest of the database.

    reading: strip_gaps and max_record_size of sequence files.
    """
    from exaln.cluster.database_source import is_url, manifest_at
    from exaln.search.evaluation import simulated_for
    from exaln.search.spec import SearchSpec
    from exaln.sequences.fasta import read_records

    opened = None if is_url(database) else options.open_searched([database], alphabet, **reading)
    if opened is not None and opened.path is None:
        raise InputError("--cluster and --resume need a database, not a sequence file; build one with exaln makedb")
    manifest = manifest_at(database) if opened is None else opened.manifest
    location = database if opened is None else str(Path(opened.path or "").resolve())
    chosen = options.with_preset(chosen, manifest.alphabet)
    scoring = options.make_scoring(manifest.alphabet, chosen)
    chosen_options = make_options(chosen, opened)
    masks = chosen_options.masks
    masks.require_fit(manifest.alphabet)
    simulated = simulated_for(scoring, chosen_options, None)
    masked_options = replace(chosen_options, query_mask=masks.found.query_methods)
    spec = SearchSpec.of(database, manifest, scoring, masked_options, simulated)
    queries = read_records(query, alphabet=alphabet, like=manifest.alphabet, keep_qualities=True, **reading)
    return ClusterJob(location, manifest, spec, masks.with_found(queries))
