"""Runs checks against a server, several at a time, each within its time limit."""

import asyncio
import socket
from collections.abc import Collection, Sequence
from typing import Final

import httpx

from stream_protocol.backend_check._chat_checks import CHAT_CHECKS
from stream_protocol.backend_check._durable_checks import DURABLE_CHECKS
from stream_protocol.backend_check._results import (
    PROFILES,
    BrokenError,
    Check,
    NoBackendError,
    NotOfferedError,
    Outcome,
    Result,
)
from stream_protocol.backend_check._settings import Settings
from stream_protocol.backend_check._steps import MISSING
from stream_protocol.backend_check._stock_client import Backend
from stream_protocol.backend_check._stream_checks import STREAM_CHECKS
from stream_protocol.backend_check._tool_checks import TOOL_CHECKS
from stream_protocol.wire import AI_SDK_VERSIONS, AiSdkVersion

CHECKS: Final = (*STREAM_CHECKS, *CHAT_CHECKS, *TOOL_CHECKS, *DURABLE_CHECKS)
AT_A_TIME: Final = 4
SMALL_BUFFER: Final = 4096
"""Bytes that the kernel takes for a slow reader."""
SILENCES_PER_CHECK: Final = 4


async def run_checks(
    url: str,
    settings: Settings | None = None,
    *,
    profiles: Collection[str] = PROFILES,
    versions: Sequence[AiSdkVersion] = AI_SDK_VERSIONS,
) -> list[Result]:
    """Returns a result for each check of the profiles. Raises ``NoBackendError`` if there is no chat at the address."""
    settings = settings or Settings()
    slow = httpx.AsyncHTTPTransport(socket_options=[(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)])
    async with _client(settings) as http, _client(settings, slow) as slow_http:
        backend = Backend(url, settings, http, slow_http, versions)
        await _reach(backend)
        first, *others = [check for check in CHECKS if check.profile in profiles]
        results = [await _run(first, backend)]
        free = asyncio.Semaphore(AT_A_TIME)

        async def run(check: Check) -> Result:
            async with free:
                return await _run(check, backend)

        return results + await asyncio.gather(*map(run, others))


def _client(settings: Settings, transport: httpx.AsyncBaseTransport | None = None) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        timeout=settings.timeout,
        follow_redirects=True,
        trust_env=False,
        transport=transport,
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
    )


async def _reach(backend: Backend) -> None:
    """Sends a request without messages, whose answer does not matter if it comes from a chat."""
    try:
        status, _ = await backend.post_raw(b"{}")
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise NoBackendError(f"{backend.url}: cannot connect: {str(error) or type(error).__name__}") from None
    if status in MISSING:
        raise NoBackendError(f"{backend.url}: POST is HTTP {status}; --url is the address of the chat itself")
    if status in (401, 403):
        raise NoBackendError(f"{backend.url}: HTTP {status}; set the headers of a user in the file of --prompts")


async def _run(check: Check, backend: Backend) -> Result:
    try:
        for feature in check.needs:
            backend.candidates(feature)
        async with asyncio.timeout(SILENCES_PER_CHECK * backend.settings.timeout):
            await check.steps(backend)
    except NotOfferedError as error:
        return Result(check, Outcome.NOT_OFFERED, error.reason, declared=error.declared)
    except BrokenError as error:
        return Result(check, Outcome.BROKEN, error.reason, error.chunk, error.source or check.source)
    except TimeoutError:
        return Result(check, Outcome.BROKEN, "The check takes too long.", source=check.source)
    except httpx.HTTPError as error:
        return Result(check, Outcome.BROKEN, f"The request fails: {error!r}.", source=check.source)
    return Result(check, Outcome.HOLDS)
