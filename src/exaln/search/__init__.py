"""Queries against a database: the search pipeline, its options, filters and ranking."""
