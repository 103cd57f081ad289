"""Masks: stretches of low complexity and repeats, as found by SEG, SDUST and tantan."""
