"""Convert events of live speech, and events of remote agents. After the conversion, ``content`` contains the words of
the user or the agent.

ADK's format for live (bidirectional) runs with speech:

- Transcribed speech is in events without content: ``input_transcription`` is the user's speech, and
  ``output_transcription`` is the agent's speech. Partial events with pieces of the text may come before the finished
  event with the whole text.
- The sound is in ``inline_data`` with raw samples, or in an artifact to which the event refers.
- ``interrupted`` or ``turn_complete`` marks the end of the agent's turn.

ADK up to 1.18 does not set ``partial`` and ``finished``.

A remote agent sends an A2A task with status messages and artifacts. ADK's ``RemoteA2aAgent`` creates an event from each
update of the task, and stores the task's state in the event's metadata. The events differ from the messages that the
remote agent sent:

- All status messages become thoughts. But a remote ADK agent sends all its events as status messages. The task shows
  which of their texts are real thoughts.
- A remote ADK agent sends its last text twice: in a status message, and when the task ends or pauses.
- If an artifact comes in several pieces, only the event with the last piece is stored.
- Some function responses are only placeholders for an approval or a sign-in. The events do not show this.
- The event of a failed task looks like the event of a successful task.
- A request to sign in becomes a call, but ADK does not send the user's answer to the remote agent.
"""

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import orjson

from stream_protocol.adk._known_call import USER

if TYPE_CHECKING:
    from google.adk.events import Event, EventActions
    from google.genai.types import Part

RAW_AUDIO: Final = "audio/pcm"
"""The media type of raw audio samples, without its parameters. Browsers cannot play them as a file."""

_SAVED_SOUND: Final = "/_adk_live/"

DATA_TAGS: Final = (b"<a2a_datapart_json>", b"</a2a_datapart_json>")
"""The tags around the JSON of an A2A data part. ADK converts such a part to a text file."""

_TASK: Final = "a2a:response"
_CONTEXT: Final = "a2a:context_id"
_SIGN_IN: Final = "mock_function_call_for_required_user_auth"
_FAILURES: Final = frozenset({"failed", "rejected", "canceled"})


def is_live_sound(part: "Part") -> bool:
    """Return True if the part contains the sound of a live run. Return False for other audio files."""
    blob, reference = part.inline_data, part.file_data
    if blob is not None:
        return (blob.mime_type or "").lower().startswith(RAW_AUDIO)
    uri = (reference.file_uri or "") if reference is not None else ""
    return uri.startswith("artifact://") and _SAVED_SOUND in uri


def without_sound(event: "Event") -> "Event":
    """Return the event without the sound of a live run. An event without such sound is returned unchanged."""
    content = event.content
    parts = content.parts if content is not None else None
    if content is None or not parts or not any(map(is_live_sound, parts)):
        return event
    heard = [part for part in parts if not is_live_sound(part)]
    return event.model_copy(update={"content": content.model_copy(update={"parts": heard}) if heard else None})


def readable_event(event: "Event") -> "Event":
    """Convert an event with the user's speech to a text event. In an event of a remote agent (A2A), restore the content
    that the agent sent.

    A piece of the user's speech becomes a partial event. The sound of live runs is removed. Any other event is returned
    unchanged.
    """
    speech = event.input_transcription
    if speech is None or not speech.text or event.content is not None or event.output_transcription is not None:
        return unwrap_a2a(without_sound(event))
    # Older ADKs name the agent that hears the speech as its author.
    content = {"role": USER, "parts": [{"text": speech.text}]}
    spoken = type(event).model_validate({"author": USER, "content": content}).content
    changed = {"author": USER, "content": spoken, "input_transcription": None, "partial": not speech.finished or None}
    return event.model_copy(update=changed)


def is_relayed(event: "Event") -> bool:
    """Return True if ADK created the event from a message of a remote agent (A2A)."""
    return isinstance((event.custom_metadata or {}).get(_TASK), dict)


def unwrap_a2a(event: "Event") -> "Event":
    """Return a copy of the event with the content that a remote agent (A2A) sent. A partial event, or an event of any
    other agent, is returned unchanged."""
    if event.partial or not is_relayed(event):
        return event
    task = _Task((event.custom_metadata or {})[_TASK])
    parts = (event.content.parts if event.content is not None else None) or []
    if task.state in _FAILURES:
        return _failed(event, task, parts)
    if not parts:
        return event
    if task.is_by_adk:
        return _silent(event) if task.is_repeated else _relayed_by_peer(_restored(event, task, parts), task, parts)
    if event.partial is False and (earlier := task.earlier_pieces(parts)):
        return _with_parts(event, [*(_part(type(parts[0]), piece) for piece in earlier), *parts])
    return _with_sign_in_as_text(event, parts)


