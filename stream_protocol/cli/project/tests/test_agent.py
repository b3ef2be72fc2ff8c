"""What the page gets, held by a recording: without a key, without a network."""

from starlette.testclient import TestClient

from main import make_app
from my_package.agent import shopping_agent
from my_package.scripted_model import scripted_model
from stream_protocol.recording import Recording
from stream_protocol.testing import RecordingFinder, StreamMatcher

SAID = ("Put milk on the list", "What is on the list?")


def ask(page: TestClient, number: int, text: str) -> bytes:
    words = {"id": f"words-{number}", "role": "user", "parts": [{"type": "text", "text": text}]}
    response = page.post("/api/chat", json={"id": "shopping", "messages": [words]})
    response.raise_for_status()
    return response.content


def test_the_recording_becomes_the_expected_stream(
    adk_recording: RecordingFinder, assert_stream_matches: StreamMatcher
) -> None:
    assert_stream_matches(adk_recording("shopping"))


def test_the_server_still_answers_as_recorded(
    adk_recording: RecordingFinder, assert_stream_matches: StreamMatcher
) -> None:
    page = TestClient(make_app(shopping_agent(scripted_model())))
    recording: Recording = adk_recording("shopping")
    assert_stream_matches(recording, chunks=b"".join(ask(page, *each) for each in enumerate(SAID)))
