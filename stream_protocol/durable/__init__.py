"""Provides ``DbosEngine`` for ``ChatService(engine=…)``: if a worker dies, another worker finishes its runs.

Needs the extra ``durable``.
"""

from stream_protocol.durable._dbos_engine import DbosEngine

__all__ = ["DbosEngine"]
