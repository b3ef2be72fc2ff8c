"""Runs without an agent, and functions that read these runs, for tests of run logs."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Final

from stream_protocol.serving.run_logs import EventBuffer, Lease, RunInfo, RunLog, RunReader
from stream_protocol.wire import SSE_DONE

HANG: Final = 20.0
"""The number of seconds after which a waiting test fails."""

CHAT: Final = '["app","user","chät"]'

START: Final = b'data: {"type":"start","messageId":"m1"}\n\n'
TEXT: Final = b'data: {"type":"text-start","id":"text-1"}\n\n'
END: Final = b'data: {"type":"text-end","id":"text-1"}\n\ndata: {"type":"finish"}\n\n'


class FakeOwner:
    """A run without an agent. Records if the run is stopped, and if it loses its lease (its right to be the only active
    run of its chat).
    """

    def __init__(self, log: EventBuffer) -> None:
        self.log = log
        self.stopped = asyncio.Event()
        self.lost = asyncio.Event()
        self.received: list[bytes] = []
        self.may_reply = asyncio.Event()
        self.may_reply.set()

    def stop(self) -> None:
        self.stopped.set()

    def lease_lost(self) -> None:
        self.lost.set()

    async def receive(self, post: bytes) -> bytes:
        """Record a message from the run log, and return a reply."""
        self.received.append(post)
        await self.may_reply.wait()
        return b"re: " + post

    def say(self, *words: str) -> None:
        """Write a text delta for each word."""
        self.log.append(*[delta(word) for word in words])

    def finish(self) -> None:
        self.log.append(END, SSE_DONE)
        self.log.close()


def delta(word: str) -> bytes:
    return b'data: {"type":"text-delta","id":"text-1","delta":"' + word.encode() + b'"}\n\n'


async def begin(worker: RunLog, request: str = "request", chat: str = CHAT) -> tuple[FakeOwner, Lease]:
    """Start a run in the chat, and write the beginning of a text."""
    owner = FakeOwner(EventBuffer(worker.bounds))
    lease = await worker.claim(chat, request, owner)
    lease.open()
    owner.log.append(START, TEXT)
    return owner, lease


async def running(worker: RunLog, chat: str = CHAT) -> RunInfo:
    """Return the chat's active run according to the run log ``worker``."""
    info = await worker.current(chat)
    assert info is not None
    return info


async def reader(worker: RunLog, *, rebuild: bool = False) -> RunReader:
    found = await worker.read(CHAT, (await running(worker)).run_id, rebuild=rebuild)
    assert found is not None
    return found


async def until(reader: RunReader, what: bytes) -> bytes:
    """Read a stream until the bytes ``what`` have arrived. Returns all bytes that were read."""
    read = b""
    async with asyncio.timeout(HANG):
        while what not in read:
            read += await anext(reader)
    return read


async def rest(reader: RunReader) -> bytes:
    """Read a stream to its end. Returns the bytes that were read."""
    async with asyncio.timeout(HANG), aclosing(reader):
        return b"".join([piece async for piece in reader])


async def eventually(true: Callable[[], Awaitable[bool]]) -> None:
    """Wait until the function ``true`` returns True."""
    async with asyncio.timeout(HANG):
        while True:
            if await true():
                return
            await asyncio.sleep(0.01)


async def freed(*workers: RunLog, chat: str = CHAT) -> None:
    """Wait until each of these run logs reports that no run is active in the chat."""

    async def free() -> bool:
        return [await worker.current(chat) for worker in workers] == [None] * len(workers)

    await eventually(free)


def joined_text(stream: bytes) -> str:
    """Join the texts of all text deltas in a stream."""
    front = b'"type":"text-delta","id":"text-1","delta":"'
    return b"".join(event.partition(front)[2].removesuffix(b'"}') for event in stream.split(b"\n\n")).decode()
