"""An app that does not identify its users, with users from other machines."""

import logging
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from google.adk.agents import LlmAgent
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from stream_protocol.serving import ChatEndpoints, ChatService, chat_router, create_app
from stream_protocol.testing import ScriptedLlm
from tests.served import served

REMOTE = {"x-forwarded-for": "203.0.113.7"}
"""A header that uvicorn takes from a local proxy as the client's address."""


def app_of(kind: str, **options: Any) -> ASGIApp:
    service = ChatService(LlmAgent(name="root", model=ScriptedLlm(turns=["Hello."])))
    if kind == "create_app":
        return create_app(service, **options)
    if kind == "chat_router":
        app = FastAPI()
        app.include_router(chat_router(service, **options))
        return app
    endpoints = ChatEndpoints(service)
    identify = options.get("identify", lambda request: "local")

    async def chats(request: Request) -> Response:
        return await endpoints.chats(request, user_id=identify(request))

    return Starlette(routes=[Route("/api/chats", chats)])


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


KINDS = ["create_app", "chat_router", "ChatEndpoints"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_visitor_from_another_machine_is_a_warning(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    with served(app_of(kind)) as url, httpx.Client(base_url=url) as http:
        caplog.clear()
        assert http.get("/api/chats").status_code == 200
        assert told(caplog) == []
        for _ in range(2):
            assert http.get("/api/chats", headers=REMOTE).status_code == 200
    (warning,) = told(caplog)
    assert warning.startswith("A request came from 203.0.113.7, but all visitors are one user, 'local': ")
    assert "`identify` of chat_router" in warning


@pytest.mark.parametrize("client", [("127.0.0.1", 1), ("", 1), None], ids=str)
@pytest.mark.parametrize(
    "headers", [REMOTE, {"x-forwarded-for": "127.0.0.1, 203.0.113.7"}, {"x-real-ip": "203.0.113.7"}], ids=str
)
async def test_a_visitor_behind_a_local_proxy_is_one(
    client: tuple[str, int] | None, headers: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    """Servers other than uvicorn do not read these headers, and uvicorn does not read them on a Unix socket."""
    app = app_of("create_app")
    caplog.clear()
    transport = httpx.ASGITransport(app, client=client)  # type: ignore[arg-type]  # `None`: a Unix socket
    async with httpx.AsyncClient(transport=transport, base_url="http://app", headers=headers) as http:
        assert (await http.get("/api/chats")).status_code == 200
    (warning,) = told(caplog)
    assert warning.startswith("A request came from 203.0.113.7, but all visitors are one user")


@pytest.mark.parametrize("kind", KINDS)
def test_visitors_with_ids_are_none(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    with served(app_of(kind, identify=lambda request: "ann")) as url, httpx.Client(base_url=url) as http:
        caplog.clear()
        assert http.get("/api/chats", headers=REMOTE).status_code == 200
    assert told(caplog) == []


@pytest.mark.parametrize("address", ["::1", "::ffff:127.0.0.1", "127.9.9.9", "testclient", ""])
async def test_this_machine_and_clients_without_an_address_are_none(
    address: str, caplog: pytest.LogCaptureFixture
) -> None:
    app = app_of("create_app")
    caplog.clear()
    transport = httpx.ASGITransport(app, client=(address, 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://app") as http:
        assert (await http.get("/api/chats")).status_code == 200
    assert told(caplog) == []
