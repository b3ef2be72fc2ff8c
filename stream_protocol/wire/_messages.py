"""Parse the requests of a chat client and the UI messages in them.

Source: ``ui/ui-messages.ts`` and ``ui/http-chat-transport.ts`` of ``vercel/ai``, read at ``ai@6.0.326`` and
``ai@7.0.173``. Newer clients may send keys, parts and states that this library does not know. These are kept unchanged.
A key whose value is ``null`` is treated as missing.

The parser checks the chat id, and the types of the keys that the server reads. The content of a message is not checked.
It comes from a browser, so do not trust it.
"""

import json
import re
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Literal, cast

from stream_protocol.wire._arguments import check_instance
from stream_protocol.wire._errors import ChatRequestError
from stream_protocol.wire._json_slices import TooManyValuesError, parse_json_in_slices
from stream_protocol.wire._json_values import to_well_formed
from stream_protocol.wire._ui_messages import UIMessage

MAX_CHAT_ID_LENGTH: Final = 128
"""The maximum number of characters of a chat id, as in ADK's database column for session ids."""

MAX_MESSAGES: Final = 20_000
"""The maximum number of messages in a request."""

MAX_PARTS: Final = 5_000
"""The maximum number of parts of a message."""

MAX_KEYS: Final = 1_000
"""The maximum number of keys of the body, of a message and of a part, because the server copies these objects."""

PARTS_PER_SLICE: Final = 1_000
"""The number of parts and messages that are checked between two pauses, in about 2 ms."""

HINT: Final = "send only the last message (prepareSendMessagesRequest), and files as links."
"""Advice in the error for a large body. By default, clients send the whole chat with all files."""

Trigger = Literal["submit-message", "regenerate-message"]

_SDK_4_REQUEST: Final = (
    "This request comes from AI SDK 4: this server needs 6 or later. Update `ai` and `@ai-sdk/react` in the page."
)

_SDK_4_KEYS: Final = frozenset({"toolInvocations", "experimental_attachments"})

_SDK_4_KEYS_OF_PARTS: Final[Mapping[str, tuple[str, str]]] = {
    "reasoning": ("reasoning", "text"),
    "file": ("mimeType", "mediaType"),
    "source": ("source", "sourceId"),
}
"""Type of a part -> its key in AI SDK 4, and the later key."""

_OWN_KEYS: Final = frozenset({"id", "messages", "message", "trigger", "messageId"})
_MESSAGE_KEYS: Final = frozenset({"id", "role", "parts", "metadata"})


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatRequest:
    """A parsed chat request from a client."""

    id: str
    """The chat id. It is valid as a session id and as a segment of a URL path."""
    messages: tuple[UIMessage, ...]
    """The client's history, or only the last message. There is at least one message. A message without an id has the id
    ``""``."""
    has_history: bool = True
    """True if the body had ``messages``. False if it had one ``message``, without the client's history."""
    trigger: Trigger = "submit-message"
    has_trigger: bool = False
    """True if the client sent a trigger. If False, ``trigger`` is inferred."""
    message_id: str | None = None
    """The id of the assistant message to continue or regenerate, or of the user message to replace."""
    body: Mapping[str, Any] = field(default_factory=dict)
    """The other keys of the body, which the app's client code adds."""
    size: int = field(default=0, compare=False)
    """The size of the body in bytes. 0 if the request was not parsed from bytes."""

    @property
    def messages_to_target(self) -> tuple[UIMessage, ...]:
        """The messages up to the target of the request, including the target. Messages after the target are left out.

        The target is the assistant message with the id ``message_id``. If there is no such message, the target is the
        last message.
        """
        for index, message in enumerate(self.messages if self.trigger == "submit-message" else ()):
            if message["id"] and message["id"] == self.message_id and message["role"] == "assistant":
                return self.messages[: index + 1]
        return self.messages

    @property
    def target(self) -> UIMessage:
        """The message to which the request applies: the last of ``messages_to_target``."""
        return self.messages_to_target[-1]

    @property
    def continued_message(self) -> UIMessage | None:
        """The assistant message that the response continues; ``None`` if the response begins a message."""
        return self.target if self.target["role"] == "assistant" else None

    @property
    def says_new_words(self) -> bool:
        """True if the request submits a new user message, or is a retry of such a request. False for an edited message,
        and for a request to regenerate a message.
        """
        return self.has_trigger and self.trigger == "submit-message" and self.message_id is None

    @property
    def message_before_words(self) -> UIMessage | None:
        """The last assistant message before the target of the request; ``None`` if there is none. The target must be a
        user message.
        """
        *earlier, _target = self.messages_to_target
        return next((message for message in reversed(earlier) if message["role"] == "assistant"), None)


