"""Reports of hits and alignments, one file per format; `writing` chooses the format."""
