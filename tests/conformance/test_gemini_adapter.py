import base64
from typing import Any

import httpx
import pytest
import respx

from stream_protocol.serving import explain_error
from tests.conformance.adapter_runs import TurnResponse, check_streamed_arguments, turn
from tests.conformance.gemini_replies import (
    MODEL,
    WHOLE,
    call,
    developer_agent,
    done,
    gemini,
    reply,
    said,
    text,
    vertex_agent,
)

SIGNATURE = base64.b64encode(b"\xfb\xff signed").decode()

CUTS = pytest.mark.parametrize("cut", [1, 7, 64, WHOLE])

BOOKED: dict[str, Any] = {
    "guests": [{"name": 'Ann "A" Lee', "age": 41}, {"name": "Bö 😀", "age": 7.5}],
    "room": {"view": "sea & sky", "floors": [3, 12], "quiet": True, "note": None},
    "odd key": "",
}


class Tools:
    """Two tools that record their arguments."""

    def __init__(self) -> None:
        self.booked: list[dict[str, Any]] = []
        self.asked: list[str] = []

    def book(self, stay: dict[str, Any]) -> dict[str, Any]:
        """Books a stay."""
        self.booked.append(stay)
        return {"booked": len(self.booked)}

    def get_weather(self, city: str) -> str:
        """Tells the weather."""
        self.asked.append(city)
        return f"Sunny in {city}"


def string(path: str, *pieces: str) -> list[dict[str, Any]]:
    """A string as Vertex streams it: its pieces, then an empty one that closes it."""
    more = [{"jsonPath": path, "stringValue": piece, "willContinue": True} for piece in pieces]
    return [*more, {"jsonPath": path, "stringValue": ""}]


def streamed_call(name: str, *arguments: dict[str, Any], signature: str | None = None) -> list[dict[str, Any]]:
    """The chunks of a call with streamed arguments. Only the first has the name; the last one has nothing."""
    first = call(name=name, willContinue=True) | ({} if signature is None else {"thoughtSignature": signature})
    more = [call(partialArgs=[argument], willContinue=True) for argument in arguments]
    return [said(part) for part in (first, *more, call())]


BOOKING = [
    *string("$.stay.guests[0].name", "Ann ", '"A" ', "Lee"),
    {"jsonPath": "$.stay.guests[0].age", "numberValue": 41},
    *string("$.stay.guests[1].name", "Bö ", "😀"),
    {"jsonPath": "$.stay.guests[1].age", "numberValue": 7.5},
    *string("$.stay.room.view", "sea & sky"),
    {"jsonPath": "$.stay.room.floors[0]", "numberValue": 3},
    {"jsonPath": "$.stay.room.floors[1]", "numberValue": 12},
    {"jsonPath": "$.stay.room.quiet", "boolValue": True},
    {"jsonPath": "$.stay.room.note", "nullValue": "NULL_VALUE"},
    {"jsonPath": "$.stay['odd key']", "stringValue": ""},
]


def check_masked(told: TurnResponse) -> None:
    assert told.error == "An error occurred."


@CUTS
async def test_text_arrives_piece_by_piece_and_once(cut: int) -> None:
    chunks = [said(text("Good ")), said(text("mörning ")), said(text("😀")), done()]
    with gemini(reply(*chunks, cut=cut)):
        told = await turn(developer_agent())
    assert [chunk["delta"] for chunk in told.of_type("text-delta")] == ["Good ", "mörning ", "😀"]
    assert told.outline() == ["step-start", "text"]
    assert told.text() == "Good mörning 😀"
    assert told.part("text")["providerMetadata"] == {"adk": {"author": "assistant"}}
    assert told.finish_reason() == "stop"


async def test_the_message_tells_its_model_and_usage() -> None:
    with gemini(reply(said(text("Hi")), done())):
        told = await turn(developer_agent())
    assert told.message["metadata"] == {
        "modelId": "gemini-3-pro-preview",
        "usage": {
            "inputTokens": 3,
            "inputTokenDetails": {"cacheReadTokens": 0},
            "outputTokens": 4,
            "outputTokenDetails": {"reasoningTokens": 0},
            "totalTokens": 7,
        },
    }


