"""Removes secrets from requests, events and chunks before they are written to a recording.

The same rules apply to events, chunks and requests, so that the recorded events still give the recorded chunks:

* ADK's auth configs and credentials are found by their keys, at any place. Only their type and the sign-in URL without
  its query remain. A credential that the user gave is removed completely.
* A value whose name means a secret is removed, whatever its type: see ``_secret_names``. The name is the value's key,
  or stands beside it: ``{"name": "Cookie", "value": …}``, and ``["Cookie", …]`` in a list.
* A text with the form of a credential is removed. Credentials in URLs are also removed: see ``_secret_texts``. A text
  that is JSON is searched like JSON.

Texts of users and models are not searched. Streamed arguments are also not searched, because they come in fragments.
The app's own function (``Redact``) must remove secrets from these. Attached files are not searched.

The search blocks the event loop, and clients and tools can send large values. Its work is therefore limited: see
``Search``. A text or a value beyond the limit is replaced with ``TOO_LARGE``.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, Literal, TypeAlias

from stream_protocol.adk import METADATA_KEY, NESTED_EVENT, NESTED_EVENTS, STEERING_KEY, steering_mark
from stream_protocol.recording.write._search import TOO_LARGE, Search
from stream_protocol.session import STATE_PREFIX
from stream_protocol.wire import DELTA_KEYS, check_callable, is_nested_message

RecordedKind: TypeAlias = Literal["request", "event", "chunk"]

Redact: TypeAlias = Callable[[RecordedKind, dict[str, Any]], dict[str, Any] | None]
"""An app's own redaction. It takes the kind of a value and its JSON, which it may change. It returns the JSON to write,
or ``None`` to write nothing."""


def check_redact(redact: object) -> None:
    """Raise ``InvalidArgumentError`` unless the value is an app's own redaction, or ``None``."""
    check_callable("redact", redact, ("kind", "value"), plain=True, or_none=True)


_NOT_WRITTEN: Final = ("temp:", STATE_PREFIX)
"""Prefixes of state keys that are not recorded. The values of this library's keys are also in the messages, which the
app's redaction gets.
"""


def redact_event(event: dict[str, Any]) -> dict[str, Any]:
    """Return an event's JSON (camelCase). It has no secrets, no ``temp:`` state, and no metadata and state of this
    package.

    The work of a search for secrets is limited: see ``Search``. The arguments and the result of each call, the output
    of a node, and the state changes have a limit each. The search of their chunks has the same limit. So a value that
    is too large is replaced both in the event and in its chunks.
    """
    search = Search(typed=True)
    file = search.object_with(data=_kept)
    part = search.object_with(
        text=_kept,
        inlineData=file,
        functionCall=search.object_with(args=_clean_with_own_limit),
        functionResponse=search.object_with(
            response=_clean_with_own_limit, parts=search.list_of(search.object_with(inlineData=file))
        ),
    )
    return _object(
        search.clean_object(
            event,
            {
                "content": search.object_with(parts=search.list_of(part)),
                "inputTranscription": search.object_with(text=_kept),
                "outputTranscription": search.object_with(text=_kept),
                "usageMetadata": _kept,  # in this key, a token is a piece of text
                "logprobsResult": _kept,
                "customMetadata": partial(_redact_metadata, search),
                "output": _clean_with_own_limit,
                "actions": search.object_with(
                    artifactDelta=_kept,  # file names and versions
                    stateDelta=lambda delta: _clean_with_own_limit(_written_state(delta)),
                ),
            },
        )
    )


def redact_chunk(chunk: dict[str, Any]) -> dict[str, Any]:
    """Return a chunk without secrets. It loses the same parts that ``redact_event`` removes from the chunk's event."""
    keys = DELTA_KEYS.get(str(chunk.get("type")))
    return _object(Search().clean_object(chunk, _cleaners(chunk, kept=keys[1] if keys else None)))


def redact_request(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a client's request body without secrets, in its messages and in the app's own keys.

    The newest message is searched first. Clients send the whole chat each time, so earlier messages are also in earlier
    turns.
    """
    return _object(Search().clean_object(dict(body), {"messages": _newest_messages}))


def _newest_messages(messages: Any) -> Any:
    """Return the messages without secrets.

    If the messages are too large for one search, the oldest messages, or parts of them, are left out.
    """
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
    """Assert that a cleaned value is an object. Only nested objects can be replaced by ``TOO_LARGE``."""
    assert isinstance(cleaned, dict)
    return cleaned


def _kept(value: Any) -> Any:
    return value


def _clean_with_own_limit(value: Any) -> Any:
    cleaned = Search().clean(value)
    return (
        {"omitted": TOO_LARGE} if isinstance(value, dict) and cleaned == TOO_LARGE else cleaned
    )  # an object stays an object


def _without_own_metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata without our key. A steering message keeps its id, which the response also has, and its
    context, which the models have read.
    """
    kept = {key: value for key, value in metadata.items() if key != METADATA_KEY}
    mark = steering_mark(metadata)
    return kept if mark is None else {**kept, METADATA_KEY: {STEERING_KEY: mark}}


def _redact_metadata(search: Search, metadata: Any) -> Any:
    """Return the metadata of an event without our own key. Events of nested agents in it are cleaned like
    other events."""
    if not isinstance(metadata, dict):
        return search.clean(metadata)
    kept = search.object_with(events=search.list_of(_redact_nested))
    each = search.list_of(kept)
    cleaners: dict[str, Callable[[Any], Any]] = {
        NESTED_EVENT: search.object_with(event=_redact_nested),
        NESTED_EVENTS: lambda calls: (
            search.object_with(
                **{call_id: each if isinstance(value, list) else kept for call_id, value in calls.items()}
            )(calls)
            if isinstance(calls, dict)
            else search.clean(calls)
        ),
    }
    return search.clean_object(_without_own_metadata(metadata), cleaners)


def _redact_nested(event: Any) -> Any:
    return redact_event(event) if isinstance(event, dict) else _clean_with_own_limit(event)


def _redact_output(output: Any, call_id: Any) -> Any:
    """Return the output of a call without secrets. If the output is an agent's message, its parts are searched as
    chunks are."""
    if not is_nested_message(output, call_id):
        return _clean_with_own_limit(output)
    search = Search()
    parts = [_redact_part(part) for part in output["parts"]]
    return search.clean_object({**output, "parts": parts}, {"parts": _kept, "metadata": _clean_with_own_limit})


def _redact_part(part: Any) -> Any:
    if not isinstance(part, dict):
        return _clean_with_own_limit(part)
    return Search().clean_object(part, _cleaners(part, kept="text"))


def _cleaners(value: dict[str, Any], *, kept: str | None) -> dict[str, Callable[[Any], Any]]:
    """Return the functions for members of a chunk or a message part. ``kept``: the key of a text that is not
    searched."""
    cleaners: dict[str, Callable[[Any], Any]] = dict.fromkeys(("input", "data"), _clean_with_own_limit)
    cleaners["output"] = lambda output: _redact_output(output, value.get("toolCallId"))
    return cleaners if kept is None else {**cleaners, kept: _kept}


def _written_state(delta: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in delta.items() if not key.startswith(_NOT_WRITTEN)}
