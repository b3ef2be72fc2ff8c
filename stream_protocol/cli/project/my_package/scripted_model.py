"""A model with four scripted replies, for tests and for starts without a key."""

import re

from google.adk.models.llm_request import LlmRequest
from google.genai.types import Part

from stream_protocol.testing import Call, ScriptedLlm, Turn

HELP = (
    "I am a script, not a model: set GOOGLE_API_KEY, and start me again. Until then I know four sentences: "
    "“Put milk and tea on my list”, “What is on my list?”, “Clear my list” and “What is my time zone?”."
)


def scripted_model(*, delay: float = 0.0) -> ScriptedLlm:
    """Return the model. `delay`: the number of seconds before each word."""
    return ScriptedLlm(respond=_respond, delay=delay)


def _respond(request: LlmRequest) -> Turn:
    parts = (request.contents[-1].parts if request.contents else None) or []
    return _after_tools(parts) or _reply_to(" ".join(part.text or "" for part in parts))


def _after_tools(parts: list[Part]) -> Turn | None:
    responses = [part.function_response.response or {} for part in parts if part.function_response]
    if not responses:
        return None
    response = responses[-1]
    if "error" in response:
        return "Nothing has changed."
    if "timeZone" in response:
        return f"Your time zone is {response['timeZone']}."
    items = ", ".join(response["items"])
    return f"On the list: {items}." if items else "The list is empty."


def _reply_to(text: str) -> Turn:
    if re.search(r"\btime\b", text, re.IGNORECASE):
        return Call("get_time_zone")
    if re.search(r"\bclear\b", text, re.IGNORECASE):
        return Call("clear_list")
    if named := re.search(r"\b(?:put|add) (.+) (?:on|to) (?:the|my) list\b", text, re.IGNORECASE):
        return [Call("add_item", {"item": item}) for item in re.split(r",? and |, ?", named[1])]
    if re.search(r"\b(?:what|show)\b.*\blist\b", text, re.IGNORECASE):
        return Call("show_list")
    return HELP
