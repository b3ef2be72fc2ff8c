"""The scripts that build the documentation's site from docs/: ``make site``."""
