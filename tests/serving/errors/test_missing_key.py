"""A developer without an API key reads what to do in the page, and one line in the log of ``uvicorn main:app``."""

import logging

import httpx
import pytest
from google.adk.agents import LlmAgent

from stream_protocol.serving import ChatService, create_app, explain_error
from stream_protocol.serving.errors import is_new
from stream_protocol.testing import ScriptedLlm

MISSING = ValueError("No API key was provided. Please pass a valid API key.")
ADVICE = "No API key for scripted: set GOOGLE_API_KEY in the environment of this server."
MASKED = "An error occurred."
BODY = {"id": "c1", "messages": [{"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Hi"}]}]}
ELSEWHERE = "203.0.113.9"


def agent(error: Exception = MISSING) -> LlmAgent:
    return LlmAgent(name="assistant", model=ScriptedLlm(turns=[error]))


async def error_of(
    service: ChatService, *, host: str = "localhost:8000", client: str = "127.0.0.1", **headers: str
) -> str:
    app = create_app(service, identify=lambda request: request.headers.get("x-user", "local"))
    transport = httpx.ASGITransport(app, client=(client, 1234))
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    async with httpx.AsyncClient(transport=transport, base_url=f"http://{host}") as asking:
        response = await asking.post("/api/chat", json=BODY, headers=named)
    (line,) = [line for line in response.text.splitlines() if '"error"' in line]
    return line.partition('"errorText":')[2].strip('"}')


@pytest.mark.parametrize("host", ["localhost", "localhost:8000", "127.0.0.1:8000", "[::1]:8000"])
async def test_a_developer_without_a_key_reads_what_to_set(host: str) -> None:
    assert await error_of(ChatService(agent()), host=host) == ADVICE


async def test_a_developer_behind_a_proxy_on_the_same_machine_reads_it_too() -> None:
    forwarded = {
        "x_forwarded_for": "::1, 127.0.0.1",
        "x_forwarded_host": "localhost:3000",
        "origin": "http://localhost:3000",
        "sec_fetch_site": "same-origin",
    }
    assert await error_of(ChatService(agent()), **forwarded) == ADVICE


@pytest.mark.parametrize(
    "request_",
    [
        {"client": ELSEWHERE},
        {"host": "chat.example"},
        {"host": "localhost.chat.example"},
        {"x_forwarded_for": ELSEWHERE},
        {"x_forwarded_for": f"127.0.0.1, {ELSEWHERE}"},
        {"x_real_ip": ELSEWHERE},
        {"x_forwarded_host": "chat.example"},
        {"forwarded": "for=127.0.0.1"},
        {"origin": "https://chat.example", "sec_fetch_site": "same-origin"},
        {"origin": "null", "sec_fetch_site": "same-origin"},
        {"x_user": "ada"},
    ],
    ids="-".join,
)
async def test_everybody_else_reads_no_cause(request_: dict[str, str]) -> None:
    assert await error_of(ChatService(agent()), **request_) == MASKED


async def test_a_developer_reads_no_other_cause() -> None:
    assert await error_of(ChatService(agent(ValueError("The secret is 42.")))) == MASKED


async def test_the_apps_own_text_counts() -> None:
    assert await error_of(ChatService(agent(), on_error=lambda _: "Sorry.")) == "Sorry."
    assert await error_of(ChatService(agent(), on_error=explain_error), client=ELSEWHERE) == ADVICE


async def test_a_process_that_configures_no_logging_prints_one_line() -> None:
    ChatService(agent())
    handler = logging.lastResort
    assert handler is not None
    repeated = logging.makeLogRecord(
        {
            "name": "google_adk.google.adk.runners",
            "levelno": logging.ERROR,
            "msg": "Root node failed.",
            "exc_info": (ValueError, MISSING, None),
        }
    )
    assert not handler.filter(repeated)
    assert handler.filter(logging.makeLogRecord({"name": "app", "levelno": logging.ERROR, "msg": "Mine."}))
    ChatService(agent())
    assert handler.filters.count(is_new) == 1
