"""The pytest plugin, tested in separate pytest runs."""

import json
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from uuid import uuid4

import pytest
from google.adk.events import Event
from google.genai import types

from stream_protocol.testing import RecordingFinder, StreamMatcher
from tests.documents import block

ROOT = Path(__file__).parents[2]
PLUGIN = "adk_ui_stream_pytest"
UPDATE = "--update-recordings"

MATCHES = """
def test_it(adk_recording, assert_stream_matches):
    assert_stream_matches(adk_recording("weather"))
"""


def event(invocation: str, *parts: types.Part, author: str = "guide") -> str:
    role = "user" if author == "user" else "model"
    content = types.Content(role=role, parts=[*parts])
    return Event(invocation_id=invocation, author=author, content=content).model_dump_json(exclude_none=True)


def weather(text: str = "It is sunny.", degrees: int = 21) -> str:
    """A recorded conversation with one tool call. The ids differ for each run."""
    invocation, call_id = f"e-{uuid4()}", f"adk-{uuid4()}"
    call = types.FunctionCall(id=call_id, name="get_weather", args={"city": "Oslo"})
    response = types.FunctionResponse(id=call_id, name="get_weather", response={"degrees": degrees})
    lines = [
        event(invocation, types.Part(text="The weather in Oslo?"), author="user"),
        event(invocation, types.Part(function_call=call)),
        event(invocation, types.Part(function_response=response)),
        event(invocation, types.Part(text=text)),
    ]
    return "\n".join(lines) + "\n"


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """An empty project outside CI, without other plugins."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return pytester


def write(project: pytest.Pytester, path: str, text: str) -> Path:
    file = project.path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def run(project: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return project.runpytest_inprocess("-p", PLUGIN, "-p", "no:cacheprovider", *arguments)


def output(result: pytest.RunResult) -> str:
    return "\n".join(result.outlines + result.errlines)


def test_an_expectation_is_written_when_asked_for_and_compared_from_then_on(project: pytest.Pytester) -> None:
    project.makepyfile(MATCHES)
    write(project, "recordings/weather.jsonl", weather())
    result = run(project, UPDATE)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["Wrote *weather.expected.jsonl: read it before you commit it."])
    lines = (project.path / "recordings/weather.expected.jsonl").read_text(encoding="utf-8").splitlines()
    assert lines[0] == '{"type":"start","messageId":"message-1"}'
    assert '{"type":"tool-output-available","toolCallId":"call-1","output":{"degrees":21}}' in lines
    assert lines[-1] == "[DONE]"
    run(project).assert_outcomes(passed=1)


def test_an_expectation_that_is_right_is_not_written_again(project: pytest.Pytester) -> None:
    project.makepyfile(MATCHES)
    write(project, "recordings/weather.jsonl", weather())
    run(project, UPDATE)
    assert "Wrote" not in output(run(project, UPDATE))


def test_the_same_conversation_recorded_anew_matches(project: pytest.Pytester) -> None:
    project.makepyfile(MATCHES)
    write(project, "recordings/weather.jsonl", weather())
    run(project, UPDATE)
    write(project, "recordings/weather.jsonl", weather())
    run(project).assert_outcomes(passed=1)


def test_another_stream_fails_with_its_first_difference_and_what_to_do(project: pytest.Pytester) -> None:
    project.makepyfile(MATCHES)
    write(project, "recordings/weather.jsonl", weather(degrees=21))
    run(project, UPDATE)
    write(project, "recordings/weather.jsonl", weather(degrees=-3))
    result = run(project)
    result.assert_outcomes(failed=1)
    told = [line.removeprefix("E").strip() for line in result.outlines]
    page = block("docs/testing.md", "AssertionError: The stream is not that of")
    shown = [line.strip() for line in page.splitlines()]
    assert "\n".join(shown) in "\n".join(told)
    assert "stream_protocol/testing" not in output(result), "the traceback ends in the test"


def test_a_missing_expectation_fails_and_says_how_to_make_one(project: pytest.Pytester) -> None:
    project.makepyfile(MATCHES)
    write(project, "recordings/weather.jsonl", weather())
    result = run(project)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*There is no *weather.expected.jsonl, so nothing is expected yet: run `pytest --update-recordings`*"]
    )
    assert [path.name for path in (project.path / "recordings").iterdir()] == ["weather.jsonl"]


def test_an_expectation_that_is_none_names_the_line(project: pytest.Pytester) -> None:
    project.makepyfile(MATCHES)
    write(project, "recordings/weather.jsonl", weather())
    write(project, "recordings/weather.expected.jsonl", '{"type":"start"}\n<<<<<<< HEAD\n')
    result = run(project)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*Line 2 of *weather.expected.jsonl is not a chunk*"])


@pytest.mark.parametrize("value", ["true", "1", "github"])
def test_no_expectation_is_written_in_ci(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("CI", value)
    project.makepyfile(MATCHES)
    write(project, "recordings/weather.jsonl", weather())
    result = run(project, UPDATE)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert f"{UPDATE} is refused in CI" in output(result)
    assert [path.name for path in (project.path / "recordings").iterdir()] == ["weather.jsonl"]


def test_a_variant_and_a_session_keep_expectations_of_their_own(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        def test_it(adk_recording, assert_stream_matches):
            assert_stream_matches(adk_recording("weather"))
            assert_stream_matches(adk_recording("weather"), variant="quiet", hidden_tools="all")
            assert_stream_matches(adk_recording("weather", session="a/b"), variant="v7", ai_sdk=7)
        """
    )
    session = {"id": "a/b", "events": [json.loads(line) for line in weather().splitlines()]}
    write(project, "recordings/weather.json", json.dumps(session))
    run(project, UPDATE).assert_outcomes(passed=1)
    assert sorted(path.name for path in (project.path / "recordings").glob("*.expected.jsonl")) == [
        "weather.a%2Fb.v7.expected.jsonl",
        "weather.expected.jsonl",
        "weather.quiet.expected.jsonl",
    ]
    quiet = (project.path / "recordings/weather.quiet.expected.jsonl").read_text(encoding="utf-8")
    assert "get_weather" not in quiet
    run(project).assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("test", "recording", "name"),
    [
        ("test_a.py", "recordings/weather.jsonl", "weather"),
        ("test_a.py", "recordings/weather.jsonl", "weather.jsonl"),
        ("test_a.py", "recordings/trips/weather.session.json", "trips/weather.session"),
        ("tests/unit/test_a.py", "tests/unit/recordings/weather.jsonl", "weather"),
        ("tests/unit/test_a.py", "tests/recordings/weather.jsonl", "weather"),
        ("elsewhere/test_a.py", "tests/recordings/weather.jsonl", "weather"),
    ],
)
def test_a_recording_is_found_beside_the_test_or_in_the_tests_of_the_project(
    project: pytest.Pytester, test: str, recording: str, name: str
) -> None:
    project.makeini("[pytest]")
    write(project, test, f"def test_it(adk_recording): assert adk_recording({name!r}).path.exists()")
    write(project, recording, weather())
    write(project, recording.replace("weather", "other"), weather())
    run(project).assert_outcomes(passed=1)


