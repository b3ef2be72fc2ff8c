"""Finds the call of a running tool, of a confirmation request and of a response if a model used an id again."""

from types import SimpleNamespace
from typing import Any

import pytest
from google.adk.events import Event

from stream_protocol.adk import CallReference, KnownCalls, RunningCall, RunningCalls
from tests.stream.building import call, event, response

ID = "0"


class Run:
    """A run of one agent. Its model gives all calls one id."""

    def __init__(self) -> None:
        self.calls = RunningCalls()
        self.events: list[Event] = []

    def call(self, *args: Any, tool: str = "work") -> None:
        """Store the event of a model's response with a call for each argument."""
        self.events.append(event(*(call(tool, {"about": each}, ID) for each in args), invocation_id="i"))

    def context(self) -> Any:
        return SimpleNamespace(
            agent_name=self.events[-1].author,
            function_call_id=ID,
            invocation_id="i",
            session=SimpleNamespace(events=self.events),
            _invocation_context=SimpleNamespace(branch=None),
        )

    def start(self, about: Any, *, ends: bool = True, tool: str = "work") -> RunningCall:
        context = self.context()
        started = self.calls.start(context, tool, {"about": about})
        if ends:
            self.calls.end(context, may_be_silent=False)
        return started

    def answer(self, count: int, **fields: Any) -> list[RunningCall | None]:
        answers = [response("work", {"result": number}, ID) for number in range(count)]
        return self.calls.take_answered(event(*answers, invocation_id="i", **fields))


def test_tools_that_start_in_another_order_have_the_calls_with_their_arguments() -> None:
    run = Run()
    run.call("a", "b")
    second, first = run.start("b"), run.start("a")
    assert (first.reference.number, second.reference.number) == (0, 1)
    assert run.answer(2) == [first, second]


def test_arguments_that_a_callback_changed_belong_to_the_first_call_that_has_not_started() -> None:
    run = Run()
    run.call("a", "b")
    assert [run.start("changed").reference.number, run.start("changed").reference.number] == [0, 1]


def test_results_of_a_response_whose_tools_failed_are_not_those_of_the_next_response() -> None:
    run = Run()
    run.call("a", "b")
    run.start("a")
    run.start("b", ends=False)  # raises, so the response has no event, and the node tries again
    run.call("c", "d")
    again = [run.start("c"), run.start("d")]
    assert run.answer(2) == again
    assert again[0].key != again[1].key


def test_a_stop_answers_the_calls_of_the_newest_response_that_still_run() -> None:
    run = Run()
    run.call("a")
    run.start("a", ends=False)
    run.call("b")
    newest = run.start("b", ends=False)
    assert run.answer(1) == [None]
    assert run.answer(1, error_code="INVOCATION_ABORTED") == [newest]


@pytest.mark.parametrize(("about", "number"), [("a", 0), ("b", 1)])
def test_a_confirmation_request_is_for_the_started_call_that_it_quotes(about: str, number: int) -> None:
    run = Run()
    run.call("a", "b")
    started = [run.start("a"), run.start("b")]
    original = {"id": ID, "name": "work", "args": {"about": about}}
    assert run.calls.confirmed(event(invocation_id="i"), original) is started[number]


def test_a_confirmation_request_in_another_run_is_for_no_started_call() -> None:
    run = Run()
    run.call("a")
    run.start("a")
    original = {"id": ID, "name": "work", "args": {"about": "a"}}
    assert run.calls.confirmed(event(invocation_id="other"), original) is None


def test_a_response_to_many_calls_with_one_id_looks_at_each_call_once(monkeypatch: pytest.MonkeyPatch) -> None:
    run, count = Run(), 200
    run.call(*range(count))
    started = [run.start(number) for number in range(count)]
    looks = 0
    find = KnownCalls.find_several

    def counted(known: KnownCalls, number: int, reference: CallReference, is_settled: Any, **fields: Any) -> Any:
        def look(call: Any) -> bool:
            nonlocal looks
            looks += 1
            return bool(is_settled(call))

        return find(known, number, reference, look, **fields)

    monkeypatch.setattr(KnownCalls, "find_several", counted)
    assert run.answer(count) == started
    assert looks == count
