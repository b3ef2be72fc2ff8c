"""Concurrent users, each with one chat after the other. Some use the real client."""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Final

import httpx

from tests.fleet.browser import Browser, Page, Shown, browser
from tests.fleet.chat_user import REST, ChatUser
from tests.fleet.fault_injector import FaultInjector
from tests.fleet.guarantees import at_rest, violations
from tests.fleet.workers import Fleet
from tests.processes import HANG
from tests.soak.watch import Watch

USER: Final = "x-user"
"""Header with the user's name."""

KINDS: Final = ("say", "say", "stroll", "pay", "where", "fail")
MOST_TURNS: Final = 3
"""Maximum turns of a chat."""

DELETED: Final = 0.5
"""Share of the chats that are deleted at their end."""


@dataclass
class Crowd:
    """Concurrent users.

    ``broken``: violated guarantees. The workers of ``fleet`` read the user from the header ``USER``.
    """

    fleet: Fleet
    fault_injector: FaultInjector
    watch: Watch
    rng: Random
    broken: list[str] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=count)

    async def live(self, until: float, *, people: int) -> None:
        """Let ``people`` users chat at once, until this time. After each chat a new user begins the next.

        Each of the ``people`` users has at least one chat, even if the time is over.
        """
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
        async with httpx.AsyncHTTPTransport(limits=limits) as transport:
            await asyncio.gather(*(self._live_on(until, transport) for _ in range(people)))

    async def _live_on(self, until: float, transport: httpx.AsyncBaseTransport) -> None:
        while True:
            self.watch.chats += 1
            chat = f"chat{next(self._numbers)}"
            http = httpx.AsyncClient(transport=transport, timeout=HANG, headers={USER: f"of-{chat}"})
            chat_user = ChatUser(chat, self.fleet.ports, http, Random(self.rng.getrandbits(64)), KINDS)
            for _ in range(self.rng.randint(1, MOST_TURNS)):
                await chat_user.take_turn()
            self.broken += await self._judged(chat_user)
            if self.rng.random() < DELETED:
                self.broken += await self._deleted(chat_user, http)
            if time.monotonic() >= until:
                return

    async def _judged(self, chat_user: ChatUser) -> list[str]:
        """Return the violated guarantees. A problem during a fault is checked again after the fault."""
        while True:
            begun = time.monotonic()
            try:
                broken = await at_rest(chat_user, self.fault_injector)
            except httpx.TransportError as error:
                broken = [f"{chat_user.chat}: {error!r}"]
            if not broken or not self.fault_injector.excuses(begun, time.monotonic()):
                return [
                    *broken,
                    *violations(chat_user, self.fault_injector, self.fleet.tool_log.tool_runs(chat_user.chat)),
                ]
            await asyncio.sleep(REST)

    async def _deleted(self, chat_user: ChatUser, http: httpx.AsyncClient) -> list[str]:
        """Delete the chat at one worker, and request it at both. Returns the problems."""
        begun = time.monotonic()
        places = [f"http://127.0.0.1:{port}/api/chat/{chat_user.chat}" for port in self.fleet.ports]
        try:
            statuses = [(await http.delete(self.rng.choice(places))).status_code]
            statuses += [(await http.get(place)).status_code for place in places]
        except httpx.TransportError:
            statuses = []
        if statuses == [204, 404, 404] or self.fault_injector.excuses(begun, time.monotonic()):
            return []
        return [f"{chat_user.chat}: its deletion was answered with {statuses}"]


@dataclass
class RealClient:
    """User with pages of the real client, in Node, behind a load balancer at ``url``.

    Sends messages, reloads the page during a reply, stops it, and approves. At the end the page must show the stored
    messages.
    """

    crowd: Crowd
    url: str
    name: str
    rng: Random

    async def live(self, until: float) -> None:
        """Chat until this time, one chat after the other. If the browser fails during a fault, start a new browser."""
        while time.monotonic() < until:
            begun = time.monotonic()
            try:
                async with browser(self.url, self.crowd.fleet.ai_sdk, user=self.name) as opened:
                    while time.monotonic() < until:
                        begun = time.monotonic()
                        self.crowd.watch.chats += 1
                        await self._chat(opened, f"{self.name}-{self.crowd.watch.chats}")
            except (AssertionError, TimeoutError) as error:
                self._complain(f"{self.name}: {error!r}", begun)

    async def _chat(self, browser: Browser, chat: str) -> None:
        page = await browser.page(chat)
        for turn in range(self.rng.randint(1, MOST_TURNS)):
            begun = time.monotonic()
            kind = self.rng.choice(KINDS)
            await page.send(f"{kind} {chat}.{turn}")
            await asyncio.sleep(self.rng.uniform(0, 0.6))
            match self.rng.choice(["read", "reload", "stop"]):
                case "reload":
                    page = await browser.page(chat, stored=True)
                    await page.resume()
                case "stop":
                    await page.stop()
            shown = await self._answered(page, await page.settled())
            if shown.status not in {"ready", "error" if kind == "fail" else "ready"}:
                self._complain(f"{chat}: {kind} shows {shown}", begun)
        begun = time.monotonic()
        page = await browser.page(chat, stored=True)
        await page.resume()
        await page.settled()
        await page.send(f"say {chat}.last")
        shown = await page.settled()
        if shown.status != "ready" or not await page.stored_as(shown):
            self._complain(f"{chat}: {shown} is not what is stored", begun)

    async def _answered(self, page: Page, shown: Shown) -> Shown:
        """Answer the agent's questions. Returns the page after them."""
        parts = shown.messages[-1]["parts"] if shown.messages else []
        match [(part["type"], part["state"]) for part in parts if "state" in part][-1:]:
            case [("tool-pay", "approval-requested")]:
                await page.approve("pay")
            case [("tool-where", "input-available")]:
                await page.answer("where", "Oslo")
        return await page.settled()

    def _complain(self, wrong: str, begun: float) -> None:
        if not self.crowd.fault_injector.excuses(begun, time.monotonic()):
            self.crowd.broken.append(wrong)
