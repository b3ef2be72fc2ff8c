"""Runs checks against a server, several at a time."""

import asyncio
import socket
from collections.abc import Callable, Collection, Sequence
from typing import Final

import httpx

from stream_protocol.backend_check._chat_checks import CHAT_CHECKS
from stream_protocol.backend_check._durable_checks import DURABLE_CHECKS
from stream_protocol.backend_check._reload_checks import RELOAD_CHECKS
from stream_protocol.backend_check._results import (
    MISSING,
    PROFILES,
    BrokenError,
    Check,
    NoBackendError,
    NotOfferedError,
    Outcome,
    Result,
)
from stream_protocol.backend_check._settings import Settings
from stream_protocol.backend_check._stock_client import Backend
from stream_protocol.backend_check._stream_checks import STREAM_CHECKS
from stream_protocol.backend_check._tool_checks import TOOL_CHECKS
from stream_protocol.wire import AI_SDK_VERSIONS, AiSdkVersion

CHECKS: Final = (*STREAM_CHECKS, *CHAT_CHECKS, *TOOL_CHECKS, *DURABLE_CHECKS, *RELOAD_CHECKS)
AT_A_TIME: Final = 4
SMALL_BUFFER: Final = 4096
"""The size of the receive buffer of a slow reader, in bytes."""
TIMEOUTS_PER_CHECK: Final = 4
"""The time limit of a check, in multiples of ``Settings.timeout``."""


async def run_checks(
    url: str,
    settings: Settings | None = None,
    *,
    profiles: Collection[str] = PROFILES,
    versions: Sequence[AiSdkVersion] = AI_SDK_VERSIONS,
    on_result: Callable[[Result], object] = lambda _: None,
) -> list[Result]:
    """Run the checks of the profiles, and return their results. Raises ``NoBackendError`` if the URL is not a chat
    endpoint.

    ``on_result``: called with each result as soon as it is known. At the end, the chats that the checks created are
    deleted, even if the function is cancelled.
    """
    settings = settings or Settings()
    slow = httpx.AsyncHTTPTransport(socket_options=[(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)])
    async with _client(settings) as http, _client(settings, slow) as slow_http:
        backend = Backend(url, settings, http, slow_http, versions)
        await _require_backend(backend)
        free = asyncio.Semaphore(AT_A_TIME)

        async def run(check: Check) -> Result:
            async with free:
                result = await _run(check, backend)
            on_result(result)
            return result

        first, *others = checks_of(profiles)
        try:
            return [await run(first), *await asyncio.gather(*map(run, others))]
        finally:
            await backend.delete_chats()


def checks_of(profiles: Collection[str]) -> list[Check]:
    """Return the checks of the profiles, in the order of the report."""
    return [check for check in CHECKS if check.profile in profiles]


def _client(settings: Settings, transport: httpx.AsyncBaseTransport | None = None) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        timeout=settings.timeout,
        follow_redirects=True,
        trust_env=False,
        transport=transport,
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
    )


async def _require_backend(backend: Backend) -> None:
    """Send a request without messages. Raise ``NoBackendError`` if the response shows that the URL is not a chat
    endpoint.
    """
    try:
        async with backend.http.stream("POST", backend.url, content=b"{}", headers=backend.headers) as response:
            status, kind = response.status_code, response.headers.get("content-type", "")
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise NoBackendError(f"{backend.url}: {_reason(error, backend.settings.timeout)}") from None
    if status in MISSING:
        raise NoBackendError(f"{backend.url}: POST gets HTTP {status}{_wrong_url(backend)}")
    if status < 300 and kind.startswith("text/html"):
        raise NoBackendError(f"{backend.url}: POST gets a web page{_wrong_url(backend)}")
    if status in (401, 403):
        raise NoBackendError(f"{backend.url}: HTTP {status}: set a user's `headers` in the file of --prompts")


def _wrong_url(backend: Backend) -> str:
    given = httpx.URL(backend.url)
    usual = given.copy_with(path="/api/chat", query=None, fragment=None)
    example = f", such as {usual}" if usual.path != given.path else ""
    return f": pass the URL of the chat endpoint{example}"


def _reason(error: Exception, seconds: float) -> str:
    match error:
        case httpx.ConnectTimeout():
            return f"no connection within {seconds:g} seconds"
        case httpx.TimeoutException():
            return f"no response within {seconds:g} seconds"
        case httpx.ConnectError():
            return "cannot connect: start the server, or correct the URL"
        case httpx.TooManyRedirects():
            return "too many redirects"
        case httpx.ReadError() | httpx.RemoteProtocolError():
            return "the server closes the connection without a response"
        case httpx.LocalProtocolError():
            return f"the request cannot be sent: {error}"
    return f"cannot connect: {str(error) or type(error).__name__}"


async def _run(check: Check, backend: Backend) -> Result:
    try:
        for feature in check.needs:
            backend.prompts(feature)
        async with asyncio.timeout(TIMEOUTS_PER_CHECK * backend.settings.timeout):
            await check.steps(backend)
    except NotOfferedError as error:
        return Result(check, Outcome.NOT_OFFERED, error.reason, excused=error.excused)
    except BrokenError as error:
        return Result(check, Outcome.BROKEN, error.reason, error.chunk, error.source or check.source)
    except TimeoutError:
        seconds = TIMEOUTS_PER_CHECK * backend.settings.timeout
        return Result(check, Outcome.BROKEN, f"The check takes more than {seconds:g} seconds.", source=check.source)
    except httpx.HTTPError as error:
        reason = f"The request fails: {_reason(error, backend.settings.timeout)}."
        return Result(check, Outcome.BROKEN, reason, source=check.source)
    return Result(check, Outcome.HOLDS)
