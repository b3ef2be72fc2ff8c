"""Provides ``InspectedChats``: chats of a replay server that the Inspector can show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from stream_protocol.inspector._dropped_file import numbered_entries, recorded_findings
from stream_protocol.inspector._entries import json_array
from stream_protocol.replay_server import Chats
from stream_protocol.wire import check_text

if TYPE_CHECKING:
    from stream_protocol.replay_server import RecordingLibrary
    from stream_protocol.wire import AiSdkOption

CACHED_RECORDINGS: Final = 8
"""Maximum number of cached recordings. The least recently shown recording is dropped first."""


class InspectedChats(Chats):
    """Chats of a replay server that the Inspector can show. ``session``: the id of the session to use if a file has
    several sessions.
    """

    def __init__(
        self, library: RecordingLibrary, pace: float, ai_sdk: AiSdkOption, *, session: str | None = None
    ) -> None:
        super().__init__(library, pace, ai_sdk)
        check_text("session", session, or_none=True)
        self.session = session
        self._turns = lru_cache(maxsize=CACHED_RECORDINGS)(self._read_turns)

    def file(self, chat_id: str) -> Path | None:
        """Return the file of the recording that the chat replays. A chat without messages replays the recording that
        its id names. Returns ``None`` if there is no recording.
        """
        if (chat := self._chats.get(chat_id)) is not None:
            return chat.turn.entry.recording.path
        entry = self.library.find(chat_id)
        return None if entry is None else entry.recording.path

    def entries(self, chat_id: str, after: int) -> bytes:
        """Return the replayed entries with a number above ``after``, as ``{"entries": […], "next": 7}``.

        ``next``: the value of ``after`` for the next request. While a turn is being replayed, only entries up to its
        last sent chunk are included.
        """
        chat = self._chats.get(chat_id)
        if chat is None:
            return b'{"entries":[],"next":%d}' % after
        *earlier, playing = self._turns(chat.turn.entry.recording.path)[: chat.turn.turn.number]
        sent = len(playing) if chat.playback.ended else _length_with_chunks(playing, len(chat.playback.released))
        played = [entry for turn in (*earlier, playing[:sent]) for entry in turn]
        return b'{"entries":%b,"next":%d}' % (json_array(played[after:]), max(after, len(played)))

    def findings(self, path: Path) -> bytes:
        """Return the findings of ``adk-ui-stream check`` for the whole recording, as ``{"findings": […]}``."""
        findings: list[dict[str, Any]] = recorded_findings(path, self.session)
        return orjson.dumps({"findings": findings})

    def _read_turns(self, path: Path) -> Sequence[Sequence[bytes]]:
        turns: list[list[bytes]] = []
        for entry in numbered_entries(path, self.session):
            if entry.startswith(b'{"turn"'):
                turns.append([])
            turns[-1].append(entry)
        return turns


def _length_with_chunks(entries: Sequence[bytes], chunks: int) -> int:
    """Return the number of entries before the next chunk to send. ``entries``: the entries of a turn; some of them are
    chunks. ``chunks``: the number of sent chunks.
    """
    counts: Iterator[int] = accumulate(entry.startswith(b'{"number"') for entry in entries)
    return sum(count <= chunks for count in counts)
