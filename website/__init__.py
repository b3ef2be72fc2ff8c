"""What makes the documentation's site of docs/: ``make site``."""
