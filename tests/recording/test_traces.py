"""Traces of agents-cli, in the forms that agents-cli and people write."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from click.testing import CliRunner

from stream_protocol.check import check_file
from stream_protocol.cli import main
from stream_protocol.inspector._dropped_file import shown_file
from stream_protocol.recording import RecordingError, load_recording, replay, replay_messages
from stream_protocol.testing import RecordingFinder, StreamMatcher
from tests.batch import batch

Json = dict[str, Any]


def text(words: str, role: str = "model") -> Json:
    return {"role": role, "parts": [{"text": words}]}


def event(author: str, *parts: Json, **fields: Any) -> Json:
    return {"author": author, "content": {"role": "user" if author == "user" else "model", "parts": [*parts]}, **fields}


def call(name: str, call_id: str | None = "c-1", **args: Any) -> Json:
    return {"function_call": {"name": name, "args": args, **({} if call_id is None else {"id": call_id})}}


def result(name: str, call_id: str | None = "c-1", **values: Any) -> Json:
    return {"function_response": {"name": name, "response": values, **({} if call_id is None else {"id": call_id})}}


LOOKS: Final = [
    event("guide", call("look", city="Oslo")),
    event("guide", result("look", celsius=18)),
    event("guide", {"text": "Mild."}),
]
ASKED: Final = text("The weather?", "user")


def case(*turns: list[Json], **fields: Any) -> Json:
    own = [{"turn_index": n, "turn_id": f"turn_{n}", "events": [*events]} for n, events in enumerate(turns)]
    return {"eval_case_id": "weather", "agent_data": {"agents": {}, "turns": own}, **fields}


def camel(value: Any) -> Any:
    if isinstance(value, dict):
        return {_camel_key(key): camel(item) for key, item in value.items()}
    return [camel(item) for item in value] if isinstance(value, list) else value


def _camel_key(key: str) -> str:
    head, *rest = key.split("_")
    return head + "".join(word.capitalize() for word in rest)


def written(folder: Path, document: Any) -> Path:
    (folder / "file").write_text(document if isinstance(document, str) else json.dumps(document))
    return folder / "file"


def told(path: Path, session: str | None = None) -> list[Any]:
    """Return the contents of each message."""
    recording = load_recording(path, session=session)
    messages: list[Any] = replay_messages(recording.stream_turns(), delegated=recording.delegated)
    return [
        (message["role"], [_told(part) for part in message["parts"] if part["type"] != "step-start"])
        for message in messages
    ]


def _told(part: Any) -> Any:
    return part.get("text") or part.get("output") or part.get("errorText") or part["state"]


CONVERSATION: Final = [("user", ["The weather?"]), ("assistant", [{"celsius": 18}, "Mild."])]
"""Return the conversation in each of these files."""

ANSWER: Final = [{"response": text("Mild.")}]
WITHOUT_IDS: Final = [
    event("guide", call("look", None, city="Oslo")),
    event("guide", result("look", None, celsius=18)),
    event("guide", {"text": "Mild."}),
]
NULLS: Final = dict.fromkeys(("inline_data", "function_call", "thought", "video_metadata", "media_resolution"))

FILES: Final[dict[str, Any]] = {
    "the text in the prompt alone": {"eval_cases": [case(LOOKS, prompt=ASKED, responses=ANSWER)]},
    "the text in the events alone": {"eval_cases": [case([event("user", {"text": "The weather?"}), *LOOKS])]},
    "the text in both": {"eval_cases": [case([event("user", {"text": "The weather?"}), *LOOKS], prompt=ASKED)]},
    "in camelCase": camel({"eval_cases": [case(LOOKS, prompt=ASKED, responses=ANSWER)]}),
    "in YAML": yaml.safe_dump({"eval_cases": [case(LOOKS, prompt=ASKED)]}),
    "on one line": json.dumps({"eval_cases": [case(LOOKS, prompt=ASKED)]}),
    "one case alone": case(LOOKS, prompt=ASKED),
    "a prompt that is a text": {"eval_cases": [case(LOOKS, prompt="The weather?")]},
    "contents that are texts": {
        "eval_cases": [case([{"author": "user", "content": "The weather?"}, *LOOKS[:2], {"content": "Mild."}])]
    },
    "parts that are texts": {"eval_cases": [case(LOOKS, prompt={"parts": ["The weather?"]})]},
    "contents without a role": {"eval_cases": [case(LOOKS, prompt={"parts": [{"text": "The weather?"}]})]},
    "calls without ids": {"eval_cases": [case(WITHOUT_IDS, prompt=ASKED)]},
    "events without authors": {
        "eval_cases": [case([{"content": one["content"]} for one in LOOKS], prompt=ASKED, responses=ANSWER)]
    },
    "results by the user": {
        "eval_cases": [case([LOOKS[0], event("user", result("look", celsius=18)), LOOKS[2]], prompt=ASKED)]
    },
    "results by a tool, in a turn of their own": {
        "eval_cases": [case([LOOKS[0]], [event("tool", result("look", celsius=18)), LOOKS[2]], prompt=ASKED)]
    },
    "the answer in the responses alone": {"eval_cases": [case(LOOKS[:2], prompt=ASKED, responses=ANSWER)]},
    "empty turns, and events without content": {
        "eval_cases": [
            case([], [{"author": "guide", "state_delta": {"a": 1}}, {"author": "guide", "content": None}, *LOOKS, {}])
            | {"prompt": ASKED}
        ]
    },
    "times, and what only a trace has": {
        "eval_cases": [
            case(
                [
                    {**one, "event_time": f"2026-07-0{n}T12:00:00Z", "active_tools": []}
                    for n, one in enumerate(LOOKS, 1)
                ],
                prompt=ASKED,
                user_scenario=None,
            )
        ]
    },
    "nulls": {
        "bigquery_source": None,
        "eval_cases": [
            case(
                [
                    {
                        **one,
                        "event_time": None,
                        "content": {"parts": [NULLS | part for part in one["content"]["parts"]]},
                    }
                    for one in LOOKS
                ],
                prompt=ASKED,
                reference=None,
                conversation_history=None,
            )
        ],
    },
    "a graded trace": {
        "eval_case_results": [{"eval_case_index": 0}],
        "evaluation_dataset": [{"eval_cases": [case(LOOKS, prompt=ASKED)]}],
    },
    "events beside the agent's data": {
        "eval_cases": [{"eval_case_id": "c", "prompt": ASKED, "responses": ANSWER, "intermediate_events": LOOKS[:2]}]
    },
    "whole ADK events": {
        "eval_cases": [
            case(
                [
                    {**one, "id": f"e{n}", "invocationId": "e-1", "partial": None, "actions": {}}
                    for n, one in enumerate(LOOKS)
                ],
                prompt=ASKED,
            )
        ]
    },
    "fragments and what they become": {
        "eval_cases": [
            case(
                [*LOOKS[:2], *(event("guide", {"text": piece}) for piece in ("Mi", "ld", ".", "")), LOOKS[2]],
                prompt=ASKED,
            )
        ]
    },
    "a session among the keys": {"session": None, "eval_cases": [case(LOOKS, prompt=ASKED)]},
}


@batch(name=FILES)
def test_a_trace_tells_its_conversation(name: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = written(tmp_path_factory.mktemp("trace"), name)
    assert told(path) == CONVERSATION
    assert list(check_file(path)) == []
    assert b"".join(replay(load_recording(path))).count(b"[DONE]") == 1


READERS: Final[dict[str, Callable[[Path], object]]] = {
    "replay": lambda path: b"".join(replay(load_recording(path))),
    "check": lambda path: list(check_file(path)),
    "inspector": lambda path: shown_file(path, None),
    "plugin": lambda path: StreamMatcher(update=True, on_write=Path.exists)(RecordingFinder((path.parent,))("file")),
    "commands": lambda path: [
        _ok(CliRunner().invoke(main, [*command, str(path)])) for command in (["check"], ["replay", "--to", "messages"])
    ],
}


def _ok(done: Any) -> str:
    assert done.exit_code == 0, done.output
    output: str = done.output
    return output


@batch(
    read=READERS, name=["the text in the prompt alone", "in camelCase", "in YAML", "one case alone", "a graded trace"]
)
def test_whatever_reads_recordings_reads_traces(
    read: Callable[[Path], object], name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    read(written(tmp_path_factory.mktemp("trace"), FILES[name]))


SAYS: Final = [event("user", {"text": "More?"}), event("guide", {"text": "Sure."})]


def test_each_message_of_the_user_begins_a_message(tmp_path: Path) -> None:
    path = written(tmp_path, {"eval_cases": [case([event("user", {"text": "The weather?"}), *LOOKS], SAYS)]})
    assert told(path) == [*CONVERSATION, ("user", ["More?"]), ("assistant", ["Sure."])]


def test_a_history_before_the_prompt_is_told(tmp_path: Path) -> None:
    history = [{"author": "user", "content": text("More?", "user")}, {"author": "guide", "content": text("Sure.")}]
    one = {"eval_case_id": "c", "conversation_history": history, "prompt": ASKED, "responses": ANSWER}
    assert told(written(tmp_path, one | {"agent_data": {}})) == [
        ("user", ["More?"]),
        ("assistant", ["Sure."]),
        ("user", ["The weather?"]),
        ("assistant", ["Mild."]),
    ]


@pytest.mark.parametrize("response", ["Mild.", text("Mild."), {"text": "Mild."}])
def test_a_prompt_and_a_response_are_a_conversation(response: Any, tmp_path: Path) -> None:
    path = written(tmp_path, {"eval_cases": [{"id": "c", "prompt": ASKED, "response": response, "agent_data": {}}]})
    assert told(path) == [("user", ["The weather?"]), ("assistant", ["Mild."])]


def test_a_text_that_comes_twice_is_told_twice(tmp_path: Path) -> None:
    path = written(tmp_path, case([LOOKS[2], LOOKS[2], event("guide", {"text": "So."})], prompt=ASKED))
    assert told(path)[1:] == [("assistant", ["Mild.", "Mild.", "So."])]


def test_thoughts_are_no_fragments_of_words(tmp_path: Path) -> None:
    pieces = [event("guide", {"text": "Mi", "thought": True}), event("guide", {"text": "ld."}), LOOKS[2]]
    path = written(tmp_path, case(pieces, prompt=ASKED))
    assert told(path)[1:] == [("assistant", ["Mi", "ld.", "Mild."])]
    whole = event("guide", {"text": "Hm.", "thought": True}, {"text": "Mild."})
    pieces = [event("guide", {"text": one, "thought": True}) for one in ("H", "m.")]
    path = written(tmp_path, case([*pieces, event("guide", {"text": "Mi"}), event("guide", {"text": "ld."}), whole]))
    assert told(path) == [("assistant", ["Hm.", "Mild."])]


def test_two_agents_are_not_one(tmp_path: Path) -> None:
    path = written(
        tmp_path, case([event("a", {"text": "Mi"}), event("b", {"text": "ld."}), event("b", {"text": "Mild."})])
    )
    assert told(path) == [("assistant", ["Mi", "ld.", "Mild."])]


# questions


QUESTION: Final = {"interruptId": "decision", "message": "Sure?"}
ANSWERS: Final[dict[str, tuple[str | None, Json, str]]] = {
    "with ids": ("q-1", result("adk_request_input", "q-1", result="yes"), "user"),
    "without ids": (None, result("adk_request_input", None, result="yes"), "user"),
    "by the name of the interrupt": (None, result("decision", None, result="yes"), "user"),
    "by its id": (None, result("adk_request_input", "decision", result="yes"), "user"),
    "by a tool": (None, result("decision", None, result="yes"), "tool"),
}


@batch(name=ANSWERS)
def test_a_question_waits_for_the_user_s_answer(
    name: tuple[str | None, Json, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    call_id, answer, author = name
    asked = [event("flow", call("adk_request_input", call_id, **QUESTION))]
    path = written(tmp_path_factory.mktemp("trace"), case(asked, prompt=ASKED))
    assert told(path)[1:] == [("assistant", ["input-available"])]
    path = written(path.parent, case(asked, [event(author, answer), event("flow", {"text": "Done."})], prompt=ASKED))
    assert told(path)[1:] == [("assistant", ["yes", "Done."])]
    assert list(check_file(path)) == []


def confirmation(call_id: str, waiting_id: str) -> Json:
    args = {"originalFunctionCall": {"id": waiting_id, "name": "pay", "args": {}}, "toolConfirmation": {"hint": ""}}
    return call("adk_request_confirmation", call_id, **args)


@pytest.mark.parametrize("is_settled", [False, True])
def test_an_approval_is_one(is_settled: bool, tmp_path: Path) -> None:
    calls = event("guide", call("pay", "p"), *([call("look", "l")] if is_settled else []))
    waits = event(
        "guide", *([result("look", "l", celsius=18)] if is_settled else []), result("pay", "p", error="It asks.")
    )
    asks = event("guide", confirmation("q", "p"))
    before = [calls, waits, asks] if is_settled else [calls, asks, waits]
    path = written(tmp_path, case(before, prompt=ASKED))
    *_, message = told(path)
    assert message == ("assistant", ["approval-requested", *([{"celsius": 18}] if is_settled else [])])
    after = [
        event("user", result("adk_request_confirmation", "q", confirmed=True)),
        event("guide", result("pay", "p", paid=1)),
        event("guide", {"text": "Paid."}),
    ]
    path = written(tmp_path, case(before, after, prompt=ASKED))
    *_, message = told(path)
    assert message == ("assistant", [{"paid": 1}, *([{"celsius": 18}] if is_settled else []), "Paid."])
    assert list(check_file(path)) == []


def test_two_questions_are_answered_in_their_order(tmp_path: Path) -> None:
    asked = [event("flow", call("adk_request_input", None, message=n), call("adk_request_input", None)) for n in "ab"]
    answers = [event("user", *(result("adk_request_input", None, result=n) for n in "wxyz"))]
    assert told(written(tmp_path, case(asked, answers, prompt=ASKED)))[1] == ("assistant", ["w", "x", "y", "z"])


# choosing a case


def several(*names: str | None) -> Json:
    cases = [
        {"prompt": ASKED, "response": f"Answer {n}.", **({} if name is None else {"eval_case_id": name})}
        for n, name in enumerate(names)
    ]
    return {"eval_cases": cases}


def test_one_of_several_cases_is_chosen_by_its_name(tmp_path: Path) -> None:
    path = written(tmp_path, several("a", None, "a", "a.3", "b"))
    with pytest.raises(RecordingError) as refused:
        load_recording(path)
    names = ["a", "case-2", "a.3", "a.3.4", "b"]
    listed = ", ".join(map(json.dumps, names))
    assert str(refused.value) == f"5 eval cases are in it, and --session chooses one: {listed}"
    assert [told(path, name)[1] for name in names] == [("assistant", [f"Answer {n}."]) for n in range(5)]
    with pytest.raises(RecordingError, match=r'^no eval case "c" in it; it has "a", '):
        load_recording(path, session="c")


def test_sessions_without_ids_have_numbers(tmp_path: Path) -> None:
    said = {"events": [{"author": "root", "content": text("Hi.")}]}
    path = written(tmp_path, [said, said])
    with pytest.raises(RecordingError, match=r'--session chooses one: "session-1", "session-2"$'):
        load_recording(path)
    assert told(path, "session-2") == [("assistant", ["Hi."])]


# refused files, with the reason


REFUSED: Final[dict[str, tuple[Any, str]]] = {
    "a dataset": ({"eval_cases": [{"eval_case_id": "c", "prompt": ASKED}]}, "no answer of an agent in its turns"),
    "a dataset of several": (
        {"eval_cases": [{"eval_case_id": name, "prompt": ASKED} for name in "ab"]},
        "no answer of an agent in its turns",
    ),
    "a dataset with references": (
        {"eval_cases": [{"eval_case_id": "c", "prompt": ASKED, "reference": {"response": text("Mild.")}}]},
        "no answer of an agent in its turns",
    ),
    "an agent that says nothing": (case([{"author": "guide", "content": None}], prompt=ASKED), "no answer of an agent"),
    "no cases": ({"eval_cases": []}, "no eval cases in it"),
    "cases of something else": ({"eval_cases": [{"eval_case_id": "c", "error": "boom"}, 3]}, "no conversation in its"),
    "scenarios": (
        {"eval_set_id": "e", "eval_cases": [{"eval_id": "c", "conversation_scenario": {"starting_prompt": "Hi"}}]},
        "no conversation in its eval cases",
    ),
    "turns that are none": ({"eval_cases": [case([])]}, "no conversation in its eval cases"),
    "a result of ADK": ({"eval_case_results": []}, "the results of an evaluation, and no evalset"),
    "events of another kind": ([{"events": [{"type": "content"}]}], "event 1 is not an ADK event: it has no author"),
    "a session without its events": ({"id": "s", "appName": "a", "userId": "u"}, "no events in it"),
    "a session in a session without events": ({"session": {"id": "s", "app_name": "a"}}, "no events in it"),
    "a session with null": ({"id": "s", "events": None}, "no events in it"),
    "sessions that are none": ({"sessions": []}, "no sessions in it"),
    "events that are an object": ({"events": {}}, "its `events` are of the type dict, no list"),
}


@batch(name=REFUSED)
def test_the_reason_is_true(name: tuple[Any, str], tmp_path_factory: pytest.TempPathFactory) -> None:
    document, reason = name
    path = written(tmp_path_factory.mktemp("refused"), document)
    with pytest.raises(RecordingError) as refused:
        load_recording(path)
    assert str(refused.value).startswith(reason)


def test_a_case_without_an_answer_is_refused_beside_others(tmp_path: Path) -> None:
    path = written(tmp_path, {"eval_cases": [{"eval_case_id": "a", "prompt": ASKED}, case(LOOKS)]})
    with pytest.raises(RecordingError, match=r"^no answer of an agent in its turns$"):
        load_recording(path, session="a")
    assert told(path, "weather") == CONVERSATION[1:]


ODD: Final[list[Any]] = [None, 3, "text", True, [], {}, [None], [3], [[]], {"parts": 3}, {"parts": [None, 3, []]}]


@pytest.mark.slow
@batch(
    key=["prompt", "responses", "response", "agent_data", "turns", "events", "event", "content", "author"],
    value=ODD,
)
def test_no_odd_value_is_a_traceback(key: str, value: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    one = case([event("user", {"text": "The weather?"}), *LOOKS], prompt=ASKED, responses=ANSWER)
    turn = one["agent_data"]["turns"][0]
    match key:
        case "turns":
            one["agent_data"]["turns"] = value
        case "events":
            turn["events"] = value
        case "event":
            turn["events"][1] = value
        case "content" | "author":
            turn["events"][1][key] = value
        case _:
            one[key] = value
    path = written(tmp_path_factory.mktemp("odd"), {"eval_cases": [one]})
    with suppress(RecordingError):
        told(path)


# old evalsets


OLD_TURN: Final = {
    "query": "The weather?",
    "expected_tool_use": [{"tool_name": "look", "tool_input": {"city": "Oslo"}, "mock_tool_output": {"celsius": 18}}],
    "expected_intermediate_agent_responses": [{"author": "scout", "text": "I looked."}],
    "reference": "Mild.",
}
OLD: Final = [
    ("user", ["The weather?"]),
    ("assistant", [{"result": {"celsius": 18}}, "I looked.", "Mild."]),
    ("user", ["Thanks."]),
    ("assistant", ["Bye."]),
]
THANKS: Final = {"query": "Thanks.", "reference": "Bye."}


@pytest.mark.parametrize(
    "document",
    [
        [OLD_TURN, THANKS],
        [{"name": "c", "data": [OLD_TURN, THANKS], "initial_session": {"state": {}}}],
        yaml.safe_dump([OLD_TURN, THANKS]),
        yaml.safe_dump([{"name": "c", "data": [OLD_TURN, THANKS]}]),
    ],
    ids=["test file", "evalset", "test file in YAML", "evalset in YAML"],
)
def test_an_evalset_of_the_first_form_is_read_as_adk_reads_it(document: Any, tmp_path: Path) -> None:
    path = written(tmp_path, document)
    assert told(path) == OLD
    assert list(check_file(path)) == []


def test_an_expected_call_without_a_result_has_none(tmp_path: Path) -> None:
    path = written(tmp_path, [{**OLD_TURN, "expected_tool_use": [{"tool_name": "look", "tool_input": {}}]}])
    assert told(path)[1] == ("assistant", ["The tool gave no result.", "I looked.", "Mild."])


def test_evalsets_of_the_first_form_are_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=r"^no answer of an agent in its turns$"):
        load_recording(written(tmp_path, [{"query": "The weather?", "expected_tool_use": []}]))
    path = written(tmp_path, [{"name": name, "data": [THANKS]} for name in "ab"])
    with pytest.raises(RecordingError, match=r'^2 eval cases are in it, and --session chooses one: "a", "b"$'):
        load_recording(path)
    assert told(path, "b") == OLD[2:]
