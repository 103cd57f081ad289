"""What this process may use: cores and memory, with the limits of cgroups, SLURM and CPU affinity."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

from exaln.errors import ExalnWarning, InputError
from exaln.foundation.plurals import number_of

CGROUP = Path("/sys/fs/cgroup")
THREADS_PER_CORE = 16
"""The most that may be asked for, of cores that this process may use."""


def available_threads() -> int:
    """Cores this process may use: affinity, cgroup quota and SLURM's allotment, whichever is least."""
    limits = [len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1]
    quota = _cgroup_cores()
    if quota is not None:
        limits.append(quota)
    slurm = os.environ.get("SLURM_CPUS_PER_TASK", "")
    if slurm.isdigit() and int(slurm) > 0:
        limits.append(int(slurm))
    return max(1, min(limits))


def usable_threads(wanted: int | None) -> int:
    """The threads to use: `wanted`, but at most THREADS_PER_CORE for each core; None: one for each core.

    More would only wait for each other, and take minutes to start; a warning says how many are used.
    """
    cores = available_threads()
    if wanted is None:
        return cores
    if wanted < 1:
        raise InputError(f"threads is {wanted}; at least 1 is needed")
    most = THREADS_PER_CORE * cores
    if wanted > most:
        warnings.warn(
            f"{number_of(wanted, 'thread')} are too many for {number_of(cores, 'core')}; {most} are used",
            ExalnWarning,
            stacklevel=3,
        )
    return min(wanted, most)


def available_memory() -> int:
    """Bytes that can still be allocated without swapping, within the cgroup's limit."""
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
    """Page cache that the cgroup is charged for, and gives back when asked."""
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
