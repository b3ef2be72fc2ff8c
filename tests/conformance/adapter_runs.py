"""Runs one turn of an agent with a real model adapter, and converts it to our stream."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Unpack

import pytest
from google.adk.agents import LlmAgent, RunConfig
from google.adk.agents.run_config import StreamingMode
from google.adk.events import Event
from google.adk.runners import InMemoryRunner
from google.genai.types import UserContent

from stream_protocol import ConverterOptions, StreamProtocolConverter, encode_sse, stream_chunks, stream_sse
from stream_protocol.wire import SSE_DONE, AiSdkVersion, AnyChunk, ClientStreamError, UIMessage
from stream_protocol.wire.client import MessageReducer
from tests.stream_order import check_order


@dataclass
class TurnResponse:
    """Response of one turn, as the client receives it."""

    events: list[Event]
    failure: Exception | None
    """Exception that the run raised."""
    chunks: list[AnyChunk]
    message: UIMessage
    """Message of the client, the same for each version."""
    error: str | None
    """Text of the ``error`` chunk."""
    by_event: list[tuple[Event, list[dict[str, Any]]]] = field(default_factory=list)
    """Each event with its chunks."""

    @property
    def parts(self) -> list[dict[str, Any]]:
        return [dict(part) for part in self.message["parts"]]

    def part(self, kind: str) -> dict[str, Any]:
        (part,) = self.all_parts(kind)
        return part

    def all_parts(self, kind: str) -> list[dict[str, Any]]:
        return [part for part in self.parts if part["type"] == kind]

    def text(self) -> str:
        return "".join(part["text"] for part in self.all_parts("text"))

    def outline(self) -> list[str]:
        return [part["type"] for part in self.parts]

    def of_type(self, kind: str) -> list[dict[str, Any]]:
        return [dict(chunk) for chunk in self.chunks if chunk["type"] == kind]

    def deltas(self, call_id: str) -> list[str]:
        return [chunk["inputTextDelta"] for chunk in self.of_type("tool-input-delta") if chunk["toolCallId"] == call_id]

    def finish_reason(self) -> str:
        (finish,) = self.of_type("finish")
        reason: str = finish["finishReason"]
        return reason


async def turn(agent: LlmAgent, *, streaming: bool = True, **options: Unpack[ConverterOptions]) -> TurnResponse:
    """Run one turn, and check rules of every stream: its order, both client versions, and the byte path."""
    runner = InMemoryRunner(agent=agent)
    session = await runner.session_service.create_session(app_name=runner.app_name, user_id="u")
    config = RunConfig(streaming_mode=StreamingMode.SSE if streaming else StreamingMode.NONE)
    run = runner.run_async(
        user_id="u",
        session_id=session.id,
        new_message=UserContent("Hi"),
        run_config=config,
        yield_user_message=True,
    )
    events: list[Event] = []
    failures: list[Exception] = []
    chunks = [chunk async for chunk in stream_chunks(recorded(run, events, failures), **options)]
    await runner.close()
    check_order(chunks)
    body = [item async for item in stream_sse(replayed(events, failures), **options)]
    assert body == [*map(encode_sse, chunks), SSE_DONE]
    message, error = folded(chunks)
    failure = failures[0] if failures else None
    return TurnResponse(events, failure, chunks, message, error, list(by_event(events, options)))


async def recorded(
    run: AsyncGenerator[Event, None], events: list[Event], failures: list[Exception]
) -> AsyncIterator[Event]:
    try:
        async with aclosing(run) as source:
            async for event in source:
                events.append(event)
                yield event
    except Exception as error:
        failures.append(error)
        raise


async def replayed(events: list[Event], failures: list[Exception]) -> AsyncIterator[Event]:
    for event in events:
        yield event
    for failure in failures:
        raise failure


def by_event(events: list[Event], options: ConverterOptions) -> Iterator[tuple[Event, list[dict[str, Any]]]]:
    converter = StreamProtocolConverter(**options)
    for event in events:
        yield event, [dict(chunk) for chunk in converter.convert(event)]


def folded(chunks: list[AnyChunk]) -> tuple[UIMessage, str | None]:
    """Return the message, which must be the same in v6 and v7, and the error on the page."""
    message, error = fold(chunks, 6)
    newer, newer_error = fold(chunks, 7)
    assert newer_error == error
    assert list(map(without_raw_input, newer["parts"])) == list(map(without_raw_input, message["parts"]))
    return message, error


def fold(chunks: list[AnyChunk], version: AiSdkVersion) -> tuple[UIMessage, str | None]:
    reducer = MessageReducer(ai_sdk=version)
    *body, terminal = chunks
    for chunk in body:
        reducer.apply(chunk)
    if terminal["type"] != "error":
        reducer.apply(terminal)
        return reducer.message, None
    with pytest.raises(ClientStreamError) as raised:
        reducer.apply(terminal)
    assert raised.value.error_class == "Error", "the client refused the chunk"
    return reducer.message, raised.value.text


def without_raw_input(part: Any) -> dict[str, Any]:
    """Return the part without the key that v7 renamed."""
    return {key: value for key, value in part.items() if key not in {"rawInput", "input"} or "errorText" not in part}


def check_streamed_arguments(told: TurnResponse) -> None:
    """Check that each call's deltas concatenate to its input. After the last fragment only brackets may be open."""
    calls = {chunk["toolCallId"]: chunk["input"] for chunk in told.of_type("tool-input-available")}
    assert calls
    for call_id, value in calls.items():
        assert json.loads("".join(told.deltas(call_id))) == value
    for event, chunks in told.by_event:
        deltas = [chunk["inputTextDelta"] for chunk in chunks if chunk["type"] == "tool-input-delta"]
        assert event.partial or all(set(delta) <= set("]}") for delta in deltas), deltas
