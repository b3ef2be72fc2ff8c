"""Provides ``DbosEngine``, for ``ChatService(engine=…)``. If a worker dies, another worker finishes the runs of the
dead worker. Needs the extra ``durable``."""

from stream_protocol.durable._dbos_engine import DbosEngine

__all__ = ["DbosEngine"]
