"""Flat delegations to task-mode agents are hidden wherever it is known that they are."""

from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from google.adk.events import Event

from stream_protocol import StreamProtocolConverter, StreamProtocolError, iter_chunks, iter_sse
from stream_protocol.adk import find_task_agents
from stream_protocol.stream import Settings, hide_task_agents
from tests.stream.building import arg, call, event, fragment, piece, response, results, text
from tests.stream.running import inputs, texts

TASK: dict[str, Any] = {"author": "booker", "branch": "booker@F", "isolation_scope": "F"}
LOOKED_UP = [event(call("look", {}, "L")), results(response("look", {}, "L"))]
HANDED_OVER = [event(text("I hand over."), call("booker", {"day": "Monday"}, "F"))]
ASKED = event(text("Which table?"), **TASK)
DONE = results(response("booker", {"result": "ok"}, "F"), author="user", node_info={"path": "root@1"})


@pytest.mark.parametrize("events", [[*LOOKED_UP, *HANDED_OVER, ASKED], (*HANDED_OVER, ASKED, DONE, *LOOKED_UP)])
def test_a_finished_run_tells_which_calls_were_delegations(events: Sequence[Event]) -> None:
    chunks = list(iter_chunks(events, nested_agents="flat"))
    assert list(inputs(chunks)) == ["L"]
    assert texts(chunks) == ["I hand over.", "Which table?"]
    assert b"booker@F" in b"".join(iter_sse(events, nested_agents="flat"))  # who speaks
    assert b'"toolName":"booker"' not in b"".join(iter_sse(events, nested_agents="flat"))


def test_the_past_of_a_finished_run_tells_it_as_well() -> None:
    past = iter([*HANDED_OVER, ASKED])
    shown = iter_chunks([DONE, event(text("Booked.")), *HANDED_OVER], past=past, nested_agents="flat")
    assert not inputs(list(shown))


def test_nothing_of_a_delegation_is_shown_whose_arguments_were_streamed() -> None:
    streamed = [fragment(piece("booker", "F", arg("$.day", "Monday"))), *HANDED_OVER, ASKED]
    shown = {chunk["type"] for chunk in iter_chunks(streamed, nested_agents="flat")}
    assert shown & {"tool-input-start", "tool-input-delta"} == set()


def test_a_live_run_shows_a_delegation_as_handed_over_unless_it_was_named() -> None:
    events = [*HANDED_OVER, ASKED]
    assert list(inputs(list(iter_chunks(iter(events), nested_agents="flat")))) == ["F"]
    converter = StreamProtocolConverter(nested_agents="flat")
    assert list(inputs(converter.convert(events[0]))) == ["F"]
    interim: list[Any] = [chunk for chunk in converter.convert(ASKED) if chunk["type"] == "tool-output-available"]
    assert [(chunk["output"], chunk["preliminary"]) for chunk in interim] == [({"agent": "booker"}, True)]
    assert not inputs(list(iter_chunks(iter(events), hidden_tools={"booker"})))


@pytest.mark.parametrize(
    ("events", "expected"),
    {
        "a delegation": ([*HANDED_OVER, ASKED], {"booker"}),
        "nothing was handed over yet": (HANDED_OVER, set()),
        "a function-like agent, whose output is there at once": (
            [event(call("poet", {}, "P")), event(text("Ode."), author="poet", branch="poet@P")],
            set(),
        ),
        "a node's scope is not a call's": ([*HANDED_OVER, event(author="booker", isolation_scope="booker@1")], set()),
        "an id that was another call's before": (
            [event(call("look", {}, "F")), results(response("look", {}, "F")), *HANDED_OVER, ASKED],
            {"booker"},
        ),
        "an agent further down": ([*HANDED_OVER, ASKED, event(**{**TASK, "author": "helper"})], {"booker"}),
        "calls without name and id": ([event(call(None, {}, None)), event(**TASK)], set()),
    }.values(),
)
def test_a_call_is_a_delegation_if_an_agent_of_its_name_speaks_under_its_id(
    events: Iterable[Event], expected: set[str]
) -> None:
    assert find_task_agents(events) == expected


@pytest.mark.parametrize("hidden", [(), ["pay"], lambda tool: tool == "pay", "all"])
def test_the_apps_own_hidden_tools_stay_hidden(hidden: Any) -> None:
    options = hide_task_agents(frozenset({"booker"}), {"hidden_tools": hidden, "nested_agents": {"booker": "flat"}})
    settings = Settings(**options)
    assert settings.hides("booker")
    assert settings.hides("pay") is (hidden != ())
    assert settings.hides("look") is (hidden == "all")


def test_a_name_in_place_of_names_is_still_refused() -> None:
    with pytest.raises(StreamProtocolError, match="hidden_tools"):
        iter_chunks([*HANDED_OVER, ASKED], hidden_tools="pay")
