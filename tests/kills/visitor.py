"""User whose pages are real clients. Follows a schedule, and reconnects when a server is lost."""

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count, cycle
from typing import Any, Final
from uuid import uuid4

from tests.conformance.test_resume_against_client import without_approvals
from tests.fleet.browser import Pages
from tests.kills.kinds import KINDS
from tests.kills.schedule import Chat, Visit
from tests.processes import HANG

LOOK_SECONDS: Final = 0.2

ACCEPTED: Final = 202
"""Status of an accepted stop."""

CONFLICT: Final = 409
NO_QUESTION: Final = "There is no such request to answer any more."
CLOSED_QUESTION: Final = "That request was closed before it was answered."

TERMINALS: Final = frozenset({"finish", "abort", "error"})

FILE: Final = {"type": "file", "mediaType": "image/png", "filename": "seen.png", "url": "data:image/png;base64,aGk="}


@dataclass(frozen=True)
class Reading:
    """Request of a page and its response. Times are of the machine's monotonic clock."""

    method: str
    path: str
    body: str | None
    begun: float
    answered: float | None
    ended: float | None
    status: int
    """Status of the response; 0 if none came."""
    port: int
    text: str
    cut: str | None
    page: str = ""

    @property
    def is_post(self) -> bool:
        return self.method == "POST" and self.path == "/api/chat"

    @property
    def is_resume(self) -> bool:
        return self.path.endswith("/stream")

    @property
    def is_history(self) -> bool:
        return self.method == "GET" and not self.is_resume

    @property
    def is_stream(self) -> bool:
        return self.status == 200 and (self.is_post or self.is_resume)

    @property
    def chunks(self) -> list[Any]:
        lines = [line.removeprefix("data: ") for line in self.text.split("\n") if line.startswith("data: ")]
        whole = lines if self.cut is None else lines[:-1]
        return [json.loads(line) for line in whole if line != "[DONE]"]

    @property
    def is_over(self) -> bool:
        """True if the response has ended, or there was none. The client does not read past an error."""
        return self.status == 204 or (
            self.is_stream and ("data: [DONE]" in self.text or any(each["type"] == "error" for each in self.chunks))
        )

    @property
    def is_outdated(self) -> bool:
        """True if a later request has replaced this request."""
        return (
            self.is_post
            and self.status == CONFLICT
            and any(text in self.text for text in (NO_QUESTION, CLOSED_QUESTION))
        )

    @property
    def has_left(self) -> bool:
        """True if the page was closed during the response."""
        return self.cut == "left" or (self.cut or "").startswith("AbortError")

    @property
    def ends_in(self) -> str | None:
        chunks = self.chunks if self.is_stream and self.is_over else ()
        return chunks[-1]["type"] if chunks else None

    @property
    def said(self) -> dict[str, Any]:
        """Last posted message, and the request's trigger."""
        body = json.loads(self.body or "{}")
        return {"trigger": body.get("trigger"), "messageId": body.get("messageId"), "message": body["messages"][-1]}

    def told(self) -> str:
        what = f"{self.method} {self.path.rpartition('/')[2]}" if not self.is_post else f"POST {self._summary()}"
        took = f"{self.begun % 1000:.3f} +{(self.answered or self.begun) - self.begun:.2f}"
        took += f" +{(self.ended or self.begun) - self.begun:.2f}"
        kinds = [chunk["type"] for chunk in self.chunks] if self.is_stream else []
        error = [chunk.get("errorText") for chunk in self.chunks if chunk["type"] == "error"] if self.is_stream else ""
        rest = "" if self.status in {200, 202, 204} else self.text[:120]
        return (
            f"{took} {what} :{self.port} {self.status} {len(kinds)} chunks {kinds[-2:]} {error} {self.cut or ''} {rest}"
        )

    def _summary(self) -> str:
        said = self.said
        message = said["message"]
        text = " ".join(part.get("text", part.get("state", part["type"])) for part in message["parts"][-2:])
        return f"{said['trigger']} {said['messageId']} {message['role']} {message['id'][:12]} {text[:40]!r}"


