"""The code of docs/testing.md runs unchanged."""

import re

import pytest
from google.adk.events import Event
from google.genai import types

from tests.documents import block
from tests.processes import started

pytestmark = pytest.mark.processes


def said(author: str, *parts: types.Part) -> str:
    content = types.Content(role="user" if author == "user" else "model", parts=[*parts])
    return Event(invocation_id="e-1", author=author, content=content).model_dump_json(exclude_none=True)


RECORDING = "\n".join(
    [
        said("user", types.Part(text="The weather in Oslo?")),
        said("guide", types.Part.from_function_call(name="get_weather", args={"city": "Oslo"})),
        said("guide", types.Part.from_function_response(name="get_weather", response={"degrees": 21})),
        said("guide", types.Part(text="It is 21 °C.")),
    ]
)


def test_the_code_of_the_page_runs(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    pytester.makeini("[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function")
    blocks = [
        block("docs/testing.md", "def test_the_weather_is_shown"),
        block("docs/testing.md", "def test_the_agent_asks_its_tool"),
        block("docs/testing.md", "def test_the_agent_still_answers_as_recorded"),
        block("README.md", "assert_stream_matches("),
    ]
    pytester.makepyfile(test_weather="\n".join(blocks))
    folder = pytester.mkdir("recordings")
    (folder / "weather.jsonl").write_text(RECORDING, encoding="utf-8")
    for options in (["--update-recordings"], []):
        with started("pytest", "-p", "adk_ui_stream_pytest", *options, cwd=pytester.path) as process:
            assert re.search(r"= 4 passed\b", process.read())
            assert process.wait() == 0
