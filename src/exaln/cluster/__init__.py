"""Searches beyond one machine: in shards without a scheduler, and on a Dask cluster.

Dask itself is imported in `exaln.cluster.dask_search`, `hosts`, `worker`, `slurm` and `without_http` alone.
"""
