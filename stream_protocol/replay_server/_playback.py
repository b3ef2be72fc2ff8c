"""Plays a recorded response at a given speed, without pauses, or in steps. A test starts each step with a request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from stream_protocol.recording import RecordedTurn, end_as_recorded
from stream_protocol.stream import ConverterOptions, Settings, chunk_conversion, hide_task_agents
from stream_protocol.wire import RUN_STOPPED_TEXT, SSE_DONE, AiSdkVersion, AnyChunk, ChunkSink, encode_sse
from stream_protocol.wire.client import close_stream, is_sent_again

HELD: Final = 0.0
"""The speed of a replay that sends chunks only when a request releases them."""


@dataclass(frozen=True)
class TimedChunk:
    """A chunk and its time, in seconds since the start of the turn."""

    at: float
    chunk: AnyChunk


def timed_chunks(turn: RecordedTurn, delegated: frozenset[str], ai_sdk: AiSdkVersion) -> Iterator[TimedChunk]:
    """Yield the chunks of a turn, each with the time of its event. The chunks are those of the function ``replay``. If
    no times were recorded, each time is 0.

    ``delegated``: the value of ``Recording.delegated``.
    """
    options: ConverterOptions = {**turn.options, "ai_sdk": ai_sdk}
    settings = Settings(**hide_task_agents(delegated, options))
    conversion = chunk_conversion(turn.past, turn.message_id, settings, turn.call_ids)
    now = 0.0
    for index, event in enumerate(turn.events):
        now = turn.at[index] if turn.at is not None else now
        conversion.feed(event)
        for chunk in conversion.take():
            yield TimedChunk(now, chunk)
    end_as_recorded(conversion, turn.end, turn.failure)
    for chunk in conversion.take():
        yield TimedChunk(now, chunk)


class Playback:
    """A recorded response that is being played. Each reader gets all chunks, from the first on."""

    def __init__(self, chunks: Sequence[TimedChunk], pace: float, continued: Sequence[AnyChunk] = ()) -> None:
        """``continued``: chunks of the message that this response continues. A client without this message needs
        them.
        """
        self.released: list[AnyChunk] = []
        self.ended = False
        """True if all chunks were sent, or the response was stopped."""
        self._pace = pace
        self._chunks = chunks
        self._continued = continued
        self._past = b"".join(map(encode_sse, continued))
        self._events: list[bytes] = []
        """The SSE events of ``released``, encoded once for all readers."""
        self._changed = asyncio.Event()
        """Event that is set when chunks are sent, and then replaced."""
        self._player: asyncio.Task[None] | None = None

    @property
    def unreleased(self) -> Sequence[AnyChunk]:
        return [] if self.ended else [timed.chunk for timed in self._chunks[len(self.released) :]]

    async def read(self, *, rebuild: bool = False) -> AsyncIterator[bytes]:
        """Yield all SSE events of the response, each as soon as it is due.

        ``rebuild``: True for a client without messages. If the response continues a message, this client also gets the
        chunks of that message.
        """
        position = 0
        while not self.ended or position < len(self._events):
            if position == len(self._events):
                await self._changed.wait()
                continue
            yield self._events[position]
            position += 1
            if rebuild and position == 1 and self._past:  # after `start`
                yield self._past
        yield SSE_DONE

    def begin(self) -> None:
        """Start to send chunks, even without a reader. If the pace is ``HELD`` (in steps), only ``release`` sends
        chunks.
        """
        if self._pace != HELD:
            self._player = asyncio.create_task(self._play())

    def release(self, count: int) -> list[AnyChunk]:
        """Send the next ``count`` chunks, and return them."""
        if self.ended:
            return []
        begin = len(self.released)
        chunks = [timed.chunk for timed in self._chunks[begin : begin + count]]
        self._send(chunks, last=begin + count >= len(self._chunks))
        return chunks

    def stop(self) -> None:
        """End the response like that of a stopped run: end the unfinished parts, and send an ``abort`` chunk."""
        if not self.ended:
            if self._player is not None:
                self._player.cancel()
            if not self.released:
                self.release(1)  # `start`
            sink = ChunkSink()
            close_stream(sink, self.released, past=self._continued, unanswered=RUN_STOPPED_TEXT)
            closing = sink.take()
            if is_sent_again(map(encode_sse, [*self._continued, *self.released, *closing])):
                sink.start_step()
                sink.finish_step()
                sink.message_metadata({})
            sink.abort(None)
            self._send([*closing, *sink.take()], last=True)

    async def _play(self) -> None:
        loop = asyncio.get_running_loop()
        begin = loop.time()
        for timed in self._chunks:
            if (wait := begin + timed.at / self._pace - loop.time()) > 0:
                await asyncio.sleep(wait)
            self.release(1)

    def _send(self, chunks: Sequence[AnyChunk], *, last: bool) -> None:
        self.released += chunks
        self._events += map(encode_sse, chunks)
        self.ended = last
        self._changed.set()
        self._changed = asyncio.Event()
