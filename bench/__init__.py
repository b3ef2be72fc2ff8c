"""Benchmarks of the package: ``python -m bench`` (``make bench``). They assert nothing, and only print times."""
