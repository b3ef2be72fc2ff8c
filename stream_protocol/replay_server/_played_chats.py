"""Provides ``Chats``: the chats of a replay server, in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import anyio.to_thread

from stream_protocol.replay_server._playback import HELD, Playback, TimedChunk, timed_chunks
from stream_protocol.replay_server._recording_library import LibraryEntry, RecordingLibrary
from stream_protocol.replay_server._turn_matching import LibraryTurn, find_turn
from stream_protocol.session import fold_response
from stream_protocol.stream import Settings
from stream_protocol.wire import (
    AiSdkOption,
    AiSdkVersion,
    AnyChunk,
    ChatRequest,
    UIMessage,
    check_instance,
    check_number,
    client_version,
)
from stream_protocol.wire.client import message_to_chunks

MAX_CHATS: Final = 1000
"""Maximum number of chats in memory. The chats with the newest responses stay."""


@dataclass(frozen=True, kw_only=True)
class PlayedChat:
    """A chat and the last response that it has played."""

    turn: LibraryTurn
    playback: Playback
    before: tuple[UIMessage, ...]
    """The messages that the client had when it sent the request."""

    def messages(self, ai_sdk: AiSdkVersion) -> list[UIMessage]:
        """Return the messages of the chat. The last response is included only if it has ended."""
        if not self.playback.ended:
            return list(self.before)
        *earlier, target = self.before
        continued = target if target["role"] == "assistant" else None
        reply = fold_response(self.playback.released, continued, Settings(ai_sdk=ai_sdk))
        return [*(earlier if continued else self.before), *([reply] if reply["id"] and reply["parts"] else [])]


class Chats:
    """All chats of a replay server. Chats share no state, so concurrent tests can each use a chat of their own.

    ``pace``: ``INSTANT`` (without pauses), ``HELD`` (in steps), or a factor for the recorded speed.
    """

    def __init__(self, library: RecordingLibrary, pace: float, ai_sdk: AiSdkOption) -> None:
        hint = "load_library(path) gives one"
        check_instance("library", library, RecordingLibrary, "a RecordingLibrary", hint=hint)
        check_number("pace", pace, lambda factor: factor >= HELD, "a positive number, INSTANT or HELD")
        self.library = library
        self.pace = pace
        self._ai_sdk: AiSdkVersion = client_version(ai_sdk).major
        self._chats: dict[str, PlayedChat] = {}
        """Chat id -> chat. The chat with the newest response is the last."""
        self._changed = asyncio.Condition()

    async def respond(self, request: ChatRequest) -> Playback:
        """Begin the recorded response to a request. If the chat is still playing a response, stop this response first.

        Raises ``ChatRequestError`` if no recorded turn matches the request.
        """
        last = self._chats.get(request.id)
        turn = find_turn(request, self._playable(request.id, last), last.turn if last is not None else None)
        chunks = await anyio.to_thread.run_sync(self._chunks, turn)
        playback = Playback(chunks, self.pace, self._message_chunks(request.target))
        if (last := self._chats.pop(request.id, None)) is not None:
            last.playback.stop()
        messages = list(request.messages)
        if len(messages) == 1 and last is not None:  # the client sends only its last message
            messages = [*self._earlier_messages(turn, last), *messages]
        before = _before(messages, request.target)
        self._chats[request.id] = PlayedChat(turn=turn, playback=playback, before=before)
        if len(self._chats) > MAX_CHATS:
            self.forget(next(iter(self._chats)))
        playback.begin()
        async with self._changed:
            self._changed.notify_all()
        return playback

    def history(self, chat_id: str) -> list[UIMessage] | None:
        """Return the messages of a chat. If there is no such chat, returns an empty list for the id of a recording,
        otherwise ``None``.
        """
        if (chat := self._chats.get(chat_id)) is not None:
            return chat.messages(self._ai_sdk)
        return [] if self.library.find(chat_id) is not None else None

    def current_response(self, chat_id: str) -> Playback | None:
        """Return the response that a chat is playing; ``None`` if it is not playing a response."""
        chat = self._chats.get(chat_id)
        return chat.playback if chat is not None and not chat.playback.ended else None

    async def wait_for_response(self, chat_id: str, seconds: float) -> Playback | None:
        """Wait up to ``seconds`` until a chat plays a response. Return the response, or ``None`` if no response has
        begun in this time.

        ``chat_id`` may also be the name of a recording. Then the method waits for the newest chat that has begun this
        recording.
        """
        try:
            async with asyncio.timeout(seconds), self._changed:
                while (playback := self._find_response(chat_id)) is None:
                    await self._changed.wait()
                return playback
        except TimeoutError:
            return None

    def forget(self, chat_id: str) -> None:
        """Stop the response of a chat, and delete the chat. The next request with its id begins a new chat."""
        if (chat := self._chats.pop(chat_id, None)) is not None:
            chat.playback.stop()

    async def drain(self) -> None:
        """Do nothing: recorded responses are available again after a restart, so the server does not wait for them."""

    async def aclose(self) -> None:
        """Stop all responses."""
        for chat in self._chats.values():
            chat.playback.stop()

    def _find_response(self, chat_id: str) -> Playback | None:
        of_name = (chat for chat in reversed(self._chats.values()) if chat.turn.entry.name == chat_id)
        chat = self._chats.get(chat_id) or next(of_name, None)
        return chat.playback if chat is not None and not chat.playback.ended else None

    def _playable(self, chat_id: str, last: PlayedChat | None) -> Iterator[LibraryEntry]:
        """Yield the recording that the chat's id names. If there is none, yield all recordings. The recording that the
        chat has played last comes first.
        """
        if (named := self.library.find(chat_id)) is not None:
            return iter([named])
        playing = last.turn.entry if last is not None else None
        return iter(sorted(self.library, key=lambda entry: entry is not playing))

    def _earlier_messages(self, turn: LibraryTurn, last: PlayedChat) -> Sequence[UIMessage]:
        if turn.follows(last.turn):
            return last.messages(self._ai_sdk)
        return last.before[:-1] if turn == last.turn else ()

    def _message_chunks(self, target: UIMessage) -> list[AnyChunk]:
        """If ``target`` is an assistant message, the response continues it. Then return its chunks, without ``start``.
        Otherwise return an empty list.
        """
        if target["role"] != "assistant":
            return []
        _start, *parts = message_to_chunks(target, ai_sdk=self._ai_sdk)
        return parts

    def _chunks(self, turn: LibraryTurn) -> list[TimedChunk]:
        recorded = turn.entry.read_turn(turn.turn)
        return list(timed_chunks(recorded, turn.entry.recording.delegated, self._ai_sdk))


def _before(messages: Sequence[UIMessage], target: UIMessage) -> tuple[UIMessage, ...]:
    known = (index for index, message in enumerate(messages) if target["id"] and message["id"] == target["id"])
    end = next(known, len(messages) - 1)
    return (*messages[:end], target)