def parse_chat_request(body: bytes | bytearray | str | Mapping[str, Any]) -> ChatRequest:
    """Parse the body of a chat request. The body may be a mapping, if a framework has already parsed it.

    Raises ``ChatRequestError`` with one of these statuses:

    - 400: the body is not JSON, or has no valid chat id.
    - 413: the body has too many values or parts.
    - 422: ``messages`` is not a list of messages.

    This function does not limit the size of the body. Your server must limit the size while it reads the body.
    """
    parsing = parse_chat_request_in_slices(body)
    while True:
        try:
            next(parsing)
        except StopIteration as end:
            request: ChatRequest = end.value
            return request


def parse_chat_request_in_slices(
    body: bytes | bytearray | str | Mapping[str, Any],
) -> Generator[int, None, ChatRequest]:
    """Generator that parses a chat request in many short steps (slices), and returns the request. A slice takes some
    milliseconds.

    After each slice, the generator yields the approximate memory of the new values in bytes. Characters of texts are
    not counted. Raises the same errors as ``parse_chat_request``.
    """
    size, parsed = yield from _parse_json_object(body)
    fields = _object(parsed, "The request body")
    _refuse_sdk_4(fields)
    chat_id = parse_chat_id(fields.get("id"))
    _check_optional(fields, "The request", "messageId", str)
    has_history = "messages" in fields or "message" not in fields
    messages = yield from _messages(fields.get("messages") if has_history else [fields["message"]])
    return ChatRequest(
        id=chat_id,
        messages=messages,
        has_history=has_history,
        trigger=_trigger(fields.get("trigger")),
        has_trigger="trigger" in fields,
        message_id=fields.get("messageId"),
        body={key: value for key, value in fields.items() if key not in _OWN_KEYS},
        size=size,
    )


def parse_user_message_in_slices(
    body: bytes | bytearray | str | Mapping[str, Any], chat_id: str
) -> Generator[int, None, ChatRequest]:
    """Like ``parse_chat_request_in_slices``, for a request body that is a single user message.

    ``ChatRequest.body`` contains the keys that do not belong to a message. Raises the errors of ``parse_chat_request``.
    Also raises ``ChatRequestError`` (422) if the message has no id or its role is not ``user``.
    """
    size, parsed = yield from _parse_json_object(body)
    fields = {"role": "user", **_object(parsed, "The message")}
    (whole,) = yield from _messages([fields])
    message = cast("UIMessage", {key: value for key, value in whole.items() if key in _MESSAGE_KEYS})
    if message["role"] != "user":
        raise ChatRequestError("The message must be the user's.", status=422)
    if not message["id"]:
        raise ChatRequestError("The message needs an id.", status=422)
    others = {key: value for key, value in fields.items() if key not in _MESSAGE_KEYS}
    return ChatRequest(id=parse_chat_id(chat_id), messages=(message,), has_history=False, body=others, size=size)


def _refuse_sdk_4(fields: Mapping[str, Any]) -> None:
    """Raise ``ChatRequestError`` (422) if the last message of the request has the format of AI SDK 4."""
    messages = fields.get("messages")
    newest = messages[-1] if isinstance(messages, list) and messages else fields.get("message")
    # With `sendExtraMessageFields`, a message of AI SDK 4 has an id and a time. Later versions send a trigger.
    is_dated = isinstance(newest, dict) and {"content", "createdAt"} <= newest.keys() and "trigger" not in fields
    if is_dated or _is_of_sdk_4(newest):
        raise ChatRequestError(_SDK_4_REQUEST, status=422)


