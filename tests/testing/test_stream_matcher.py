"""An unchanged agent passes the test against its recording, despite differences between runs."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.events import Event
from google.genai import types

from stream_protocol import ConverterOptions, StreamProtocolError, iter_chunks
from stream_protocol.recording import ChatRecorder, load_recording, record
from stream_protocol.serving import ChatService, create_app
from stream_protocol.testing import Call, ScriptedLlm, StreamMatcher, Thought
from stream_protocol.wire import AnyChunk
from tests.batch import batch
from tests.recording.recordings import drained, source
from tests.serving.chat_client import Page


def look(city: str) -> dict[str, str]:
    """Looks."""
    return {"city": city}


def explode() -> None:
    """Raises."""
    raise RuntimeError("no luck")


LOOK = Call("look", {"city": "Oslo"}, id="0")

SCRIPTS: dict[str, list[Any]] = {
    "text": ["Hello there.", "Again."],
    "thoughts and text around calls": [[Thought("Hm."), "Let me see.", LOOK], "Mild.", "Again."],
    "calls side by side": [[LOOK, Call("look", {"city": "Rome"}, id="1")], "Mild.", "Again."],
    "the same id in each turn": [LOOK, "Mild.", LOOK, "Mild."],
    "a model that fails": [RuntimeError("no quota"), "Better."],
    "a tool that raises": [Call("explode"), "Better."],
}


async def conversation(script: list[Any], recorder: ChatRecorder | None, mode: StreamingMode) -> list[Any]:
    """Return the chunks of two requests."""
    agent = LlmAgent(name="root", model=ScriptedLlm(turns=script), tools=[look, explode])
    service = ChatService(agent, recorder=recorder, run_config=RunConfig(streaming_mode=mode))
    page = Page(create_app(service))
    for _ in range(2):
        await page.send("go")
    return [chunk for response in page.responses for chunk in response]


def match(recorded: Path, chunks: Iterable[AnyChunk]) -> None:
    """Write the expected stream of the recording, and compare these chunks with it."""
    recording = load_recording(recorded)
    StreamMatcher(update=True, on_write=Path.exists)(recording)
    StreamMatcher(update=False, on_write=Path.exists)(recording, chunks=chunks)


@batch(script=SCRIPTS, recorded=list(StreamingMode)[:2], now=list(StreamingMode)[:2])
async def test_an_agent_that_has_not_changed_matches(
    script: list[Any], recorded: StreamingMode, now: StreamingMode, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("recorded")
    await conversation(script, ChatRecorder(folder), recorded)
    (file,) = folder.iterdir()
    match(file, await conversation(script, None, now))


@batch(mode=list(StreamingMode)[:2])
async def test_half_a_sentence_matches_half_a_sentence(
    mode: StreamingMode, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("recorded")
    script = [["Half a sent", RuntimeError("no quota")], "Better."]
    await conversation(script, ChatRecorder(folder), mode)
    (file,) = folder.iterdir()
    match(file, await conversation(script, None, mode))


OPTIONS: list[ConverterOptions] = [
    {"send_reasoning": False},
    {"hidden_tools": "all"},
    {"tool_titles": {"look": "Look"}},
]


@batch(options=OPTIONS)
async def test_the_expectation_is_made_with_the_recorded_options(
    options: ConverterOptions, tmp_path_factory: pytest.TempPathFactory
) -> None:
    thought = types.Part(text="Hm.", thought=True)
    call = types.Part(function_call=types.FunctionCall(id="0", name="look", args={}))
    run = [Event(invocation_id="e-1", author="root", content=types.Content(role="model", parts=[thought, call]))]
    file = tmp_path_factory.mktemp("recorded") / "run"
    await drained(record(source(run), file, **options))
    match(file, iter_chunks(run, **options))


@pytest.mark.parametrize("line", ["[]", "null", '"x"', "{}", '{"type":1}', "{", "[" * 10_000], ids=range(7))
async def test_a_line_that_is_not_a_chunk_is_named(line: str, tmp_path: Path) -> None:
    recorded = await _recorded(tmp_path)
    expectation = recorded.with_suffix(".expected.jsonl")
    expectation.write_text(f'{{"type":"start"}}\n{line}\n')
    with pytest.raises(AssertionError, match=r"Line 2 of .* is not a chunk: run"):
        StreamMatcher(update=False, on_write=Path.exists)(load_recording(recorded))


async def test_an_expectation_in_another_encoding_is_refused_and_can_be_written_anew(tmp_path: Path) -> None:
    recorded = await _recorded(tmp_path)
    recorded.with_suffix(".expected.jsonl").write_bytes('{"type":"start"}'.encode("utf-16"))
    with pytest.raises(AssertionError, match="is not UTF-8: run"):
        StreamMatcher(update=False, on_write=Path.exists)(load_recording(recorded))
    match(recorded, iter_chunks([SAID]))


@pytest.mark.parametrize("chunks", [[1], [None], [{}], [{"type": 1}], b"data: [1]\n\n", b"data: {}\n\n"], ids=str)
async def test_values_that_are_not_chunks_are_refused(chunks: Any, tmp_path: Path) -> None:
    with pytest.raises(StreamProtocolError, match=r"`chunks` must be chunks \(item 1\), not"):
        match(await _recorded(tmp_path), chunks)


SAID = Event(author="root", invocation_id="i", content=types.ModelContent("Hi."))


async def _recorded(folder: Path) -> Path:
    path = folder / "a.jsonl"
    await drained(record(source([SAID]), path))
    return path
