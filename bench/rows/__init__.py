"""One file a kind of work; each has `measure`, which answers rows for the table."""
