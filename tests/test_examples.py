"""The unchanged examples, with a model that needs no key."""

import asyncio
import importlib
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from fastapi import FastAPI
from waitress.server import create_server

from examples import fastapi_app, flask_app
from stream_protocol.serving.chats._chat_list import OWN_TITLE_KEY
from stream_protocol.testing import ScriptedLlm, Wait
from tests.serving.support import HANG, chat, chunks, client, said, text, types

ROOT: Final = Path(__file__).parent.parent


async def test_the_fastapi_example_answers_its_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fastapi_app.root_agent, "model", ScriptedLlm(turns=["Hello there.", "Again."]))
    app: FastAPI = fastapi_app.app
    async with fastapi_app.lifespan(app), client(app) as http:
        assert (await http.post("/api/chat", json=chat(said("hi")))).status_code == 401
        user = {"x-user": "ann", "authorization": "Bearer secret"}
        answer = await http.post("/api/chat", json=chat(said("hi"), theme="dark"), headers=user)
        assert text(chunks(answer.text)) == "Hello there."
        session = await fastapi_app.service.runner.session_service.get_session(
            app_name="assistant", user_id="ann", session_id="c1"
        )
        assert session is not None
        assert session.state == {"theme": "dark", OWN_TITLE_KEY: "hi"}
        assert "secret" not in session.model_dump_json()
        (listed,) = (await http.get("/api/chats", headers=user)).json()["chats"]
        assert listed["title"] == "hi"
        assert (await http.patch("/api/chat/c1", json={"title": "Mine"}, headers=user)).json()["title"] == "Mine"
        assert len((await http.get("/api/chat/c1", headers=user)).json()["messages"]) == 2
        assert (await http.get("/api/chat/c1/stream", headers=user)).status_code == 204
        assert (await http.post("/api/chat/c1/stop", headers=user)).status_code == 202


@pytest.fixture
def django_asgi(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Any:
    """``asgi.py`` of the Django example, with a database of its own. Django can be set up once in a process."""
    monkeypatch.setenv("DJANGO_SETTINGS_MODULE", "mysite.settings")  # restored, since asgi.py sets it
    if not settings.configured:
        database = {"ENGINE": "django.db.backends.sqlite3", "NAME": tmp_path_factory.mktemp("django") / "db.sqlite3"}
        settings.configure(
            ALLOWED_HOSTS=["*"],
            DATABASES={"default": database},
            INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions"],
            MIDDLEWARE=[
                "django.contrib.sessions.middleware.SessionMiddleware",
                "django.middleware.csrf.CsrfViewMiddleware",
                "django.contrib.auth.middleware.AuthenticationMiddleware",
            ],
            ROOT_URLCONF="examples.django.mysite.urls",
            SECRET_KEY="of the test",
        )
        asgi = importlib.import_module("examples.django.mysite.asgi")
        call_command("migrate", verbosity=0)
        return asgi
    return importlib.import_module("examples.django.mysite.asgi")


async def test_the_django_example_answers_whom_django_has_signed_in(
    django_asgi: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    views = importlib.import_module("examples.django.mysite.views")
    monkeypatch.setattr(views.root_agent, "model", ScriptedLlm(turns=["Hello there.", "Again."]))
    async with django_asgi.lifespan(django_asgi.application), client(django_asgi.application) as http:
        assert (await http.post("/api/chat", json=chat(said("hi")))).status_code == 401
        http.cookies["sessionid"] = await asyncio.to_thread(_signed_in, "ann")
        answer = await http.post("/api/chat", json=chat(said("hi")))
        assert text(chunks(answer.text)) == "Hello there."
        assert answer.headers["x-vercel-ai-ui-message-stream"] == "v1"
        assert len((await http.get("/api/chat/c1")).json()["messages"]) == 2
        assert (await http.get("/api/chat/c1/stream")).status_code == 204
        assert (await http.post("/api/chat/c1/stop")).status_code == 202
        refused = await http.post("/api/chat", json=chat(said("")))
        assert (refused.status_code, refused.text) == (422, "The message is empty.")
        assert refused.headers["content-type"] == "text/plain; charset=utf-8"
        large = await http.post("/api/chat", json=chat(said("x" * 3_000_000)))
        assert text(chunks(large.text)) == "Again.", "Django's own limit of 2.5 MB is for forms"
        http.cookies["sessionid"] = await asyncio.to_thread(_signed_in, "bob")
        assert (await http.get("/api/chat/c1")).status_code == 404


def _signed_in(name: str) -> str:
    """The session cookie of a user of Django's."""
    from django.contrib.auth.models import User  # noqa: PLC0415  # once the fixture has set Django up
    from django.test import Client  # noqa: PLC0415  # likewise

    browser = Client()
    browser.force_login(User.objects.create_user(name))
    cookie: str = browser.cookies["sessionid"].value
    return cookie


@pytest.mark.usefixtures("django_asgi")
def test_the_django_example_says_that_it_needs_asgi() -> None:
    from django.test import Client  # noqa: PLC0415  # once the fixture has set Django up

    with pytest.raises(ImproperlyConfigured, match="These views need ASGI"):
        Client().post("/api/chat", {}, content_type="application/json")  # Django's own client is one of WSGI


@pytest.fixture(scope="module")
def flask_url() -> Iterator[str]:
    """The Flask example under waitress, on a port of its own."""
    listener = socket.create_server(("127.0.0.1", 0))
    server: Any = create_server(flask_app.app, sockets=[listener], threads=4)  # its stubs know no trigger
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        flask_app.service.close()
        server.trigger.pull_trigger(server.close)  # in its own thread, which would find its sockets closed otherwise
        thread.join(HANG)


def test_the_flask_example_streams_under_a_real_wsgi_server(flask_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    speak = asyncio.Event()
    model = ScriptedLlm(turns=[["Hello ", Wait(speak), "there."], "Again."])
    monkeypatch.setattr(flask_app.root_agent, "model", model)
    with httpx.Client(base_url=flask_url, headers={"X-User": "ann"}, timeout=HANG) as http:
        with http.stream("POST", "/api/chat", json=chat(said("hi"))) as response:
            assert response.status_code == 200
            assert response.headers["x-vercel-ai-ui-message-stream"] == "v1"
            lines = (line for line in response.iter_lines() if line)
            first = [next(lines)]
            while "text-delta" not in first[-1]:  # it comes while the model still waits
                first.append(next(lines))
            flask_app.service.run(lambda service: _set(speak))
            rest = list(lines)
        whole = [json.loads(line.removeprefix("data: ")) for line in [*first, *rest][:-1]]
        assert (types(whole)[0], text(whole), types(whole)[-1]) == ("start", "Hello there.", "finish")
        assert text(chunks(http.post("/api/chat", json=chat(said("more"))).text)) == "Again."
        (listed,) = http.get("/api/chats").json()["chats"]
        assert listed["id"] == "c1"


async def _set(event: asyncio.Event) -> None:
    event.set()


def test_the_flask_example_refuses_in_one_sentence(flask_url: str) -> None:
    with httpx.Client(base_url=flask_url, headers={"X-User": "ann"}, timeout=HANG) as http:
        refused = http.post("/api/chat", json={"id": "c1"})
        assert (refused.status_code, refused.text) == (422, "The request needs a list of messages that is not empty.")
        assert refused.headers["content-type"].startswith("text/plain")
        assert http.post("/api/chat", content=b"id=c1").status_code == 415
        assert http.get("/api/chats", headers={"X-User": ""}).status_code == 401
        foreign = {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}
        assert http.post("/api/chat", json=chat(said("hi")), headers=foreign).status_code == 403
