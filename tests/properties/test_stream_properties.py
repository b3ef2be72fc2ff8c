import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from google.adk.events import Event
from google.adk.events.event import NodeInfo
from google.genai.types import Content, Part, Transcription
from hypothesis import assume, given, strategies as st

from stream_protocol import AnyChunk, encode_sse, iter_chunks, iter_sse
from stream_protocol.stream import Settings, sse_conversion
from stream_protocol.stream.calls._streamed_arguments import integral
from stream_protocol.wire import SSE_DONE, AiSdkVersion, json_value
from stream_protocol.wire.client import MessageReducer
from tests.examples import examples
from tests.properties.agent_runs import ALONE, Call, Run, Speaker, continuation, event, runs, spoken
from tests.stream_order import check_order

VERSIONS: st.SearchStrategy[AiSdkVersion] = st.sampled_from([6, 7])

Parts = list[dict[str, Any]]


def converted(events: Iterable[Event], ai_sdk: AiSdkVersion, **options: Any) -> list[AnyChunk]:
    return list(iter_chunks(events, ai_sdk=ai_sdk, **options))


def folded(chunks: list[AnyChunk], ai_sdk: AiSdkVersion, message: Any = None) -> dict[str, Any]:
    """The message that the chat stores: its state after the last chunk that changed it."""
    reducer = MessageReducer(ai_sdk=ai_sdk, message=message)
    kept: dict[str, Any] = {"parts": []}
    for chunk in chunks:
        if chunk["type"] != "error" and reducer.apply(chunk) != "nothing":
            kept = json_value(reducer.message)
    return kept


def is_tool(part: dict[str, Any]) -> bool:
    kind: str = part["type"]
    return kind.startswith("tool-") or kind == "dynamic-tool"


def tools_of(parts: Parts, call: Call) -> Parts:
    """The parts that show this call: by its id, or by its name where it has none."""
    if not call.ids:
        return [part for part in parts if part["type"] == f"tool-{call.name}"]
    return [part for part in parts if is_tool(part) and part["toolCallId"] in call.ids]


def heard(parts: Parts, kind: str) -> dict[Speaker, str]:
    """The text of each speaker's parts of this kind."""
    words: dict[Speaker, str] = {}
    for part in parts:
        if part["type"] == kind:
            adk = part["providerMetadata"]["adk"]
            speaker = (adk["author"], adk.get("branch"))
            words[speaker] = words.get(speaker, "") + part["text"]
    return words


def expected_input(call: Call) -> Any:
    value = json_value(call.args, lossy=True)
    return integral(value) if call.is_streamed else value


def last_step(parts: Parts) -> Parts:
    starts = [index for index, part in enumerate(parts) if part["type"] == "step-start"]
    return parts[starts[-1] + 1 :] if starts else parts


def is_settled(part: dict[str, Any]) -> bool:
    return part["state"] == "output-error" or (part["state"] == "output-available" and not part.get("preliminary"))


def tool_helper_sends(parts: Parts) -> bool:
    """``lastAssistantMessageIsCompleteWithToolCalls`` of ``ai@6.0.326``."""
    step = last_step(parts)
    own = [index for index, part in enumerate(step) if is_tool(part) and not part.get("providerExecuted")]
    if not own or not all(is_settled(step[index]) for index in own):
        return False
    return all(part.get("state") == "done" for part in step[own[-1] :] if part["type"] == "text")


def approval_helper_sends(parts: Parts) -> bool:
    """``lastAssistantMessageIsCompleteWithApprovalResponses`` of ``ai@6.0.326``."""
    tools = [part for part in last_step(parts) if is_tool(part)]
    answered = {"approval-responded", "output-denied"}
    return any(part["state"] == "approval-responded" for part in tools) and all(
        part["state"] in answered or is_settled(part) for part in tools
    )


def page_sends(parts: Parts) -> bool:
    return tool_helper_sends(parts) or approval_helper_sends(parts)


STATES = {
    "result": "output-available",
    "failure": "output-error",
    "approval": "approval-requested",
    "client": "input-available",
}


