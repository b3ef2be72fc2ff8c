"""A number in a file never causes a traceback, whatever its size and its place."""

import json
import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from stream_protocol.check import check_file
from stream_protocol.inspector._dropped_file import recording_of_file, shown_file
from stream_protocol.recording import RecordingError, load_recording, pace_turns, replay, replay_messages
from tests.batch import batch

HUGE: Final = 10**400
LARGEST: Final = 10**4300 - 1
"""The largest integer that Python can read. Larger integers have too many digits."""

NUMBERS: Final[dict[str, Any]] = {
    "beyond all floats": HUGE,
    "beyond all floats, negative": -HUGE,
    "the largest": LARGEST,
    "the largest float": 1.7e308,
    "infinite": math.inf,
    "no number": math.nan,
    "negative": -5,
    "a text": "1e999",
    "a list": [1],
}

CALL: Final = {"functionCall": {"id": "c", "name": "look", "args": {"n": 1, "list": [1]}}}
EVENT: Final[dict[str, Any]] = {
    "author": "root",
    "invocationId": "e-1",
    "timestamp": 1.5,
    "content": {"role": "model", "parts": [{"text": "Hi."}, CALL]},
    "usageMetadata": {
        "promptTokenCount": 1,
        "candidatesTokenCount": 1,
        "thoughtsTokenCount": 1,
        "cachedContentTokenCount": 1,
        "totalTokenCount": 1,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 1}],
    },
    "avgLogprobs": -0.5,
    "finishReason": "STOP",
    "groundingMetadata": {
        "groundingChunks": [{"web": {"uri": "https://a.example/", "title": "A"}}],
        "groundingSupports": [
            {"segment": {"startIndex": 0, "endIndex": 3, "partIndex": 0}, "groundingChunkIndices": [0]}
        ],
    },
    "customMetadata": {"n": 1},
    "actions": {"stateDelta": {"n": 1}, "artifactDelta": {"a.txt": 0}},
    "turnComplete": True,
    "partial": False,
}
RESULT: Final = {
    "author": "root",
    "invocationId": "e-1",
    "content": {"parts": [{"functionResponse": {"id": "c", "name": "look", "response": {"n": 1, "list": [1]}}}]},
}


def paths(value: Any, *path: str | int) -> Iterator[tuple[str | int, ...]]:
    """Return the paths of the numbers in the value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        if isinstance(item, int | float):
            yield (*path, key)
        yield from paths(item, *path, key)


def changed(value: Any, path: tuple[str | int, ...], number: Any) -> Any:
    copy = deepcopy(value)
    place = copy
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = number
    return copy


def _paced(path: Path) -> None:
    for _, items in pace_turns(load_recording(path).stream_turns(), speed=math.inf):
        list(items)


READINGS: Final[tuple[Callable[[Path], object], ...]] = (
    lambda path: b"".join(replay(load_recording(path), send_state=True)),
    lambda path: [turn.at for turn in load_recording(path).turns()],
    lambda path: replay_messages(load_recording(path).stream_turns()),
    _paced,
    lambda path: list(check_file(path)),
    lambda path: shown_file(path, None),
    lambda path: recording_of_file(path, None),
)


def read_in_all_ways(folder: Path, text: str) -> None:
    """Read the file in each way. A file that is not a recording is refused with one line."""
    path = folder / "file"
    path.write_text(text)
    for read in READINGS:
        with suppress(RecordingError):
            read(path)


def lines(*values: Any) -> str:
    return "\n".join(map(json.dumps, values))


@pytest.mark.samples
@batch(path=[*paths(EVENT)], number=NUMBERS)
def test_no_number_of_an_event_is_a_traceback(
    path: tuple[str | int, ...], number: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    one = changed(EVENT, path, number)
    read_in_all_ways(tmp_path_factory.mktemp("numbers"), lines(one, RESULT, {**one, "id": "second"}))


@batch(path=[*paths(RESULT)], number=NUMBERS)
def test_no_number_of_a_result_is_a_traceback(
    path: tuple[str | int, ...], number: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    read_in_all_ways(tmp_path_factory.mktemp("numbers"), lines(EVENT, changed(RESULT, path, number)))


OWN: Final = [
    {"adk_ui_stream_recording": 1, "ai_sdk": 6},
    {"turn": {"request": {"n": 1}, "message_id": "e-1", "options": {"ai_sdk": 6}}, "at": 0},
    {"event": EVENT, "at": 0.5},
    {"chunk": {"type": "start"}, "at": 0.5},
    {"end": "finish", "at": 1},
]
EVALSET: Final = {
    "eval_set_id": "e",
    "creation_timestamp": 1,
    "eval_cases": [
        {
            "eval_id": "c",
            "conversation": [
                {
                    "user_content": {"parts": [{"text": "Hi"}]},
                    "final_response": {"parts": [{"text": "Hi."}]},
                    "creation_timestamp": 1,
                }
            ],
        }
    ],
}
CONFORMANCE: Final = {
    "recordings": [
        {
            "user_message_index": 0,
            "agent_name": "root",
            "llm_recording": {"llm_responses": [{"content": {"parts": [{"text": "Hi."}]}, "avg_logprobs": 1}]},
        }
    ]
}
TRACE: Final = {
    "eval_case_id": "c",
    "prompt": "Hi",
    "agent_data": {"turns": [{"turn_index": 0, "events": [{"author": "a", "content": "Hi.", "event_time": 1}]}]},
}
DOCUMENTS: Final[dict[str, Any]] = {
    "a session": {
        "id": "s",
        "lastUpdateTime": 1,
        "events": [{"author": "root", "timestamp": 1, "content": {"parts": [{"text": "Hi."}]}}],
    },
    "an evalset": EVALSET,
    "a conformance test": CONFORMANCE,
    "a trace": TRACE,
    "an old evalset": [{"query": 1, "reference": 1, "expected_tool_use": [{"tool_name": 1, "tool_input": {"n": 1}}]}],
}


@batch(number=NUMBERS)
def test_no_number_of_our_own_recording_is_a_traceback(number: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    for path in paths(OWN):
        if path[:2] != (2, "event"):
            read_in_all_ways(tmp_path_factory.mktemp("numbers"), lines(*changed(OWN, path, number)))


@pytest.mark.samples
@batch(name=DOCUMENTS, number=NUMBERS)
def test_no_number_of_a_document_is_a_traceback(
    name: Any, number: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for path in paths(name):
        document = changed(name, path, number)
        read_in_all_ways(tmp_path_factory.mktemp("numbers"), json.dumps(document))
        if number is not LARGEST:  # PyYAML writes all digits
            read_in_all_ways(tmp_path_factory.mktemp("numbers"), yaml.safe_dump(document))


@pytest.mark.parametrize("number", [HUGE, -HUGE, math.inf, math.nan])
def test_a_time_that_is_none_leaves_the_event(number: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text(lines({**EVENT, "timestamp": number}))
    (turn,) = load_recording(tmp_path / "file").turns()
    assert (turn.at, len(turn.events)) == (None, 1)


def test_numbers_in_base_60_are_texts_and_take_no_time(tmp_path: Path) -> None:
    """PyYAML's own parser does not end for this text."""
    digits = "59:" * 300_000 + "59"
    (tmp_path / "file").write_text(f"- {{author: root, content: {{parts: [{{text: {digits}}}]}}}}\n")
    (turn,) = load_recording(tmp_path / "file").turns()
    content = turn.events[0].content
    assert content is not None
    assert [part.text for part in content.parts or ()] == [digits]
