"""Removes secrets from what is recorded, before anything is written.

The same rules hold for events, chunks and requests, so that the recorded events still give the recorded chunks:

* ADK's auth configs and credentials are found by their keys, wherever they are. Only their kind remains, and the URL
  where a user signs in, without its query. The credential that a user gave is removed completely.
* A value whose name means a secret is removed, of whatever type it is: see ``_secret_names``. The name is its key, or
  stands beside it: ``{"name": "Cookie", "value": …}``, and ``["Cookie", …]`` in a list.
* A text that shows itself as a credential is removed, and so are credentials in URLs: see ``_secret_texts``. A text
  that is JSON is cleaned like JSON.

The texts of people and models are not searched. Nor are arguments that a model streams: they come in pieces. The app's
own function (``Redact``) must remove secrets from these. Attached files are not searched either.

The search holds up the event loop, and values are as large as clients and tools make them. So its work is bounded: see
``Search``. A text or a value for which there is no work left is replaced whole, by ``TOO_LARGE``.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, Literal, TypeAlias

from stream_protocol.adk import METADATA_KEY, NESTED_EVENT, NESTED_EVENTS, STEERING_KEY, steering_mark_id
from stream_protocol.recording.write._search import TOO_LARGE, Search
from stream_protocol.session import STATE_PREFIX
from stream_protocol.wire import DELTA_KEYS, check_callable, is_nested_message

RecordedKind: TypeAlias = Literal["request", "event", "chunk"]

Redact: TypeAlias = Callable[[RecordedKind, dict[str, Any]], dict[str, Any] | None]
"""An app's own redaction. Takes the kind of a value and its JSON, which it may change. Returns the JSON to write, or
``None`` to write nothing."""


def check_redact(redact: object) -> None:
    """Raises ``InvalidArgumentError`` unless this is an app's own redaction, or ``None``."""
    check_callable("redact", redact, ("kind", "value"), plain=True, or_none=True)


_NOT_WRITTEN: Final = ("temp:", STATE_PREFIX)
"""Prefixes of keys of the session's state. The values of our own keys are also in the messages, where the app's
redaction sees them."""


def redact_event(event: dict[str, Any]) -> dict[str, Any]:
    """An event's JSON (camelCase) without secrets, ``temp:`` state and this package's own metadata and state.

    These values are searched with a budget of work of their own: the arguments and the result of each call, the output
    of a node, and the changes of the state. The chunks made of them are searched in the same way: so event and chunks
    lose the same.
    """
    search = Search(typed=True)
    file = search.object_with(data=_kept)
    part = search.object_with(
        text=_kept,
        inlineData=file,
        functionCall=search.object_with(args=_searched_apart),
        functionResponse=search.object_with(
            response=_searched_apart, parts=search.list_of(search.object_with(inlineData=file))
        ),
    )
    return _object(
        search.clean_object(
            event,
            {
                "content": search.object_with(parts=search.list_of(part)),
                "inputTranscription": search.object_with(text=_kept),
                "outputTranscription": search.object_with(text=_kept),
                "usageMetadata": _kept,  # a token is a piece of text there
                "logprobsResult": _kept,
                "customMetadata": partial(_redact_metadata, search),
                "output": _searched_apart,
                "actions": search.object_with(
                    artifactDelta=_kept,  # file names, and their versions
                    stateDelta=lambda delta: _searched_apart(_written_state(delta)),
                ),
            },
        )
    )


def redact_chunk(chunk: dict[str, Any]) -> dict[str, Any]:
    """A chunk without secrets. Removes the same as from the event that the chunk was made from."""
    apart: dict[str, Callable[[Any], Any]] = dict.fromkeys(("input", "data"), _searched_apart)
    apart["output"] = lambda output: _redact_output(output, chunk.get("toolCallId"))
    if keys := DELTA_KEYS.get(str(chunk.get("type"))):
        apart[keys[1]] = _kept
    return _object(Search().clean_object(chunk, apart))


def redact_request(body: Mapping[str, Any]) -> dict[str, Any]:
    """A client's request body without secrets, in its messages and in the app's own keys.

    The newest message is searched first: it is what the client asks for. Clients send the whole chat each time, so the
    earlier messages are in the turns before.
    """
    return _object(Search().clean_object(dict(body), {"messages": _newest_messages}))


def _newest_messages(messages: Any) -> Any:
    """The messages without secrets; without the oldest ones and the last parts for which there is no work left."""
    search = Search()
    if not isinstance(messages, list):
        return search.clean(messages)
    clean = search.object_with(parts=search.list_of(search.object_with(text=_kept)))
    cleaned: list[Any] = []
    for message in reversed(messages):
        cleaned.append(clean(message))
        if isinstance(message, dict) and isinstance(parts := message.get("parts"), list):
            if not isinstance(cleaned[-1], dict) or not isinstance(cleaned[-1]["parts"], list):
                cleaned.pop()
                break
            whole = zip(cleaned[-1]["parts"], parts, strict=True)
            cleaned[-1]["parts"] = [part for part, original in whole if type(part) is type(original)]
    return cleaned[::-1]


def _object(cleaned: Any) -> dict[str, Any]:
    """A cleaned object, which at the top level stays one."""
    assert isinstance(cleaned, dict)
    return cleaned


def _kept(value: Any) -> Any:
    return value


def _searched_apart(value: Any) -> Any:
    cleaned = Search().clean(value)
    return {"omitted": TOO_LARGE} if isinstance(value, dict) and cleaned == TOO_LARGE else cleaned  # it stays an object


def _without_own_metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    """Without ours, except for the id of a steering message: the response has it, too."""
    kept = {key: value for key, value in metadata.items() if key != METADATA_KEY}
    message_id = steering_mark_id(metadata)
    return kept if message_id is None else {**kept, METADATA_KEY: {STEERING_KEY: {"id": message_id}}}


def _redact_metadata(search: Search, metadata: Any) -> Any:
    """The metadata of an event without this package's own, except events of nested agents: they are events like it."""
    if not isinstance(metadata, dict):
        return search.clean(metadata)
    kept = search.object_with(events=search.list_of(_redact_nested))
    apart: dict[str, Callable[[Any], Any]] = {
        NESTED_EVENT: search.object_with(event=_redact_nested),
        NESTED_EVENTS: lambda calls: search.object_with(**dict.fromkeys(calls, kept))(calls),
    }
    return search.clean_object(_without_own_metadata(metadata), apart)


def _redact_nested(event: Any) -> Any:
    return redact_event(event) if isinstance(event, dict) else _searched_apart(event)


def _redact_output(output: Any, call_id: Any) -> Any:
    """The output of a call. If it is the message of an agent, its parts are searched as chunks are."""
    if not is_nested_message(output, call_id):
        return _searched_apart(output)
    search = Search()
    parts = [_redact_part(part) for part in output["parts"]]
    return search.clean_object({**output, "parts": parts}, {"parts": _kept, "metadata": _searched_apart})


def _redact_part(part: Any) -> Any:
    if not isinstance(part, dict):
        return _searched_apart(part)
    apart: dict[str, Callable[[Any], Any]] = dict.fromkeys(("input", "data"), _searched_apart)
    apart["text"] = _kept
    apart["output"] = lambda output: _redact_output(output, part.get("toolCallId"))
    return Search().clean_object(part, apart)


def _written_state(delta: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in delta.items() if not key.startswith(_NOT_WRITTEN)}
