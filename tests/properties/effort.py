"""How long the property tests look for what they refute."""

import os


def examples(count: int) -> int:
    """``count``, or as many times that as ``PROPERTY_EFFORT`` says: ``PROPERTY_EFFORT=20 pytest tests/properties``."""
    return count * int(os.environ.get("PROPERTY_EFFORT", "1"))
