"""One long pair, computed region by region over the whole machine, in memory that grows linearly with its length."""
