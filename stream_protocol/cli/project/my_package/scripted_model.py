"""Model for tests, and for starts without a key: a script with four replies."""

from google.adk.models.llm_request import LlmRequest
from google.genai.types import Part

from stream_protocol.testing import Call, ScriptedLlm, Turn

HELP = (
    "I am a script, not a model: set GOOGLE_API_KEY, and start me again. Until then I know four sentences: "
    "“Put milk on the list”, “What is on the list?”, “Clear the list” and “What is my time zone?”."
)


def scripted_model(*, delay: float = 0.0) -> ScriptedLlm:
    """Return the model. `delay`: seconds before each word."""
    return ScriptedLlm(model="a script", respond=_respond, delay=delay)


def _respond(request: LlmRequest) -> Turn:
    parts = (request.contents[-1].parts if request.contents else None) or []
    return _after_tool(parts) or _reply_to(" ".join(part.text or "" for part in parts))


def _after_tool(parts: list[Part]) -> Turn | None:
    for part in parts:
        if part.function_response is not None:
            response = part.function_response.response or {}
            if "error" in response:
                return "Nothing has changed."
            if "timeZone" in response:
                return f"It is {response['timeZone']}."
            items = ", ".join(response["items"])
            return f"On the list: {items}." if items else "The list is empty."
    return None


def _reply_to(text: str) -> Turn:
    lower = text.lower()
    if "clear" in lower:
        return Call("clear_list")
    if "time zone" in lower:
        return Call("get_time_zone")
    if "what" in lower:
        return Call("show_list")
    if lower.startswith("put ") and " on the list" in lower:
        return Call("add_item", {"item": text[len("put ") : lower.index(" on the list")]})
    return HELP
