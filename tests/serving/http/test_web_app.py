from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent

from stream_protocol.serving import ChatService, FilePolicy, Suggestion, create_app
from stream_protocol.serving.http import _web_app as app_module
from stream_protocol.testing import ScriptedLlm
from stream_protocol.wire import InvalidArgumentError
from tests.serving.support import client


def agent() -> LlmAgent:
    return LlmAgent(name="root", model=ScriptedLlm(turns=["Hello."]))


async def test_the_page_is_served_with_its_files_and_never_hides_the_endpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "index.html").write_text("<!doctype html><title>page</title>")
    (tmp_path / "page.js").write_text("1")
    monkeypatch.setattr(app_module, "PAGE", tmp_path)
    async with client(create_app(agent())) as http:
        assert "<title>page</title>" in (await http.get("/")).text
        assert (await http.get("/page.js")).text == "1"
        assert (await http.get("/healthz")).json() == {"status": "ok"}


async def test_without_a_built_page_a_sentence_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app_module, "PAGE", tmp_path / "nowhere")
    async with client(create_app(agent())) as http:
        response = await http.get("/")
    assert (response.status_code, response.text) == (
        200,
        "The chat endpoint is POST /api/chat. This copy of the package has no page.",
    )


async def test_the_page_can_be_left_out() -> None:
    async with client(create_app(agent(), page=False)) as http:
        assert (await http.get("/")).status_code == 404


@pytest.mark.parametrize(
    "suggestions",
    [
        "hello",
        [1],
        [{"title": "without a prompt"}],
        [{"prompt": "hello", "icon": "wave"}],
        [{"prompt": "hello", "group": 1}],
        [{"prompt": "hello", "attach": "yes"}],
    ],
)
def test_wrong_suggestions_are_refused(suggestions: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="`suggestions` must be a list of texts, or of dictionaries"):
        create_app(agent(), suggestions=suggestions)


async def test_suggestions_reach_the_page_with_their_groups() -> None:
    greeting = Suggestion(title="Greeting", group="Answers", prompt="hi", attach=True)
    suggestions: list[str | Suggestion] = ["hello", greeting]
    async with client(create_app(agent(), suggestions=suggestions)) as http:
        assert (await http.get("/page.json")).json()["suggestions"] == suggestions


async def test_the_page_learns_how_large_files_may_be() -> None:
    app = create_app(ChatService(agent(), files=FilePolicy(max_bytes=1000)))
    async with client(app) as http:
        info = (await http.get("/page.json")).json()
    assert (info["maxFileBytes"], info["maxMessageBytes"]) == (1000, 32 * 2**20)
