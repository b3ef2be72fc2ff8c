"""Provides ``DbosEngine`` for ``ChatService(engine=…)``, so that another worker finishes the runs of a dead worker.

Needs the extra ``durable``.
"""

from stream_protocol.durable._dbos_engine import DbosEngine

__all__ = ["DbosEngine"]
