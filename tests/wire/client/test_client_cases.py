"""Recorded messages of the real client, v6 and v7, for these streams: our reducer must fold the same messages."""

import json
from pathlib import Path
from typing import Any

import pytest

from stream_protocol.wire import AiSdkVersion
from tests.wire.chat_model import Chat

CASES = json.loads((Path(__file__).parents[3] / "frontend-fixtures" / "client-cases.json").read_text())["cases"]

NO_STREAM = {
    "25-http-500-json": "the response is an HTTP error without a stream",
    "26-http-500-empty": "the response is an HTTP error without a stream",
    "77-resume-204": "the response has no body",
}


def body(case_body: Any) -> Any:
    return case_body["raw"].encode() if isinstance(case_body, dict) else case_body


def play(case: dict[str, Any], ai_sdk: AiSdkVersion) -> Chat:
    bodies = [body(each) for each in case["bodies"]]
    chat = Chat(case, bodies, ai_sdk=ai_sdk, max_requests=case.get("maxRequests", len(bodies)))
    match case.get("action", "send"):
        case "send":
            send = case.get("send", {"text": "hi"})
            chat.send(send["text"], send.get("messageId"))
        case "continue":
            chat.proceed()
        case "regenerate":
            chat.regenerate(case["regenerate"]["messageId"])
        case "resume":
            chat.resume()
    for step in case.get("steps", []):
        chat.answer(step["id"], approved=step["op"] == "approve", reason=step.get("reason"))
    return chat


@pytest.mark.parametrize("ai_sdk", [6, 7])
@pytest.mark.parametrize(
    "case", [case for case in CASES if case["name"] not in NO_STREAM], ids=lambda case: case["name"]
)
def test_a_stream_becomes_what_the_client_made_of_it(case: dict[str, Any], ai_sdk: AiSdkVersion) -> None:
    chat = play(case, ai_sdk)
    expected = case["expected"][f"v{ai_sdk}"]
    seen = {
        "status": chat.status,
        "messages": chat.messages,
        "error": chat.error,
        "statusTrace": chat.trace,
        "events": chat.events,
        "requests": chat.requests,
        "requestCount": len(chat.requests),
    }
    wanted = {"error": None, **expected}
    if "requests" in wanted:
        wanted["requests"] = [request.get("body") for request in expected["requests"]]
    assert {key: seen[key] for key in wanted} == wanted


def test_only_cases_without_a_stream_are_left_out() -> None:
    left_out = [case for case in CASES if case["name"] in NO_STREAM]
    assert len(left_out) == len(NO_STREAM)
    assert all("status" in case["bodies"][0] for case in left_out)
