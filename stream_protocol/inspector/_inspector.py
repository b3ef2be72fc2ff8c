"""Provides ``Inspector``, which keeps the newest turns of each user's chats in memory, without secrets."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

import orjson

from stream_protocol.inspector._entries import Entry, chunk_entry, event_entry, observed_entry
from stream_protocol.inspector._run_observer import ModelCalls, failure_json
from stream_protocol.recording.write import (
    end_line,
    event_json,
    header_line,
    redact_chunk,
    redact_event,
    redact_request,
    request_body,
    turn_line,
    value_line,
)
from stream_protocol.wire import check_count, client_version

if TYPE_CHECKING:
    from google.adk.events import Event

    from stream_protocol.inspector._entries import ObservedKind
    from stream_protocol.stream import ConverterOptions, Ending
    from stream_protocol.wire import ChatRequest

MAX_BYTES: Final = 16 * 2**20
"""Maximum number of bytes of all turns of a user."""

MAX_ENTRIES: Final = 50_000
"""Maximum number of entries (such as events and chunks) of all turns of a user."""

MAX_USERS: Final = 16
"""Maximum number of users with stored turns. The least recently active user is dropped first."""

MAX_REQUEST_BYTES: Final = 2**20
"""Maximum number of bytes of a stored request, which contains all attached files of the chat."""


class Inspector:
    """Recorder for ``ChatService(recorder=…)`` that keeps events and chunks in memory. The routes of
    ``inspector_routes`` send them to the page.

    ``max_bytes`` and ``max_entries`` (events and chunks) limit the turns of each user. ``max_users`` limits the number
    of users. If a user's turns exceed a limit, the oldest turn is dropped. Above ``max_users``, the least recently
    active user is dropped. If a single turn is too large, only its beginning is kept.
    """

    def __init__(
        self, *, max_bytes: int = MAX_BYTES, max_entries: int = MAX_ENTRIES, max_users: int = MAX_USERS
    ) -> None:
        check_count("max_bytes", max_bytes)
        check_count("max_entries", max_entries)
        check_count("max_users", max_users)
        self._max_bytes = max_bytes
        self._max_entries = max_entries
        self._max_users = max_users
        self._users: OrderedDict[str, _StoredTurns] = OrderedDict()

    def turn(self, request: ChatRequest, *, app_name: str, user_id: str, options: ConverterOptions) -> InspectedTurn:
        """Return a recorder for the run of the request."""
        kept = self._users.setdefault(user_id, _StoredTurns(self._max_bytes, self._max_entries))
        self._users.move_to_end(user_id)
        if len(self._users) > self._max_users:
            self._users.popitem(last=False)
        return InspectedTurn(kept, request, options)

    def turns(self, chat_id: str, *, user_id: str) -> Sequence[InspectedTurn]:
        """Return the turns of a user's chat that are still in memory, oldest first."""
        return tuple(self._users[user_id].of_chat(chat_id)) if user_id in self._users else ()

    def forget(self, chat_id: str, *, user_id: str) -> None:
        """Delete the turns of a user's chat from memory."""
        if user_id in self._users:
            for turn in self.turns(chat_id, user_id=user_id):
                self._users[user_id].drop(turn)


class _StoredTurns:
    """The turns of one user that are in memory. The oldest turn is first."""

    def __init__(self, max_bytes: int, max_entries: int) -> None:
        self._max_bytes = max_bytes
        self._max_entries = max_entries
        self._turns: deque[InspectedTurn] = deque()
        self._bytes = 0
        self._entries = 0
        self._newest = 0

    def of_chat(self, chat_id: str) -> Iterator[InspectedTurn]:
        return (turn for turn in self._turns if turn.chat_id == chat_id)

    def begin(self, turn: InspectedTurn) -> None:
        turn.is_kept = True
        self._turns.append(turn)

    def add(self, turn: InspectedTurn, entry: Entry) -> None:
        """Add an entry to a turn, unless the turn was dropped or is too large. If necessary, older turns are dropped to
        make space.
        """
        if not turn.is_kept or turn.is_cut:
            return
        size = _size(entry)
        while self._is_full(size) and self._turns[0] is not turn:
            self.drop(self._turns[0])
        if self._is_full(size):
            turn.is_cut = True
            entry = Entry(b'{"cut":%d}\n' % self._max_bytes, recorded=False)
            size = _size(entry)
        self._newest += 1
        self._bytes += size
        self._entries += 1
        turn.entries.append((self._newest, entry))

    def drop(self, turn: InspectedTurn) -> None:
        turn.is_kept = False
        self._turns.remove(turn)
        self._bytes -= sum(_size(entry) for _, entry in turn.entries)
        self._entries -= len(turn.entries)

    def _is_full(self, size: int) -> bool:
        return self._bytes + size > self._max_bytes or self._entries >= self._max_entries


