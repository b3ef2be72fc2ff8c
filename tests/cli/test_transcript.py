"""The chunks of an answer as text on a terminal."""

from typing import Any, cast

import click

from stream_protocol.cli._transcript import Transcript
from stream_protocol.wire import AnyChunk, UIMessage


def text_of(*chunks: dict[str, Any]) -> str:
    transcript = Transcript("guide")
    shown = "".join(transcript.chunk(cast("AnyChunk", chunk)) for chunk in chunks) + transcript.end()
    return click.unstyle(shown)


def delta(text: str, kind: str = "text", part: str = "1") -> dict[str, Any]:
    return {"type": f"{kind}-delta", "id": part, "delta": text}


def call(number: int, name: str = "look", **value: Any) -> dict[str, Any]:
    return {"type": "tool-input-available", "toolCallId": f"c{number}", "toolName": name, "input": value}


def output(number: int, value: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool-output-available", "toolCallId": f"c{number}", "output": value, **more}


def test_deltas_of_a_text_go_on_and_lines_are_indented() -> None:
    assert text_of(delta("One"), delta(" line\nand"), delta(" one")) == "guide\n  One line\n  and one\n"
    two = text_of(delta("Hm.", "reasoning", "r"), delta("So."))
    assert two == "guide\n  Thinking: Hm.\n  So.\n"


def test_an_output_names_its_call_unless_it_follows_it() -> None:
    assert text_of(call(1, at="x"), output(1, {"result": "here"})) == 'guide\n  ● look {"at":"x"}\n    → here\n'
    parallel = text_of(call(1), call(2, "find"), output(1, 1), output(2, None)).splitlines()
    assert parallel[-2:] == ["    look → 1", "    find → null"]
    assert text_of(call(1), output(1, "half", preliminary=True)) == "guide\n  ● look {}\n"


def test_a_long_value_is_cut() -> None:
    assert text_of(call(1), output(1, "x" * 1000)).splitlines()[-1] == f"    → {'x' * 160}…"


def test_failures_and_refusals_say_which_call_they_are_about() -> None:
    shown = text_of(
        call(1),
        {"type": "tool-output-error", "toolCallId": "c1", "errorText": "no net"},
        {"type": "tool-input-error", "toolCallId": "c2", "toolName": "find", "input": "{", "errorText": "no JSON"},
        call(3, "pay"),
        {"type": "tool-approval-request", "approvalId": "a", "toolCallId": "c3"},
        {"type": "tool-output-denied", "toolCallId": "c3"},
        {"type": "error", "errorText": "An error occurred."},
        {"type": "abort"},
    )
    assert shown.splitlines()[2:] == [
        "  ✗ look: no net",
        "  ● find {",
        "  ✗ find: no JSON",
        "  ● pay {}",
        "  ? pay needs approval",
        "    pay was denied",
        "  ✗ An error occurred.",
        "  stopped",
    ]


def test_sources_and_files_are_named_and_bookkeeping_is_not() -> None:
    shown = text_of(
        {"type": "start", "messageId": "m"},
        {"type": "start-step"},
        {"type": "source-url", "sourceId": "s", "url": "https://a.example", "title": "A"},
        {"type": "file", "url": "data:image/png;base64,AA", "mediaType": "image/png"},
        {"type": "finish"},
    )
    assert shown == "guide\n    A: https://a.example\n    [image/png]\n"


def test_nothing_that_is_said_controls_the_terminal() -> None:
    hostile = "\x1b[2J\u202e"
    said = cast(
        "UIMessage",
        {
            "id": "u",
            "role": "user",
            "parts": [
                {"type": "text", "text": hostile},
                {"type": "file", "url": "", "mediaType": "a/b", "filename": f"{hostile}.png"},
            ],
        },
    )
    shown = click.unstyle(Transcript().user_message(said)) + text_of(
        delta(hostile),
        call(1, hostile, x=hostile),
        output(1, hostile),
        {"type": "tool-output-error", "toolCallId": "c1", "errorText": hostile},
        {"type": "source-url", "sourceId": "s", "url": hostile, "title": hostile},
    )
    assert shown.count("\\u001b[2J\\u202e") == 10
    assert not {"\x1b", "\u202e"} & {*shown}
