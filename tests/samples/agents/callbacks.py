"""Samples of callbacks and plugins that reply instead of the model, change texts, and continue after an error."""

from typing import Any

from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.apps import App
from google.adk.events import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins import BasePlugin, ReflectAndRetryToolPlugin
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from stream_protocol.testing import Call
from tests.samples.agents.teams import LOOK, look
from tests.samples.sample import Sample, Turn, scripted


def content(text: str) -> types.Content:
    return types.ModelContent(text)


def response(text: str) -> LlmResponse:
    return LlmResponse(content=content(text))


def last_words(request: LlmRequest) -> str:
    return "".join(part.text or "" for part in request.contents[-1].parts or [])


def explode() -> None:
    """Raises."""
    raise RuntimeError("hunter2")


def before_model(_at: str) -> LlmAgent:
    """Callback that replies instead of the model."""

    def guard(callback_context: CallbackContext, llm_request: LlmRequest) -> LlmResponse | None:
        return response("I may not.") if "secret" in last_words(llm_request) else None

    return scripted("root", "One.", "Three.", before_model_callback=guard)


def before_model_calls(_at: str) -> LlmAgent:
    """Callback that replies with a tool call instead of the model."""

    def force(callback_context: CallbackContext, llm_request: LlmRequest) -> LlmResponse | None:
        if last_words(llm_request) != "two":
            return None
        call = types.Part.from_function_call(name="look", args={"city": "Bergen"})
        return LlmResponse(content=types.ModelContent([types.Part(text="Forced. "), call]))

    return scripted("root", "One.", "Rain.", "Three.", tools=[look], before_model_callback=force)


def after_model(_at: str) -> LlmAgent:
    """Callback that replaces a streamed reply."""

    def replace(callback_context: CallbackContext, llm_response: LlmResponse) -> LlmResponse | None:
        if llm_response.partial or not llm_response.content or not llm_response.content.parts:
            return None
        text = "".join(part.text or "" for part in llm_response.content.parts)
        return response("Something else.") if text == "Two." else None

    return scripted("root", "One.", "Two.", "Three.", after_model_callback=replace)


def after_model_adds(_at: str) -> LlmAgent:
    """Callback that adds a note to each reply."""

    def add(callback_context: CallbackContext, llm_response: LlmResponse) -> LlmResponse | None:
        if llm_response.partial or not llm_response.content:
            return None
        parts = [*(llm_response.content.parts or []), types.Part(text=" (No advice.)")]
        return llm_response.model_copy(update={"content": types.ModelContent(parts)})

    return scripted("root", "One.", LOOK, "Two.", "Three.", tools=[look], after_model_callback=add)


def before_tool(_at: str) -> LlmAgent:
    def instead(tool: BaseTool, args: dict[str, Any], tool_context: ToolContext) -> dict[str, Any] | None:
        return {"result": "from a cache"} if args["city"] == "Oslo" else None

    return scripted(
        "root",
        LOOK,
        "Sun.",
        Call("look", {"city": "Rome"}),
        "More.",
        [LOOK, LOOK],
        "Two.",
        tools=[look],
        before_tool_callback=instead,
    )


def after_tool(_at: str) -> LlmAgent:
    def shorten(
        tool: BaseTool, args: dict[str, Any], tool_context: ToolContext, tool_response: Any
    ) -> dict[str, Any] | None:
        return {"short": str(tool_response)[:3]}

    return scripted("root", LOOK, "Sun.", LOOK, "More.", "Bye.", tools=[look], after_tool_callback=shorten)


def tool_error(_at: str) -> LlmAgent:
    def mend(
        tool: BaseTool, args: dict[str, Any], tool_context: ToolContext, error: Exception
    ) -> dict[str, Any] | None:
        return {"error": "It broke."}

    return scripted(
        "root",
        Call("explode"),
        "Broken.",
        Call("unknown_tool"),
        "No such tool.",
        "Bye.",
        tools=[explode],
        on_tool_error_callback=mend,
    )


def model_error(_at: str) -> LlmAgent:
    """Callback that replies after a model error: before any text, and in the middle of a reply."""

    def fall_back(callback_context: CallbackContext, llm_request: LlmRequest, error: Exception) -> LlmResponse | None:
        return response("Sorry, later.")

    return scripted(
        "root",
        RuntimeError("hunter2"),
        ["Half an ans", RuntimeError("hunter2")],
        "Three.",
        on_model_error_callback=fall_back,
    )


def before_agent(_at: str) -> LlmAgent:
    def skip(callback_context: CallbackContext) -> types.Content | None:
        words = callback_context.user_content
        return content("Not now.") if words and words.parts and words.parts[0].text == "two" else None

    return scripted("root", "One.", "Three.", before_agent_callback=skip)


def after_agent(_at: str) -> LlmAgent:
    def sign(callback_context: CallbackContext) -> types.Content | None:
        return content(" Yours, root.")

    return scripted("root", "One.", LOOK, "Two.", "Three.", tools=[look], after_agent_callback=sign)


