"""Cores and memory available to this process, within the limits of cgroups, SLURM and CPU affinity."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

from exaln.errors import ExalnWarning, InputError
from exaln.foundation.plurals import number_of

CGROUP = Path("/sys/fs/cgroup")
THREADS_PER_CORE = 16
"""Upper limit for the number of threads per available core."""


def available_threads() -> int:
    """Number of cores this process may use: the least of affinity, cgroup quota and SLURM's allocation."""
    limits = [len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1]
    quota = _cgroup_cores()
    if quota is not None:
        limits.append(quota)
    slurm = os.environ.get("SLURM_CPUS_PER_TASK", "")
    if slurm.isdigit() and int(slurm) > 0:
        limits.append(int(slurm))
    return max(1, min(limits))


def usable_threads(requested: int | None) -> int:
    """Number of threads to use: `requested`, limited to THREADS_PER_CORE per core; None means one per core.

    A larger number would be slower and take minutes to start, so it is reduced with a warning. InputError below 1.
    """
    cores = available_threads()
    if requested is None:
        return cores
    if requested < 1:
        raise InputError(f"threads is {requested}; at least 1 is needed")
    most = THREADS_PER_CORE * cores
    if requested > most:
        warnings.warn(
            f"{number_of(requested, 'thread')} are too many for {number_of(cores, 'core')}; using {most}",
            ExalnWarning,
            stacklevel=3,
        )
    return min(requested, most)


def available_memory() -> int:
    """Bytes that can be allocated without swapping, within the cgroup's limit."""
    free = _meminfo_bytes("MemAvailable")
    limit, used = _read_number(CGROUP / "memory.max"), _read_number(CGROUP / "memory.current")
    if limit is not None and used is not None:
        free = min(free, max(0, limit - used + _reclaimable()))
    return free


def _cgroup_cores() -> int | None:
    fields = _read(CGROUP / "cpu.max").split()
    if len(fields) == 2 and fields[0].isdigit() and fields[1].isdigit():
        return max(1, -(-int(fields[0]) // int(fields[1])))
    return None


def _meminfo_bytes(name: str) -> int:
    for line in _read(Path("/proc/meminfo")).splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _reclaimable() -> int:
    """Bytes of page cache that count towards the cgroup's use and are freed on demand."""
    for line in _read(CGROUP / "memory.stat").splitlines():
        if line.startswith("inactive_file "):
            return int(line.split()[1])
    return 0


def _read_number(path: Path) -> int | None:
    text = _read(path).strip()
    return int(text) if text.isdigit() else None


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
