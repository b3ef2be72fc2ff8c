"""The chats of a replay server: what each has been played, and what it is being played now. In memory alone."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import anyio.to_thread

from stream_protocol.convert import Settings
from stream_protocol.replay_server._library import RecordingLibrary, Tape
from stream_protocol.replay_server._playback import Playback, TimedChunk, timed_chunks
from stream_protocol.replay_server._turn_matching import Place, find, target_of
from stream_protocol.session import fold_response
from stream_protocol.wire import AiSdkVersion, AnyChunk, ChatRequest, UIMessage
from stream_protocol.wire.client import message_to_chunks

MAX_CHATS: Final = 1000
"""Chats that are remembered, the newest: a server may see many test runs."""


@dataclass(frozen=True, kw_only=True)
class Chat:
    """A chat whose newest response is this playback."""

    place: Place
    playback: Playback
    before: tuple[UIMessage, ...]
    """The messages that the page had when it asked."""

    def messages(self, ai_sdk: AiSdkVersion) -> list[UIMessage]:
        """The messages as the page has them; while a response goes out, without it: its stream brings it."""
        if not self.playback.ended:
            return list(self.before)
        *earlier, target = self.before
        continued = target if target["role"] == "assistant" else None
        answer = fold_response(self.playback.released, continued, Settings(ai_sdk=ai_sdk))
        return [*(earlier if continued else self.before), *([answer] if answer["id"] else [])]


class Chats:
    """All chats. Tests beside each other have chats of their own, and nothing in common."""

    def __init__(self, library: RecordingLibrary, pace: float, ai_sdk: AiSdkVersion) -> None:
        self.library = library
        self.pace = pace
        self._ai_sdk = ai_sdk
        self._chats: dict[str, Chat] = {}
        """By id, in the order of their newest responses."""
        self._changed = asyncio.Condition()

    async def respond(self, request: ChatRequest) -> Playback:
        """Begins the recorded response to a request; one that still goes out in this chat is stopped.

        Raises ``ChatRequestError`` for what no recording holds.
        """
        last = self._chats.get(request.id)
        place = find(request, self._tapes(request.id, last), last.place if last is not None else None)
        chunks = await anyio.to_thread.run_sync(self._chunks, place)
        playback = Playback(chunks, self.pace, self._rebuilt(target_of(request)))
        if (last := self._chats.pop(request.id, None)) is not None:
            last.playback.stop()
        messages = list(request.messages)
        if len(messages) == 1 and last is not None:  # a client may send its last message alone
            messages = [*self._earlier(place, last), *messages]
        before = _before(messages, target_of(request))
        self._chats[request.id] = Chat(place=place, playback=playback, before=before)
        if len(self._chats) > MAX_CHATS:
            self.forget(next(iter(self._chats)))
        playback.begin()
        async with self._changed:
            self._changed.notify_all()
        return playback

    def history(self, chat_id: str) -> list[UIMessage] | None:
        """What the chat's page shows; ``None`` for a chat that nothing is known of."""
        if (chat := self._chats.get(chat_id)) is not None:
            return chat.messages(self._ai_sdk)
        return [] if self.library.named(chat_id) is not None else None

    def running(self, chat_id: str) -> Playback | None:
        """The response that goes out in a chat."""
        chat = self._chats.get(chat_id)
        return chat.playback if chat is not None and not chat.playback.ended else None

    async def held(self, chat_id: str, seconds: float) -> Playback | None:
        """The response that is held in a chat, or in the newest one that plays the recording of this name; waits for it
        so many seconds."""
        try:
            async with asyncio.timeout(seconds), self._changed:
                while (playback := self._held(chat_id)) is None:
                    await self._changed.wait()
                return playback
        except TimeoutError:
            return None

    def forget(self, chat_id: str) -> None:
        """Stops and forgets a chat: its next request finds it new."""
        if (chat := self._chats.pop(chat_id, None)) is not None:
            chat.playback.stop()

    async def aclose(self) -> None:
        """Ends all streams."""
        for chat in self._chats.values():
            chat.playback.stop()

    def _held(self, chat_id: str) -> Playback | None:
        of_name = (chat for chat in reversed(self._chats.values()) if chat.place.tape.name == chat_id)
        chat = self._chats.get(chat_id) or next(of_name, None)
        return chat.playback if chat is not None and not chat.playback.ended else None

    def _tapes(self, chat_id: str, last: Chat | None) -> Iterator[Tape]:
        """Those that a chat may play: the one that its id names, or all, first the one that it plays already."""
        if (named := self.library.named(chat_id)) is not None:
            return iter([named])
        playing = last.place.tape if last is not None else None
        return iter(sorted(self.library, key=lambda tape: tape is not playing))

    def _earlier(self, place: Place, last: Chat) -> Sequence[UIMessage]:
        """The messages before the one that asks for a place, as far as the chat knows them."""
        if place.follows(last.place):
            return last.messages(self._ai_sdk)
        return last.before[:-1] if place == last.place else ()

    def _rebuilt(self, target: UIMessage) -> list[AnyChunk]:
        if target["role"] != "assistant":
            return []
        _start, *parts = message_to_chunks(target, ai_sdk=self._ai_sdk)
        return parts

    def _chunks(self, place: Place) -> list[TimedChunk]:
        turn, recording = place.tape.turn(place.scene), place.tape.recording
        return list(timed_chunks(turn, recording.delegated, self._ai_sdk))


def _before(messages: Sequence[UIMessage], target: UIMessage) -> tuple[UIMessage, ...]:
    """The messages up to the one that is answered, in the form that the page has now."""
    known = (index for index, message in enumerate(messages) if target["id"] and message["id"] == target["id"])
    end = next(known, len(messages) - 1)
    return (*messages[:end], target)