@examples(60)
@given(run=runs(), ai_sdk=VERSIONS)
def test_what_holds_for_any_run(run: Run, ai_sdk: AiSdkVersion) -> None:
    """One test, for to make a run takes ten times as long as to judge it."""
    chunks = converted(run.events, ai_sdk)
    bytes_and_dictionaries_agree(run, ai_sdk, chunks)
    the_deltas_of_a_call_concatenate_to_its_input(run, chunks)
    parts = folded(chunks, ai_sdk)["parts"]
    all_is_said_once(run, chunks, parts)
    a_page_sends_by_itself_only_what_a_person_answered(run, parts)


def bytes_and_dictionaries_agree(run: Run, ai_sdk: AiSdkVersion, chunks: list[AnyChunk]) -> None:
    assert list(iter_sse(run.events, ai_sdk=ai_sdk)) == [*map(encode_sse, chunks), SSE_DONE]


odd_parts = st.builds(
    Part,
    text=st.sampled_from(["a", "", " and so on", None, "\ud83d"]),
    thought=st.sampled_from([None, None, True]),
    thought_signature=st.sampled_from([None, None, b"s"]),
)
odd_events = st.builds(
    Event,
    author=st.sampled_from(["agent", "agent", "agent", "other", "user"]),
    branch=st.sampled_from([None, None, None, "a.b"]),
    node_info=st.sampled_from([NodeInfo(), NodeInfo(), NodeInfo(path="root@1")]),
    partial=st.sampled_from([True, True, True, None]),
    finish_reason=st.sampled_from([None, None, None, "STOP", "SAFETY"]),
    error_code=st.sampled_from([None, None, None, "SAFETY", "E"]),
    error_message=st.sampled_from([None, None, None, "gone"]),
    content=st.none() | st.builds(Content, role=st.just("model"), parts=st.none() | st.lists(odd_parts, max_size=2)),
    output_transcription=st.none() | st.builds(Transcription, text=st.just("Hm"), finished=st.booleans()),
)


@examples(200)
@given(events=st.lists(odd_events, max_size=12))
def test_a_text_delta_by_the_short_way_is_the_one_of_the_long_way(events: list[Event]) -> None:
    short, long = sse_conversion((), None, Settings()), sse_conversion((), None, Settings())
    for each in events:
        item = short.events.text_delta(each)
        items = short.items(each) if item is None else [item]
        long.feed(each)
        assert items == long.take()
    short.finish()
    long.finish()
    assert short.take() == long.take()


def all_is_said_once(run: Run, chunks: list[AnyChunk], parts: Parts) -> None:
    check_order(chunks, pending=[known for call in run.calls if call.outcome == "client" for known in call.ids])
    assert heard(parts, "text") == spoken(run.events, thoughts=False)
    assert heard(parts, "reasoning") == spoken(run.events, thoughts=True)
    assert all(part["state"] == "done" for part in parts if part["type"] in {"text", "reasoning"})
    assert len([part for part in parts if is_tool(part)]) == len(run.calls)
    for call in run.calls:
        (part,) = tools_of(parts, call)
        assert part["input"] == expected_input(call)
        assert part["state"] == STATES[call.outcome]
        assert not part.get("preliminary", False)
        if call.outcome == "result":
            assert part["output"] == json_value(call.response)


def the_deltas_of_a_call_concatenate_to_its_input(run: Run, chunks: list[AnyChunk]) -> None:
    deltas: dict[str, str] = {}
    for chunk in chunks:
        if chunk["type"] == "tool-input-delta":
            said: dict[str, Any] = dict(chunk)
            deltas[said["toolCallId"]] = deltas.get(said["toolCallId"], "") + said["inputTextDelta"]
    for call in run.calls:
        for call_id in call.ids & deltas.keys():
            # Raw text is sent as the model wrote it, with the keys that are renamed elsewhere.
            assert as_client_reads(json_value(json.loads(deltas[call_id]))) == as_client_reads(expected_input(call))


def as_client_reads(value: Any) -> Any:
    """The value with the numbers that JavaScript has, to which 1.0 is 1 and -0.0 is 0."""
    return json.loads(json.dumps(value), parse_int=float, parse_float=lambda number: float(number) + 0.0)


