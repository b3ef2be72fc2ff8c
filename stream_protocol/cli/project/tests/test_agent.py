"""Compares a recording with the streams that a client gets. Needs no key and no network."""

import asyncio

import httpx

from main import make_app
from my_package.agent import shopping_agent
from my_package.scripted_model import scripted_model
from stream_protocol.testing import RecordingFinder, StreamMatcher

MESSAGES = ("Put milk on the list", "What is on the list?")


async def talk() -> bytes:
    """Send the messages to the server. Return the streams that the client gets, one after the other."""
    server = httpx.ASGITransport(make_app(shopping_agent(scripted_model())))
    streams = []
    async with httpx.AsyncClient(transport=server, base_url="http://localhost") as page:
        for number, text in enumerate(MESSAGES):
            message = {"id": f"message-{number}", "role": "user", "parts": [{"type": "text", "text": text}]}
            response = await page.post("/api/chat", json={"id": "shopping", "messages": [message]})
            streams.append(response.raise_for_status().content)
    return b"".join(streams)


def test_the_recording_becomes_the_expected_stream(
    adk_recording: RecordingFinder, assert_stream_matches: StreamMatcher
) -> None:
    assert_stream_matches(adk_recording("shopping"))


def test_the_server_sends_the_recorded_stream(
    adk_recording: RecordingFinder, assert_stream_matches: StreamMatcher
) -> None:
    assert_stream_matches(adk_recording("shopping"), chunks=asyncio.run(talk()))
