"""Statistics by simulation: random sequences, their best scores on an engine, and the parameters of E-values."""