def parse_chat_id(value: object) -> str:
    """Return the chat id. It must be usable as an ADK session id, and as one segment of a URL path. Raises
    ``ChatRequestError`` (400) for any other value.
    """
    if value is None:
        raise ChatRequestError("The chat id is missing.")
    if not isinstance(value, str):
        raise ChatRequestError("The chat id must be a string.")
    if not value.strip():
        raise ChatRequestError("The chat id is empty.")
    if value != value.strip():  # ADK strips ids, so two chats would share one session
        raise ChatRequestError("The chat id must not begin or end with a space.")
    if len(value) > MAX_CHAT_ID_LENGTH:
        raise ChatRequestError(f"The chat id is longer than {MAX_CHAT_ID_LENGTH} characters.")
    # U+FFFD is refused because it replaces invalid bytes and U+0000: two different ids could become equal.
    if value in (".", "..") or re.search(r"[/\\\x00-\x1f\x7f-\x9f\u2028\u2029\ufffd\ud800-\udfff]", value):
        raise ChatRequestError("The chat id must not be a path or hold control characters.")
    return value


def _parse_json_object(
    body: bytes | bytearray | str | Mapping[str, Any],
) -> Generator[int, None, tuple[int, dict[str, Any]]]:
    """Generator that parses a request body, and yields like ``parse_json_in_slices``. Returns the size of the body in
    bytes, and its JSON object.
    """
    _check_body(body)
    try:
        if isinstance(body, Mapping):
            body = json.dumps(dict(body), allow_nan=False)
        text = to_well_formed(body).encode() if isinstance(body, str) else body
        parsed = yield from parse_json_in_slices(text)
    except TooManyValuesError as error:
        raise ChatRequestError(f"The request holds too many values: {HINT}", status=413) from error
    except (ValueError, TypeError, RecursionError) as error:
        raise ChatRequestError("The request body is not valid JSON, or is nested too deeply.") from error
    if not isinstance(parsed, dict):
        raise ChatRequestError("The request body must be a JSON object.")
    return len(text), parsed


def _check_body(body: object) -> None:
    """Raise an error if the value cannot be the body of a chat request.

    Raises ``ChatRequestError`` (400) for parsed JSON that is not an object. Raises ``InvalidArgumentError`` for a value
    that is not a body, such as a request object.
    """
    if isinstance(body, list | int | float | None):
        raise ChatRequestError("The request body must be a JSON object.")
    expected = "the body of a request: bytes, text or a dictionary"
    check_instance("body", body, (bytes, bytearray, str, Mapping), expected)


def _trigger(value: object) -> Trigger:
    match value:
        case None | "submit-message":
            return "submit-message"
        case "regenerate-message":
            return "regenerate-message"
    raise ChatRequestError("The trigger must be submit-message or regenerate-message.", status=422)


def _messages(value: object) -> Generator[int, None, tuple[UIMessage, ...]]:
    if not isinstance(value, list) or not value:
        raise ChatRequestError("The request needs a list of messages that is not empty.", status=422)
    if len(value) > MAX_MESSAGES:
        raise ChatRequestError(f"The request has more than {MAX_MESSAGES:,} messages: {HINT}", status=413)
    messages: list[UIMessage] = []
    parts = 0
    for number, item in enumerate(value, 1):
        message = parse_message(item, f"Message {number}")
        messages.append(message)
        parts += len(message["parts"]) + 1
        if parts >= PARTS_PER_SLICE:
            parts = 0
            yield 0
    return tuple(messages)


