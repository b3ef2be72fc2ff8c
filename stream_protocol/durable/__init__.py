"""Runs that outlive their worker: ``DbosEngine``, for ``ChatService(engine=…)``. Needs the extra ``durable``."""

from stream_protocol.durable._dbos_engine import DbosEngine

__all__ = ["DbosEngine"]
