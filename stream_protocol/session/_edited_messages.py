"""Plans the run for a user message. The message may be new, edited, regenerated or sent again.

A request may have fewer messages than the stored chat, for one of two reasons. Some UI libraries remove an edited
message and all messages after it, and send the edited text as a new message. In other cases, the browser tab has not
loaded the newest messages. The server cannot distinguish the two cases. The app's ``TruncatedHistory`` decides what the
server does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from stream_protocol.adk import confirmed_call
from stream_protocol.session._files import SavedFile
from stream_protocol.session._request_plans import CallAnswer, NewUserTurn, NothingToRun, call_answer
from stream_protocol.session._stored_responses import (
    idempotency_key,
    response_to_equal_message,
    response_with_steering,
    wants_stored_response,
)
from stream_protocol.session._submitted_answers import REJECTED, answers_before_message
from stream_protocol.session._user_message import (
    artifact_path,
    linked_artifact_path,
    stored_parts,
    stored_texts_and_files,
    texts,
    texts_and_files,
)
from stream_protocol.wire import ChatRequestError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from google.genai import types

    from stream_protocol.session._files import TextOrFile
    from stream_protocol.session.transcript import StoredCall, Transcript, Turn
    from stream_protocol.wire import ChatRequest, UIMessage

TruncatedHistory: TypeAlias = Literal["append", "rewind"]
"""Handling of a new message if the request has fewer messages than the stored chat.

