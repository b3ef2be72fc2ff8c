"""Removes secrets from requests, events and chunks before they are written to a recording.

The rules are equal for requests, events and chunks, so that a replay of the recorded events gives the recorded chunks:

- ADK's auth configs and credentials are found by their keys. Only the type and the sign-in URL, without its query, are
  kept. A credential that the user sent is removed completely.
- A value with a secret name is removed: see ``_secret_names``. The name may be the key of the value. It may also stand
  next to the value, as in ``{"name": "Cookie", "value": …}`` and ``["Cookie", …]``.
- A text that looks like a credential is removed: see ``_secret_texts``. Credentials in URLs are also removed. A text
  that is JSON is searched like JSON.

Four kinds of values are not searched: texts of users, texts of models, streamed arguments, and attached files. To
remove secrets from them, an app passes its own function (``Redact``).

The work of a search is limited, because it blocks the event loop. ``TOO_LARGE`` replaces values beyond the limit.
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
"""The app's own redaction function: takes the kind of a value and its JSON, and returns the JSON to write.

``None`` means that nothing is written. The function may change the given JSON.
"""


def check_redact(redact: object) -> None:
    check_callable("redact", redact, ("kind", "value"), plain=True, or_none=True)


_NOT_WRITTEN: Final = ("temp:", STATE_PREFIX)
"""Prefixes of ADK's temporary state keys and of this library's state keys, which are not recorded."""


def redact_event(event: dict[str, Any]) -> dict[str, Any]:
    """Return an event's JSON (camelCase). Removes secrets, ``temp:`` state, and this library's own metadata and state.

    Arguments, results and other values from tools have the same size limit in events and in chunks. So a value above
    the limit is replaced in both.
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
    """Return a chunk without secrets. The rules are the same as in ``redact_event``."""
    keys = DELTA_KEYS.get(str(chunk.get("type")))
    return _object(Search().clean_object(chunk, _cleaners(chunk, kept=keys[1] if keys else None)))


def redact_prompt(prompt: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON of a model request without secrets. ``contents`` are treated like the content of an event."""
    contents = [redact_event({"content": content}).get("content") for content in prompt["contents"]]
    return _object(Search().clean_object(prompt, {"contents": lambda _: contents}))


def redact_request(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of a client's request without secrets.

    Only a limited amount of data is searched. The newest message is searched first, because the earlier requests in the
    recording already contain the other messages.
    """
    return _object(Search().clean_object(dict(body), {"messages": _newest_messages}))


def _newest_messages(messages: Any) -> Any:
    """Return the messages without secrets. If the messages together are too large for the search for secrets,
    the oldest messages, or some parts of these messages, are left out."""
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
    assert isinstance(cleaned, dict)  # a search replaces only nested objects with a placeholder
    return cleaned


def _kept(value: Any) -> Any:
    return value


def _clean_with_own_limit(value: Any) -> Any:
    cleaned = Search().clean(value)
    return (
        {"omitted": TOO_LARGE} if isinstance(value, dict) and cleaned == TOO_LARGE else cleaned
    )  # an object stays an object


def _without_own_metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return an event's metadata without this library's data. Only one thing is kept: the id and the context of a
    steering message (sent while the agent works).
    """
    kept = {key: value for key, value in metadata.items() if key != METADATA_KEY}
    mark = steering_mark(metadata)
    return kept if mark is None else {**kept, METADATA_KEY: {STEERING_KEY: mark}}


def _redact_metadata(search: Search, metadata: Any) -> Any:
    """Return the metadata of an event without this library's data and without secrets. Events that the metadata
    contains are also searched."""
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
    """Return the output of a tool call without secrets. If an agent ran inside the call, the output is the agent's
    message, and its parts are searched like chunks."""
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
    """Return functions that remove secrets from the values of a chunk or a message part. The keys of the result are the
    keys of these values.

    ``kept``: the key of a text that is not searched.
    """
    cleaners: dict[str, Callable[[Any], Any]] = dict.fromkeys(("input", "data"), _clean_with_own_limit)
    cleaners["output"] = lambda output: _redact_output(output, value.get("toolCallId"))
    return cleaners if kept is None else {**cleaners, kept: _kept}


def _written_state(delta: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in delta.items() if not key.startswith(_NOT_WRITTEN)}
