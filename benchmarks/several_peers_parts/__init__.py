"""The parts of several_peers.py: sequences, cases, programs and their reports, paths, and the comparison."""
