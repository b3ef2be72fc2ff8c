"""What the bridge costs: ``python -m bench`` (``make bench``). Nothing here is asserted; times are for reading."""
