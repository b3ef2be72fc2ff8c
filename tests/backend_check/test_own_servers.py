"""Our servers hold all checks, with the default prompts: the demo, and the project that ``init`` makes."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from stream_protocol.backend_check import Outcome, run_checks
from stream_protocol.cli import main
from stream_protocol.demo import demo_agent
from stream_protocol.demo._question import Question
from stream_protocol.demo._script import SCENES, long_story
from stream_protocol.serving import ChatService, create_app
from stream_protocol.wire import AI_SDK_VERSIONS, AiSdkVersion
from tests.processes import serving
from tests.served import served

STORY_LENGTH = 1500
"""Characters of the demo's long story, which takes half a minute as a whole."""


@pytest.mark.parametrize("ai_sdk", AI_SDK_VERSIONS)
async def test_the_demo_holds_all_checks(ai_sdk: AiSdkVersion, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    monkeypatch.setattr("stream_protocol.demo._script.PACE", 0.01)
    story = [text[:STORY_LENGTH] for text in long_story(Question("", (), {})) if isinstance(text, str)]
    monkeypatch.setattr("stream_protocol.demo._script.SCENES", ((r"\bstory\b", lambda _: story), *SCENES))
    monkeypatch.setattr("stream_protocol.demo._tools.PATIENCE", 0)
    app = create_app(ChatService(demo_agent(), ai_sdk=ai_sdk))
    with served(app) as address:
        results = await run_checks(f"{address}/api/chat", versions=(ai_sdk,))
    assert [each for each in results if each.outcome is not Outcome.HOLDS] == []


@pytest.mark.processes
async def test_a_project_of_init_holds_all_but_the_error_that_it_never_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(main, ["init", "shop", "--page", "none"]).exit_code == 0
    with serving("shop", cwd=tmp_path / "shop") as (_, address):
        results = await run_checks(f"{address}/api/chat")
    assert {each.check.name: each.reason for each in results if each.outcome is not Outcome.HOLDS} == {
        "error": "No prompt of `error` leads to an error."
    }
