"""search --cluster and search --resume: the same report, computed in units, by the workers of a cluster or here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exaln.cli import options
from exaln.cli.hints import LongTargets
from exaln.cli.messages import Messages
from exaln.cli.report_output import ReportOutput
from exaln.errors import InputError
from exaln.foundation.progress import ClusterProgress, FoundHits, MergeProgress, SearchProgress

if TYPE_CHECKING:
    from exaln.alignments.query_hits import QueryHits
    from exaln.cluster.division import Plan
    from exaln.cluster.groups import GroupResults
    from exaln.cluster.hosts import Cluster
    from exaln.cluster.unit_search import Settings
    from exaln.cluster.unit_store import Store
    from exaln.cluster.units import Group
    from exaln.database.database import Database
    from exaln.database.manifest import Manifest
    from exaln.search.options import SearchOptions
    from exaln.search.spec import SearchSpec
    from exaln.sequences.alphabet import Alphabet
    from exaln.sequences.records import Records


@dataclass(frozen=True)
class ClusterOptions:
    """--cluster and what goes with it."""

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
        """Takes them out of the options of a command."""
        names = ("cluster", "plan", "resume", "dashboard", "insecure", "tls_ca", "tls_cert", "tls_key")
        given = {name: chosen.pop(name) for name in names}
        found = ClusterOptions(config=chosen.pop("cluster_config"), **given)
        only_clusters = [value for name, value in given.items() if name != "resume"]
        if found.cluster is None and any(value for value in (found.config, *only_clusters)):
            raise InputError("--plan, --dashboard, --cluster-config, --insecure and --tls-... go with --cluster")
        return found

    @property
    def in_units(self) -> bool:
        """Whether the search is done in units: on a cluster, or here with --resume."""
        return self.cluster is not None or self.resume is not None

    def require_no_shard(self, shard: str | None) -> None:
        """InputError if a shard is asked for as well."""
        if shard is not None and self.in_units:
            what = "a cluster" if self.cluster is not None else "--resume"
            raise InputError(f"--shard is for searches without {what}; choose one of the two")

    def start(self, settings: Settings) -> AbstractContextManager[Cluster]:
        """The cluster that is meant."""
        from exaln.cluster import hosts
        from exaln.cluster.security import Certificates
        from exaln.cluster.slurm import slurm_cluster

        assert self.cluster is not None
        certificates = Certificates.of(self.tls_ca, self.tls_cert, self.tls_key)
        kind, n_workers = hosts.parse_cluster(self.cluster)
        if self.config is not None and kind != "slurm":
            raise InputError("--cluster-config goes with --cluster slurm")
        if kind == "local":
            return hosts.local_cluster(n_workers, settings, dashboard=self.dashboard)
        if kind == "slurm":
            return slurm_cluster(self.config, settings, certificates, dashboard=self.dashboard)
        return hosts.running_cluster(self.cluster, certificates, insecure=self.insecure)


@dataclass(frozen=True)
class ClusterJob:
    """A search that is to run in units: where the database is, what is wanted, and the queries."""

    location: str
    manifest: Manifest
    spec: SearchSpec
    queries: Records

    @property
    def n_strands(self) -> int:
        """How often each query is compared with the database."""
        return 2 if self.manifest.alphabet.is_nucleotide and self.spec.options.strand == "both" else 1

    def results(self, groups: Sequence[Group], store: Store | None) -> GroupResults:
        """Where the hits of units are collected."""
        from exaln.cluster.groups import GroupResults

        return GroupResults(groups, self.manifest, self.spec, self.queries, store)


UnitsProgress = ClusterProgress | MergeProgress | SearchProgress
WorkerSettings = tuple[str, int | None, tuple[int, ...] | None, int | None]
"""Engine, threads, devices and GPU memory, of workers that are started or of this process."""


def search_in_units(
    messages: Messages, job: ClusterJob, wish: ClusterOptions, settings: WorkerSettings, report: ReportOutput
) -> None:
    """Run a search on a cluster, or print the plan; without a cluster, in this process."""
    from exaln.cluster.unit_search import Settings
    from exaln.cluster.unit_store import Store

    cluster = None if wish.cluster is None else wish.start(Settings(*settings))  # starts when it is entered
    with nullcontext(None) if wish.resume is None else Store(wish.resume, job.spec, job.queries) as store:
        if store is not None and store.is_finished:
            _report_finished(messages, job, store, wish, report)
        elif cluster is not None:
            _search_on_cluster(messages, job, wish, cluster, store, report)
        else:
            assert store is not None
            _search_here(messages, job, Settings(*settings), store, report)


def _report_finished(
    messages: Messages, job: ClusterJob, store: Store, wish: ClusterOptions, report: ReportOutput
) -> None:
    """Nothing is left to search: the report comes from the folder."""
    from exaln.cluster.units import groups_between

    if wish.plan:
        click.echo(f"plan: nothing is left to search, all of it is in {store.folder}")
        return
    groups = groups_between(store.edges or [0], job.queries.lengths, job.n_strands)
    shown = messages.shows_progress and not report.on_screen
    with MergeProgress(shown=shown, total=len(job.queries)) as work:
        long_targets = _write(job, job.results(groups, store).ready(), work, report)
    long_targets.tell(messages)
    messages.note(f"{work.counted_hits()} in {work.spent(f'all of it from {store.folder}')}")


def _search_here(messages: Messages, job: ClusterJob, settings: Settings, store: Store, report: ReportOutput) -> None:
    from exaln.cluster.local_search import LocalSearch
    from exaln.cluster.unit_search import Held, measured_speed

    held = Held(settings)
    speed = measured_speed(held.engine)
    messages.detail(f"{job.spec.scoring.describe()}; {held.engine.describe()}")
    plan = _plan(job, [speed], store)
    pool, results = plan.pool(), job.results(plan.groups, store)
    with SearchProgress(shown=messages.shows_progress and not report.on_screen, total=pool.cells_left) as work:
        search = LocalSearch(held, job.spec, job.location, job.queries, pool, results, store, speed, work)
        long_targets = _write(job, search.run(), work, report)
    long_targets.tell(messages)
    messages.details(held.engine.scan_report())
    messages.note(f"{work.counted_hits()} in {work.spent(held.engine.describe())}")


def _search_on_cluster(
    messages: Messages,
    job: ClusterJob,
    wish: ClusterOptions,
    starting: AbstractContextManager[Cluster],
    store: Store | None,
    report: ReportOutput,
) -> None:
    from exaln.cluster.dask_search import ClusterSearch
    from exaln.cluster.workers import Crew

    with starting as cluster:
        if cluster.dashboard and not wish.plan:
            messages.note(f"dashboard: {cluster.dashboard}")
        crew = Crew(cluster)
        workers = crew.wait(cluster.n_expected)
        plan = _plan(job, [worker.speed for worker in workers], store)
        for line in plan.lines([worker.engine for worker in workers]):
            (click.echo if wish.plan else messages.note)(f"plan: {line}")
        if wish.plan:
            return
        pool, results = plan.pool(), job.results(plan.groups, store)
        with ClusterProgress(shown=messages.shows_progress and not report.on_screen, total=pool.cells_left) as work:
            search = ClusterSearch(crew, job.spec, job.location, job.queries, pool, results, store, work.changed)
            long_targets = _write(job, search.run(), work, report)
    long_targets.tell(messages)
    messages.details(worker.describe() for worker in [*crew.workers.values(), *crew.gone] if worker.n_units)
    messages.note(f"{work.counted_hits()} in {work.spent(cluster.name)}")


def _plan(job: ClusterJob, speeds: Sequence[float], store: Store | None) -> Plan:
    from exaln.cluster.division import Plan
    from exaln.cluster.units import chunks_of

    edges, done = (None, []) if store is None else (store.edges, store.units)
    plan = Plan.of(chunks_of(job.manifest), job.queries.lengths, job.n_strands, speeds, edges=edges, done=done)
    if store is not None:
        store.edges = plan.edges
    return plan


def _write(job: ClusterJob, hits: Iterator[QueryHits], work: UnitsProgress, report: ReportOutput) -> LongTargets:
    """Write the report; returns what there is to say of long targets when the progress bar is gone."""
    long_targets = LongTargets()
    counted = _counted(_with_qualities(hits, job.queries), work)
    report.write(work.ends_before(long_targets.among(counted), report.out), job.spec)
    return long_targets


def _counted(hits: Iterator[QueryHits], work: FoundHits) -> Iterator[QueryHits]:
    for query_hits in hits:
        work.found(len(query_hits))
        yield query_hits


def one_database(databases: Sequence[str]) -> str:
    """The database of --db; workers open no more than one."""
    if len(databases) > 1:
        raise InputError(
            "--cluster and --resume search one database; build one of all with exaln makedb, or search with --shard"
        )
    return databases[0]


def _with_qualities(hits: Iterator[QueryHits], queries: Records) -> Iterator[QueryHits]:
    """The hits with the base qualities of their queries, which workers do not need."""
    if queries.qualities is None:
        return hits
    return (replace(one, query_quality=queries.quality(one.index)) for one in hits)


def open_job(
    query: str,
    database: str,
    alphabet: Alphabet | None,
    chosen: dict[str, Any],
    make_options: Callable[[Database | None], SearchOptions],
    reading: dict[str, Any],
) -> ClusterJob:
    """The database, of which only the manifest is read here, and all queries.

    reading: how sequence files are read.
    """
    from exaln.cluster.database_source import is_url, manifest_at
    from exaln.search.evaluation import warn_without_statistics
    from exaln.search.spec import SearchSpec
    from exaln.sequences.fasta import read_records

    opened = None if is_url(database) else options.open_searched([database], alphabet, **reading)
    if opened is not None and opened.path is None:
        raise InputError("--cluster and --resume need a database, not a sequence file; build one with exaln makedb")
    manifest = manifest_at(database) if opened is None else opened.manifest
    location = database if opened is None else str(Path(opened.path or "").resolve())
    scoring = options.make_scoring(manifest.alphabet, chosen)
    spec = SearchSpec.of(database, manifest, scoring, make_options(opened))
    if spec.evaluator.statistics is None:
        warn_without_statistics(scoring)
    queries = read_records(query, alphabet=alphabet, like=manifest.alphabet, keep_qualities=True, **reading)
    return ClusterJob(location, manifest, spec, queries)
