"""Holds answers against JSON schemas that a model wrote, in a bounded number of steps."""

from stream_protocol.session.schemas._budget import Budget, TooMuchWorkError
from stream_protocol.session.schemas._check import first_misfit

__all__ = ["Budget", "TooMuchWorkError", "first_misfit"]
