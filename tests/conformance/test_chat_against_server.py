"""The AI SDK's own chat before the running app, over many turns, with people in the loop."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import pytest
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.models.llm_request import LlmRequest
from google.genai.types import Part

from stream_protocol.serving import ServiceLimits
from stream_protocol.wire import AiSdkVersion
from tests.batch import batch
from tests.comparable_messages import comparable
from tests.conformance.chat_apps import ChatApp, combined_app, shown
from tests.conformance.node_scripts import run_script
from tests.conformance.tool_agent import ToolAgent
from tests.conformance.visits import OF_THE_LAST_MESSAGE, VISITS
from tests.conformance.visits.ends import BROKEN, INTERRUPTED, TAKEN_BACK
from tests.conformance.visits.kits import ELEMENTS, TEMPLATE
from tests.conformance.visits.visit import Step, Visit
from tests.documents import block
from tests.served import served
from tests.serving.instrumented import InstrumentedService

pytestmark = pytest.mark.node

each_visit = batch(visit={visit.name: visit for visit in VISITS})
each_of_a_kit = batch(visit={visit.name: visit for visit in [*TAKEN_BACK, *BROKEN, *INTERRUPTED, *TEMPLATE, *ELEMENTS]})
"""Of these the model is given the texts in the order in which they are shown."""

CHAT = ("local", "c1")
"""The user and the chat of every visit."""

VERSIONS: tuple[AiSdkVersion, ...] = (6, 7)

ONE_MESSAGE = {"transport": block("docs/large-chats.md", "prepareSendMessagesRequest")}
"""The README's, which sends the message alone that a request is about."""

Seen: TypeAlias = dict[str, Any]
"""The state at the end of a step, as ``visit-chats.mjs`` reports it."""


class Visits(dict[str, tuple[ToolAgent, list[Seen]]]):
    """By name: the agent, and the observed steps."""

    def __missing__(self, name: str) -> tuple[ToolAgent, list[Seen]]:
        pytest.skip("it is about earlier messages, which this client does not send")


@pytest.fixture(
    scope="module",
    params=[
        *(pytest.param((ai, {}), id=f"ai@{ai}") for ai in VERSIONS),
        *(
            pytest.param((ai, ONE_MESSAGE), id=f"ai@{ai} sends one message", marks=pytest.mark.frontends)
            for ai in VERSIONS
        ),
    ],
)
def visits(request: pytest.FixtureRequest) -> Visits:
    """The visits by one version of the client, in one process."""
    ai_sdk, options = request.param
    visiting = OF_THE_LAST_MESSAGE if options is ONE_MESSAGE else VISITS
    agents = {visit.name: ToolAgent(visit.turns, visit.asks) for visit in visiting}
    with served(combined_app(chat_app(visit, agents[visit.name], ai_sdk) for visit in visiting)) as url:
        asked = [
            {
                "ai": ai_sdk,
                **options,
                "url": f"{url}/{number}",
                "sends": visit.sends,
                "steps": [step.do for step in visit.steps],
            }
            for number, visit in enumerate(visiting)
        ]
        told = run_script("visit-chats.mjs", asked)
    return Visits((name, (tool_agent, seen)) for (name, tool_agent), seen in zip(agents.items(), told, strict=True))


def chat_app(visit: Visit, tool_agent: ToolAgent, ai_sdk: AiSdkVersion) -> ChatApp:
    config = None if visit.streams else RunConfig(streaming_mode=StreamingMode.NONE)
    # Without a reader a run ends at once: so "stop" on the page is one for the agent, too.
    grace = 0 if visit.leaving_stops else None
    service = InstrumentedService(
        tool_agent.agent,
        ai_sdk=ai_sdk,
        run_config=config,
        truncated_history=visit.truncated_history,
        limits=replace(visit.limits or ServiceLimits(), disconnect_grace=grace),
    )
    return ChatApp(service, tool_agent.ran, tool_agent.held.set)


