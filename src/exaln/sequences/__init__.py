"""Letters, records and files of sequences, and whatever users may pass as sequences."""
