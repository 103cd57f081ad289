"""Search of queries against a database: the pipeline, its options, filters and ranking."""
