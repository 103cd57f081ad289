"""Parts of benchmarks/sensitivity.py: the measure, the programs and the figure."""
