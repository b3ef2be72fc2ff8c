"""The developer's error text, for the exceptions that the providers' own libraries raise for real responses.

The errors of google-genai's and litellm's adapters are in ``tests/conformance``.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import httpx
import pytest
from google.adk.agents import LlmAgent
from google.adk.tools.agent_tool import AgentTool
from google.genai import errors as genai

from stream_protocol import AgentRunError
from stream_protocol.serving import ChatService, RunOverrides, create_app, explain_error
from stream_protocol.testing import Call, ScriptedLlm
from tests.serving.support import chat, post, said, stream

REQUEST = httpx.Request("POST", "https://api.example/v1?key=hunter2")


def google(status: int, name: str, message: str, *details: dict[str, Any]) -> genai.APIError:
    body = {"error": {"code": status, "status": name, "message": message, "details": list(details)}}
    with pytest.raises(genai.APIError) as raised:
        genai.APIError.raise_for_response(httpx.Response(status, json=body))
    return raised.value


def of_openai(status: int, message: str, *, kind: str = "invalid_request_error", **fields: str) -> Exception:
    body = {"error": {"message": message, "type": kind, **fields}}
    import openai  # noqa: PLC0415 - to import it takes a second, and only this module needs it

    client = openai.OpenAI(api_key="no-key")
    response = httpx.Response(status, json=body, request=REQUEST)
    return client._make_status_error_from_response(response)  # noqa: SLF001 - as its client does


def of_anthropic(status: int, kind: str, message: str) -> Exception:
    body = {"type": "error", "error": {"type": kind, "message": message}}
    import anthropic  # noqa: PLC0415 - as above

    client = anthropic.Anthropic(api_key="no-key")
    response: Any = httpx.Response(status, request=REQUEST)  # newer versions use a fork of httpx
    return client._make_status_error(message, body=body, response=response)  # noqa: SLF001 - as its client does


def not_reached(name: str) -> Exception:
    """Return a connection error, as openai's client raises it."""
    import openai  # noqa: PLC0415 - as above

    error: Exception = getattr(openai, name)(request=REQUEST)
    return error


INVALID_KEY = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
RETRY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "22s"}

Make: TypeAlias = Callable[[], BaseException]

