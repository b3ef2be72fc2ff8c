"""The times of chunks, and their readers."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from stream_protocol import AnyChunk
from stream_protocol.recording import load_recording
from stream_protocol.replay_server import HELD, INSTANT
from stream_protocol.replay_server._playback import Playback, TimedChunk, timed_chunks
from stream_protocol.wire import SSE_DONE, encode_sse
from stream_protocol.wire.client import is_sent_again, parse_sse
from tests.replay_server.fixture_recordings import write_recordings
from tests.serving.support import HANG, types

CHUNKS: Sequence[TimedChunk] = (
    TimedChunk(0, {"type": "start", "messageId": "m"}),
    TimedChunk(3, {"type": "text-start", "id": "0"}),
    TimedChunk(3, {"type": "text-delta", "id": "0", "delta": "Hi"}),
    TimedChunk(7, {"type": "text-end", "id": "0"}),
    TimedChunk(7, {"type": "finish"}),
)


async def read(playback: Playback) -> list[AnyChunk]:
    async with asyncio.timeout(HANG):
        return list(parse_sse([event async for event in playback.read()]))


@pytest.mark.parametrize(
    ("pace", "waits"),
    [(1.0, [3.0, 7.0]), (2.0, [1.5, 3.5]), (INSTANT, [])],
)
async def test_chunks_go_out_when_they_came_or_sooner(
    monkeypatch: pytest.MonkeyPatch, pace: float, waits: list[float]
) -> None:
    slept: list[float] = []
    begin = asyncio.get_running_loop().time()
    real_sleep = asyncio.sleep
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: begin + sum(slept))

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        await real_sleep(0)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    playback = Playback(CHUNKS, pace)
    playback.begin()
    told = await read(playback)
    assert told == [timed.chunk for timed in CHUNKS]
    assert [sum(slept[: index + 1]) for index in range(len(slept))] == pytest.approx(waits)


async def test_readers_get_all_of_it_whenever_they_come() -> None:
    playback = Playback(CHUNKS, HELD)
    playback.begin()
    early = asyncio.create_task(read(playback))
    playback.release(2)
    middle = asyncio.create_task(read(playback))
    await asyncio.sleep(0)
    playback.release(99)
    told = [timed.chunk for timed in CHUNKS]
    assert [await early, await middle, await read(playback)] == [told, told, told]
    assert playback.release(1) == []


async def test_readers_share_the_events() -> None:
    playback = Playback(CHUNKS, HELD)
    playback.release(99)
    first, second = [[event async for event in playback.read()] for _ in range(2)]
    assert all(one is other for one, other in zip(first, second, strict=True))
    assert first[-1] == SSE_DONE


async def test_what_is_stopped_says_no_more() -> None:
    playback = Playback(CHUNKS, 0.001)
    playback.begin()
    await asyncio.sleep(0)
    playback.stop()
    playback.stop()
    assert types(await read(playback)) == ["start", "abort"]
    assert (playback.unreleased, playback.release(1)) == ([], [])


async def test_a_client_does_not_send_again_after_a_response_that_is_stopped_behind_a_result() -> None:
    called: list[AnyChunk] = [
        {"type": "start", "messageId": "m"},
        {"type": "start-step"},
        {"type": "tool-input-available", "toolCallId": "t", "toolName": "f", "input": {}},
        {"type": "tool-output-available", "toolCallId": "t", "output": 1},
        {"type": "finish-step"},
    ]
    playback = Playback([*(TimedChunk(0, chunk) for chunk in called), *CHUNKS[1:]], HELD)
    playback.release(4)
    playback.stop()
    assert types(playback.released)[4:] == ["finish-step", "start-step", "finish-step", "message-metadata", "abort"]
    assert not is_sent_again(map(encode_sse, playback.released))


def test_times_are_those_of_the_events_and_never_run_back(tmp_path: Path) -> None:
    (turn,) = load_recording(write_recordings(tmp_path, "streamed_arguments") / "streamed_arguments.jsonl").turns()
    times = [timed.at for timed in timed_chunks(turn, frozenset(), 6)]
    assert times == sorted(times)
    assert times[-1] == pytest.approx(turn.events[-1].timestamp - turn.events[0].timestamp)
