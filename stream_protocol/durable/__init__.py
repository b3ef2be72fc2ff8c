"""Runs that another worker finishes if their worker dies: ``DbosEngine``, for ``ChatService(engine=…)``.

Needs the extra ``durable``.
"""

from stream_protocol.durable._dbos_engine import DbosEngine

__all__ = ["DbosEngine"]
