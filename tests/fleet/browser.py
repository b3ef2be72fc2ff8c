"""Pages with the real client, in Node."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

import pytest

from stream_protocol.wire import AiSdkVersion
from tests.conformance.fixtures import PROJECT, VERSIONS
from tests.conformance.test_resume_against_client import without_approvals
from tests.processes import HANG
from tests.tools import require_node_project

LINE_BYTES = 2**24

LOOKS = 50
"""Maximum number of comparisons of a chat on two workers, until both are equal."""

PAUSE_SECONDS = 0.1
"""Seconds between two comparisons."""

CLIENT_VERSIONS: Final = pytest.mark.parametrize("deployment", VERSIONS, ids=["v6", "v7"], indirect=True)
"""Runs a test with two workers for each version of the client."""

Json = dict[str, Any]


@dataclass(frozen=True)
class Shown:
    """State of a page without a running response."""

    status: str
    error: str | None
    messages: list[Json]

    def text(self) -> str:
        """Text of the last message."""
        return "".join(part["text"] for part in self.messages[-1]["parts"] if part["type"] == "text")

    def tool(self, name: str) -> Json:
        """Return the last call of this tool in the last message."""
        calls: list[Json] = [part for part in self.messages[-1]["parts"] if part["type"] == f"tool-{name}"]
        return calls[-1]


class Page:
    """Page of a chat. Methods that begin a response do not wait for its end."""

    def __init__(self, browser: "Browser", name: str) -> None:
        self._browser = browser
        self._name = name

    async def turn(self, worker: int | None) -> None:
        """Send later requests to this worker."""
        await self._do("turn", worker=worker)

    async def send(self, text: str) -> None:
        await self._do("send", text=text)

    async def edit(self, text: str) -> None:
        """Edit the user's last message."""
        await self._do("edit", text=text)

    async def approve(self, tool: str) -> None:
        await self._do("approve", tool=tool, approved=True)

    async def answer(self, tool: str, output: Any) -> None:
        await self._do("answer", tool=tool, output=output)

    async def resume(self) -> None:
        await self._do("resume")

    async def until(self, **part: Any) -> None:
        """Wait until the last message has a part with all these keys and values."""
        await self._do("until", part=part)

    async def stop(self) -> int:
        """Stop the run at the server. Returns the response's status."""
        status: int = await self._do("stop")
        return status

    async def settled(self) -> Shown:
        return Shown(**await self._do("settle"))

    async def at_rest(self) -> Shown:
        """Return the settled page, which has no error and shows the stored messages."""
        shown = await self.settled()
        assert (shown.status, shown.error) == ("ready", None)
        assert await self.stored_as(shown), f"{shown.messages} is not {await self.stored()}"
        return shown

    async def stored(self) -> list[Json]:
        messages: list[Json] = await self._do("stored")
        return messages

    async def stored_as(self, shown: Shown, *, looks: int = LOOKS) -> bool:
        """Return True if the stored messages equal the shown messages. Retries, since another worker may learn the end
        later.
        """
        expected = without_approvals(shown.messages)
        for _ in range(looks):
            if without_approvals(await self.stored()) == expected:
                return True
            await asyncio.sleep(PAUSE_SECONDS)
        return False

    async def _do(self, what: str, **command: Any) -> Any:
        return await self._browser.ask(do=what, page=self._name, **command)


class Pages:
    """Node process with pages. Commands to one page run in sequence, commands to several pages at once."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._asked: dict[int, asyncio.Future[Any]] = {}
        self._numbers = count()
        self._reading = asyncio.create_task(self._read())

    async def ask(self, **command: Any) -> Any:
        """Run a command and return its result. The command continues even if the caller is cancelled."""
        assert self._process.stdin is not None
        assert not self._reading.done(), f"the pages have gone at {command}"
        number = next(self._numbers)
        answer = self._asked[number] = asyncio.get_running_loop().create_future()
        self._process.stdin.write(json.dumps({"n": number, **command}).encode() + b"\n")
        try:
            async with asyncio.timeout(HANG):
                return await answer
        except TimeoutError as error:
            raise AssertionError(f"it hangs: {command}") from error

    async def aclose(self) -> None:
        self._reading.cancel()
        await asyncio.wait([self._reading])

    async def _read(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            said = json.loads(line)
            answer = self._asked.pop(said["n"])
            if answer.done():
                continue
            if "failed" in said:
                answer.set_exception(AssertionError(said["failed"]))
            else:
                answer.set_result(said["done"])
        for answer in self._asked.values():
            answer.set_exception(AssertionError("the pages have gone"))


class Browser:
    """All pages of a test that use one address."""

    def __init__(self, pages: Pages, url: str, ai_sdk: AiSdkVersion, user: str | None) -> None:
        self.ask = pages.ask
        self._url = url
        self._ai_sdk = ai_sdk
        self._user = user
        self._opened = 0

    async def page(self, chat: str, *, worker: int | None = None, stored: bool = False) -> Page:
        """Return a new page that uses this worker. ``stored``: with the stored messages, else empty."""
        self._opened += 1
        name = str(self._opened)
        where = {
            "ai": self._ai_sdk,
            "url": self._url,
            "chat": chat,
            "worker": worker,
            "stored": stored,
            "user": self._user,
        }
        await self.ask(do="open", page=name, **where)
        return Page(self, name)

    async def reloaded(self, chat: str, *, worker: int | None = None) -> Page:
        """Return a reloaded page of a chat that may have a run: the page resumes it."""
        page = await self.page(chat, worker=worker, stored=True)
        await page.resume()
        return page


@asynccontextmanager
async def pages_of(script: str, **env: str) -> AsyncIterator[Pages]:
    """Start pages with this script of the Node project. ``env``: further variables for Node."""
    node = require_node_project(PROJECT)
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        node, PROJECT / "scripts" / script, stdin=pipe, stdout=pipe, limit=LINE_BYTES, env={**os.environ, **env}
    )
    pages = Pages(process)
    try:
        yield pages
    finally:
        await pages.aclose()
        with suppress(ProcessLookupError):  # it has gone by itself
            process.kill()
        await process.communicate()


@asynccontextmanager
async def browser(url: str, ai_sdk: AiSdkVersion, *, user: str | None = None, **env: str) -> AsyncIterator[Browser]:
    """Start pages for the servers at this address. ``user``: value of the header ``x-user``. ``env``: variables for
    Node.
    """
    async with pages_of("fleet-pages.mjs", **env) as pages:
        yield Browser(pages, url, ai_sdk, user)
