"""Bit scores and E-values, as pure arithmetic: nothing here calls an engine."""
