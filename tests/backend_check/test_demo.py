"""The demo holds all checks, with the default prompts. So does a project of ``init``: tests/servers."""

import pytest

from stream_protocol.backend_check import Outcome, run_checks
from stream_protocol.demo import demo_agent
from stream_protocol.demo._question import Question
from stream_protocol.demo._script import SCENES, long_story
from stream_protocol.serving import ChatService, create_app
from stream_protocol.wire import AI_SDK_VERSIONS, AiSdkVersion
from tests.served import served

pytestmark = pytest.mark.servers

STORY_LENGTH = 1500
"""Characters of the demo's long story, which takes half a minute as a whole."""


@pytest.mark.parametrize("ai_sdk", AI_SDK_VERSIONS)
async def test_the_demo_holds_all_checks(ai_sdk: AiSdkVersion, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    monkeypatch.setattr("stream_protocol.demo._script.PACE", 0.01)
    story = [text[:STORY_LENGTH] for text in long_story(Question("", (), {})) if isinstance(text, str)]
    monkeypatch.setattr("stream_protocol.demo._script.SCENES", ((r"\bstory\b", lambda _: story), *SCENES))
    monkeypatch.setattr("stream_protocol.demo._tools.RUN_SECONDS", 0)
    app = create_app(ChatService(demo_agent(), ai_sdk=ai_sdk))
    with served(app) as address:
        results = await run_checks(f"{address}/api/chat", versions=(ai_sdk,))
    assert [each for each in results if each.outcome is not Outcome.HOLDS] == []