CASES: dict[str, tuple[Make, str]] = {
    "openai 401": (
        lambda: of_openai(401, "Incorrect API key provided: sk-abcde*****wxyz.", code="invalid_api_key"),
        (
            "The API key for the model was refused (401 invalid_api_key: Incorrect API key provided: [redacted]): "
            "check OPENAI_API_KEY."
        ),
    ),
    "openai 403": (
        lambda: of_openai(403, "Not allowed."),
        (
            "The API key has no permission for the model (403 invalid_request_error: Not allowed): "
            "check what the key and its project may use."
        ),
    ),
    "openai 404": (
        lambda: of_openai(404, "The model `gpt-9` does not exist.", code="model_not_found"),
        (
            "The provider does not know the model (404 model_not_found: The model `gpt-9` does not exist): "
            "check the model's name."
        ),
    ),
    "openai quota": (
        lambda: of_openai(429, "Quota exceeded.", kind="insufficient_quota", code="insufficient_quota"),
        (
            "The quota of the API key for the model is used up (429 insufficient_quota: Quota exceeded): "
            "wait, or check its plan and limits."
        ),
    ),
    "openai schema": (
        lambda: of_openai(400, "Bad schema.", code="invalid_function_parameters"),
        (
            "The provider of the model refused the declaration of a tool (400 invalid_function_parameters: Bad "
            "schema): change the types of its parameters."
        ),
    ),
    "openai context": (
        lambda: of_openai(400, "Too many.", code="context_length_exceeded"),
        "The conversation is too long for the model: begin a new chat, or shorten what tools and files put into it.",
    ),
    "openai filter": (
        lambda: of_openai(400, "Filtered.", code="content_filter"),
        "The provider blocked the prompt for the model (400 content_filter: Filtered): say it in other words.",
    ),
    "openai overloaded": (
        lambda: of_openai(503, "Overloaded.", kind="server_error"),
        "The provider of the model is overloaded (503 server_error: Overloaded). Try again in a moment.",
    ),
    "openai unreachable": (
        lambda: not_reached("APIConnectionError"),
        "Cannot reach api.example for the model: check the network, the proxy settings and the model's address.",
    ),
    "openai timeout": (
        lambda: not_reached("APITimeoutError"),
        "the model did not answer in time. Try again, or give its client a longer timeout.",
    ),
    "anthropic 401": (
        lambda: of_anthropic(401, "authentication_error", "invalid x-api-key"),
        "The API key for the model was refused (401 authentication_error: invalid x-api-key): check ANTHROPIC_API_KEY.",
    ),
    "anthropic 529": (
        lambda: of_anthropic(529, "overloaded_error", "Overloaded"),
        "The provider of the model is overloaded (529 overloaded_error: Overloaded). Try again in a moment.",
    ),
    "anthropic context": (
        lambda: of_anthropic(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
        "The conversation is too long for the model: begin a new chat, or shorten what tools and files put into it.",
    ),
    "anthropic credit": (
        lambda: of_anthropic(400, "invalid_request_error", "Your credit balance is too low."),
        "The provider of the model refused the request (400 invalid_request_error: Your credit balance is too low).",
    ),
    "google key": (
        lambda: google(400, "INVALID_ARGUMENT", "API key not valid.", INVALID_KEY),
        "The API key for the model was refused (400 INVALID_ARGUMENT: API key not valid): check GOOGLE_API_KEY.",
    ),
    "google quota": (
        lambda: google(429, "RESOURCE_EXHAUSTED", "Quota exceeded.", RETRY),
        (
            "The quota of the API key for the model is used up (429 RESOURCE_EXHAUSTED: Quota exceeded): "
            "wait 22s, or check its plan and limits."
        ),
    ),
    "google schema": (
        lambda: google(400, "INVALID_ARGUMENT", "GenerateContentRequest.tools[0].function_declarations[0].name: bad."),
        (
            "The provider of the model refused the declaration of a tool (400 INVALID_ARGUMENT: GenerateContentRequest."
            "tools[0].function_declarations[0].name: bad): change the types of its parameters."
        ),
    ),
    "google context": (
        lambda: google(
            400, "INVALID_ARGUMENT", "The input token count (2) exceeds the maximum number of tokens allowed (1)."
        ),
        "The conversation is too long for the model: begin a new chat, or shorten what tools and files put into it.",
    ),
    "google late": (
        lambda: google(504, "DEADLINE_EXCEEDED", "Deadline expired."),
        "The provider of the model did not answer in time (504 DEADLINE_EXCEEDED: Deadline expired). Try again.",
    ),
    "blocked": (
        lambda: AgentRunError("PROHIBITED_CONTENT", None),
        (
            "The model blocked the prompt or its answer (PROHIBITED_CONTENT): say it in other words, or see "
            "`safety_settings`."
        ),
    ),
    "unreadable call": (
        lambda: AgentRunError("MALFORMED_FUNCTION_CALL", "call(x"),
        (
            "The model wrote a tool call that cannot be read (MALFORMED_FUNCTION_CALL: call(x). Try again, or simplify "
            "the tool's parameters."
        ),
    ),
    "no room": (
        lambda: AgentRunError("MAX_TOKENS", None),
        "The model reached its limit of tokens before it said anything (MAX_TOKENS): raise `max_output_tokens`.",
    ),
    "nothing": (
        lambda: AgentRunError("MODEL_RETURNED_NO_CONTENT", None),
        "The model answered nothing (MODEL_RETURNED_NO_CONTENT). Try again.",
    ),
    "another event": (lambda: AgentRunError(None, "a\nb"), "The agent reported an error: a b."),
    "a missing package": (
        lambda: ModuleNotFoundError("No module named 'pandas'", name="pandas"),
        (
            "The package pandas is not installed here (ModuleNotFoundError: No module named 'pandas'): "
            "install it with pip."
        ),
    ),
    "anything": (lambda: ValueError("x"), "ValueError: x."),
}


@pytest.mark.parametrize("case", CASES)
def test_an_error_is_a_sentence_with_its_cause_and_remedy(case: str) -> None:
    make, sentence = CASES[case]
    assert explain_error(make()) == sentence


async def shown(agent: LlmAgent) -> str:
    """Return the page's text for the failure of this agent."""
    service = ChatService(agent, on_error=explain_error)
    answer = await stream(create_app(service), chat(said("hi")))
    await service.aclose()
    assert answer[-1]["type"] == "error"
    text: str = answer[-1]["errorText"]
    return text


def get_weather(city: str) -> str:
    """Tells the weather."""
    raise RuntimeError("no sky\nat all")


async def fetch_weather(city: str) -> str:
    """Tells the weather, in a separate request."""
    raise httpx.ConnectError("All connection attempts failed")


@pytest.mark.parametrize(
    ("tool", "told"),
    [(get_weather, "RuntimeError: no sky at all"), (fetch_weather, "ConnectError: All connection attempts failed")],
)
async def test_a_tool_that_raised_is_named(tool: Any, told: str) -> None:
    name = tool.__name__
    model = ScriptedLlm(turns=[[Call(name, {"city": "Oslo"})]])
    text = await shown(LlmAgent(name="assistant", model=model, tools=[tool]))
    assert text.startswith(f"The tool {name} raised {told} (test_sentences.py, line ")


@pytest.mark.parametrize(("key", "told"), [(2024, "2024"), (None, "None"), ((1, 2), "tuple")])
async def test_a_result_with_keys_that_are_not_text_is_not_what_its_tool_raised(key: Any, told: str) -> None:
    def count(city: str) -> dict[Any, int]:
        """Counts."""
        return {"good": 1, key: 2}

    model = ScriptedLlm(turns=[[Call("count", {"city": "Oslo"})]])
    text = await shown(LlmAgent(name="assistant", model=model, tools=[count]))
    assert text == f"The result of the tool count is not JSON. A key of it is not text: {told}. Return plain values."


@pytest.mark.filterwarnings(
    "ignore:The `plugins` argument is deprecated:DeprecationWarning"
)  # ADK's warning about AgentTool
async def test_of_agents_in_tools_the_innermost_failure_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    inner = LlmAgent(name="inner", model="gemini-2.5-flash")
    model = ScriptedLlm(turns=[[Call("inner", {"request": "x"})]])
    text = await shown(LlmAgent(name="assistant", model=model, tools=[AgentTool(inner)]))
    assert text == "No API key for gemini-2.5-flash: set GOOGLE_API_KEY in the environment of this server."


async def test_an_agent_whose_instruction_or_callback_fails_is_named() -> None:
    model = ScriptedLlm(turns=[["Never."]])
    text = await shown(LlmAgent(name="assistant", model=model, instruction="In {language}."))
    assert text.startswith("The agent assistant raised KeyError: Context variable not found: `language`")

    def refuse(callback_context: Any) -> None:
        raise PermissionError("not today")

    text = await shown(LlmAgent(name="assistant", model=model, before_agent_callback=refuse))
    assert text.startswith("The agent assistant raised PermissionError: not today (test_sentences.py, line ")


async def test_a_model_that_adk_does_not_know_is_named() -> None:
    text = await shown(LlmAgent(name="assistant", model="gemni-2.5-flash"))
    assert text.startswith("ADK knows no model gemni-2.5-flash: check its name;")


async def test_a_hook_that_fails_before_the_stream_is_told_as_the_stream_would() -> None:
    def prepare(*_: Any) -> RunOverrides:
        raise LookupError("no tenant")

    agent = LlmAgent(name="assistant", model=ScriptedLlm(turns=[["Never."]]))
    masked = await post(create_app(agent, prepare=prepare), chat(said("hi")))
    assert (masked.status_code, masked.text) == (500, "An error occurred.")
    service = ChatService(agent, on_error=explain_error)
    told = await post(create_app(service, prepare=prepare), chat(said("hi")))
    assert told.status_code == 500
    assert told.text.startswith("LookupError: no tenant (test_sentences.py, line ")


def test_an_exception_that_cannot_be_written_is_told_by_its_type() -> None:
    class UnspeakableError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    UnspeakableError.__module__ = "openai.errors"  # the text is searched
    assert explain_error(UnspeakableError()) == "UnspeakableError."
