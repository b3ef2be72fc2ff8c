import asyncio
import logging
import tracemalloc
from collections.abc import AsyncGenerator, Iterable

import pytest

from stream_protocol.serving import LogBounds
from stream_protocol.serving.run_logs import EventBuffer, _event_list
from stream_protocol.serving.run_logs._event_list import JOIN_AT_ONCE, PIECE_BYTES
from stream_protocol.wire import JoinedStream, StreamProtocolError, encode_sse
from tests.serving.support import HANG


def delta(text: str, part_id: str = "1") -> bytes:
    return encode_sse({"type": "text-delta", "id": part_id, "delta": text})


START = encode_sse({"type": "start", "messageId": "m"})


async def read(log: EventBuffer) -> list[bytes]:
    return [batch async for batch in log.read()]


async def rest(reader: AsyncGenerator[bytes]) -> bytes:
    async with asyncio.timeout(HANG):
        return b"".join([batch async for batch in reader])


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


async def test_a_reader_that_leaves_is_forgotten_and_the_owner_is_told_how_many_are_left() -> None:
    counts = list[int]()
    log = EventBuffer(on_readers=counts.append)
    readers = [asyncio.create_task(read(log)) for _ in range(2)]
    await asyncio.sleep(0)
    for reader in readers:
        reader.cancel()
    await asyncio.wait(readers)
    assert counts == [1, 2, 1, 0]
    log.append(b"a")  # no task waits for the event
    log.close()
    assert await read(log) == [b"a"]


async def test_a_reader_that_is_dropped_without_being_closed_leaves_too() -> None:
    counts = list[int]()
    log = EventBuffer(on_readers=counts.append)
    log.append(b"a")
    async for _ in log.read():
        break
    await asyncio.sleep(0.01)
    assert counts == [1, 0]


async def test_a_late_reader_takes_bounded_pieces() -> None:
    log = EventBuffer()
    log.append(*[b"x" * 1000] * 200)
    log.close()
    pieces = await read(log)
    assert b"".join(pieces) == b"x" * 200_000
    assert max(map(len, pieces)) <= PIECE_BYTES
    assert len(pieces) == 4


async def test_readers_share_a_large_event_and_the_joined_ones() -> None:
    image = b'data: "' + b"x" * 2 * PIECE_BYTES + b'"\n\n'
    log = EventBuffer()
    live = log.read()
    log.append(START)
    assert await anext(live) == START
    log.append(image, *[delta("w" * 10_000)] * 100)
    assert await anext(live) is image
    late = [log.read() for _ in range(3)]
    pieces = [[await anext(each) for _ in range(17)] for each in late]
    for first, *others in zip(*pieces, strict=True):
        assert all(other is first for other in others)
    assert pieces[0][1] is image
    log.close()
    assert b"".join(pieces[0]) + await rest(late[0]) == b"".join(log.whole())