@dataclass
class SentMessage:
    """User message. ``disturbed``: another request came before its response."""

    kind: str
    key: str
    approves: bool
    file: bool
    disturbed: bool = False

    @property
    def words(self) -> str:
        return f"{self.kind} {self.key}"


@dataclass
class Stop:
    said: SentMessage
    status: int
    sent: float
    answered: float


@dataclass
class Deletion:
    status: int
    sent: float
    answered: float


class Tab:
    """A page of a chat."""

    def __init__(self, visitor: "Visitor", name: str, worker: int) -> None:
        self.visitor = visitor
        self.name = name
        self.worker = worker
        self.superseded = False
        self.shown: Any = None

    async def do(self, what: str, **given: Any) -> Any:
        return await self.visitor.pages.ask(do=what, page=self.name, **given)

    async def readings(self) -> list[Reading]:
        return [Reading(**told, page=self.name) for told in await self.do("told", meanwhile=True)]


class Visitor:
    """User of one chat. ``moments``: events of each visit, set when its message is sent, and at its response."""

    def __init__(self, number: int, chat: Chat, ports: Sequence[int], pages: Pages) -> None:
        self.id = f"chat{number}-{uuid4().hex[:6]}"
        self.chat = chat
        self.pages = pages
        self.ports = ports
        self.moments = [{"sent": asyncio.Event(), "answered": asyncio.Event()} for _ in chat.visits]
        self.said: list[SentMessage] = []
        self.stops: list[Stop] = []
        self.deletions: list[Deletion] = []
        self.tabs: list[Tab] = []
        self.wrong: list[str] = []
        self._supersedings = 0
        self._numbers = count()
        self._keys = count()

    async def live(self) -> None:
        try:
            await self._live()
        finally:
            for moment in self.moments:
                for event in moment.values():
                    event.set()

    async def _live(self) -> None:
        await asyncio.sleep(self.chat.begins)
        tab: Tab | None = None
        for number, visit in enumerate(self.chat.visits):
            if tab is None:
                tab = await self.open(visit.worker, stored=bool(number))
            tab = await self.visit(tab, visit, self.moments[number])

    async def open(self, worker: int, *, stored: bool = False, of: Tab | None = None) -> Tab:
        tab = Tab(self, f"{self.id}/{next(self._numbers)}", worker)
        more = {} if of is None else {"of": of.name}
        where = {"ai": self.chat.ai, "chat": self.id, "ports": self.ports, "worker": worker, "stored": stored}
        before = self._supersedings
        await tab.do("open", **where, **more)
        tab.superseded = self._supersedings != before  # what it has loaded may be gone
        self.tabs.append(tab)
        return tab

    async def reload(self, worker: int) -> Tab:
        tab = await self.open(worker, stored=True)
        await tab.do("resume")
        return tab

    def say(self, kind: str, visit: Visit, *, file: bool = False) -> SentMessage:
        said = SentMessage(kind, f"{self.id.partition('-')[2]}k{next(self._keys)}", visit.approves, file)
        self.said.append(said)
        return said

    async def visit(self, tab: Tab, visit: Visit, moments: Mapping[str, asyncio.Event]) -> Tab | None:
        """Do a visit. Returns the page of the chat; ``None`` if a new page must be opened."""
        said = self.say(visit.kind, visit, file=visit.file)
        await tab.do("send", text=said.words, files=[FILE] if visit.file else [])
        moments["sent"].set()
        following = asyncio.create_task(self.follow(tab, visit, said))
        answered = asyncio.create_task(self.answered(tab, moments["answered"]))
        if not visit.action:
            return (await asyncio.gather(following, answered))[0]
        await moments[visit.since].wait()
        await asyncio.sleep(visit.after)
        try:
            other = await self.action(tab, visit, said)
        finally:
            last, _ = await asyncio.gather(following, answered)
        return other or (last if visit.action in {"stop", "leave", "tab"} else None)

    async def answered(self, tab: Tab, event: asyncio.Event) -> None:
        await tab.do("begun", meanwhile=True)
        event.set()

    async def action(self, tab: Tab, visit: Visit, said: SentMessage) -> Tab | None:
        match visit.action:
            case "leave":
                await tab.do("leave", meanwhile=True)
            case "tab":
                await self.follow(await self.reload(visit.other_worker), visit, said)
            case "stop":
                await self.stop(tab, said)
            case "delete":
                said.disturbed = True
                self.supersede()
                sent = time.monotonic()
                status = await tab.do("remove", meanwhile=True)
                self.deletions.append(Deletion(status, sent, time.monotonic()))
            case "words":
                other = await self.open(visit.other_worker, stored=True)
                new = self.say(visit.then, visit)
                said.disturbed = True
                await other.do("send", text=new.words)
                return await self.follow(other, visit, new)
            case "edit":
                other = await self.open(visit.other_worker, stored=True)
                new = SentMessage(visit.then, f"{said.key}e", visit.approves, file=False)
                if await other.do("words") is not None:
                    said.disturbed = True
                    self.said.append(new)
                    self.supersede(other)
                    await other.do("edit", text=new.words)
                    return await self.follow(other, visit, new)
            case "regenerate":
                other = await self.open(visit.other_worker, stored=True)
                words = await other.do("words")
                if words is not None:
                    last = next(each for each in self.said if each.words == words)  # it may be an earlier one
                    said.disturbed = said is not last
                    self.supersede(other)
                    await other.do("regenerate")
                    return await self.follow(other, visit, last)
        return None

    def supersede(self, tab: Tab | None = None) -> None:
        """Abandon all other pages, including pages that are about to open."""
        self._supersedings += 1
        for each in self.tabs:
            each.superseded = each is not tab

    async def stop(self, tab: Tab, said: SentMessage) -> None:
        said.disturbed = True
        sent = time.monotonic()
        status = await tab.do("stop", meanwhile=True)
        self.stops.append(Stop(said, status, sent, time.monotonic()))

    async def follow(self, tab: Tab, visit: Visit, said: SentMessage) -> Tab:
        """Read the response to its end. Reconnects if it is cut off, and answers its calls."""
        ways, pauses = cycle(visit.ways), cycle(visit.pauses)
        replies = {
            tool: visit.approves if isinstance(given, bool) else given for tool, given in KINDS[said.kind].asks.items()
        }
        deadline = time.monotonic() + 2 * HANG
        while True:
            assert time.monotonic() < deadline, f"{self.id} comes to no end"
            tab.shown = await tab.do("settle", early=replies if visit.early else None)
            if tab.superseded:
                return tab
            last = next((each for each in reversed(await tab.readings()) if each.is_post or each.is_resume), None)
            if last is not None and last.is_over:
                if replies and await tab.do("reply", replies=replies):
                    continue
                if last.status == 200 or await self.is_stored(tab):
                    return tab
                await asyncio.sleep(LOOK_SECONDS)
                tab = await self.reload(tab.worker)
                continue
            await asyncio.sleep(next(pauses))
            if tab.superseded:
                return tab
            if last is not None and last.is_outdated:  # sent again, it would be refused again
                tab = await self.reload(tab.worker)
                continue
            accepted = await self.was_accepted(tab)
            if accepted is None or accepted:
                way = next(ways)
                # A user who has stopped an answer does not ask for it again, which would be answered anew.
                is_stopped = any(stop.said is said and stop.status == ACCEPTED for stop in self.stops)
                can_repeat = accepted is not None and visit.action not in {"edit", "delete"} and not is_stopped
                tab = await (
                    self.open(tab.worker, of=tab) if way == "repeat" and can_repeat else self.reload(tab.worker)
                )
            else:
                tab = await self.open(tab.worker, of=tab)

    async def was_accepted(self, tab: Tab) -> bool | None:
        """Return True if the page's last request got 200, on any page; ``None`` if it sent none."""
        posts = [each for each in await tab.readings() if each.is_post]
        if not posts:
            return None
        readings = await self.readings()
        return any(each.body == posts[-1].body and each.status == 200 for each in readings)

    async def is_stored(self, tab: Tab) -> bool:
        stored = await tab.do("stored")
        return bool(without_approvals(stored) == without_approvals(tab.shown["messages"]))

    async def readings(self) -> list[Reading]:
        """Return all requests of the chat, in the order of their beginnings."""
        found = [reading for tab in self.tabs for reading in await tab.readings()]
        return sorted(found, key=lambda reading: reading.begun)
