"""Alphabets, sequence records, sequence files, and whatever users may pass as sequences."""