def a_page_sends_by_itself_only_what_a_person_answered(run: Run, parts: Parts) -> None:
    """The parts are those of the page: the answers are put into them."""
    assert not page_sends(parts)
    waiting = [call for call in run.calls if call.outcome in {"client", "approval"}]
    for call in waiting:
        assert not page_sends(parts)
        (part,) = tools_of(parts, call)
        answer(part, call, approved=True)
    assert page_sends(parts) == bool(waiting)


def answer(part: dict[str, Any], call: Call, *, approved: bool) -> None:
    """Changes the part as the page does when a user, or the client's own tool, answers."""
    if call.outcome == "approval":
        part["state"] = "approval-responded"
        part["approval"]["approved"] = approved
    else:
        part["state"] = "output-available"
        part["output"] = call.response


@examples(60)
@given(run=runs(speakers=[ALONE]))
def test_one_agent_says_the_same_with_and_without_streaming(run: Run) -> None:
    streamed, whole = (folded(converted(events, 6), 6)["parts"] for events in (run.events, run.whole()))
    assert sorted(map(comparable, streamed)) == sorted(map(comparable, whole))


def comparable(part: dict[str, Any]) -> str:
    """The part without its id, which only fragments may have, and with JavaScript's numbers."""
    said = {key: value for key, value in part.items() if key not in {"toolCallId", "rawInput"}}
    return json.dumps(as_client_reads(said), sort_keys=True)


def failing(events: list[Event]) -> Iterator[Event]:
    yield from events
    raise RuntimeError("the model is gone")


ABORTED = event(ALONE, error_code="INVOCATION_ABORTED")
FAILED = event(ALONE, error_code="RuntimeError", error_message="the model is gone")

ENDS: dict[str, Callable[[list[Event]], Iterable[Event]]] = {
    "ends": list,
    "raises": failing,
    "tells of an error and raises": lambda events: failing([*events, FAILED]),
    "tells of an error": lambda events: [*events, FAILED],
    "is aborted": lambda events: [*events, ABORTED],
}
TERMINALS = {"ends": "finish", "is aborted": "abort"}


@examples(60)
@given(run=runs(), end=st.sampled_from([*ENDS]), data=st.data())
def test_a_run_that_stops_anywhere_leaves_nothing_open(run: Run, end: str, data: st.DataObject) -> None:
    events = run.events[: data.draw(st.integers(1, len(run.events)))]
    chunks = converted(ENDS[end](events), 6)
    waiting = [known for call in run.calls if call.outcome in {"client", "approval"} for known in call.ids]
    check_order(chunks, pending=waiting)
    assert chunks[-1]["type"] == TERMINALS.get(end, "error")
    parts = folded(chunks, 6)["parts"]
    assert heard(parts, "text") == spoken(events, thoughts=False)
    assert all(part["state"] == "done" for part in parts if part["type"] in {"text", "reasoning"})
    for call in run.calls:
        shown = tools_of(parts, call)
        assert len(shown) <= 1
        if call.outcome in {"result", "failure"}:
            assert all(is_settled(part) for part in shown)


@examples(60)
@given(run=runs(speakers=[ALONE]), ai_sdk=VERSIONS, approved=st.booleans())
def test_answers_are_taken_up_in_the_same_message(run: Run, ai_sdk: AiSdkVersion, approved: bool) -> None:
    message = folded(converted(run.events, ai_sdk), ai_sdk)
    waiting = [call for call in run.calls if call.outcome in {"client", "approval"}]
    assume(waiting)
    for call in waiting:
        answer(tools_of(message["parts"], call)[0], call, approved=approved)
    chunks = converted(continuation(waiting, approved=approved), ai_sdk, past=run.events)
    check_order(chunks, known=[known for call in run.calls for known in call.ids])
    parts = folded(chunks, ai_sdk, message)["parts"]
    assert chunks[0] == {"type": "start", "messageId": "run"}
    assert [part["type"] for part in parts[: len(message["parts"])]] == [part["type"] for part in message["parts"]]
    assert len([part for part in parts if is_tool(part)]) == len(run.calls)
    assert parts[-1]["type"] == "text"
    assert not page_sends(parts)
    for call in waiting:
        (part,) = tools_of(parts, call)
        denied = call.outcome == "approval" and not approved
        assert part["state"] == ("output-denied" if denied else "output-available")
        assert denied or part["output"] == json_value(call.response)
