"""How ADK runs an agent where the app gives no ``RunConfig`` of its own."""

from typing import Final

from google.adk.agents.run_config import RunConfig, StreamingMode, ToolThreadPoolConfig

TOOL_THREADS: Final = 32
"""Threads for plain ``def`` tools, of all chats together. With ADK's default of 4, four slow tools stall all."""


def default_run_config() -> RunConfig:
    """Streams token by token, and runs plain ``def`` tools in threads, since one would block every chat otherwise."""
    return RunConfig(
        streaming_mode=StreamingMode.SSE,
        tool_thread_pool_config=ToolThreadPoolConfig(max_workers=TOOL_THREADS),
    )