def steps_of(visit: Visit, visits: Visits) -> list[tuple[Step, Seen]]:
    return list(zip(visit.steps, visits[visit.name][1], strict=True))


def ids(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    return [message["id"] for message in messages]


@each_visit
def test_each_step_takes_its_requests_and_runs_its_tools_and_shows_what_it_should(visit: Visit, visits: Visits) -> None:
    for step, seen in steps_of(visit, visits):
        assert [shown(message) for message in seen["messages"]] == list(step.shows)
        assert len(seen["posts"]) == step.posts
        assert sorted(seen["ran"]) == sorted(step.ran)  # calls of one step run in threads, in any order
        assert (seen["status"], seen["error"]) == ("error" if step.error else "ready", step.error)


@each_visit
def test_the_page_asks_for_what_was_done(visit: Visit, visits: Visits) -> None:
    before: list[str] = []
    for step, seen in steps_of(visit, visits):
        if step.posts and "page" not in step.do:
            then = [asked(step.do["then"], before)] if "then" in step.do else []
            posts = [asked(step.do, before)] * (step.posts - len(then)) + then
            assert seen["posts"] == [{} if visit.is_template else post for post in posts]
        before = ids(seen["messages"])


def asked(do: Mapping[str, Any], before: Sequence[str]) -> dict[str, str]:
    """The keys of a body besides the messages; a key without a value is not sent."""
    match do:
        case {"regenerate": None} | {"rewrite": _}:
            return {"trigger": "regenerate-message"}
        case {"regenerate": int(index)}:
            return {"trigger": "regenerate-message", "messageId": before[index]}
        case {"edit": int(index)}:
            return {"trigger": "submit-message", "messageId": before[index]}
        case {"text": _}:
            return {"trigger": "submit-message"}
        case _:
            return {"trigger": "submit-message", "messageId": before[-1]}


@each_visit
def test_messages_keep_their_ids_and_places(visit: Visit, visits: Visits) -> None:
    before: list[str] = []
    for step, seen in steps_of(visit, visits):
        now = ids(seen["messages"])
        assert len(set(now)) == len(now)
        if "page" not in step.do:
            kept = len(before) if step.kept is None else step.kept
            assert now[:kept] == before[:kept]
            assert step.kept is None or not set(now[step.kept :]) & set(before)
        before = now


@each_visit
def test_what_is_stored_is_what_is_shown(visit: Visit, visits: Visits) -> None:
    for step, seen in steps_of(visit, visits):
        if step.stored is None:
            assert comparable(seen["stored"]) == comparable(seen["messages"])
        else:
            assert [shown(message) for message in seen["stored"]] == list(step.stored)


@each_visit
def test_what_is_stored_is_what_both_clients_take(visit: Visit, visits: Visits) -> None:
    for _step, seen in steps_of(visit, visits):
        assert seen["refusals"] == []


@each_of_a_kit
def test_the_model_is_asked_what_is_stored(visit: Visit, visits: Visits) -> None:
    tool_agent, seen = visits[visit.name]
    parts = [part for message in seen[-1]["stored"] for part in message["parts"]]
    *before, _answer = [part["text"] for part in parts if part["type"] == "text"]
    assert [part.text for part in parts_of(tool_agent.model.requests[-1]) if part.text and not part.thought] == before


@each_visit
def test_the_model_is_shown_no_call_without_its_response(visit: Visit, visits: Visits) -> None:
    requests = visits[visit.name][0].model.requests
    assert len(requests) == len(visit.turns)
    *_, last = unanswered = [unanswered_calls(request) for request in requests]
    assert not last
    assert all(calls <= Counter(visit.awaited) for calls in unanswered)


def unanswered_calls(request: LlmRequest) -> Counter[str | None]:
    """By name: ADK shows the model no ids but its own."""
    parts = parts_of(request)
    calls = Counter(part.function_call.name for part in parts if part.function_call)
    return calls - Counter(part.function_response.name for part in parts if part.function_response)


def parts_of(request: LlmRequest) -> list[Part]:
    return [part for content in request.contents for part in content.parts or []]