``"append"``: append the message, and keep all stored messages. ``"rewind"``: remove all stored messages that are
missing in the request.
"""


def plan_user_message(
    request: ChatRequest,
    transcript: Transcript,
    *,
    chat_was_busy: bool,
    truncated_history: TruncatedHistory,
    known_key: str | None,
    content: Sequence[TextOrFile] | None,
) -> NewUserTurn | NothingToRun:
    """Decide what to run for the user message of a request.

    ``content``: the texts and files of the message; ``None`` to read them from the request. The function ``plan``
    documents the other keyword arguments.
    """
    message = request.target
    stored = find_user_message(transcript, message["id"])
    if stored is None:
        steered_turn = transcript.find_steering(message["id"])
        accepted = transcript.accepted.get(message["id"])
        is_in_reply = chat_was_busy or steered_turn is not None
        if accepted is not None and is_in_reply and accepted.message.get("parts") != message["parts"]:
            raise ChatRequestError("This message is part of a reply. Send the new text as a new message.", status=409)
        if steered_turn is not None:
            return response_with_steering(steered_turn, is_superseded=steered_turn is not transcript.turns[-1])
    else:
        repeated = response_to_equal_message(known_key or idempotency_key(request), stored)
        if repeated is not None and (chat_was_busy or wants_stored_response(request, stored, transcript)):
            return repeated
    return _plan_run(request, message, transcript, stored, truncated_history=truncated_history, content=content)


def find_user_message(transcript: Transcript, client_id: str) -> Turn | None:
    """Return the newest turn that begins with this user message; ``None`` if there is none."""
    return next((turn for turn in reversed(transcript.turns) if client_id in turn.user_message_ids), None)


def _plan_run(
    request: ChatRequest,
    message: UIMessage,
    transcript: Transcript,
    stored: Turn | None,
    *,
    truncated_history: TruncatedHistory,
    content: Sequence[TextOrFile] | None,
) -> NewUserTurn:
    """Return the plan for a user message that starts a run. ``stored``: the stored turn of the message; ``None`` if the
    message is not stored.

    If regenerating a reply fails, the user message may be removed. A second request to regenerate the reply then names
    a message that is not stored. This message counts as new.
    """
    rewound = turn_to_rewind(request, transcript, stored, truncated_history)
    if stored is not None:
        parts = tuple(_content_of_stored(request, message, transcript, stored))
    elif content is not None:
        parts = tuple(content)
    else:
        # If a worker died before its response began, a rewind may have removed the message itself.
        ids = (*(rewound.user_message_ids if rewound is not None else ()), message["id"])
        edited = [version for user_id in ids for version in transcript.versions(user_id)]
        parts = tuple(_with_saved_files(request, message, edited))
    if not parts:
        raise ChatRequestError("The message is empty.", status=422)
    turn = transcript.current_before(rewound)
    before = request.message_before_words
    answered = list(answers_before_message(before, turn)) if before is not None and turn is not None else []
    denied = [call for answer, call in answered if answer.is_approval]
    return NewUserTurn(
        texts_and_files=parts,
        client_message_id=message["id"],
        rewind_before=rewound.invocation_id if rewound is not None else None,
        kept_steering=_kept_steering(message, transcript, stored) if stored is not None else (),
        answers=tuple(call_answer(call, answer.response) for answer, call in answered),
        rejections=tuple(_rejection(call, turn) for call in denied if turn is not None),
        reasons={call.reply_id: answer.reason for answer, call in answered if answer.reason},
        call_ids=transcript.call_ids if rewound is None else rewound.call_ids,
    )


def _kept_steering(message: UIMessage, transcript: Transcript, stored: Turn) -> tuple[str, ...]:
    """The agent will reply to a user message again. Return the ids of the steering messages that stay in the chat. A
    steering message is a message that the user sends while the agent works.

    ``stored``: the turn of the user message. If the user message was edited, or is not the newest, no steering message
    stays. Otherwise, unread messages stay: no model call has read them. If the stored reply is incomplete, all steering
    messages of the turn stay.
    """
    if stored is not transcript.turns[-1] or _is_edited(message, _message_parts(stored)):
        return ()
    kept = {each.id for each in transcript.waiting}
    if not stored.ended_by_itself(stored.events):
        kept |= stored.steering_ids
    return tuple(message_id for message_id in transcript.accepted if message_id in kept)


def turn_to_rewind(
    request: ChatRequest, transcript: Transcript, stored: Turn | None, truncated_history: TruncatedHistory
) -> Turn | None:
    """Return the first turn that a rewind must remove before a user message is stored; ``None`` if no rewind is needed.
    The rewind also removes all turns after the returned turn.

    ``stored``: the stored turn of the user message; ``None`` if the message is not stored. ADK can rewind only whole
    invocations. If the turn to remove shares its invocation with an earlier turn, this function raises
    ``ChatRequestError`` (409).
    """
    turn = stored
    if stored is None and truncated_history == "rewind":
        turn = _first_missing_turn(request, transcript)
    if turn is not None and not _begins_invocation(turn, transcript):
        raise ChatRequestError("This message belongs to an answer that began earlier; it stays.", status=409)
    return turn


def _begins_invocation(turn: Turn, transcript: Transcript) -> bool:
    """Return True if no turn before ``turn`` has events of the same invocation."""
    own = turn.invocation_id
    return turn is next(each for each in transcript.turns if any(event.invocation_id == own for event in each.stored))


def _first_missing_turn(request: ChatRequest, transcript: Transcript) -> Turn | None:
    """Return the first stored turn that the request's messages lack; ``None`` if they lack no turn.

    - The request lacks a turn if it has no message of this turn or of a later turn.
    - If none of the user messages before the last message is stored, they come from another session. The result is then
      ``None``.

    Raises ``ChatRequestError`` (409) if the request has a message that a rewind has removed.
    """
    if not request.has_history:
        return None
    *earlier, _words = request.messages_to_target
    ids = frozenset(message["id"] for message in earlier if message["id"])
    if transcript.has_taken_back(ids):
        raise ChatRequestError("A message before yours was taken back. Reload the page to go on.", status=409)
    shown = [turn for turn in transcript.turns if turn.events]
    kept = max((number for number, turn in enumerate(shown, 1) if turn.message_ids & ids), default=0)
    if not kept and any(message["role"] == "user" for message in earlier):
        return None
    return shown[kept] if kept < len(shown) else None


def _content_of_stored(
    request: ChatRequest, message: UIMessage, transcript: Transcript, stored: Turn
) -> Iterable[TextOrFile]:
    """Return the texts and files for a new reply to a stored user message. A regeneration without an edit uses the
    stored texts and files. Any other request uses the texts and files of ``message``."""
    parts = _message_parts(stored)
    if request.trigger == "regenerate-message" and not _is_edited(message, parts):
        return stored_texts_and_files(parts, stored.stored[0].id)
    return _with_saved_files(request, message, transcript.versions(message["id"]))


def _rejection(approval: StoredCall, turn: Turn) -> CallAnswer:
    call = confirmed_call(approval.args)
    event = turn.stored[approval.response_index]
    return CallAnswer(id=call.get("id", ""), name=call.get("name", ""), response={"error": REJECTED}, event=event)


def _message_parts(turn: Turn) -> list[types.Part | SavedFile]:
    return stored_parts(turn.stored[0], turn.stored)


def _is_edited(message: UIMessage, stored: list[types.Part | SavedFile]) -> bool:
    """Return True if the text of the request's ``message`` differs from the stored text. Some clients change the text
    of a message, and then send a request to regenerate the reply.

    Files are not compared, because after a reload, a client may have a link or a text instead of a file.
    """
    sent = texts(message)
    content = list(stored_texts_and_files(stored))
    as_links = [item for item in content if isinstance(item, str)]
    as_lines = [
        item.line if isinstance(item, SavedFile) else item for item in content if isinstance(item, str | SavedFile)
    ]
    return bool(sent) and sent not in (as_links, as_lines)


def _with_saved_files(request: ChatRequest, message: UIMessage, versions: Iterable[Turn]) -> Iterator[TextOrFile]:
    """Yield the texts and files of an edited message. A ``SavedFile`` replaces each link to a saved artifact."""
    files = _saved_files(request.id, versions)
    return texts_and_files(message, lambda url: files.pop(linked_artifact_path(request.id, url), None))


def _saved_files(chat_id: str, versions: Iterable[Turn]) -> dict[str, SavedFile]:
    """Return the files of a user message that ADK saved as artifacts. The result maps the path in an artifact's URL to
    the file. It includes the files of earlier versions, because a client may still show a file that an edit has
    removed.

    A small request can have many links to one file, so the caller must load each file only once.
    """
    files = [part for turn in versions for part in _message_parts(turn) if isinstance(part, SavedFile)]
    return {artifact_path(chat_id, file.artifact, file.version): file for file in files}
