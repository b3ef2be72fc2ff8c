"""The files of the page: compressed, and cached by a browser until they change."""

import gzip
from pathlib import Path
from typing import Final

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from stream_protocol.serving.http._page_files import page_files
from tests.serving.support import client

SCRIPT: Final = b"export const answer = 42;\n" * 100
BROTLI: Final = b"as the build has compressed it"

SENT: Final = {"br": BROTLI, "gzip": gzip.compress(SCRIPT, mtime=0), None: SCRIPT}

FOREVER: Final = "public, max-age=31536000, immutable"


@pytest.fixture
def page(tmp_path: Path) -> Starlette:
    (tmp_path / "index.html").write_text("<!doctype html><title>page</title>")
    assets = tmp_path / "assets"
    assets.mkdir()
    (assets / "page-1a2b.js").write_bytes(SCRIPT)
    (assets / "page-1a2b.js.gz").write_bytes(SENT["gzip"])
    (assets / "page-1a2b.js.br").write_bytes(BROTLI)
    (assets / "small-3c4d.css").write_text("p {}")
    (assets / "font-5e6f.woff2").write_bytes(b"font")
    return Starlette(routes=[Mount("/", page_files(tmp_path))])


async def fetch(page: Starlette, path: str, **headers: str) -> tuple[httpx.Response, bytes]:
    """Return the response, and its bytes before decompression."""
    named = {"accept-encoding": "identity"} | {name.replace("_", "-"): value for name, value in headers.items()}
    async with client(page) as http, http.stream("GET", path, headers=named) as response:
        return response, b"".join([part async for part in response.aiter_raw()])


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("gzip, deflate, br, zstd", "br"),
        ("GZIP;q=0.5", "gzip"),
        ("gzip, br;q=0", "gzip"),
        ("gzip;q=0.000", None),
        ("zstd", None),
        ("", None),
    ],
)
async def test_a_script_is_sent_in_the_best_coding_that_the_client_accepts(
    page: Starlette, accepted: str, coding: str | None
) -> None:
    response, body = await fetch(page, "/assets/page-1a2b.js", accept_encoding=accepted)
    assert response.headers.get("content-encoding") == coding
    assert body == SENT[coding]
    assert response.headers["content-type"] == "text/javascript; charset=utf-8"
    assert response.headers["vary"] == "accept-encoding"


async def test_each_coding_has_a_tag_of_its_own(page: Starlette) -> None:
    plain, _ = await fetch(page, "/assets/page-1a2b.js")
    small, _ = await fetch(page, "/assets/page-1a2b.js", accept_encoding="gzip")
    assert plain.headers["etag"] != small.headers["etag"]
    again, body = await fetch(page, "/assets/page-1a2b.js", accept_encoding="gzip", if_none_match=small.headers["etag"])
    assert (again.status_code, body, again.headers["cache-control"]) == (304, b"", FOREVER)


async def test_a_range_is_one_of_the_plain_file(page: Starlette) -> None:
    response, body = await fetch(page, "/assets/page-1a2b.js", accept_encoding="gzip", range="bytes=0-5")
    assert (response.status_code, body) == (206, b"export")
    assert "content-encoding" not in response.headers


async def test_what_was_not_compressed_is_sent_as_it_is(page: Starlette) -> None:
    for path, content in (("/assets/small-3c4d.css", b"p {}"), ("/assets/font-5e6f.woff2", b"font")):
        response, body = await fetch(page, path, accept_encoding="gzip, br")
        assert (body, response.headers.get("content-encoding")) == (content, None)


async def test_hashed_names_are_kept_and_the_page_is_asked_for_again(page: Starlette) -> None:
    for path in ("/assets/page-1a2b.js", "/assets/font-5e6f.woff2"):
        assert (await fetch(page, path))[0].headers["cache-control"] == FOREVER
    for path in ("/", "/index.html"):
        assert (await fetch(page, path))[0].headers["cache-control"] == "no-cache"
    for path in ("/assets/page-0000.js", "/nowhere"):
        missing, _ = await fetch(page, path)
        assert (missing.status_code, missing.headers.get("cache-control")) == (404, None)