def _size(entry: Entry) -> int:
    return len(entry.line) + len(entry.extra)


class InspectedTurn:
    """Recorder of one run. Contains the entries of the run."""

    def __init__(self, kept: _StoredTurns, request: ChatRequest, options: ConverterOptions) -> None:
        self._kept = kept
        self._request = request if request.size <= MAX_REQUEST_BYTES else None
        self._options = options
        self._begun_at = 0.0
        self._event_is_converted = True
        """True if the chunks of the newest event have been written. Later chunks belong to the end of the response."""
        self._has_ended = False
        self._model_calls = ModelCalls(self._observe)
        self.chat_id = request.id
        self.continues = request.continued_message is not None
        """True if the response continues a message of an earlier turn."""
        self.header = header_line(chat=request.id, options=options)
        """The first line of a recording of this turn."""
        self.ai_sdk = client_version(options.get("ai_sdk", 6)).major
        self.entries: list[tuple[int, Entry]] = []
        """The entries with their numbers. The numbers increase over all chats of the user."""
        self.is_kept = False
        """True if the turn has begun and was not dropped."""
        self.is_cut = False
        """True if the turn is too large. Its later entries are dropped."""

    def begin(self, message_id: str | None) -> None:
        """Store the request."""
        body = None if self._request is None else redact_request(request_body(self._request))
        has_history = self._request is None or self._request.has_history
        self._request = None
        self._begun_at = monotonic()
        self._kept.begin(self)
        line = turn_line(request=body, message_id=message_id, options=self._options)
        self._keep(Entry(line, b"" if has_history else b'"one_message":true,'))

    def event(self, event: Event) -> None:
        """Store a copy of the event."""
        self._event_is_converted = False
        if self.is_kept and not self.is_cut:
            value = redact_event(event_json(event))
            self._model_calls.note(value)
            self._keep(event_entry(value_line("event", value, self._seconds()), len(orjson.dumps(value))))

    def written(self, sse: Sequence[bytes]) -> None:
        """Store chunks of the response. ``sse``: the SSE events with these chunks."""
        closing, self._event_is_converted = self._event_is_converted, True
        for item in sse if self.is_kept and not self.is_cut else ():
            chunk = redact_chunk(orjson.loads(item.removeprefix(b"data: ")))
            self._keep(chunk_entry(value_line("chunk", chunk, self._seconds()), len(item), closing=closing))

    def plugin(self) -> ModelCalls:
        """Return the ADK plugin that stores the run's model calls."""
        return self._model_calls

    def failed(self, error: BaseException) -> None:
        """Store the type, the message and the traceback of the run's exception. The client does not get these."""
        self._observe("failure", failure_json(error))

    def end(self, outcome: Ending | None) -> None:
        """Store how the response ended."""
        if outcome is not None:
            self._keep(Entry(end_line(outcome, self._seconds())))
        self._has_ended = True
        self._model_calls.release()

    def _observe(self, kind: ObservedKind, value: dict[str, Any]) -> None:
        if not self._has_ended:
            self._keep(observed_entry(kind, value, self._seconds()))

    def _seconds(self) -> float:
        return monotonic() - self._begun_at

    def _keep(self, entry: Entry) -> None:
        self._kept.add(self, entry)
