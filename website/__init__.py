"""Scripts that build the documentation's site from docs/: ``make site``."""
