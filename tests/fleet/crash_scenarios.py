"""Conversations with real pages in which workers kill themselves."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from tests.conformance.fixtures import VERSIONS
from tests.fleet.browser import Browser, Page, Shown, browser
from tests.fleet.proxy import Proxy
from tests.fleet.workers import Workers
from tests.processes import HANG
from tests.served import served

LEASE: Final = 1.5
"""Seconds of a lease. Short, because each conversation waits for it."""

LOOK_SECONDS: Final = 0.1

NEVER: Final = (0,)
"""Boundaries of a conversation in which no worker dies."""

ONCE: Final = frozenset({"slow_note", "pay"})
"""Tools that are not declared idempotent."""

BROKE_DOWN: Final = "broke down while this tool was running"


class Result:
    """Result of a conversation. ``ran``: number of starts of each tool, by its name and arguments."""

    def __init__(self, shown: Shown, folder: Path, key: str) -> None:
        self.parts = [part for part in shown.messages[-1]["parts"] if part["type"] != "step-start"]
        self.boundaries = len((folder / f"{key}.boundaries").read_bytes())
        ran = folder / f"{key}.ran"
        self.ran = Counter(ran.read_text().splitlines() if ran.exists() else [])
        self.key = key

    def outline(self) -> list[tuple[str, str]]:
        """Return the texts and calls of the message."""
        return [(part["type"], part.get("text", "").replace(self.key, "KEY")) for part in self.parts]


def wrong(conversation_result: Result, whole: Result, *, deaths: int = 1) -> Sequence[str]:
    """Return the differences from a conversation in which no worker died."""
    found = []
    rest = iter(conversation_result.outline())
    if not all(part in rest for part in whole.outline()) or conversation_result.outline()[-1] != whole.outline()[-1]:
        found.append(f"{conversation_result.outline()} is not {whole.outline()}, with half a text in it")
    for part in conversation_result.parts:
        if part["type"].startswith("tool-") and part["state"] != "output-available":
            tool = part["type"].removeprefix("tool-")
            if tool not in ONCE or BROKE_DOWN not in part.get("errorText", ""):
                found.append(f"{tool} is {part['state']}: {part.get('errorText')}")
    for run, times in conversation_result.ran.items():
        if times > (1 if run.split()[0] in ONCE else 1 + deaths):
            found.append(f"{run} ran {times} times")
    if sum(conversation_result.ran.values()) > sum(whole.ran.values()) + deaths:
        found.append(f"too much ran again: {conversation_result.ran}")
    return found


class CrashScenario:
    """Conversations of one kind, in which workers die, with pages of each client version in turn."""

    def __init__(self, deployment: Workers, kind: str, pages: Sequence[Browser]) -> None:
        self._house = deployment
        self._kind = kind
        self._pages = pages
        self._numbers = count()

    async def conversation(self, deaths: Sequence[int]) -> Result:
        """Run a conversation. At each of these boundaries the worker that reaches it dies."""
        number = next(self._numbers)
        pages, worker = self._pages[number % len(self._pages)], number % len(self._house.ports)
        key = f"{self._kind}{number}{uuid4().hex[:6]}"
        page = await pages.page(key, worker=worker)
        await page.send(f"{self._kind} {key} {','.join(map(str, deaths))}")
        shown = await self._ended(pages, page, key, worker)
        if asks(shown):
            await asyncio.to_thread(self._house.mend)
            page = await pages.reloaded(key, worker=worker)
            await page.settled()
            await page.approve("pay")
            shown = await self._ended(pages, page, key, worker)
        assert shown.status == "ready", (self._kind, deaths, shown, self._house.said())
        return Result(shown, self._house.tool_log.folder, key)

    async def _ended(self, pages: Browser, page: Page, key: str, worker: int) -> Shown:
        """Return the final message. If the worker has died, a page reconnects until the message is complete."""
        shown = await page.settled()
        if shown.status != "ready":
            mending = asyncio.create_task(self._mend())
            page, shown = await comes_back(pages, key, worker=None)
            while not shown.messages:  # the request was not answered, and its run waits to be recovered
                await asyncio.sleep(0.2)
                page, shown = await comes_back(pages, key, worker=None)
            mending.cancel()
            await asyncio.wait([mending])
            await asyncio.to_thread(self._house.mend)
        assert await page.stored_as(shown), (shown.messages, await page.stored(), self._house.said())
        return shown

    async def _mend(self) -> None:
        """Restart workers that die, as a supervisor."""
        while True:
            await asyncio.to_thread(self._house.mend)
            await asyncio.sleep(LOOK_SECONDS)


@asynccontextmanager
async def open_scenario(deployment: Workers, kind: str) -> AsyncIterator[CrashScenario]:
    """Open a scenario with pages, which reach the workers through a proxy."""
    async with AsyncExitStack() as stack:
        url = stack.enter_context(served(Proxy(deployment.ports).app))
        yield CrashScenario(
            deployment, kind, [await stack.enter_async_context(browser(url, version)) for version in VERSIONS]
        )


async def comes_back(pages: Browser, key: str, *, worker: int | None) -> tuple[Page, Shown]:
    """Reload a page at this worker until the response has ended.

    A run may end between the page's requests for the history and for the stream.
    """
    async with asyncio.timeout(HANG):
        while True:
            page = await pages.reloaded(key, worker=worker)
            shown = await page.settled()
            if shown.status == "ready" and await page.stored_as(shown, looks=1):
                return page, shown


async def die_at_each_boundary(deployment: Workers, kind: str) -> None:
    """Run a conversation for each boundary of this kind, at which its worker dies."""
    async with open_scenario(deployment, kind) as scenario:
        whole, before = await scenario.conversation(NEVER), sum(worker.deaths for worker in deployment.workers)
        for boundary in range(1, whole.boundaries + 1):
            found = wrong(await scenario.conversation((boundary,)), whole)
            assert sum(worker.deaths for worker in deployment.workers) == before + boundary
            assert not found, "\n".join([f"{kind}, boundary {boundary}", *found, deployment.said()])


def asks(shown: Shown) -> bool:
    """Return True if the user has to approve a call."""
    parts: list[Any] = shown.messages[-1]["parts"]
    return any(part.get("state") == "approval-requested" for part in parts)
