"""Where a client has cut its history before it says something new.

Some kits edit so: they send the messages before the edited one, and a new message in its place. A tab that is behind
sends the same, so it is the app that says what that means. Of a message that is sent again, or answered anew,
``_planning`` says what is taken back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from stream_protocol.session._submitted_answers import CONFLICT
from stream_protocol.wire import ChatRequestError

if TYPE_CHECKING:
    from stream_protocol.session.transcript import Exchange, Transcript
    from stream_protocol.wire import ChatRequest

HistoryCut: TypeAlias = Literal["append", "rewind"]
"""What new words mean that come with a history which ends before the stored one. ``"append"``: words, and nothing is
lost. ``"rewind"``: what is stored after the last message that the client has is taken back."""


def first_cut_off(request: ChatRequest, transcript: Transcript) -> Exchange | None:
    """The first exchange after the last one of which the client has a message. ``None`` if nothing was cut off.

    An exchange is kept or cut off as a whole: a page that left early has the question and not the answer. Words with
    nothing of the user's before them are the first ones of the chat. If the user said something before and nothing of
    it is stored, the history is not this server's, and nobody can say where it was cut.

    Raises ``ChatRequestError`` (409) if the client has a message that was taken back: what follows it is another
    branch, which the agent does not know any more.
    """
    if not request.has_history:
        return None
    *earlier, _words = request.messages_to_target
    ids = frozenset(message["id"] for message in earlier if message["id"])
    if transcript.has_taken_back(ids):
        raise ChatRequestError("A message before yours was taken back. Reload the page to go on.", status=CONFLICT)
    shown = [exchange for exchange in transcript.exchanges if exchange.events]
    kept = max((number for number, exchange in enumerate(shown, 1) if exchange.message_ids & ids), default=0)
    if not kept and any(message["role"] == "user" for message in earlier):
        return None
    return shown[kept] if kept < len(shown) else None
