"""One recorded response on its way out: by the clock, at once, or chunk by chunk as somebody releases it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass

from stream_protocol.convert import RUN_STOPPED, Settings, chunk_conversion, hide_tools
from stream_protocol.recording import HELD, RecordedTurn, end_as_recorded
from stream_protocol.wire import AiSdkVersion, AnyChunk, ChunkSink
from stream_protocol.wire.client import close_stream


@dataclass(frozen=True)
class TimedChunk:
    """A chunk, and how many seconds after the turn's beginning it came."""

    at: float
    chunk: AnyChunk


def timed_chunks(turn: RecordedTurn, delegated: frozenset[str], ai_sdk: AiSdkVersion) -> Iterator[TimedChunk]:
    """What ``replay`` makes of the turn, each chunk with the time of its event; 0, if nobody recorded that.

    ``delegated`` is that of the turn's recording.
    """
    settings = Settings(**hide_tools(delegated, {**turn.options, "ai_sdk": ai_sdk}))
    conversion = chunk_conversion(turn.past, turn.message_id, settings)
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
    """A response and how much of it has gone out. What has gone out stays readable from its beginning."""

    def __init__(self, chunks: Sequence[TimedChunk], pace: float, rebuilt: Sequence[AnyChunk] = ()) -> None:
        """``rebuilt``: what makes the message that the response goes on with, for a page that has it not."""
        self.released: list[AnyChunk] = []
        """What has gone out."""
        self.ended = False
        """Whether all of it has gone out, or it was stopped."""
        self._pace = pace
        self._chunks = chunks
        self._rebuilt = rebuilt
        self._news = asyncio.Event()
        """Set at the next change; then there is another."""
        self._clock: asyncio.Task[None] | None = None

    @property
    def left(self) -> Sequence[AnyChunk]:
        """What is still to go out."""
        return [] if self.ended else [timed.chunk for timed in self._chunks[len(self.released) :]]

    async def read(self, *, rebuild: bool = False) -> AsyncIterator[AnyChunk]:
        """The chunks from the first on, as they go out; ``rebuild``: for a page that comes back."""
        position = 0
        while not self.ended or position < len(self.released):
            if position == len(self.released):
                await self._news.wait()
                continue
            yield self.released[position]
            position += 1
            if rebuild and position == 1:  # behind `start`
                for chunk in self._rebuilt:
                    yield chunk

    def begin(self) -> None:
        """Lets it go out at its pace, whether somebody reads or not; one that is held waits."""
        if self._pace != HELD:
            self._clock = asyncio.create_task(self._run())

    def release(self, count: int) -> list[AnyChunk]:
        """Lets the next chunks out, and returns them."""
        if self.ended:
            return []
        begin = len(self.released)
        chunks = [timed.chunk for timed in self._chunks[begin : begin + count]]
        self._send(chunks, last=begin + count >= len(self._chunks))
        return chunks

    def stop(self) -> None:
        """Ends it where it is, as a run that is stopped ends: what is open is closed, then comes ``abort``."""
        if not self.ended:
            if self._clock is not None:
                self._clock.cancel()
            if not self.released:
                self.release(1)  # `start`
            sink = ChunkSink()
            close_stream(sink, self.released, past=self._rebuilt, unanswered=RUN_STOPPED)
            sink.abort(None)
            self._send(sink.take(), last=True)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        begin = loop.time()
        for timed in self._chunks:
            if (wait := begin + timed.at / self._pace - loop.time()) > 0:
                await asyncio.sleep(wait)
            self.release(1)

    def _send(self, chunks: Sequence[AnyChunk], *, last: bool) -> None:
        self.released += chunks
        self.ended = last
        self._news.set()
        self._news = asyncio.Event()