class Translator(BasePlugin):
    """Plugin that changes the user's message, and replies instead of one run."""

    def __init__(self) -> None:
        super().__init__("translator")

    async def on_user_message_callback(
        self, *, invocation_context: InvocationContext, user_message: types.Content
    ) -> types.Content | None:
        text = "".join(part.text or "" for part in user_message.parts or [])
        return types.UserContent(f"{text} (translated)") if text == "eins" else None

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> types.Content | None:
        words = invocation_context.user_content
        text = "".join(part.text or "" for part in words.parts or []) if words else ""
        return content("Closed today.") if text == "zwei" else None


class Stamp(BasePlugin):
    """Plugin that changes each event of a reply."""

    def __init__(self) -> None:
        super().__init__("stamp")

    async def on_event_callback(self, *, invocation_context: InvocationContext, event: Event) -> Event | None:
        if event.partial or not event.content or event.get_function_calls() or event.get_function_responses():
            return None
        return event.model_copy(update={"custom_metadata": {"stamp": 1}})


def translator(_at: str) -> App:
    return App(name="app", root_agent=scripted("root", "One.", "Three."), plugins=[Translator()])


def stamp(_at: str) -> App:
    root = scripted("root", "One.", LOOK, "Two.", "Three.", tools=[look])
    return App(name="app", root_agent=root, plugins=[Stamp()])


def reflect(_at: str) -> App:
    """Plugin that lets the model retry a failed tool."""
    tries = iter(range(10))

    def shaky() -> str:
        """Fails at first."""
        if next(tries) == 0:
            raise RuntimeError("hunter2")
        return "there"

    root = scripted("root", Call("shaky"), Call("shaky"), "There.", Call("shaky"), "Again.", "Bye.", tools=[shaky])
    return App(name="app", root_agent=root, plugins=[ReflectAndRetryToolPlugin()])


LOOKED = "look output-available"

SAMPLES = [
    Sample(
        "a guard before the model",
        before_model,
        [Turn("one", "One."), Turn("a secret", "I may not."), Turn("three", "Three.")],
    ),
    Sample(
        "a call that a callback makes",
        before_model_calls,
        [Turn("one", "One."), Turn("two", f"Forced. , {LOOKED}, Rain."), Turn("three", "Three.")],
    ),
    Sample(
        "another answer than was streamed",
        after_model,
        [Turn("one", "One."), Turn("two", "Two.", stored=["two", "Something else."]), Turn("three", "Three.")],
    ),
    Sample(
        "a note below each answer",
        after_model_adds,
        [
            Turn("one", "One. (No advice.)"),
            Turn("two", f"{LOOKED},  (No advice.), Two. (No advice.)"),
            Turn("three", "Three. (No advice.)"),
        ],
    ),
    Sample(
        "an answer in place of a tool's",
        before_tool,
        [Turn("one", f"{LOOKED}, Sun."), Turn("two", f"{LOOKED}, More."), Turn("three", f"{LOOKED}, {LOOKED}, Two.")],
    ),
    Sample(
        "a tool's result made short",
        after_tool,
        [Turn("one", f"{LOOKED}, Sun."), Turn("two", f"{LOOKED}, More."), Turn("three", "Bye.")],
    ),
    Sample(
        "a tool that fails and is answered for",
        tool_error,
        [
            Turn("one", "explode output-error, Broken."),
            Turn("two", "unknown_tool output-error, No such tool."),
            Turn("three", "Bye."),
        ],
    ),
    Sample(
        "a fallback for the model",
        model_error,
        [Turn("one", "Sorry, later."), Turn("two", "Half an ans, Sorry, later."), Turn("three", "Three.")],
    ),
    Sample(
        "an answer in place of the agent's",
        before_agent,
        [Turn("one", "One."), Turn("two", "Not now."), Turn("three", "Three.")],
    ),
    Sample(
        "words after the agent's",
        after_agent,
        [
            Turn("one", "One.,  Yours, root."),
            Turn("two", f"{LOOKED}, Two.,  Yours, root."),
            Turn("three", "Three.,  Yours, root."),
        ],
    ),
    Sample(
        "a plugin that changes what the user says",
        translator,
        [
            Turn("eins", "One.", stored=["eins (translated)", "One."]),
            Turn("zwei", "Closed today."),
            Turn("drei", "Three."),
        ],
        logs=["Event from an unknown agent: model"],  # ADK of its own name for a plugin's answer
    ),
    Sample(
        "a plugin that changes events",
        stamp,
        [Turn("one", "One."), Turn("two", f"{LOOKED}, Two."), Turn("three", "Three.")],
    ),
    Sample(
        "a plugin that has a tool tried again",
        reflect,
        [
            Turn("one", "shaky output-available, shaky output-available, There."),
            Turn("two", "shaky output-available, Again."),
            Turn("three", "Bye."),
        ],
    ),
]
