"""One file per benchmark. Each has `measure`, which returns rows for the table."""