def test_the_folder_beside_the_test_comes_first(project: pytest.Pytester) -> None:
    write(project, "unit/test_a.py", "def test_it(adk_recording): print(adk_recording('weather').path)")
    write(project, "unit/recordings/weather.jsonl", weather())
    write(project, "tests/recordings/weather.jsonl", weather())
    run(project, "-s").stdout.fnmatch_lines(["*unit/recordings/weather.jsonl*"])


def test_a_recording_that_is_not_there_says_where_it_was_looked_for(project: pytest.Pytester) -> None:
    write(project, "unit/test_a.py", "def test_it(adk_recording): adk_recording('weather')")
    write(project, "unit/recordings/weather.expected.jsonl", "")
    result = run(project)
    result.assert_outcomes(failed=1)
    beside, common = project.path / "unit/recordings/weather", project.path / "tests/recordings/weather"
    assert f'There is no recording "weather": no file {beside} or {common}, with any suffix.' in output(result)


def test_two_recordings_of_one_name_are_not_guessed_between(project: pytest.Pytester) -> None:
    project.makepyfile("def test_it(adk_recording): adk_recording('weather')")
    write(project, "recordings/weather.jsonl", weather())
    write(project, "recordings/weather.json", weather())
    result = run(project)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(['*"weather" may be weather.json and weather.jsonl in *: give the whole name.'])


