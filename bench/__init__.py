"""The costs of the bridge: ``python -m bench`` (``make bench``). Nothing here is asserted; times are for reading."""
