"""The demo server around the library."""

from typing import Any

import pytest

from server.app import chat_service, create_app, from_env
from server.settings import Settings
from stream_protocol.demo import SUGGESTIONS, demo_agent
from stream_protocol.demo._agent import MODEL
from stream_protocol.serving.adk_runner import model_names
from tests.serving.support import begin, chat, client, said

pytestmark = pytest.mark.processes


def test_settings_come_from_the_environment() -> None:
    env = {
        "HOST": "0.0.0.0",
        "PORT": "9000",
        "AI_SDK": "7",
        "ALLOW_ORIGINS": "https://a, https://b,",
        "DISCONNECT_GRACE": "5",
        "SHOW_ERRORS": "1",
        "INSPECT": "1",
    }
    assert Settings.from_env(env) == Settings(
        host="0.0.0.0",
        port=9000,
        ai_sdk=7,
        allow_origins=("https://a", "https://b"),
        disconnect_grace=5,
        show_errors=True,
        inspect=True,
    )
    assert Settings.from_env({}) == Settings()
    assert Settings.from_env({"DISCONNECT_GRACE": ""}).disconnect_grace is None


@pytest.mark.parametrize("env", [{"PORT": "x"}, {"AI_SDK": "5"}, {"DISCONNECT_GRACE": "soon"}, {"SHOW_ERRORS": "yes"}])
def test_settings_that_make_no_sense_are_refused(env: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=next(iter(env.values()))):
        Settings.from_env(env)


async def test_the_demo_shows_its_page_and_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    app = create_app(Settings())
    async with client(app) as http:
        assert "<!doctype html>" in (await http.get("/")).text
        told: dict[str, Any] = {
            "agent": "guide",
            "description": "Plans city trips: weather, hotels, itineraries and bookings.",
        }
        told |= {"models": ["scripted"], "tools": [], "suggestions": list(SUGGESTIONS), "inspector": False}
        told |= {"whileBusy": "queue", "maxFileBytes": 20 * 2**20, "maxMessageBytes": 32 * 2**20}
        assert (await http.get("/page.json")).json() == told
    async with app.router.lifespan_context(app), begin(app, chat(said("hi"))) as exchange:
        assert await exchange.status() == 200
        await exchange.until("start-step")


def test_the_page_of_the_demo_says_that_it_is_gemini_if_there_is_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "k")
    assert model_names(demo_agent()) == (MODEL,)
    monkeypatch.delenv("GOOGLE_API_KEY")
    assert model_names(demo_agent()) == ("scripted",)


@pytest.mark.parametrize("inspect", [False, True])
async def test_the_demo_has_an_inspector_only_if_it_is_told_to(inspect: bool) -> None:
    async with client(create_app(Settings(inspect=inspect))) as http:
        assert (await http.get("/api/chat/c1/inspect")).is_success == inspect
        assert (await http.post("/api/inspect", content=b"")).status_code == (422 if inspect else 405)
        assert (await http.get("/page.json")).json()["inspector"] == inspect


@pytest.mark.parametrize("show_errors", [False, True])
def test_the_demo_shows_the_cause_of_an_error_only_if_it_is_told_to(show_errors: bool) -> None:
    shown = chat_service(Settings(show_errors=show_errors)).error_text(ValueError("hunter2"))
    assert shown == ("ValueError: hunter2." if show_errors else "An error occurred.")


def test_the_factory_takes_its_settings_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLOW_ORIGINS", "https://a")
    assert from_env().user_middleware
