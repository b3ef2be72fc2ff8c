"""Runs the converter in every mode, and checks each stream as a client."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Unpack, cast

import orjson
from google.adk.events import Event

from stream_protocol import SSE_DONE, AnyChunk, ConverterOptions, StreamProtocolConverter, iter_chunks, iter_sse
from stream_protocol.stream import Conversion, Settings, call_ids, chunk_conversion
from stream_protocol.wire import ClientStreamError, UIMessage, client_version
from stream_protocol.wire.client import MessageReducer

Fields = dict[str, Any]
DELTAS = {"text-delta": "delta", "reasoning-delta": "delta", "tool-input-delta": "inputTextDelta"}
TERMINAL = {"finish", "abort", "error"}


def run(
    events: Iterable[Event],
    *,
    past: Iterable[Event] = (),
    message_id: str | None = None,
    taken_ids: Collection[str] = (),
    error: Exception | None = None,
    onto: UIMessage | None = None,
    **options: Unpack[ConverterOptions],
) -> list[Fields]:
    """Return the chunks of a whole response, with adjacent deltas joined.

    ``error``: raised after the last event. The events are converted all at once, event by event, and to bytes. They are
    also converted without the fast path of text deltas, and with each text cut into characters. All these ways must
    give the same result. ``onto`` is the client's message that this response continues.
    """
    events, past = list(events), list(past)
    place: Fields = {"past": past, "message_id": message_id, "taken_ids": taken_ids}
    chunks = list(iter_chunks(_raising(events, error), **place, **options))
    converter = StreamProtocolConverter(**place, **options)
    assert _stepwise(converter, events, error) == chunks
    conversion = chunk_conversion(past, message_id, Settings(**options), call_ids(taken_ids))
    assert _fed(conversion, events, error) == chunks
    sse = list(iter_sse(_raising(events, error), **place, **options))
    assert [orjson.loads(line.removeprefix(b"data: ")) for line in sse[:-1]] == chunks
    assert sse[-1] == SSE_DONE
    split = iter_chunks(_raising(_cut(events), error), **place, **options)
    assert joined(split) == joined(chunks)
    judge(chunks, onto=onto, ai_sdk=options.get("ai_sdk", 6))
    return joined(chunks)


def body(events: Iterable[Event], **options: Any) -> list[Fields]:
    """Return the chunks between ``start`` and the end."""
    return run(events, **options)[1:-1]


def kinds(chunks: Iterable[Mapping[str, Any]]) -> list[str]:
    return [chunk["type"] for chunk in chunks]


def only(chunks: Iterable[Mapping[str, Any]], *prefixes: str) -> list[Fields]:
    """Return the chunks whose type has one of these prefixes, without the author, which all of them have."""
    return [
        {key: value for key, value in chunk.items() if key != "providerMetadata"}
        for chunk in chunks
        if chunk["type"].startswith(prefixes)
    ]


def texts(chunks: Iterable[Mapping[str, Any]], kind: str = "text") -> list[str]:
    """Return the text of each part of this kind, in the order of their beginnings."""
    parts: dict[str, str] = {}
    for chunk in chunks:
        if chunk["type"] == f"{kind}-start":
            parts[chunk["id"]] = ""
        elif chunk["type"] == f"{kind}-delta":
            parts[chunk["id"]] += chunk["delta"]
    return list(parts.values())


def inputs(chunks: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    return {chunk["toolCallId"]: chunk["input"] for chunk in chunks if chunk["type"] == "tool-input-available"}


def deltas(chunks: Iterable[Mapping[str, Any]], call_id: str) -> str:
    return "".join(
        chunk["inputTextDelta"]
        for chunk in chunks
        if chunk["type"] == "tool-input-delta" and chunk["toolCallId"] == call_id
    )


def outputs(chunks: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return call id -> final output. A failure is its text, a denial is ``None``."""
    found: dict[str, Any] = {}
    for chunk in chunks:
        if chunk["type"].startswith("tool-output") and not chunk.get("preliminary"):
            assert chunk["toolCallId"] not in found, "a call has one output"
            found[chunk["toolCallId"]] = chunk.get("output", chunk.get("errorText"))
    return found


def joined(chunks: Iterable[Mapping[str, Any]]) -> list[Fields]:
    """Join adjacent deltas of a part, since no result may depend on their boundaries."""
    merged: list[Fields] = []
    for chunk in chunks:
        key = DELTAS.get(chunk["type"])
        last = merged[-1] if merged else {}
        if key and {**last, key: ""} == {**chunk, key: ""}:
            last[key] += chunk[key]
        else:
            merged.append(dict(chunk))
    return merged


def message_of(chunks: Iterable[Mapping[str, Any]], onto: UIMessage | None = None) -> UIMessage:
    """Return the page's message after this response."""
    reducer = MessageReducer(message=onto)
    for chunk in chunks:
        if chunk["type"] != "error":
            reducer.apply(cast("AnyChunk", chunk))
    return reducer.message


def decided(message: UIMessage, answers: Mapping[str, bool]) -> UIMessage:
    """Return the page's message after the user has answered these approval requests."""
    copy = cast("Any", orjson.loads(orjson.dumps(message)))
    for part in copy["parts"]:
        if (approved := answers.get(part.get("approval", {}).get("id", ""))) is not None:
            part["state"] = "approval-responded"
            part["approval"]["approved"] = approved
    return cast("UIMessage", copy)