def a2a_markers(events: "Iterable[Event]") -> "Iterator[Event]":
    """Yield events to append at the end of a session. Each of them looks like an empty message from a remote agent
    (A2A). So ADK sends no older function responses to this remote agent.

    ADK sends a remote agent all events after the agent's own newest event. After a stopped run, these events may
    include function responses that end unanswered calls. But a remote ADK agent refuses a request that has both a user
    message and function responses.
    """
    newest: dict[str, Event] = {}
    to_mark: dict[str, Event] = {}
    for event in events:
        if is_relayed(event):
            newest[event.author] = event
            to_mark.pop(event.author, None)
        elif event.author in newest and event.content is not None:
            to_mark[event.author] = newest[event.author]
    for event in to_mark.values():
        metadata = event.custom_metadata or {}
        mark = {_TASK: {"id": metadata[_TASK].get("id")}, _CONTEXT: metadata.get(_CONTEXT)}
        yield type(event)(
            author=event.author,
            invocation_id=event.invocation_id,
            branch=event.branch,
            isolation_scope=event.isolation_scope,
            custom_metadata=mark,
        )


class _Task:
    """The A2A task of a remote agent, read from JSON of a2a-sdk 0.3 or 1.x."""

    def __init__(self, task: dict[str, Any]) -> None:
        self._history: list[Any] = _list(task, "history")
        self.metadata = _mapping(task, "metadata")
        status = _mapping(task, "status")
        state = status.get("state")
        self.state = str(state).removeprefix("TASK_STATE_").replace("-", "_").lower()
        self.message = _mapping(status, "message")
        self.artifacts = [artifact for artifact in _list(task, "artifacts") if isinstance(artifact, dict)]

    @property
    def newest_artifact(self) -> dict[str, Any]:
        return self.artifacts[-1] if self.artifacts else {}

    @property
    def is_by_adk(self) -> bool:
        """True if the remote agent is an ADK agent. ADK adds keys with the prefix ``adk_`` to the task's metadata."""
        return any(key.startswith("adk_") for key in self.metadata)

    @property
    def own_metadata(self) -> dict[str, Any]:
        """The ``custom_metadata`` of the remote agent's event that caused the newest update of the task."""
        found = {**self.metadata, **_mapping(self.newest_artifact, "metadata")}.get("adk_custom_metadata")
        try:
            value = orjson.loads(found) if isinstance(found, str) else found
        except orjson.JSONDecodeError:
            return {}
        return value if isinstance(value, dict) else {}

    @property
    def is_repeated(self) -> bool:
        """True if the task sends the content of its newest message twice: in another message, or in a later event that
        reports a failure.
        """
        if "adk_error_code" in _mapping(self.message, "metadata"):
            return True
        if self.state == "working":
            parts = _parts(self.message)
            return bool(parts) and parts == _parts(self.newest_artifact)
        message_id = self.message.get("messageId")
        ids = [old.get("messageId") for old in self._history if isinstance(old, dict)]
        return message_id is not None and ids.count(message_id) > 1

    @property
    def thoughts(self) -> set[Any]:
        """The texts that the remote ADK agent has marked as thoughts."""
        parts = [*_parts(self.message), *_parts(self.newest_artifact)]
        return {part.get("text") for part in parts if _mapping(part, "metadata").get("adk_thought")}

    def earlier_pieces(self, last: "list[Part]") -> list[dict[str, Any]]:
        """An artifact may come in several pieces, and ``last`` has the parts of its last piece. Return the parts of its
        earlier pieces. Return an empty list if the task has no such artifact.
        """
        for artifact in reversed(self.artifacts):
            parts = _parts(artifact)
            if [part.get("text") for part in parts[-len(last) :]] == [part.text for part in last]:
                return parts[: -len(last)]
        return []


def _failed(event: "Event", task: _Task, parts: "list[Part]") -> "Event":
    """Return the event of a failed A2A task as an error event, with the event's text as the error message. If the text
    is the exception of a remote ADK agent, the content of the event is removed.
    """
    texts = [part.text for part in parts if part.text]
    of_status = texts == [text for part in _parts(task.message) if (text := part.get("text"))]
    code, message = f"A2A_TASK_{task.state.upper()}", "\n".join(texts) or None
    error = event if not (task.is_by_adk and of_status) else _silent(event)
    return error.model_copy(
        update={"error_code": event.error_code or code, "error_message": message or event.error_message}
    )