def parse_message(value: object, name: str = "The message") -> UIMessage:
    """Return a JSON value as a UI message. ``name``: a name for the message in error texts.

    Raises ``ChatRequestError``: 422 for a value that is not a message, 413 for more than ``MAX_PARTS`` parts or
    ``MAX_KEYS`` keys.
    """
    message = _object(value, name)
    if _is_of_sdk_4(message):
        raise ChatRequestError(f"{name} has the form of AI SDK 4 or earlier, which is not read.", status=422)
    _require_string(message, name, "role")
    _check_optional(message, name, "id", str)
    parts = message.get("parts")
    if not isinstance(parts, list):
        raise ChatRequestError(f"{name} needs a list of parts.", status=422)
    if len(parts) > MAX_PARTS:
        raise ChatRequestError(f"{name} has more than {MAX_PARTS:,} parts.", status=413)
    message["parts"] = [_part(item, f"Part {number} of {name.lower()}") for number, item in enumerate(parts, 1)]
    return cast("UIMessage", {"id": "", **message})


_REQUIRED_STRINGS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "text": ("text",),
        "reasoning": ("text",),
        "file": ("mediaType", "url"),
        "dynamic-tool": ("toolCallId", "state", "toolName"),
        "tool-": ("toolCallId", "state"),
    }
)
"""Type of a part -> keys that must be strings, because the server reads them."""


def _part(value: object, name: str) -> dict[str, Any]:
    part = _object(value, name)
    _require_string(part, name, "type")
    kind = "tool-" if part["type"].startswith("tool-") else part["type"]
    for key in _REQUIRED_STRINGS.get(kind, ()):
        _require_string(part, name, key)
    if kind == "file":
        _check_optional(part, name, "filename", str)
    if kind in ("tool-", "dynamic-tool"):
        _check_optional(part, name, "errorText", str)
    if kind in ("tool-", "dynamic-tool") and "approval" in part:
        approval = part["approval"] = _object(part["approval"], f"The approval in {name.lower()}")
        _require_string(approval, f"The approval in {name.lower()}", "id")
        _check_optional(approval, f"The approval in {name.lower()}", "approved", bool)
        _check_optional(approval, f"The approval in {name.lower()}", "reason", str)
        _check_optional(approval, f"The approval in {name.lower()}", "requestReason", str)
    return part


_NULL_IS_A_VALUE: Final = frozenset({"input", "output", "data", "rawInput"})


def _object(value: object, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ChatRequestError(f"{name} must be an object.", status=422)
    if len(value) > MAX_KEYS:
        raise ChatRequestError(f"{name} has more than {MAX_KEYS:,} keys.", status=413)
    return {key: item for key, item in value.items() if item is not None or key in _NULL_IS_A_VALUE}


def _require_string(fields: Mapping[str, Any], name: str, key: str) -> None:
    if not isinstance(fields.get(key), str):
        raise ChatRequestError(f"{name} needs a string as its {key}.", status=422)


def _check_optional(fields: Mapping[str, Any], name: str, key: str, kind: type[str] | type[bool]) -> None:
    if key in fields and not isinstance(fields[key], kind):
        what = "a string" if kind is str else "true or false"
        raise ChatRequestError(f"{name} may only have {what} as its {key}.", status=422)


def _is_of_sdk_4(message: object) -> bool:
    """Return True for a message in the format of AI SDK 4. Such a message has its text in ``content``. From AI SDK 4.2
    on, the text is also in ``parts``.

    Source: ``ui-utils/src/types.ts`` and ``react/src/use-chat.ts`` of ``vercel/ai``, read at ``ai@4.3.19``.
    """
    if not isinstance(message, dict):
        return False
    if not _SDK_4_KEYS.isdisjoint(message):
        return True
    parts = message.get("parts")
    if isinstance(message.get("content"), str) and (not isinstance(parts, list) or message.get("id") is None):
        return True
    return isinstance(parts, list) and any(map(_is_part_of_sdk_4, parts))


def _is_part_of_sdk_4(part: Any) -> bool:
    if not isinstance(part, dict):
        return False
    kind = part.get("type")
    if kind == "tool-invocation":
        return isinstance(part.get("toolInvocation"), dict)
    old, new = _SDK_4_KEYS_OF_PARTS.get(kind, ("", "")) if isinstance(kind, str) else ("", "")
    return old in part and new not in part
