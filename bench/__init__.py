"""Benchmarks of Roost beside its peers, measured in one run; see README.md."""