async def test_thoughts_are_reasoning_and_the_signature_is_kept() -> None:
    chunks = [
        said(text("Let me ", thought=True)),
        said(text("think.", thought=True)),
        said(text("Forty-two.")),
        done(thoughtSignature=SIGNATURE),
    ]
    with gemini(reply(*chunks)):
        told = await turn(developer_agent())
    assert told.outline() == ["step-start", "reasoning", "text"]
    assert told.part("reasoning")["text"] == "Let me think."
    assert told.part("text")["text"] == "Forty-two."
    assert told.part("text")["providerMetadata"] == {
        "adk": {"author": "assistant"},
        "google": {"thoughtSignature": SIGNATURE},
    }


async def test_thoughts_are_left_out_on_request() -> None:
    with gemini(reply(said(text("Hm.", thought=True)), said(text("Yes.")), done())):
        told = await turn(developer_agent(), send_reasoning=False)
    assert told.outline() == ["step-start", "text"]


async def test_text_tool_and_follow_up_text_are_one_stream() -> None:
    tools = Tools()
    asked = [
        said(text("Let me look.")),
        said(call(name="get_weather", args={"city": "Rome"}) | {"thoughtSignature": SIGNATURE}),
        done(),
    ]
    with gemini(reply(*asked), reply(said(text("It is ")), said(text("sunny.")), done())):
        told = await turn(developer_agent(tools.get_weather))
    assert tools.asked == ["Rome"]
    assert told.outline() == ["step-start", "text", "tool-get_weather", "step-start", "text"]
    assert told.text() == "Let me look.It is sunny."
    tool = told.part("tool-get_weather")
    assert (tool["state"], tool["input"], tool["output"]) == (
        "output-available",
        {"city": "Rome"},
        {"result": "Sunny in Rome"},
    )
    assert tool["callProviderMetadata"]["google"] == {"thoughtSignature": SIGNATURE}


@CUTS
async def test_parallel_calls_of_one_tool_keep_their_own_outputs(cut: int) -> None:
    tools = Tools()
    cities = ["Rome", "Paris", "Rome"]
    asked = [said(call(name="get_weather", args={"city": city})) for city in cities]
    with gemini(reply(*asked, done(), cut=cut), reply(said(text("Sunny.")), done(), cut=cut)):
        told = await turn(developer_agent(tools.get_weather))
    calls = told.all_parts("tool-get_weather")
    assert sorted(tools.asked) == sorted(cities)
    assert [tool["input"]["city"] for tool in calls] == cities
    assert [tool["output"]["result"] for tool in calls] == [f"Sunny in {city}" for city in cities]
    assert len({tool["toolCallId"] for tool in calls}) == 3


async def test_a_call_without_arguments_runs() -> None:
    ran: list[bool] = []

    def ping() -> str:
        """Pings."""
        ran.append(True)
        return "pong"

    with gemini(reply(said(call(name="ping")), done()), reply(said(text("Done.")), done())):
        told = await turn(developer_agent(ping))
    assert ran == [True]
    assert told.part("tool-ping")["input"] == {}
    assert told.part("tool-ping")["output"] == {"result": "pong"}


@CUTS
async def test_vertex_arguments_grow_value_by_value(cut: int) -> None:
    tools = Tools()
    chunks = [*streamed_call("book", *BOOKING, signature=SIGNATURE), done()]
    with gemini(reply(*chunks, cut=cut), reply(said(text("Booked.")), done(), cut=cut)):
        told = await turn(vertex_agent(tools.book))
    check_streamed_arguments(told)
    assert tools.booked == [BOOKED]
    tool = told.part("tool-book")
    assert (tool["state"], tool["input"], tool["output"]) == ("output-available", {"stay": BOOKED}, {"booked": 1})
    assert tool["callProviderMetadata"]["google"] == {"thoughtSignature": SIGNATURE}
    assert len(told.deltas(tool["toolCallId"])) >= 16, "one delta for every piece that says something"
    assert told.text() == "Booked."


async def test_integers_are_shown_as_integers() -> None:
    tools = Tools()
    with gemini(reply(*streamed_call("book", *BOOKING), done()), reply(said(text("Booked.")), done())):
        told = await turn(vertex_agent(tools.book))
    (available,) = told.of_type("tool-input-available")
    assert str(available["input"]["stay"]["room"]["floors"]) == "[3, 12]"
    assert '"floors":[3,12]' in "".join(told.deltas(available["toolCallId"]))


