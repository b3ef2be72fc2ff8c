from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from stream_protocol.wire import ChunkSink, Sink, SseSink, Transform, TransformedSink, encode_sse
from stream_protocol.wire.client import unknown_keys
from stream_protocol.wire.client._chunk_schema import check_chunk

Call = Callable[[Sink[Any]], Any]

texts = st.text(st.characters(codec=None, categories=["Cs", "Ll", "So", "Cc"]), min_size=1)
maybe_text = st.none() | texts
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=5,
)
providers = st.none() | st.dictionaries(st.text(), st.dictionaries(st.text(), values), max_size=2)
flags = st.booleans()
deltas = st.lists(texts, max_size=3)
call_keys = st.fixed_dictionaries(
    {"dynamic": flags, "provider_executed": flags, "title": maybe_text, "provider": providers}
)


def written(start: Call, pieces: list[str]) -> Call:
    def call(sink: Sink[Any]) -> None:
        write = start(sink)
        for piece in pieces:
            write(piece)

    return call


CALLS: dict[str, st.SearchStrategy[Call]] = {
    "start": st.builds(lambda i, m: lambda sink: sink.start(i, m), maybe_text, values),
    "finish": st.builds(lambda m: lambda sink: sink.finish("stop", m), values),
    "abort": st.builds(lambda r: lambda sink: sink.abort(r), maybe_text),
    "error": st.builds(lambda t: lambda sink: sink.error(t), texts),
    "metadata": st.builds(lambda m: lambda sink: sink.message_metadata(m), values),
    "start step": st.just(lambda sink: sink.start_step()),
    "finish step": st.just(lambda sink: sink.finish_step()),
    "text": st.builds(lambda i, p, d: written(lambda sink: sink.text_start(i, p), d), texts, providers, deltas),
    "text end": st.builds(lambda i, p: lambda sink: sink.text_end(i, p), texts, providers),
    "thought": st.builds(lambda i, p, d: written(lambda sink: sink.reasoning_start(i, p), d), texts, providers, deltas),
    "thought end": st.builds(lambda i, p: lambda sink: sink.reasoning_end(i, p), texts, providers),
    "input": st.builds(
        lambda i, n, k, d: written(lambda sink: sink.tool_input_start(i, n, **k), d), texts, texts, call_keys, deltas
    ),
    "available": st.builds(
        lambda i, n, v, k: lambda sink: sink.tool_input_available(i, n, v, **k), texts, texts, values, call_keys
    ),
    "bad input": st.builds(
        lambda i, v, t, f, n: (
            lambda sink: sink.tool_input_error(i, i, v, t, dynamic=f, provider_executed=not f, title=n)
        ),
        texts,
        values,
        texts,
        flags,
        maybe_text,
    ),
    "ask": st.builds(lambda i: lambda sink: sink.tool_approval_request(i, i), texts),
    "answer": st.builds(
        lambda i, f, r: lambda sink: sink.tool_approval_response(i, approved=f, reason=r), texts, flags, maybe_text
    ),
    "output": st.builds(
        lambda i, v, f: lambda sink: sink.tool_output_available(i, v, preliminary=f, dynamic=f, provider_executed=f),
        texts,
        values,
        flags,
    ),
    "failure": st.builds(
        lambda i, t, f: lambda sink: sink.tool_output_error(i, t, dynamic=f, provider_executed=f), texts, texts, flags
    ),
    "denial": st.builds(lambda i: lambda sink: sink.tool_output_denied(i), texts),
    "url": st.builds(lambda i, t, p: lambda sink: sink.source_url(i, i, t, p), texts, maybe_text, providers),
    "document": st.builds(
        lambda i, f, p: lambda sink: sink.source_document(i, i, i, f, p), texts, maybe_text, providers
    ),
    "file": st.builds(lambda u, p: lambda sink: sink.file(u, u, p), texts, providers),
    "reasoning file": st.builds(lambda u, p: lambda sink: sink.reasoning_file(u, u, p), texts, providers),
    "custom": st.builds(lambda k, p: lambda sink: sink.custom(k, p), texts, providers),
    "steering": st.builds(lambda i: lambda sink: sink.steering_message(i, [{"type": "text", "text": i}]), texts),
    "data": st.builds(
        lambda n, v, i, f: lambda sink: sink.data(n, v, data_id=i, transient=f), texts, values, maybe_text, flags
    ),
}


@given(st.lists(st.one_of(*CALLS.values()), max_size=8))
def test_the_bytes_are_those_of_the_chunks(calls: list[Call]) -> None:
    chunks, sse = ChunkSink(), SseSink()
    for call in calls:
        call(chunks)
        call(sse)
    assert sse.take() == [encode_sse(chunk) for chunk in chunks.take()]


@pytest.mark.parametrize("name", CALLS)
@given(data=st.data())
def test_every_chunk_is_accepted_by_the_client_and_has_only_the_keys_of_its_type(
    name: str, data: st.DataObject
) -> None:
    sink = ChunkSink()
    data.draw(CALLS[name])(sink)
    written = sink.take()
    assert written
    for chunk in written:
        check_chunk(chunk, ai_sdk=7)
        assert not unknown_keys(chunk, ai_sdk=6)


@pytest.mark.parametrize("sink", [ChunkSink(), SseSink(), TransformedSink(SseSink())], ids=["chunks", "sse", "hook"])
def test_what_was_written_can_be_taken_once(sink: Sink[Any]) -> None:
    write = sink.text_start("0")
    first = sink.take()
    write("a")
    assert (len(first), len(sink.take()), sink.take()) == (1, 1, [])
    assert len(first) == 1


def doubled(chunk: Any) -> list[Any]:
    return [chunk, chunk]


HOOKS: list[tuple[Transform, list[str]]] = [
    (lambda chunk: chunk, ["text-start", "text-delta", "text-end"]),
    (lambda chunk: None if chunk["type"] == "text-delta" else chunk, ["text-start", "text-end"]),
    (doubled, ["text-start", "text-start", "text-delta", "text-delta", "text-end", "text-end"]),
]


@pytest.mark.parametrize(("hook", "kinds"), HOOKS, ids=["kept", "dropped", "doubled"])
def test_a_hook_keeps_drops_or_multiplies_each_chunk(hook: Transform, kinds: list[str]) -> None:
    sink = TransformedSink(ChunkSink(), hook)
    sink.text_start("0")("a")
    sink.text_end("0")
    assert [chunk["type"] for chunk in sink.take()] == kinds


def test_a_hook_that_raised_is_not_asked_again() -> None:
    def fail(chunk: Any) -> Any:
        raise RuntimeError(chunk["type"])

    sink = TransformedSink(ChunkSink(), fail)
    with pytest.raises(RuntimeError, match="start"):
        sink.start(None)
    sink.error("e")
    assert sink.take() == [{"type": "error", "errorText": "e"}]
