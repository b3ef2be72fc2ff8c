"""The agent of ``adk-ui-stream demo``: a travel guide that shows each feature of the built-in page."""

from stream_protocol.demo._agent import demo_agent
from stream_protocol.demo._tour import SUGGESTIONS

__all__ = ["SUGGESTIONS", "demo_agent"]