@CUTS
async def test_two_streamed_calls_of_one_tool_stay_apart(cut: int) -> None:
    tools = Tools()
    boston = streamed_call("get_weather", *string("$.city", "Bos", "ton"), signature=SIGNATURE)
    paris = streamed_call("get_weather", *string("$.city", "Pa", "ris"))
    with gemini(reply(*boston, *paris, done(), cut=cut), reply(said(text("Both sunny.")), done(), cut=cut)):
        told = await turn(vertex_agent(tools.get_weather))
    check_streamed_arguments(told)
    calls = told.all_parts("tool-get_weather")
    assert sorted(tools.asked) == ["Boston", "Paris"]
    assert [tool["input"] for tool in calls] == [{"city": "Boston"}, {"city": "Paris"}]
    assert [tool["output"]["result"] for tool in calls] == ["Sunny in Boston", "Sunny in Paris"]
    assert told.outline() == ["step-start", "tool-get_weather", "tool-get_weather", "step-start", "text"]


async def test_a_last_piece_that_closes_the_call_too() -> None:
    tools = Tools()
    first = call(name="get_weather", willContinue=True)
    piece = call(partialArgs=[{"jsonPath": "$.city", "stringValue": "Ro", "willContinue": True}], willContinue=True)
    last = call(partialArgs=[{"jsonPath": "$.city", "stringValue": "me"}])
    with gemini(reply(said(first), said(piece), said(last), done()), reply(said(text("Sunny.")), done())):
        told = await turn(vertex_agent(tools.get_weather))
    check_streamed_arguments(told)
    assert tools.asked == ["Rome"]


async def test_a_stream_that_ends_inside_a_call_still_ends_the_call() -> None:
    tools = Tools()
    with gemini(
        reply(*streamed_call("get_weather", *string("$.city", "Ro", "me"))[:-2]), reply(said(text("Hm.")), done())
    ):
        told = await turn(vertex_agent(tools.get_weather))
    assert tools.asked == ["Rome"]
    assert told.part("tool-get_weather")["input"] == {"city": "Rome"}


async def test_ids_are_the_same_from_fragment_to_output() -> None:
    tools = Tools()
    with gemini(
        reply(*streamed_call("get_weather", *string("$.city", "Rome")), done()), reply(said(text("Sunny.")), done())
    ):
        told = await turn(vertex_agent(tools.get_weather))
    ids = {chunk["toolCallId"] for chunk in map(dict, told.chunks) if "toolCallId" in chunk}
    calls = {call.id for event in told.events for call in event.get_function_calls()}
    responses = {response.id for event in told.events for response in event.get_function_responses()}
    assert ids == calls == responses
    assert len(ids) == 1


OVERLOADED = {"error": {"code": 503, "message": "The model is overloaded (key AIza-secret).", "status": "UNAVAILABLE"}}


@pytest.mark.parametrize("cut", [7, WHOLE])
async def test_an_error_in_mid_stream_keeps_the_text_and_masks_the_error(cut: int) -> None:
    with gemini(reply(said(text("Once upon ")), OVERLOADED, cut=cut)):
        told = await turn(developer_agent())
    check_masked(told)
    assert told.text() == "Once upon "
    assert told.part("text")["state"] == "done"
    assert told.failure is not None


async def test_a_connection_that_is_reset_keeps_the_text() -> None:
    with gemini(reply(said(text("Once upon ")), broken=True)):
        told = await turn(developer_agent())
    check_masked(told)
    assert told.text() == "Once upon "
    assert isinstance(told.failure, httpx.ReadError)


async def test_a_connection_that_is_reset_inside_a_call_ends_the_call() -> None:
    tools = Tools()
    begun = streamed_call("get_weather", *string("$.city", "Bos", "ton"))[:2]
    with gemini(reply(*begun, broken=True)):
        told = await turn(vertex_agent(tools.get_weather))
    check_masked(told)
    assert tools.asked == []
    tool = told.part("tool-get_weather")
    assert tool["state"] == "output-error"
    assert tool["errorText"]


async def test_an_app_may_word_errors_itself() -> None:
    with gemini(reply(OVERLOADED)):
        told = await turn(developer_agent(), on_error=lambda error: f"Sorry: {type(error).__name__}")
    assert told.error == "Sorry: ServerError"


