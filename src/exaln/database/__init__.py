"""Databases: encoded sequences, sorted by length, in memory-mapped Arrow segments with a manifest."""
