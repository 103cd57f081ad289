"""Searches beyond one machine: in shards without a scheduler, and in units on a Dask cluster.

Only `hosts`, `requirements`, `security`, `slurm`, `without_http` and `worker_process` import Dask.
"""
