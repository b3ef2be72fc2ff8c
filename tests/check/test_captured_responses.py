"""Captures that are not streams, and chunks that Python has written as Python."""

import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from stream_protocol.check import Rule, UnreadableError, check_stream
from stream_protocol.cli import main
from tests.check.test_check_file import DONE, FINISH, START, TEXT, check, jsonl, sse

STREAM = sse(START, *TEXT, FINISH, DONE)
KNOWN = (
    "not a stream: pass an SSE capture, JSON chunks (one per line), or ADK events (JSON, JSON lines, YAML or SQLite)"
)
PYTHON = "the data is str() of a Python dict, with single quotes: use json.dumps"


def response(
    status: str, kind: str | None = None, body: str | bytes = b"", *, end: str = "\r\n", **fields: str
) -> bytes:
    """Return a response as ``curl --include`` writes it."""
    given = {"date": "Tue, 24 Nov 2026 10:00:00 GMT", **({"Content-Type": kind} if kind else {}), **fields}
    lines = [f"HTTP/{status}", *(f"{name}: {value}" for name, value in given.items()), "", ""]
    return end.join(lines).encode() + (body.encode() if isinstance(body, str) else body)


HTML = "<!doctype html>\n<html lang=en>\n<title>500 Internal Server Error</title>"

NO_STREAM = {
    "a failure": (
        response("1.1 500 Internal Server Error", "text/plain; charset=utf-8", "An error occurred."),
        'the response is HTTP 500 with text/plain, not a stream: "An error occurred."',
    ),
    "no user": (
        response("1.1 401 Unauthorized", "application/json", '{"detail":"Sign in first."}'),
        'the response is HTTP 401 with application/json, not a stream: {"detail":"Sign in first."}',
    ),
    "a page": (response("2 502 ", "text/html", HTML), "the response is HTTP 502 with text/html, not a stream"),
    "a long text": (
        response("1.1 422 x", body="A message needs parts. " * 9),
        'the response is HTTP 422, not a stream: "A message needs parts. A message needs parts. A message..."',
    ),
    "a hostile text": (
        response("1.1 500 x", "text/plain\x1b[31m", "\x1b[31m"),
        'the response is HTTP 500 with text/plain\\u001b[31m, not a stream: "\\u001b[31m"',
    ),
    "lines that end in LF": (
        response("1.1 503 Service Unavailable", "text/plain", "Later.", end="\n"),
        'the response is HTTP 503 with text/plain, not a stream: "Later."',
    ),
    "a stream with the status of an error": (
        response("1.1 500 x", "text/event-stream", sse(DONE)),
        'the response is HTTP 500 with text/event-stream, not a stream: "data: [DONE]"',
    ),
    "a head alone": (b"HTTP/1.1 500 Internal Server Error", "the response is HTTP 500, not a stream"),
    "nothing to resume": (
        response("1.1 204 No Content"),
        "the response is HTTP 204, which has no body: nothing was streamed",
    ),
    "a redirect": (
        response("1.1 307 Temporary Redirect", Location="http://localhost/api/chat"),
        'the response is HTTP 307, a redirect to "http://localhost/api/chat": capture that URL, or use curl --location',
    ),
    "a redirect that was followed": (
        response("1.1 307 Temporary Redirect", location="/chat") + response("1.1 404 Not Found", "text/plain", "No."),
        'the response is HTTP 404 with text/plain, not a stream: "No."',
    ),
    "a page that was found": (
        response("1.1 200 OK", "text/html; charset=utf-8", HTML),
        "the response is HTTP 200 with text/html, not a stream",
    ),
    "messages": (
        response("1.1 200 OK", "application/json", '{"messages": []}'),
        'the response is HTTP 200 with application/json, not a stream: {"messages":[]}',
    ),
    "an error behind a stream": (
        response("1.1 200 OK", "text/event-stream", STREAM) + response("1.1 500 x", "text/plain", "An error occurred."),
        f"line {4 + 2 * 6 + 1}: the response is HTTP 500, not a stream",
    ),
    "a page without its head": (HTML.encode(), "this is an HTML page, not a stream: check the URL that was captured"),
    "XHTML": (
        b'<?xml version="1.0"?>\n<html>',
        "this is an HTML page, not a stream: check the URL that was captured",
    ),
    "an error in JSON": (
        b'{\n  "detail": "Not Found"\n}\n',
        'this is an error response of a server, not a stream: {"detail":"Not Found"}',
    ),
    "an error in words": (b"Internal Server Error\n", KNOWN),
    "a picture": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", KNOWN),
    "dictionaries of Python on lines": (b"{'type': 'start'}\n", f"not a stream: {PYTHON}"),
    "a dictionary of Python among chunks": (
        jsonl(START) + b"{'type': 'finish'}\n",
        f"line 2 is not JSON: {PYTHON}",
    ),
}


