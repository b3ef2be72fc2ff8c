from typing import Any

import pytest
from google.adk.events import EventActions
from google.genai.types import Blob, FileData, FunctionCall, FunctionResponse, FunctionResponsePart, Part

from stream_protocol.stream._media import document_type, is_web_url
from tests.batch import batch
from tests.stream.building import arg, call, event, fragment, picture, piece, response, results, text, thought
from tests.stream.running import body, kinds, only, run


def shown(part: Part) -> list[dict[str, Any]]:
    return only(body([event(part)]), "file", "data-")


def test_inline_data_is_a_data_url_in_standard_base64() -> None:
    assert shown(picture(b"\xfb\xff\xfe")) == [
        {"type": "file", "url": "data:image/png;base64,+//+", "mediaType": "image/png"}
    ]


@pytest.mark.parametrize("blob", [Blob(), Blob(mime_type="image/png")])
def test_inline_data_without_bytes_is_nothing(blob: Blob) -> None:
    assert shown(Part(inline_data=blob)) == []


@pytest.mark.parametrize("part", [Part(inline_data=Blob(mime_type="image/png")), Part(file_data=FileData())])
def test_a_file_without_content_begins_no_step_in_which_the_page_would_send_again(part: Part) -> None:
    run([event(call("f", {}, "A")), results(response("f", {"error": "no"}, "A")), event(part)])


def test_data_of_no_known_type_is_bytes() -> None:
    assert shown(picture(b"1", mime_type=None))[0]["mediaType"] == "application/octet-stream"


@pytest.mark.parametrize(("mime_type", "media_type"), [("image/png", "image/png"), (None, "application/octet-stream")])
def test_a_file_on_the_web_is_its_address(mime_type: str | None, media_type: str) -> None:
    part = Part(file_data=FileData(file_uri="https://a/b.png", mime_type=mime_type))
    assert shown(part) == [{"type": "file", "url": "https://a/b.png", "mediaType": media_type}]


def test_a_file_that_no_browser_loads_is_data() -> None:
    (chunk,) = shown(Part(file_data=FileData(file_uri="gs://b/c.png", mime_type="image/png", display_name="C")))
    assert chunk["type"] == "data-adk-file"
    assert chunk["data"] == {"uri": "gs://b/c.png", "mediaType": "image/png", "filename": "C"}


def test_a_reference_without_an_address_is_nothing() -> None:
    assert shown(Part(file_data=FileData(mime_type="image/png"))) == []


@pytest.mark.parametrize(
    ("uri", "web"), [("http://a", True), ("HTTPS://a", True), ("gs://a", False), ("httpx://a", False)]
)
def test_what_the_web_is(uri: str, *, web: bool) -> None:
    assert is_web_url(uri) is web


def test_a_streamed_picture_ends_the_text_before_it_and_comes_once() -> None:
    chunks = body([fragment(text("Look: ")), fragment(picture()), event(text("Look: "), picture())])
    assert kinds(chunks) == ["start-step", "text-start", "text-delta", "text-end", "file", "finish-step"]


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("gs://b/a.pdf", "application/pdf"),
        ("A.MD", "text/markdown"),
        ("a.tar.gz", "application/octet-stream"),
        ("corpora/1", "application/octet-stream"),
    ],
)
def test_a_documents_name_may_tell_its_type(name: str, media_type: str) -> None:
    assert document_type(name) == media_type


def saved(*names: str | None, artifacts: dict[str, int], returned: int = 0) -> list[str]:
    """The URLs of an event's pictures, that say these display names, or that tools returned; and what it saved."""
    parts = [Part(inline_data=Blob(data=b"1", mime_type="image/png", display_name=name)) for name in names]
    media = [FunctionResponsePart.from_bytes(data=b"2", mime_type="image/png")]
    parts += [Part(function_response=FunctionResponse(id=f"c{n}", name="draw", parts=media)) for n in range(returned)]
    calls = [Part(function_call=FunctionCall(id=f"c{n}", name="draw", args={})) for n in range(returned)]
    events = [event(*calls), event(*parts, actions=EventActions(artifact_delta=artifacts))]
    files = only(body(events[not calls :], artifact_url=lambda name, version: f"/a/{name}?v={version}"), "file")
    return [file["url"].partition(",")[0] for file in files]


BYTES = "data:image/png;base64"


@pytest.mark.parametrize(
    ("urls", "expected"),
    [
        (saved("a.png", artifacts={"a.png": 3}), ["/a/a.png?v=3"]),
        (saved("a.png", "b.png", artifacts={"b.png": 0, "a.png": 1}), ["/a/a.png?v=1", "/a/b.png?v=0"]),
        (saved(None, artifacts={"a.png": 0}), ["/a/a.png?v=0"]),
        (saved(None, artifacts={"a.jpg": 0}), [BYTES]),
        (saved(None, artifacts={"a.png": 0, "b.png": 0}), [BYTES]),
        (saved(None, None, artifacts={"a.png": 0}), [BYTES, BYTES]),
        (saved("a.png", artifacts={}), [BYTES]),
        (saved(artifacts={"a.png": 2}, returned=1), ["/a/a.png?v=2"]),
        (saved(artifacts={"a.png": 2}, returned=2), [BYTES, BYTES]),
    ],
)
def test_a_picture_that_was_saved_is_the_address_of_its_artifact(urls: list[str], expected: list[str]) -> None:
    assert urls == expected


@pytest.mark.parametrize("send_reasoning", [True, False])
def test_what_waits_after_a_file_whose_stream_breaks_off_is_shown_as_it_is(*, send_reasoning: bool) -> None:
    """If artifacts are linked, a streamed file waits for the complete event, and so does later streamed text."""
    events = [
        fragment(picture()),
        fragment(thought("Hm.", b"signed")),
        fragment(text("So.")),
        fragment(call("f", {}, "A")),
    ]
    chunks = run(events, error=RuntimeError("gone"), artifact_url=lambda *_: "/a", send_reasoning=send_reasoning)
    thoughts = ["reasoning-start", "reasoning-delta", "reasoning-end"] if send_reasoning else []
    said = [chunk["type"] for chunk in chunks if chunk["type"].startswith(("file", "reasoning", "text"))]
    assert said == ["file", *thoughts, "text-start", "text-delta", "text-end"]
    assert [chunk["providerMetadata"]["google"] for chunk in chunks if chunk["type"] == "reasoning-end"] == (
        [{"thoughtSignature": "c2lnbmVk"}] if send_reasoning else []
    )


@batch(linked=[False, True])
def test_a_file_that_was_only_streamed_is_shown_before_an_answer_without_it(*, linked: bool) -> None:
    events = [fragment(picture()), event(text("See."))]
    chunks = body(events, artifact_url=(lambda *_: "/a") if linked else None)
    assert kinds(chunks) == [
        *("start-step", "file", "finish-step"),
        *("start-step", "text-start", "text-delta", "text-end", "finish-step"),
    ]


def test_a_half_call_that_waits_after_a_file_whose_stream_breaks_off_is_not_shown() -> None:
    events = [fragment(picture()), fragment(piece("look", "A", arg("$.x", 1))), fragment(text("So."))]
    chunks = run(events, error=RuntimeError("gone"), artifact_url=lambda *_: "/a")
    assert [chunk["type"] for chunk in chunks if "tool" in chunk["type"] or "text" in chunk["type"]] == [
        "text-start",
        "text-delta",
        "text-end",
    ]
