"""Media, code, tools that the provider runs: parts that come whole, also in a stream."""

from typing import TYPE_CHECKING, Any

from stream_protocol.convert._media import write_media
from stream_protocol.convert._options import Settings
from stream_protocol.convert._speakers import Speaker
from stream_protocol.convert._tool_chunks import ToolCalls
from stream_protocol.convert._warnings import WarnOnce
from stream_protocol.convert.calls import CallRegistry
from stream_protocol.wire import Sink

if TYPE_CHECKING:
    from google.adk.events import Event
    from google.genai.types import Part

CODE_EXECUTION = "code_execution"
"""Name of the provider-executed tool that stands for code which the model's provider or ADK runs."""


class WholeParts:
    """Writes them."""

    def __init__(
        self, sink: Sink[Any], settings: Settings, *, registry: CallRegistry, tools: ToolCalls, warn: WarnOnce
    ) -> None:
        self._sink = sink
        self._settings = settings
        self._registry = registry
        self._tools = tools
        self._warn = warn

    def take(self, speaker: Speaker, part: "Part", event: "Event | None") -> None:
        """A part of this complete event; of a fragment where that is ``None``, whose actions are not its own yet."""
        if is_media(part):
            speaker.close()
            self._tools.enter(speaker)
            write_media(self._sink, part, event, self._settings.artifact_url)
        elif (code := part.executable_code) is not None:
            value = {"language": code.language.value if code.language else None, "code": code.code}
            self._tools.run_by_provider(speaker, code.id, CODE_EXECUTION, value)
        elif (result := part.code_execution_result) is not None:
            output = {"outcome": result.outcome.value if result.outcome else None, "output": result.output}
            self._answer(speaker, result.id, CODE_EXECUTION, output)
        elif (server_call := part.tool_call) is not None:
            name = _server_tool(server_call.tool_type)
            self._tools.run_by_provider(speaker, server_call.id, name, server_call.args or {})
        elif (server_response := part.tool_response) is not None:
            name = _server_tool(server_response.tool_type)
            self._answer(speaker, server_response.id, name, server_response.response)
        elif not part.thought_signature:
            self._warn(f"Skipped a part with {other_kind(part) or 'nothing in it'}")

    def _answer(self, speaker: Speaker, adk_id: str | None, name: str, output: Any) -> None:
        call = self._registry.answered_by(adk_id, name, speaker.known)
        if call is not None:
            self._tools.add_result(call, output)


def is_media(part: "Part") -> bool:
    """Whether the part is a file."""
    return part.inline_data is not None or part.file_data is not None


def other_kind(part: "Part") -> str:
    """Names what a part holds besides text."""
    return ", ".join(name for name, value in part if value is not None and name not in {"thought", "thought_signature"})


def _server_tool(tool_type: Any) -> str:
    return str(tool_type.value).lower() if tool_type is not None else "server_tool"
