"""Tools that the model's provider runs: code execution, and tools of Google's servers. Their parts come whole."""

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from google.genai.types import Part

CODE_EXECUTION = "code_execution"
"""Name of the provider-executed tool that stands for code which the model's provider or ADK runs."""


class ProviderCall(NamedTuple):
    """A call that the provider has run."""

    id: str | None
    name: str
    input: Any


class ProviderResult(NamedTuple):
    """The result of such a call."""

    id: str | None
    name: str
    output: Any


def provider_part(part: "Part") -> ProviderCall | ProviderResult | None:
    """The call or the result that a part holds; ``None`` for any other part."""
    if (code := part.executable_code) is not None:
        value = {"language": code.language.value if code.language else None, "code": code.code}
        return ProviderCall(code.id, CODE_EXECUTION, value)
    if (result := part.code_execution_result) is not None:
        output = {"outcome": result.outcome.value if result.outcome else None, "output": result.output}
        return ProviderResult(result.id, CODE_EXECUTION, output)
    if (call := part.tool_call) is not None:
        return ProviderCall(call.id, _server_tool(call.tool_type), call.args or {})
    if (response := part.tool_response) is not None:
        return ProviderResult(response.id, _server_tool(response.tool_type), response.response)
    return None


def _server_tool(tool_type: Any) -> str:
    return str(tool_type.value).lower() if tool_type is not None else "server_tool"
