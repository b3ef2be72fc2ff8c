"""What ``plan`` decided -> the content and the run config that ADK is given."""

from typing import Final

from google.adk.agents.run_config import RunConfig, StreamingMode, ToolThreadPoolConfig
from google.genai import types

from stream_protocol.conversation.metadata import METADATA_KEY
from stream_protocol.conversation.parts import said_part
from stream_protocol.conversation.turn import Answers, NewText

TOOL_THREADS: Final = 32
"""Threads for plain ``def`` tools, of all chats together. With ADK's default of 4, four slow tools stall all."""


def default_run_config() -> RunConfig:
    """Streams token by token, and runs plain ``def`` tools in threads, since one would block every chat otherwise."""
    return RunConfig(
        streaming_mode=StreamingMode.SSE,
        tool_thread_pool_config=ToolThreadPoolConfig(max_workers=TOOL_THREADS),
    )


def user_content(turn: NewText | Answers) -> types.Content:
    """The user's words and files, or the answers to the agent's calls; ADK takes no mixture of the two."""
    match turn:
        case NewText():
            parts = [said_part(said) for said in turn.texts_and_files]
        case Answers():
            parts = [
                types.Part(
                    function_response=types.FunctionResponse(id=answer.id, name=answer.name, response=answer.response)
                )
                for answer in turn.answers
            ]
    return types.Content(role="user", parts=parts)


def run_config_for(turn: NewText | Answers, base: RunConfig) -> RunConfig:
    """``base`` with what only the client knows of this turn, for the stored event to remember."""
    match turn:
        case NewText():
            known: dict[str, object] = {"message_id": turn.client_message_id}
        case Answers():
            known = {"reasons": turn.reasons} if turn.reasons else {}
    if not known:
        return base
    return base.model_copy(update={"custom_metadata": {**(base.custom_metadata or {}), METADATA_KEY: known}})
