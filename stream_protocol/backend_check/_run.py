"""Runs checks against a server, several at a time, each within its time limit."""

import asyncio
from collections.abc import Collection, Sequence
from typing import Final

import httpx

from stream_protocol.backend_check._checks import CHECKS
from stream_protocol.backend_check._results import (
    PROFILES,
    BrokenError,
    Check,
    NotOfferedError,
    Outcome,
    Result,
)
from stream_protocol.backend_check._settings import Settings
from stream_protocol.backend_check._stock_client import Backend
from stream_protocol.wire import AI_SDK_VERSIONS, AiSdkVersion

AT_A_TIME: Final = 4
SILENCES_PER_CHECK: Final = 4


async def run_checks(
    url: str,
    settings: Settings | None = None,
    *,
    profiles: Collection[str] = PROFILES,
    versions: Sequence[AiSdkVersion] = AI_SDK_VERSIONS,
) -> list[Result]:
    """Returns a result for each check of the profiles. Raises ``httpx.ConnectError`` for an unreachable server."""
    settings = settings or Settings()
    async with httpx.AsyncClient(timeout=settings.timeout, follow_redirects=True, trust_env=False) as http:
        backend = Backend(url, settings, http, versions)
        first, *others = [check for check in CHECKS if check.profile in profiles]
        results = [await _run(first, backend)]
        free = asyncio.Semaphore(AT_A_TIME)

        async def run(check: Check) -> Result:
            async with free:
                return await _run(check, backend)

        return results + await asyncio.gather(*map(run, others))


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
    except httpx.ConnectError:
        raise
    except httpx.HTTPError as error:
        return Result(check, Outcome.BROKEN, f"The request fails: {error!r}.", source=check.source)
    return Result(check, Outcome.HOLDS)
