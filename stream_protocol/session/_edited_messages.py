"""Plans a user message: new, edited, regenerated or sent again.

``plan_user_message`` decides whether the agent runs, or the message is only a retry. ``turn_to_rewind`` decides which
stored turns the chat loses before the message is stored. The model's next prompt does not contain these turns.

A message that is sent again or regenerated replaces everything stored from that message on. Some UI libraries edit
differently: they send only the messages before the edited one, and a new message. An outdated tab sends an equal
request. So the app decides how a truncated history is handled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from stream_protocol.adk import confirmed_call
from stream_protocol.session._files import SavedFile
from stream_protocol.session._request_plans import CallAnswer, NewUserTurn, NothingToRun, call_answer
from stream_protocol.session._stored_responses import (
    has_ended_by_itself,
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
"""Handling of a new message from a client that sends fewer messages than are stored. ``"append"``: append the message,
and keep all stored messages. ``"rewind"``: remove everything stored after the last message that the client has."""


def plan_user_message(
    request: ChatRequest,
    transcript: Transcript,
    *,
    chat_was_busy: bool,
    truncated_history: TruncatedHistory,
    known_key: str | None,
    content: Sequence[TextOrFile] | None,
) -> NewUserTurn | NothingToRun:
    """Return the ``RequestPlan`` for the user message of a request. The keyword arguments are those of ``plan``.

    ``content``: the content of the message, if an earlier call of ``plan`` has found it.
    """
    message = request.target
    stored = transcript.find_user_message(message["id"])
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


def _plan_run(
    request: ChatRequest,
    message: UIMessage,
    transcript: Transcript,
    stored: Turn | None,
    *,
    truncated_history: TruncatedHistory,
    content: Sequence[TextOrFile] | None,
) -> NewUserTurn:
    """Return the ``RequestPlan`` for a user message after which the agent runs.

    ``stored``: the turn with this message, if the message is stored. The trigger of a message that is not stored does
    not matter: the message may be the retry of a failed regeneration.
    """
    rewound = turn_to_rewind(request, transcript, stored, truncated_history)
    if stored is not None:
        parts = tuple(_content_of_stored(request, message, transcript, stored))
    elif content is not None:
        parts = tuple(content)
    else:
        # The message itself was rewound if its worker died before the response began.
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
    """Return the ids of the steering messages that the next reply to this message also reads.

    A repeated message keeps the steering messages that no model call has read, because the user did not take them back.
    If the stored reply is incomplete, the message also keeps the steering messages that this reply has read. An edited
    message, or one that is not the newest, replaces everything after it.
    """
    if stored is not transcript.turns[-1] or _is_edited(message, _message_parts(stored)):
        return ()
    kept = {each.id for each in transcript.waiting}
    if not has_ended_by_itself(stored, stored.events):
        kept |= stored.steering_ids
    return tuple(message_id for message_id in transcript.accepted if message_id in kept)


def turn_to_rewind(
    request: ChatRequest, transcript: Transcript, stored: Turn | None, truncated_history: TruncatedHistory
) -> Turn | None:
    """Return the turn to which the chat is rewound before the user's message is stored; ``None`` for no rewind.

    The rewind removes this turn and all later turns. ``stored``: the turn with this message, if the message is stored.
    Raises ``ChatRequestError`` (409) if the turn shares its invocation with an earlier turn, so that no rewind can
    remove only this turn.
    """
    turn = stored
    if stored is None and truncated_history == "rewind":
        turn = _first_missing_turn(request, transcript)
    if turn is not None and not _begins_invocation(turn, transcript):
        raise ChatRequestError("This message belongs to an answer that began earlier; it stays.", status=409)
    return turn


def _begins_invocation(turn: Turn, transcript: Transcript) -> bool:
    """Return True if no earlier turn has events of this turn's invocation. Only such a turn can be rewound."""
    own = turn.invocation_id
    return turn is next(each for each in transcript.turns if any(event.invocation_id == own for event in each.stored))


def _first_missing_turn(request: ChatRequest, transcript: Transcript) -> Turn | None:
    """Return the first turn that is missing in the client's history; ``None`` if the history is complete.

    All turns after the client's newest stored message are missing. A turn counts as present if the client has its
    question, because a client that disconnected early lacks the reply. A message without earlier user messages is the
    first message of the chat, so all turns are missing. If the client has earlier user messages and none of them is
    stored, the history comes from elsewhere, and the result is ``None``.

    Raises ``ChatRequestError`` (409) if the client has a rewound message, because this message and its followers are no
    longer part of the chat.
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
    """Return the texts and files of a stored message, with the client's changes."""
    parts = _message_parts(stored)
    if request.trigger == "regenerate-message" and not _is_edited(message, parts):
        return stored_texts_and_files(parts, stored.stored[0].id)
    return _with_saved_files(request, message, transcript.versions(message["id"]))


def _rejection(approval: StoredCall, turn: Turn) -> CallAnswer:
    """Return the tool's response to a denied call, in ADK's form."""
    call = confirmed_call(approval.args)
    event = turn.stored[approval.response_index]
    return CallAnswer(id=call.get("id", ""), name=call.get("name", ""), response={"error": REJECTED}, event=event)


def _message_parts(turn: Turn) -> list[types.Part | SavedFile]:
    return stored_parts(turn.stored[0], turn.stored)


def _is_edited(message: UIMessage, stored: list[types.Part | SavedFile]) -> bool:
    """Return True if the client's text of a stored message differs from the stored text. Some clients edit a message in
    place, and then request a regeneration.

    Files are ignored, because a reloaded client may lack them. In place of a saved file, such a client has a link or a
    line of text.
    """
    sent = texts(message)
    content = list(stored_texts_and_files(stored))
    as_links = [item for item in content if isinstance(item, str)]
    as_lines = [
        item.line if isinstance(item, SavedFile) else item for item in content if isinstance(item, str | SavedFile)
    ]
    return bool(sent) and sent not in (as_links, as_lines)


def _with_saved_files(request: ChatRequest, message: UIMessage, versions: Iterable[Turn]) -> Iterator[TextOrFile]:
    """Return the texts and files of an edited message. A link to an artifact becomes the saved file."""
    files = _saved_files(request.id, versions)
    return texts_and_files(message, lambda url: files.pop(linked_artifact_path(request.id, url), None))


def _saved_files(chat_id: str, versions: Iterable[Turn]) -> dict[str, SavedFile]:
    """Return all files that any version of the message has, by artifact path.

    A client may still show a file that an edit removed. The caller removes each file from the result after its first
    use. Otherwise a small request could repeat a link a thousand times, and load a whole file for each link.
    """
    files = [part for turn in versions for part in _message_parts(turn) if isinstance(part, SavedFile)]
    return {artifact_path(chat_id, file.artifact, file.version): file for file in files}