BAD_KEY = {
    "code": 400,
    "message": "API key not valid. Please pass a valid API key.",
    "status": "INVALID_ARGUMENT",
    "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}],
}
NO_MODEL = {"code": 404, "message": "models/x is not found.", "status": "NOT_FOUND"}
HOST = "generativelanguage.googleapis.com"
TOLD: dict[str, tuple[httpx.Response, str]] = {
    "a wrong key": (
        httpx.Response(400, json={"error": BAD_KEY}),
        (
            f"The API key for {MODEL} was refused (400 INVALID_ARGUMENT: API key not valid. Please pass a valid "
            "API key): check GOOGLE_API_KEY."
        ),
    ),
    "an unknown model": (
        httpx.Response(404, json={"error": NO_MODEL}),
        f"The provider does not know {MODEL} (404 NOT_FOUND: models/x is not found): check the model's name.",
    ),
    "an error in the stream": (
        reply(OVERLOADED),
        (
            f"The provider of {MODEL} is overloaded (503 UNAVAILABLE: The model is overloaded (key [redacted])). "
            "Try again in a moment."
        ),
    ),
    "a proxy's page": (
        httpx.Response(502, html="<html><h1>502 Bad Gateway</h1></html>"),
        f"The provider of {MODEL} failed (502 Bad Gateway). Try again in a moment.",
    ),
    "a page in place of a stream": (
        httpx.Response(200, html="<html>Sign in</html>"),
        (
            f"The answer to {MODEL} cannot be read (UnknownApiResponseError: Failed to parse response as JSON. "
            "Raw response: <html>Sign in</html>): check that the model's address is its provider's, and that no proxy "
            "answers instead."
        ),
    ),
    "a connection that is reset": (
        reply(said(text("Once upon ")), broken=True),
        f"Lost the connection to {HOST} for {MODEL}. Try again.",
    ),
}


@pytest.mark.parametrize("case", TOLD)
async def test_a_developer_reads_the_cause_of_an_error(case: str) -> None:
    answer, sentence = TOLD[case]
    with gemini(answer):
        told = await turn(developer_agent())
    assert told.failure is not None
    assert explain_error(told.failure) == sentence


UNREACHED: dict[str, tuple[httpx.TransportError, str]] = {
    "no network": (
        httpx.ConnectError("[Errno -2] Name or service not known"),
        (f"Cannot reach {HOST} for {MODEL}: check the network, the proxy settings and the model's address."),
    ),
    "no answer": (
        httpx.ReadTimeout(""),
        f"{MODEL} did not answer in time. Try again, or give its client a longer timeout.",
    ),
}


@pytest.mark.parametrize("case", UNREACHED)
async def test_a_developer_reads_that_the_model_was_not_reached(case: str) -> None:
    error, sentence = UNREACHED[case]
    with respx.mock() as router:
        router.post(host=HOST).mock(side_effect=error)
        told = await turn(developer_agent())
    assert told.failure is not None
    assert explain_error(told.failure) == sentence


async def test_a_refused_request_is_one_masked_error() -> None:
    quota = {"error": {"code": 429, "message": "Quota of project secret-1 exceeded.", "status": "RESOURCE_EXHAUSTED"}}
    with gemini(httpx.Response(429, json=quota)):
        told = await turn(developer_agent())
    check_masked(told)
    assert told.parts == []


async def test_a_blocked_prompt_is_an_error_since_nothing_can_be_shown() -> None:
    blocked = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "modelVersion": "gemini-3-pro-preview"}
    with gemini(reply(blocked)):
        told = await turn(developer_agent())
    check_masked(told)
    assert told.parts == []


@pytest.mark.parametrize(
    ("finish", "reason"), [("MAX_TOKENS", "length"), ("SAFETY", "content-filter"), ("RECITATION", "content-filter")]
)
async def test_an_answer_that_was_cut_short_tells_why(finish: str, reason: str) -> None:
    with gemini(reply(said(text("Once upon ")), done(finish))):
        told = await turn(developer_agent())
    assert (told.text(), told.finish_reason(), told.error) == ("Once upon ", reason, None)


async def test_a_safety_stop_without_a_word_is_an_error() -> None:
    with gemini(reply({"candidates": [{"finishReason": "SAFETY"}], "modelVersion": "gemini-3-pro-preview"})):
        told = await turn(developer_agent())
    check_masked(told)


async def test_an_empty_stream_ends_all_the_same() -> None:
    with gemini(reply()):
        told = await turn(developer_agent())
    assert told.parts == []
    assert told.finish_reason() == "other"


async def test_an_answer_of_nothing_but_an_end_is_an_error() -> None:
    with gemini(reply(done())):
        told = await turn(developer_agent())
    check_masked(told)