def _restored(event: "Event", task: _Task, parts: "list[Part]") -> "Event":
    """Return the event in the form in which the remote ADK agent created it. Restores thoughts, texts, placeholder
    responses and sources.
    """
    thoughts = task.thoughts
    shown = [_as_text(part) if part.thought and part.text not in thoughts else part for part in parts]
    metadata = {**task.metadata, **_mapping(task.newest_artifact, "metadata")}
    update: dict[str, Any] = {"actions": _with_requests(event.actions, _mapping(metadata, "adk_actions"))}
    if event.grounding_metadata is None and "adk_grounding_metadata" in metadata:
        update["grounding_metadata"] = _grounding(event, metadata["adk_grounding_metadata"])
    return _with_parts(event, shown).model_copy(update=update)


def _relayed_by_peer(event: "Event", task: _Task, parts: "list[Part]") -> "Event":
    """A remote ADK agent may itself use a second remote agent, and pass on its messages. In this case, return the event
    with the content of the second agent. Return any other event unchanged.
    """
    metadata = task.own_metadata
    behind = _Task(_mapping(metadata, _TASK))
    texts = [part.text for part in parts]
    if texts not in [
        [part.get("text") for part in _parts(message)] for message in (behind.message, behind.newest_artifact)
    ]:
        return event  # the task still has the metadata of an earlier event
    inner = event.model_copy(update={"custom_metadata": metadata})
    return unwrap_a2a(inner).model_copy(update={"custom_metadata": event.custom_metadata})


def _as_text(part: "Part") -> "Part":
    return part.model_copy(update={"thought": None})


def _with_requests(actions: "EventActions", of_peer: Mapping[str, Any]) -> "EventActions":
    """Return ``actions`` with the remote agent's requests for approvals and credentials. The requests show which
    function responses are only placeholders. ``of_peer``: the remote agent's actions, as JSON.
    """
    keys = ("requestedToolConfirmations", "requestedAuthConfigs")
    try:
        asked = type(actions).model_validate({key: of_peer[key] for key in keys if of_peer.get(key)})
    except ValueError:
        return actions
    return actions.model_copy(
        update={
            "requested_tool_confirmations": asked.requested_tool_confirmations,
            "requested_auth_configs": asked.requested_auth_configs,
        }
    )


def _grounding(event: "Event", grounding: Any) -> Any:
    try:
        return type(event).model_validate({"author": event.author, "groundingMetadata": grounding}).grounding_metadata
    except ValueError:
        return None


def _with_sign_in_as_text(event: "Event", parts: "list[Part]") -> "Event":
    """Return the event with a text in place of the remote agent's request to sign in. The user can answer the text with
    a message."""
    asked = [part.function_call for part in parts if part.function_call and part.function_call.name == _SIGN_IN]
    if not asked:
        return event
    texts = [
        part if (call := part.function_call) not in asked or call is None else _prompt(type(part), call.args)
        for part in parts
    ]
    ids = {call.id for call in asked}
    waiting = {call_id for call_id in event.long_running_tool_ids or () if call_id not in ids}
    return _with_parts(event, texts).model_copy(update={"long_running_tool_ids": waiting or None})


def _prompt(kind: "type[Part]", args: Mapping[str, Any] | None) -> "Part":
    prompt = (args or {}).get("auth_required")
    return kind(text=prompt if isinstance(prompt, str) else orjson.dumps(prompt).decode())


def _part(kind: "type[Part]", part: Mapping[str, Any]) -> "Part":
    """Convert a part of an A2A artifact to an ADK part, as ADK itself does."""
    file = _mapping(part, "file") or part
    described = {
        "mimeType": file.get("mediaType") or file.get("mimeType"),
        "displayName": file.get("filename") or file.get("name"),
    }
    match {**part, **file}:
        case {"text": str(text)}:
            return kind(text=text)
        case {"raw": str(data)} | {"bytes": str(data)}:
            return kind.model_validate({"inlineData": {"data": data, **described}})
        case {"url": str(uri)} | {"uri": str(uri)}:
            return kind.model_validate({"fileData": {"fileUri": uri, **described}})
    begin, end = DATA_TAGS
    data = b64encode(begin + orjson.dumps(part.get("data")) + end).decode()
    return kind.model_validate({"inlineData": {"data": data, "mimeType": "text/plain"}})


def _silent(event: "Event") -> "Event":
    return event.model_copy(update={"content": None, "long_running_tool_ids": None})


def _with_parts(event: "Event", parts: "Iterable[Part]") -> "Event":
    assert event.content is not None
    return event.model_copy(update={"content": event.content.model_copy(update={"parts": list(parts)})})


def _mapping(value: Mapping[str, Any], key: str) -> dict[str, Any]:
    return found if isinstance(found := value.get(key), dict) else {}


def _list(value: Mapping[str, Any], key: str) -> list[Any]:
    return found if isinstance(found := value.get(key), list) else []


def _parts(holder: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [part for part in _list(holder, "parts") if isinstance(part, dict)]
