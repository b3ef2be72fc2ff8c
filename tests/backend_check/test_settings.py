from pathlib import Path

import pytest

from stream_protocol.backend_check import Outcome, Settings, SettingsError, read_settings, run_checks
from tests.backend_check.fake_backend import FakeBackend
from tests.served import served


def written(folder: Path, text: str) -> Path:
    file = folder / "prompts.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_file_replaces_the_defaults_that_it_names(tmp_path: Path) -> None:
    text = 'tool = "Ask for the weather"\napproval = ["Book", "Delete"]\nclient_tool = false\nresume = false\n'
    text += 'timeout = 5\n[headers]\nauthorization = "Bearer x"\n[body]\nmodel = "small"\n'
    settings = read_settings(written(tmp_path, text))
    assert settings == Settings(
        tool=("Ask for the weather",),
        approval=("Book", "Delete"),
        client_tool=(),
        resume="",
        timeout=5,
        headers={"authorization": "Bearer x"},
        body={"model": "small"},
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("tool", "not TOML"),
        ("tol = 'x'", "unknown key `tol`: use one of text, tool"),
        ("tool = 1", "`tool` must be a prompt, a list of prompts or false"),
        ("tool = ''", "`tool` must be a prompt, a list of prompts or false"),
        ("stop = true", "`stop` must be a path such as /api/chat/{id}/stop, or false"),
        ("stop = 'http://[x'", "`stop` must be a path such as /api/chat/{id}/stop, or false"),
        ("body = { day = 2026-01-01 }", "`body` must have values of JSON, so no dates and no nan"),
        ("client_tool_output = nan", "`client_tool_output` must have values of JSON, so no dates and no nan"),
        ("headers = 'x'", "`headers` must be a table"),
        ("headers = { a = 'ü' }", "each value in `headers` must be a text of ASCII characters"),
        ("timeout = 0", "`timeout` must be a number of seconds above 0"),
        ("timeout = true", "`timeout` must be a number of seconds above 0"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(text: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        read_settings(written(tmp_path, text))
    assert str(caught.value).startswith(f"{tmp_path / 'prompts.toml'}: ")
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_one_that_is_not_text_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="No such file"):
        read_settings(tmp_path / "missing.toml")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError, match="not UTF-8"):
        read_settings(tmp_path / "bytes")


async def test_what_the_settings_rule_out_is_not_tried() -> None:
    settings = Settings(tool=(), approval=(), client_tool=())
    with served(FakeBackend("tool result").app()) as address:
        results = await run_checks(f"{address}/api/chat", settings, profiles=["tools"])
    assert {(each.outcome, each.excused) for each in results} == {(Outcome.NOT_OFFERED, True)}
    assert results[0].reason == "The settings have tool = false."


async def test_headers_body_and_routes_are_those_of_the_settings() -> None:
    settings = Settings(resume="/api/chat/{id}/nowhere", stop="", body={"messages": "theirs", "model": "x"})
    with served(FakeBackend().app()) as address:
        results = await run_checks(f"{address}/api/chat", settings, profiles=["durable"])
    outcomes = {each.check.name: (each.outcome, each.reason, each.excused) for each in results}
    assert outcomes["resume"] == (Outcome.NOT_OFFERED, "During a run, resume gets HTTP 404.", False)
    assert outcomes["stop"] == (Outcome.NOT_OFFERED, "The settings have stop = false.", True)
