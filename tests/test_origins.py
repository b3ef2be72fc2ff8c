"""Origins of pages as an app writes them: the ones that a browser can send are accepted, and others raise at once."""

from typing import Any, Final

import pytest

from stream_protocol import StreamProtocolError
from stream_protocol._origins import check_origins
from tests.batch import batch

SENT: Final = (
    "http://localhost:3000",
    "http://127.0.0.1:3000",
    "http://[::1]:3000",
    "https://app.example",
    "https://app.example:8443",
    "https://app.example.",
    "https://xn--bcher-kva.example",
    "https://a_b.example",
    "chrome-extension://abcdefghijklmnop",
    "capacitor://localhost",
    "null",
    "*",
)


@batch(origin=SENT)
def test_what_a_browser_sends_is_taken(origin: str) -> None:
    assert check_origins("allow_origins", [origin]) == {origin}


@pytest.mark.parametrize("collection", [list, tuple, set, frozenset])
def test_any_collection_is_taken(collection: Any) -> None:
    assert check_origins("allow_origins", collection(SENT)) == frozenset(SENT)
    assert check_origins("allow_origins", collection()) == frozenset()


NEVER_SENT: Final = {
    "http://localhost:3000/": "http://localhost:3000",
    "https://app.example/chat": "https://app.example",
    "https://app.example?a#b": "https://app.example",
    "localhost:3000": "http://localhost:3000",
    "localhost": "http://localhost",
    "127.0.0.1:3000": "http://127.0.0.1:3000",
    "[::1]:3000": "http://[::1]:3000",
    "app.example": "https://app.example",
    "localhost.example": "https://localhost.example",
    "//app.example": "https://app.example",
    "HTTPS://App.Example": "https://app.example",
    "https://app.example:443": "https://app.example",
    "http://app.example:80": "http://app.example",
    "http://localhost:03000": "http://localhost:3000",
    "http://[0:0:0:0:0:0:0:1]:3000": "http://[::1]:3000",
    " https://app.example ": "https://app.example",
    "https://app.example\n": "https://app.example",
    "wss://app.example": "https://app.example",
    "ws://localhost:3000": "http://localhost:3000",
    "Null": "null",
    " * ": "*",
}


@batch(written=NEVER_SENT.keys())
def test_what_no_browser_sends_is_refused_with_what_it_sends(written: str) -> None:
    with pytest.raises(StreamProtocolError) as refused:
        check_origins("allow_origins", ["https://a.example", written])
    assert str(refused.value).startswith("`allow_origins` has ")
    assert str(refused.value).endswith(f', which no browser sends: write "{NEVER_SENT[written]}".')


@batch(right=NEVER_SENT.values())
def test_what_it_says_instead_is_taken(right: str) -> None:
    check_origins("allow_origins", [right])


NO_ORIGIN: Final = {
    "": "write scheme, host and port",
    "https://": "write scheme, host and port",
    "http:/app.example": "write scheme, host and port",
    "file:///home/page.html": "write scheme, host and port",
    "https://app example": "write scheme, host and port",
    "https://a.example, https://b.example": "write scheme, host and port",
    "https://app.example:99999": "write scheme, host and port",
    "https://app.example:port": "write scheme, host and port",
    "http://127.1": "write scheme, host and port",
    "http://[::1": "write scheme, host and port",
    "http://[fe80::1%25eth0]": "write scheme, host and port",
    "https://*.app.example": 'name each host, or write "*" for all',
    "http://localhost:*": 'name each host, or write "*" for all',
    "https://bücher.example": "write the host in ASCII",
}


@batch(written=NO_ORIGIN.keys())
def test_what_is_no_origin_is_refused_with_a_way_out(written: str) -> None:
    with pytest.raises(StreamProtocolError, match="which is not an origin: ") as refused:
        check_origins("--cors-origin", [written])
    assert NO_ORIGIN[written] in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("written", ["http://localhost:3000", "http://localhost:3000/", "localhost:3000"])
def test_one_origin_is_no_list_of_origins(written: str) -> None:
    with pytest.raises(StreamProtocolError, match=r'a list of origins, not .*: write \["http://localhost:3000"\]\.$'):
        check_origins("allow_origins", written)


def test_the_password_of_a_url_is_not_told() -> None:
    with pytest.raises(StreamProtocolError) as refused:
        check_origins("allow_origins", ["https://ann:s3cret@app.example"])
    assert "s3cret" not in str(refused.value)
