import asyncio

from stream_protocol.serving.event_buffer import MAX_BATCH, EventBuffer
from tests.serving.support import HANG


async def read(log: EventBuffer) -> list[bytes]:
    return [batch async for batch in log.read()]


async def test_a_late_reader_gets_everything_from_the_beginning() -> None:
    log = EventBuffer()
    log.append(b"a", b"b")
    log.close()
    assert b"".join(await read(log)) == b"ab"
    assert b"".join(await read(log)) == b"ab"


async def test_a_reader_follows_what_is_written_and_ends_with_the_log() -> None:
    log = EventBuffer()
    reader = aiter(log.read())
    log.append(b"a")
    assert await anext(reader) == b"a"
    asyncio.get_running_loop().call_soon(log.append, b"b")
    async with asyncio.timeout(HANG):
        assert await anext(reader) == b"b"
    log.close()
    assert await anext(reader, None) is None


async def test_several_readers_read_the_same() -> None:
    log = EventBuffer()
    readers = [asyncio.create_task(read(log)) for _ in range(3)]
    for letter in (b"a", b"b", b"c"):
        await asyncio.sleep(0)
        log.append(letter)
    log.close()
    async with asyncio.timeout(HANG):
        assert {b"".join(batches) for batches in await asyncio.gather(*readers)} == {b"abc"}


async def test_a_reader_that_leaves_is_forgotten() -> None:
    log = EventBuffer()
    reader = asyncio.create_task(read(log))
    await asyncio.sleep(0)
    assert log._waiting
    reader.cancel()
    await asyncio.wait([reader])
    assert not log._waiting


async def test_a_late_reader_takes_bounded_pieces() -> None:
    log = EventBuffer()
    log.append(*[b"x"] * (2 * MAX_BATCH + 1))
    log.close()
    assert [len(batch) for batch in await read(log)] == [MAX_BATCH, MAX_BATCH, 1]
