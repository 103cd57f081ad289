"""Regions of one long pair on GPUs."""
