"""Exact Smith-Waterman search and alignment at the speed of the hardware."""

__version__ = "0.1.0"
