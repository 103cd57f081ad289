"""One pair of any size over the whole machine: its score, and its path in memory that grows with its length."""
