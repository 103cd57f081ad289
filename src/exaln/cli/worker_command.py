"""The command worker: one process of a Dask cluster that searches for a scheduler."""

from __future__ import annotations

import click

from exaln.cli import options
from exaln.cli.command import Command
from exaln.cli.messages import Messages, pass_messages


@click.command(
    cls=Command, example="exaln worker tls://node1:8786 --device 0 --tls-ca ca.pem --tls-cert w.pem --tls-key w.key"
)
@click.argument("scheduler", metavar="SCHEDULER")
@options.engine_name
@click.option("--device", type=click.IntRange(min=0), metavar="N", help="Use only this GPU. [default: all]")
@options.gpu_memory
@options.threads
@click.option("--cache", metavar="DIR", help="Copy database segments to this folder. [default: only from URLs]")
@click.option("--host", metavar="ADDRESS", help="Address of this machine for the others. [default: detected]")
@click.option("--name", metavar="NAME", help="Name on the dashboard.")
@options.dashboard
@options.certificates
@pass_messages
def worker(
    messages: Messages,
    /,
    scheduler: str,
    engine: str,
    device: int | None,
    gpu_memory: int | None,
    threads: int | None,
    cache: str | None,
    host: str | None,
    name: str | None,
    dashboard: bool,
    tls_ca: str | None,
    tls_cert: str | None,
    tls_key: str | None,
    insecure: bool,
) -> None:
    """Work for a Dask scheduler until it ends: SCHEDULER is its address or its scheduler file.

    Start one worker per GPU, or one per machine without GPUs. A worker waits up to a minute for the scheduler file.
    """
    from exaln.cluster.security import Certificates
    from exaln.cluster.unit_search import Settings
    from exaln.cluster.worker_process import awaited_scheduler, serve

    messages.note(f"working for {scheduler} until it ends")
    address = awaited_scheduler(scheduler)
    certificates = Certificates.of(tls_ca, tls_cert, tls_key)
    devices = None if device is None else (device,)
    settings = Settings(engine, threads, devices, gpu_memory, cache)
    serve(address, settings, certificates, name=name, host=host, insecure=insecure, dashboard=dashboard)