@pytest.mark.parametrize("name", NO_STREAM)
def test_a_capture_that_is_no_stream_says_what_it_is(name: str) -> None:
    data, text = NO_STREAM[name]
    with pytest.raises(UnreadableError) as refused:
        check(data)
    assert str(refused.value) == text
    assert text.isprintable()


@pytest.mark.parametrize(
    "head",
    [
        response("1.1 200 OK", "text/event-stream"),
        response("1.1 200 OK", "text/event-stream", end="\n"),
        response("1.1 200 OK"),
        response("1.1 201 Created", "text/plain"),  # the client looks at neither
        response("1.1 100 Continue") + response("2 200 ", "text/event-stream"),
        response("1.1 200 Connection established") + response("1.1 302 Found", location="/x") + response("1.1 200 OK"),
    ],
)
def test_a_stream_behind_its_head_is_judged(head: bytes) -> None:
    assert check(head + STREAM) == []
    assert check(head + STREAM + head + STREAM.replace(b"m1", b"m2")) == []
    assert [finding.rule for finding in check(head + sse(START))] == [Rule.TERMINAL_MISSING, Rule.DONE_MISSING]


def test_a_stream_without_a_body_ends_without_a_terminal() -> None:
    found = check(response("1.1 200 OK", "text/event-stream"))
    assert [finding.rule for finding in found] == [Rule.TERMINAL_MISSING, Rule.DONE_MISSING]


@pytest.mark.parametrize(
    ("data", "rule", "text"),
    [
        (str(START), Rule.INVALID_JSON, f"The data is not JSON: {PYTHON}."),
        (str({"type": "data-x", "data": [{"a": None}]}), Rule.INVALID_JSON, f"The data is not JSON: {PYTHON}."),
        (
            str(json.dumps(START).encode()),
            Rule.INVALID_JSON,
            "The data is not JSON: the data is str() of Python bytes: decode the bytes.",
        ),
        (json.dumps(json.dumps(START)), Rule.NOT_A_CHUNK, "The data is JSON in a JSON string: it was encoded twice."),
        ("{type: 'start'}", Rule.INVALID_JSON, "The data is not JSON."),
        ('"start"', Rule.NOT_A_CHUNK, '"start" is not an object with a type.'),
    ],
)
def test_data_that_python_has_written_has_a_hint(data: str, rule: Rule, text: str) -> None:
    first, *_ = check(sse(data))
    assert (first.rule, first.text) == (rule, text)


def test_a_head_that_comes_in_pieces_is_read_as_one() -> None:
    data, text = NO_STREAM["no user"]
    with pytest.raises(UnreadableError) as refused:
        list(check_stream(io.BufferedReader(io.BytesIO(data), 1)))
    assert str(refused.value) == text


def test_a_captured_error_is_exit_2_with_one_line(tmp_path: Path) -> None:
    data, text = NO_STREAM["a failure"]
    file = tmp_path / "capture.sse"
    file.write_bytes(data)
    done = CliRunner().invoke(main, ["check", str(file)])
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", f"error: {file}: {text}\n")