def judge(chunks: list[AnyChunk], *, onto: UIMessage | None = None, ai_sdk: Any = 6) -> None:
    """Check a stream with the client's rules and with ours."""
    assert [chunk["type"] for chunk in chunks].count("start") == 1
    assert chunks[0]["type"] == "start"
    assert [index for index, chunk in enumerate(chunks) if chunk["type"] in TERMINAL] == [len(chunks) - 1]
    for version in {client_version(ai_sdk).major, 7}:
        if onto is None and _continues(chunks):
            continue
        stored = _stored(chunks, onto, version)
        ids = [part["toolCallId"] for part in stored if "toolCallId" in part]
        assert len(ids) == len(set(ids)), "one part per call"
        assert not any(part.get("state") in {"streaming", "input-streaming"} for part in stored), "nothing is left open"
        _judge_auto_send(stored, failed=chunks[-1]["type"] == "error")


def _continues(chunks: list[AnyChunk]) -> bool:
    """Return True if the stream has calls of an earlier response. It can only continue the message that has them."""
    fields = cast("list[Fields]", chunks)
    own = {chunk["toolCallId"] for chunk in fields if chunk["type"].startswith("tool-input")}
    return any(chunk.get("toolCallId", next(iter(own), "")) not in own for chunk in fields if "toolCallId" in chunk)


def _stored(chunks: list[AnyChunk], onto: UIMessage | None, ai_sdk: Any) -> list[Fields]:
    """Return the parts in the client's list of messages. Parts after the last shown change are missing there."""
    reducer = MessageReducer(ai_sdk=ai_sdk, message=onto)
    stored = cast("list[Fields]", [] if onto is None else onto["parts"])
    for chunk in chunks:
        try:
            written = reducer.apply(chunk)
        except ClientStreamError as error:
            if chunk["type"] == "error":
                break
            raise AssertionError(f"the page refuses {chunk}") from error
        if written != "nothing":
            stored = [dict(part) for part in cast("list[Fields]", reducer.message["parts"])]
    return stored


def _judge_auto_send(parts: list[Fields], *, failed: bool) -> None:
    """Check that no helper of the client would send the message again. After an error no helper is called."""
    last = _after_last_step(parts)
    assert failed or not complete_with_tool_calls(last), "the page would send again, for ever"
    assert failed or not complete_with_approvals(last), "the page would send again, for ever"
    waiting = [part for part in parts if part.get("state") in {"approval-requested", "input-available"}]
    needed = {
        (part.get("input") or {}).get("functionCallId")
        for part in parts
        if part["type"] == "tool-adk_request_credential"
    }
    acted_for = {link.partition("@")[2] for part in waiting for link in _branch(part).split(".")}
    asked = [part for part in waiting if part["toolCallId"] not in needed | acted_for]
    assert all(part in last for part in asked), "an answer to this call would never be sent"
    assert not (asked and [part for part in waiting if part not in asked and part in last]), "nobody answers that one"


def _branch(part: Fields) -> str:
    return str(part.get("callProviderMetadata", {}).get("adk", {}).get("branch", ""))


def _after_last_step(parts: list[Fields]) -> list[Fields]:
    steps = [index for index, part in enumerate(parts) if part["type"] == "step-start"]
    return parts[steps[-1] + 1 :] if steps else parts


def complete_with_tool_calls(step: list[Fields]) -> bool:
    """Implement the AI SDK's ``lastAssistantMessageIsCompleteWithToolCalls``."""
    tools = [part for part in step if "toolCallId" in part and not part.get("providerExecuted")]
    return bool(tools) and all(_settled(part) and part["state"] != "output-denied" for part in tools)


def complete_with_approvals(step: list[Fields]) -> bool:
    """Implement the AI SDK's ``lastAssistantMessageIsCompleteWithApprovalResponses``."""
    tools = [part for part in step if "toolCallId" in part]
    answered = [part for part in tools if part["state"] == "approval-responded"]
    return bool(answered) and all(_settled(part) or part in answered for part in tools)


def _settled(part: Fields) -> bool:
    return part["state"] in {"output-available", "output-error", "output-denied"} and not part.get("preliminary")


def would_send(message: UIMessage) -> bool:
    """Return True if the page sends this message by itself."""
    step = _after_last_step(cast("list[Fields]", message["parts"]))
    return complete_with_tool_calls(step) or complete_with_approvals(step)


def _stepwise(converter: StreamProtocolConverter, events: list[Event], error: Exception | None) -> list[AnyChunk]:
    chunks: list[AnyChunk] = []
    try:
        for event in events:
            chunks += converter.convert(event)
        chunks += converter.finish() if error is None else converter.fail(error)
    except ValueError as raised:  # what the hooks under test raise
        chunks += converter.fail(raised)
    return chunks


def _fed(conversion: Conversion[AnyChunk], events: list[Event], error: Exception | None) -> list[AnyChunk]:
    try:
        for event in events:
            conversion.feed(event)
        conversion.finish() if error is None else conversion.fail(error)
    except ValueError as raised:  # what the hooks under test raise
        conversion.fail(raised)
    return conversion.take()


def _raising(events: Iterable[Event], error: Exception | None) -> Iterator[Event]:
    yield from events
    if error is not None:
        raise error


def _cut(events: Iterable[Event]) -> Iterator[Event]:
    """Yield the same events, with every streamed text cut into characters."""
    for event in events:
        parts = event.content.parts if event.content is not None and event.content.parts else []
        if not event.partial or [part for part in parts if not part.text] or len(parts) != 1:
            yield event
            continue
        for character in parts[0].text or "":
            copy = event.model_copy(deep=True)
            assert copy.content is not None
            copy.content.parts = [parts[0].model_copy(update={"text": character})]
            yield copy
