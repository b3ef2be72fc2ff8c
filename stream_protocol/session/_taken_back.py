"""The user's new message: which stored messages it takes back, as an edit does, and the turn that it begins.

A message that is sent again, or answered anew, takes back what is stored from there on. Some kits edit in another way:
they send the messages before the edited one, and a new message in its place. A tab that is behind sends the same, so it
is the app that says what such a cut history means.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from stream_protocol.adk import confirmed_call
from stream_protocol.session._files import SavedFile
from stream_protocol.session._request_plans import CallAnswer, NewUserTurn, call_answer
from stream_protocol.session._submitted_answers import CONFLICT, REJECTED, answers_with_words
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

HistoryCut: TypeAlias = Literal["append", "rewind"]
"""The handling of a new message from a client that sends fewer messages than are stored. ``"append"``: append the
message, and lose nothing. ``"rewind"``: take back everything stored after the last message that the client has."""


def plan_again(request: ChatRequest, message: UIMessage, transcript: Transcript, turn: Turn) -> NewUserTurn:
    """A message that is stored already: it is rewound, and answered anew."""
    parts = _message_parts(turn)
    if request.trigger == "regenerate-message" and not _is_edited(message, parts):
        said = stored_texts_and_files(parts, turn.stored[0].id)
    else:
        said = _with_saved_files(request, message, transcript.versions(message["id"]))
    return _new_user_turn(request, said, transcript, taken_back=turn)


def plan_new_words(
    request: ChatRequest,
    message: UIMessage,
    transcript: Transcript,
    history_cut: HistoryCut,
    said: Sequence[TextOrFile] | None,
) -> NewUserTurn:
    """A message that is not stored: it is new whatever the trigger says, as a retry of a request that failed is."""
    cut_off = _first_cut_off(request, transcript) if history_cut == "rewind" else None
    edited_ids = cut_off.user_message_ids if cut_off is not None else ()
    # The message itself was taken back if the worker ended before its answer began.
    edited = [one for user_id in (*edited_ids, message["id"]) for one in transcript.versions(user_id)]
    found = said if said is not None else _with_saved_files(request, message, edited)
    return _new_user_turn(request, found, transcript, taken_back=cut_off)


def _first_cut_off(request: ChatRequest, transcript: Transcript) -> Turn | None:
    """The first turn after the last one of which the client has a message. ``None`` if nothing was cut off.

    A turn is kept or cut off as a whole: a client that left early has the question and not the answer. Words with
    no user message before them are the first ones of the chat. If there are earlier user messages and none is stored,
    the history is not this server's. Then nobody can say where it was cut.

    Raises ``ChatRequestError`` (409) if the client has a message that was taken back. The messages that follow it
    belong to another branch, which the agent does not know any more.
    """
    if not request.has_history:
        return None
    *earlier, _words = request.messages_to_target
    ids = frozenset(message["id"] for message in earlier if message["id"])
    if transcript.has_taken_back(ids):
        raise ChatRequestError("A message before yours was taken back. Reload the page to go on.", status=CONFLICT)
    shown = [turn for turn in transcript.turns if turn.events]
    kept = max((number for number, turn in enumerate(shown, 1) if turn.message_ids & ids), default=0)
    if not kept and any(message["role"] == "user" for message in earlier):
        return None
    return shown[kept] if kept < len(shown) else None


def _invocation_to_rewind(turn: Turn, transcript: Transcript) -> str:
    """The invocation with which this turn and all later ones are taken back. Raises ``ChatRequestError`` (409)."""
    if not transcript.begins_invocation(turn):
        raise ChatRequestError("This message belongs to an answer that began earlier; it stays.", status=CONFLICT)
    return turn.stored[0].invocation_id


def _new_user_turn(
    request: ChatRequest, said: Iterable[TextOrFile], transcript: Transcript, *, taken_back: Turn | None
) -> NewUserTurn:
    """The turn of this message. ``taken_back``: the turn that is rewound first, with all later ones."""
    rewind_before = _invocation_to_rewind(taken_back, transcript) if taken_back is not None else None
    parts = tuple(said)
    if not parts:
        raise ChatRequestError("The message is empty.", status=422)
    turn = transcript.current_before(taken_back)
    before = request.message_before_words
    given = list(answers_with_words(before, turn)) if before is not None and turn is not None else []
    denied = [call for answer, call in given if answer.is_approval]
    return NewUserTurn(
        texts_and_files=parts,
        client_message_id=request.target["id"],
        rewind_before=rewind_before,
        answers=tuple(call_answer(call, answer.response) for answer, call in given),
        rejections=tuple(_rejection(call, turn) for call in denied if turn is not None),
        reasons={call.reply_id: answer.reason for answer, call in given if answer.reason},
        call_ids=transcript.call_ids if taken_back is None else taken_back.call_ids,
    )


def _rejection(approval: StoredCall, turn: Turn) -> CallAnswer:
    """Return the agent's answer to a call that was denied, in ADK's form."""
    call = confirmed_call(approval.args)
    event = turn.stored[approval.response_index]
    return CallAnswer(id=call.get("id", ""), name=call.get("name", ""), response={"error": REJECTED}, event=event)


def _message_parts(turn: Turn) -> list[types.Part | SavedFile]:
    """The parts of the turn's user message."""
    return stored_parts(turn.stored[0], turn.stored)


def _is_edited(message: UIMessage, stored: list[types.Part | SavedFile]) -> bool:
    """Return True if the client's text of a stored message differs. Some clients edit so, and then ask for another
    answer.

    Files do not count: a page that was reloaded may lack them. There, a saved file is a link or a line of text.
    """
    sent = texts(message)
    said = list(stored_texts_and_files(stored))
    as_links = [each for each in said if isinstance(each, str)]
    as_lines = [
        each.line if isinstance(each, SavedFile) else each for each in said if isinstance(each, str | SavedFile)
    ]
    return bool(sent) and sent not in (as_links, as_lines)


def _with_saved_files(request: ChatRequest, message: UIMessage, versions: Iterable[Turn]) -> Iterator[TextOrFile]:
    """The texts and files of an edited message. A link in it stands for a file that the message has, or had."""
    files = _saved_files(request.id, versions)
    return texts_and_files(message, lambda url: files.pop(linked_artifact_path(request.id, url), None))


def _saved_files(chat_id: str, versions: Iterable[Turn]) -> dict[str, SavedFile]:
    """Artifact path -> file, of all files that the message has, or had before it was edited.

    A page may still show a file that an edit removed. The caller takes each file out once: a small request could
    otherwise repeat a link a thousand times, and each stands for a whole file.
    """
    files = [part for turn in versions for part in _message_parts(turn) if isinstance(part, SavedFile)]
    return {artifact_path(chat_id, file.artifact, file.version): file for file in files}
