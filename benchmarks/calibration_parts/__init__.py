"""Parts of benchmarks/calibration.py: cases, random sequences, expected counts and the figure."""
