"""search --cluster: the same report, computed by the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exaln.cli import options
from exaln.cli.hints import LongTargets
from exaln.cli.messages import Messages
from exaln.cli.report_output import ReportOutput
from exaln.errors import InputError
from exaln.progress import ClusterProgress

if TYPE_CHECKING:
    from exaln.alphabet import Alphabet
    from exaln.cluster.hosts import Cluster
    from exaln.cluster.plan import Plan
    from exaln.cluster.spec import SearchSpec
    from exaln.cluster.store import Store
    from exaln.cluster.work import Settings
    from exaln.database import Database
    from exaln.database.manifest import Manifest
    from exaln.judge import SearchOptions
    from exaln.query_hits import QueryHits
    from exaln.records import Records


@dataclass(frozen=True)
class ClusterOptions:
    """--cluster and what goes with it."""

    cluster: str | None
    config: str | None
    plan: bool
    resume: str | None
    insecure: bool
    tls_ca: str | None
    tls_cert: str | None
    tls_key: str | None

    @staticmethod
    def taken_from(chosen: dict[str, Any]) -> ClusterOptions:
        """Takes them out of the options of a command."""
        names = ("cluster", "plan", "resume", "insecure", "tls_ca", "tls_cert", "tls_key")
        given = {name: chosen.pop(name) for name in names}
        found = ClusterOptions(config=chosen.pop("cluster_config"), **given)
        if found.cluster is None and any(value for value in (found.config, *given.values())):
            raise InputError("--plan, --resume, --cluster-config, --insecure and --tls-... go with --cluster")
        return found

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
            return hosts.local_cluster(n_workers, settings)
        if kind == "slurm":
            return slurm_cluster(self.config, settings, certificates)
        return hosts.running_cluster(self.cluster, certificates, insecure=self.insecure)


@dataclass(frozen=True)
class ClusterJob:
    """A search that is to run on a cluster: where the database is, what is wanted, and the queries."""

    location: str
    manifest: Manifest
    spec: SearchSpec
    queries: Records

    @property
    def n_strands(self) -> int:
        """How often each query is compared with the database."""
        return 2 if self.manifest.alphabet.is_nucleotide and self.spec.options.strand == "both" else 1


def search_on_cluster(
    messages: Messages,
    job: ClusterJob,
    wish: ClusterOptions,
    settings: tuple[str, int | None, tuple[int, ...] | None, int | None],
    report: ReportOutput,
) -> None:
    """Run it, or print the plan. settings: engine, threads, devices and GPU memory of workers that are started."""
    from exaln.cluster.crew import Crew
    from exaln.cluster.run import ClusterSearch
    from exaln.cluster.store import Store
    from exaln.cluster.work import Settings

    store = None if wish.resume is None else Store(wish.resume, job.spec, job.queries)
    with wish.start(Settings(*settings)) as cluster:
        if cluster.dashboard and not wish.plan:
            messages.note(f"dashboard: {cluster.dashboard}")
        crew = Crew(cluster)
        workers = crew.wait(cluster.n_expected)
        plan = _plan(job, [worker.speed for worker in workers], store)
        for line in plan.lines([worker.engine for worker in workers]):
            (click.echo if wish.plan else messages.note)(f"plan: {line}")
        if wish.plan:
            return
        pool, long_targets = plan.pool(), LongTargets()
        with ClusterProgress(shown=messages.shows_progress and not report.on_screen, total=pool.cells_left) as work:
            search = ClusterSearch(crew, job.spec, job.location, job.queries, pool, store, work.changed)
            hits = _with_qualities(search.run(), job.queries)
            report.write(work.ends_before(long_targets.among(_counted(hits, work)), report.out), job.spec)
    long_targets.tell(messages)
    messages.details(worker.describe() for worker in [*crew.workers.values(), *crew.gone] if worker.n_units)
    messages.note(f"{work.counted_hits()} in {work.spent(cluster.name)}")


def _plan(job: ClusterJob, speeds: Sequence[float], store: Store | None) -> Plan:
    from exaln.cluster.plan import Plan
    from exaln.cluster.units import chunks_of

    edges, done = (None, []) if store is None else (store.edges, store.units)
    plan = Plan.of(chunks_of(job.manifest), job.queries.lengths, job.n_strands, speeds, edges=edges, done=done)
    if store is not None:
        store.edges = plan.edges
    return plan


def _counted(hits: Iterator[QueryHits], work: ClusterProgress) -> Iterator[QueryHits]:
    for query_hits in hits:
        work.found(len(query_hits))
        yield query_hits


def one_database(databases: Sequence[str]) -> str:
    """The database of --db; workers open no more than one."""
    if len(databases) > 1:
        raise InputError("--cluster searches one database; build one of all with exaln makedb, or search with --shard")
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
    """The database, of which nobody reads more than the manifest here, and all queries.

    reading: how sequence files are read.
    """
    from exaln.cluster.source import is_url, manifest_at
    from exaln.cluster.spec import SearchSpec
    from exaln.fasta import read_records
    from exaln.judge import warn_without_statistics

    opened = None if is_url(database) else options.open_searched([database], alphabet, **reading)
    if opened is not None and opened.path is None:
        raise InputError("--cluster needs a database, not a sequence file; build one with exaln makedb")
    manifest = manifest_at(database) if opened is None else opened.manifest
    location = database if opened is None else str(Path(opened.path or "").resolve())
    scoring = options.make_scoring(manifest.alphabet, chosen)
    spec = SearchSpec.of(database, manifest, scoring, make_options(opened))
    if spec.judge.statistics is None:
        warn_without_statistics(scoring)
    queries = read_records(query, alphabet=alphabet, like=manifest.alphabet, keep_qualities=True, **reading)
    return ClusterJob(location, manifest, spec, queries)