LIVE = """
import pytest
from stream_protocol import iter_chunks, iter_sse
from stream_protocol.testing import ScriptedLlm
from google.adk.events import Event
from google.genai.types import Content, FunctionCall, FunctionResponse, Part

def said(*parts, **fields):
    return Event(invocation_id="e-2", author="guide", content=Content(role="model", parts=[*parts]), **fields)

def events(degrees):
    return [
        said(Part(function_call=FunctionCall(id="other", name="get_weather", args={"city": "Oslo"}))),
        said(Part(function_response=FunctionResponse(id="other", name="get_weather", response={"degrees": degrees}))),
        said(Part(text="It is "), partial=True),
        said(Part(text="sunny."), partial=True),
        said(Part(text="It is sunny."), model_version="another"),
    ]

def test_chunks(adk_recording, assert_stream_matches):
    assert_stream_matches(adk_recording("weather"), chunks=iter_chunks(events(21)))

def test_bytes(adk_recording, assert_stream_matches):
    assert_stream_matches(adk_recording("weather"), chunks=b"".join(iter_sse(events(21))))

def test_other(adk_recording, assert_stream_matches):
    with pytest.raises(AssertionError, match="output.degrees is 3, not 21") as failed:
        assert_stream_matches(adk_recording("weather"), chunks=iter_chunks(events(3)))
    assert "record the conversation anew" in str(failed.value)

def test_turns(adk_recording, assert_stream_matches):
    with pytest.raises(AssertionError, match="turn 2 was not expected"):
        assert_stream_matches(adk_recording("weather"), chunks=[*iter_chunks(events(21)), *iter_chunks(events(21))])
"""


@pytest.mark.parametrize("updating", [False, True])
def test_what_an_agent_says_now_is_compared_with_the_recording(project: pytest.Pytester, updating: bool) -> None:
    project.makepyfile(test_recorded=MATCHES, test_live=LIVE)
    write(project, "recordings/weather.jsonl", weather())
    run(project, UPDATE, "test_recorded.py")
    expected = (project.path / "recordings/weather.expected.jsonl").read_bytes()
    run(project, *([UPDATE] if updating else []), "test_live.py").assert_outcomes(passed=4)
    assert (project.path / "recordings/weather.expected.jsonl").read_bytes() == expected


def test_an_expectation_is_itself_a_stream_that_check_can_judge(project: pytest.Pytester) -> None:
    project.makepyfile(MATCHES)
    write(project, "recordings/weather.jsonl", weather())
    run(project, UPDATE)
    command = [sys.executable, "-m", "stream_protocol", "check", "recordings/weather.expected.jsonl"]
    checked = subprocess.run(command, cwd=project.path, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_the_plugin_loads_nothing_but_itself() -> None:
    code = (
        f"import sys, pytest; had = {{*sys.modules}}; import {PLUGIN}; print(json.dumps([*({{*sys.modules}} - had)]))"
    )
    command = [sys.executable, "-c", f"import json; {code}"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=60)
    assert sorted(json.loads(done.stdout)) == [PLUGIN]


def test_a_project_without_recordings_notices_nothing(project: pytest.Pytester) -> None:
    project.makepyfile("def test_it(): pass")
    done = project.runpytest_subprocess("-p", PLUGIN, "-W", "error")
    done.assert_outcomes(passed=1)
    assert not done.stderr.lines


def test_pytest_finds_the_plugin_where_the_package_is_installed(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plugin is loaded by its entry point, and only once if it is also requested explicitly."""
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    assert {point.value for point in entry_points(group="pytest11", name=PLUGIN)} == {PLUGIN}
    for asked in ([], ["-p", PLUGIN]):
        project.runpytest_subprocess(*asked, "--help").stdout.fnmatch_lines([f"*{UPDATE}*"])


def test_the_fixtures_are_of_the_types_that_a_test_can_name(
    adk_recording: RecordingFinder, assert_stream_matches: StreamMatcher
) -> None:
    assert isinstance(adk_recording, RecordingFinder)
    assert isinstance(assert_stream_matches, StreamMatcher)
