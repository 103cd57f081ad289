"""Scans of a database on GPUs: plans, batches and launches."""
