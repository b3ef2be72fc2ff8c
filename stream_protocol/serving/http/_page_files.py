"""Serves the files of the built-in page, compressed and with cache headers."""

from pathlib import Path
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Scope

from stream_protocol.serving.http._response_headers import PAGE_HEADERS, ResponseHeaders

_ENCODINGS: Final = {"br": ".br", "gzip": ".gz"}
"""The suffix of compressed files for each content coding, the best first."""

_HASHED: Final = "assets/"

_FOREVER: Final = "public, max-age=31536000, immutable"
_REVALIDATE: Final = "no-cache"


def page_files(directory: Path) -> ASGIApp:
    return ResponseHeaders(_PageFiles(directory=directory, html=True), PAGE_HEADERS)


class _PageFiles(StaticFiles):
    """Static files. If a file also exists in compressed form, the compressed form is sent."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        name = path.replace("\\", "/")
        coding = self._coding(path, Headers(scope=scope)) if _is_compressible(name) else None
        response = await super().get_response(path + _ENCODINGS[coding] if coding else path, scope)
        _describe(response.headers, name, coding)
        return response

    def _coding(self, path: str, request: Headers) -> str | None:
        """Return the best content coding, such as ``br``, that the client accepts and that exists for this file.
        Returns ``None`` if no coding fits, or if the client requests a range of the file.
        """
        if "range" in request:
            return None
        accepted = _accepted_codings(request.get("accept-encoding", ""))
        codings = (coding for coding in _ENCODINGS if coding in accepted)
        return next((coding for coding in codings if self.lookup_path(path + _ENCODINGS[coding])[1]), None)


def _accepted_codings(header: str) -> set[str]:
    accepted = set()
    for part in header.lower().split(","):
        coding, _, parameter = part.partition(";")
        weight = parameter.strip().removeprefix("q=")
        if weight.strip("0.") or not weight:
            accepted.add(coding.strip())
    return accepted


def _is_compressible(name: str) -> bool:
    return name.startswith(_HASHED) and name.endswith((".css", ".js"))


def _describe(headers: MutableHeaders, name: str, coding: str | None) -> None:
    headers["cache-control"] = _FOREVER if name.startswith(_HASHED) else _REVALIDATE
    if _is_compressible(name):
        headers.add_vary_header("accept-encoding")
    if coding is not None:
        headers["content-encoding"] = coding
        kind = "css" if name.endswith(".css") else "javascript"
        headers["content-type"] = f"text/{kind}; charset=utf-8"