async def test_a_long_response_is_joined_once_and_a_part_at_a_time_however_many_come_late(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    added: list[int] = []

    class LeaseView(JoinedStream):
        def add(self, events: Iterable[bytes]) -> None:
            listed = list(events)
            added.append(len(listed))
            super().add(listed)

    monkeypatch.setattr(_event_list, "JoinedStream", LeaseView)
    log = EventBuffer()
    count = 3 * JOIN_AT_ONCE
    log.append(START, *[delta("w")] * (count - 1))
    log.close()
    streams = await asyncio.gather(*[rest(log.read()) for _ in range(20)])
    assert set(streams) == {START + delta("w" * (count - 1))}
    assert sum(added) == count
    assert max(added) == JOIN_AT_ONCE


async def test_what_a_late_reader_has_not_read_yet_counts_as_its_backlog() -> None:
    log = EventBuffer(LogBounds(max_backlog=1000))
    log.append(START, *(delta("x" * 100, str(number)) for number in range(100)))
    stalled, reading = log.read(), log.read()
    assert await anext(stalled) == await anext(reading)
    for number in range(100, 150):
        log.append(delta("x" * 100, str(number)))
        await anext(reading)
    assert not stalled.cut_off.is_set()
    for number in range(150, 300):
        log.append(delta("x" * 100, str(number)))
        await anext(reading)
    assert stalled.cut_off.is_set()
    assert not reading.cut_off.is_set()
    assert await rest(stalled) == b""


async def test_one_reader_too_many_takes_the_place_of_the_one_that_has_most_to_read() -> None:
    counts = list[int]()
    log = EventBuffer(LogBounds(max_readers=3), on_readers=counts.append)
    log.append(START)
    readers = [log.read() for _ in range(3)]
    for reader in readers:
        await anext(reader)
    waiting = [asyncio.create_task(anext(reader, None)) for reader in (readers[0], readers[2])]
    await asyncio.sleep(0)
    newest = log.read()
    assert await anext(newest) == START
    assert [reader.cut_off.is_set() for reader in readers] == [False, True, False]
    again = asyncio.create_task(anext(newest, None))
    await asyncio.sleep(0)
    assert await anext(log.read()) == START  # all readers have read everything: the oldest is cut off
    assert await waiting[0] is None
    assert readers[0].cut_off.is_set()
    assert max(counts) == 3
    for task in (waiting[1], again):
        task.cancel()


def test_a_log_has_room_for_a_reader() -> None:
    with pytest.raises(StreamProtocolError):
        LogBounds(max_readers=0)


async def test_the_end_of_a_response_that_has_grown_too_large_cuts_nobody_off() -> None:
    log = EventBuffer(LogBounds(max_size=1000, max_backlog=100))
    reader = log.read()
    log.append(START)
    await anext(reader)
    log.append(delta("x" * 2000))
    assert log.full
    log.append(b"error")
    log.append(b"done")
    log.close()
    assert await rest(reader) == delta("x" * 2000) + b"errordone"


async def test_a_late_reader_gets_earlier_deltas_joined_and_then_what_comes() -> None:
    log = EventBuffer()
    log.append(START, delta("a"), delta("b"))
    reader = log.read()
    assert await anext(reader) == START + delta("ab")
    log.append(delta("c"))
    log.close()
    assert await rest(reader) == delta("c")


async def test_a_rebuilding_reader_is_told_the_past_of_the_message_after_its_start() -> None:
    log = EventBuffer()
    reader = log.read(rebuild=True)
    waiting = asyncio.create_task(anext(reader))
    await asyncio.sleep(0)
    log.set_past(b"<past>")
    log.append(START, delta("a"))
    log.close()
    assert await waiting + await rest(reader) == START + b"<past>" + delta("a")
    assert await rest(log.read()) == START + delta("a")


async def test_a_response_without_a_start_gets_the_past_first() -> None:
    log = EventBuffer()
    log.set_past(b"<past>")
    log.append(delta("a"))
    log.close()
    assert await rest(log.read(rebuild=True)) == b"<past>" + delta("a")


async def test_above_its_bound_a_log_joins_deltas_and_loses_nothing() -> None:
    log = EventBuffer(LogBounds(coalesce_above=1000))
    early = log.read()
    log.append(START)
    assert await anext(early) == START
    for number in range(1000):
        log.append(delta(f"{number} "))
    assert log.since(1) is not None  # the early reader has not read them
    assert len(await rest_of(early, 1000)) > 1000
    for number in range(1000, 2000):
        log.append(delta(f"{number} "))
    assert log.since(0) is None
    log.close()
    whole = START + delta("".join(f"{number} " for number in range(2000)))
    assert await rest(log.read()) == whole
    assert log.count == 2001


async def rest_of(reader: AsyncGenerator[bytes], events: int) -> bytes:
    """Return the next ``count`` events."""
    taken = b""
    while taken.count(b"\n\n") < events:
        taken += await anext(reader)
    return taken


async def test_a_log_of_what_cannot_be_joined_is_full_in_the_end() -> None:
    log = EventBuffer(LogBounds(coalesce_above=100, max_size=1000))
    for number in range(20):
        log.append(delta("x", str(number)))
    assert log.full
    deltas = EventBuffer(LogBounds(coalesce_above=100, max_size=1000))
    for _ in range(100):
        deltas.append(delta("x"))
    assert not deltas.full


async def test_a_reader_that_is_too_far_behind_is_cut_off_and_another_is_not(caplog: pytest.LogCaptureFixture) -> None:
    counts = list[int]()
    log = EventBuffer(LogBounds(max_backlog=100), on_readers=counts.append)
    log.append(START)
    slow, quick = log.read(), log.read()
    await anext(slow)
    await anext(quick)
    with caplog.at_level(logging.WARNING):
        for _ in range(10):
            log.append(delta("words"))
            await anext(quick)
    assert slow.cut_off.is_set()
    assert not quick.cut_off.is_set()
    assert await rest(slow) == b""
    assert [record.message for record in caplog.records] == ["A reader was cut off: it was more than 100 bytes behind."]
    assert counts == [1, 2, 1]


async def test_one_large_event_cuts_nobody_off() -> None:
    log = EventBuffer(LogBounds(max_backlog=100))
    reader = log.read()
    log.append(START)
    await anext(reader)
    log.append(delta("x" * 1000))
    log.close()
    assert await rest(reader) == delta("x" * 1000)


async def test_large_events_that_come_at_once_cut_off_nobody_who_reads_on() -> None:
    log = EventBuffer(LogBounds(max_backlog=2**20))
    live = log.read()
    log.append(START)
    await anext(live)
    outputs = [encode_sse({"type": "data-x", "data": f"{number}" + "x" * 2**20}) for number in range(10)]
    for output in outputs:
        log.append(output)
    log.close()
    assert not live.cut_off.is_set()
    assert await rest(live) == b"".join(outputs)


async def test_a_late_reader_is_not_behind_by_what_was_there_before() -> None:
    log = EventBuffer(LogBounds(max_backlog=100))
    log.append(START, *(delta("x", str(number)) for number in range(100)))
    reader = log.read()
    await anext(reader)
    log.append(delta("y"))
    log.append(delta("z"))
    assert not reader.cut_off.is_set()
    await reader.aclose()


async def test_what_somebody_still_copies_is_not_joined_for_him() -> None:
    log = EventBuffer(LogBounds(coalesce_above=1))
    log.ack(1)
    log.append(b"a", b"b", b"c")
    assert log.since(0) is None
    assert list(log.since(1) or ()) == [b"b", b"c"]
    log.ack(None)
    log.append(b"d" * 9)
    assert log.since(1) is None
    assert b"".join(log.whole()) == b"abc" + b"d" * 9


async def test_a_log_that_is_cut_has_no_readers_any_more() -> None:
    counts = list[int]()
    log = EventBuffer(on_readers=counts.append)
    log.append(b"a")
    early = log.read()
    assert await anext(early) == b"a"
    log.cut_off_readers()
    assert counts == [1, 0]
    assert await anext(early, None) is None
    late = log.read()
    await anext(late, None)
    assert early.cut_off.is_set()
    assert late.cut_off.is_set()
    assert counts == [1, 0]


async def test_a_reader_that_is_far_behind_takes_a_piece_without_copying_the_rest() -> None:
    log = EventBuffer()
    reader = aiter(log.read())
    log.append(b"<")
    assert await anext(reader) == b"<"
    event = b"x" * 1024
    log.append(*[event] * 200_000)
    tracemalloc.start()
    assert await anext(reader) == event * (PIECE_BYTES // 1024)
    behind = log.since(1)
    assert behind is not None
    assert next(behind) == event
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200_000, "bytes; the list of the events alone takes 1,600,000"


async def test_a_reader_that_waits_for_the_end_takes_nothing_from_others() -> None:
    log = EventBuffer(LogBounds(coalesce_above=200))
    end = encode_sse({"type": "text-end", "id": "1"}), encode_sse({"type": "finish"})
    log.ack(0)
    first = log.read()
    log.append(START, encode_sse({"type": "text-start", "id": "1"}))
    read = await anext(first)
    for number in range(20):  # the reader reads each event at once, so the beginning is joined
        log.append(delta(f"w{number} "))
        read += await anext(first)
        log.ack(log.count)
    log.append(*end)
    log.close()
    late = asyncio.create_task(anext(log.read()))
    await asyncio.sleep(0)
    log.whole()
    log.ack(log.count)
    assert (await late).endswith(end[-1])
    read += b"".join([piece async for piece in first])
    assert read.endswith(b"".join(end))
