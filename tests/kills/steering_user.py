"""User who steers a running agent while its workers are killed, and records each outcome."""

import asyncio
import copy
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, Literal, cast

import httpx

from stream_protocol.wire import ClientStreamError
from stream_protocol.wire.client import MessageReducer
from tests.processes import HANG

PAUSE: Final = 0.1
"""Seconds between two attempts of a request."""

RETRIED: Final = frozenset({429, 503})
"""Statuses after which a client sends the same request again."""

Json = dict[str, Any]
Way = Literal["route", "message"]
"""The request that steers: ``POST /steer``, or a new message with ``on_busy="steer"``."""

WAYS: Final[Sequence[Way]] = ("route", "message")


@dataclass
class SentMessage:
    """A message of the user.

    ``outcome``: ``delivered`` if a server has acknowledged it, ``refused`` if a server has said that it is not stored,
    and ``""`` before.
    """

    body: Json
    outcome: Literal["", "delivered", "refused"] = ""

    @property
    def id(self) -> str:
        return str(self.body["id"])

    @property
    def text(self) -> str:
        return str(self.body["parts"][0]["text"])


@dataclass
class Shown:
    """The message that a page has read to its end, and the type of the last chunk."""

    message: Any
    ends_in: str


@dataclass
class SteeringUser:
    """User of one chat. ``rng`` draws the user's actions and their times."""

    chat: str
    ports: Sequence[int]
    http: httpx.AsyncClient
    rng: Random
    ai_sdk: Literal[6, 7]
    steered: list[SentMessage] = field(default_factory=list)
    shown: list[Shown] = field(default_factory=list)
    sent: list[SentMessage] = field(default_factory=list)
    """The messages that began a turn."""
    has_stopped: bool = False
    log: list[str] = field(default_factory=list)
    """The requests and their outcomes, for a failed test."""

    async def live(self) -> None:
        """Send messages, and steer each reply once, twice or three times; at times stop it, too."""
        for _ in range(self.rng.choice([1, 2])):
            reading = asyncio.create_task(self.say(self.rng.choice(["walk", "walk", "pay"])))
            steers = [asyncio.create_task(self._steer()) for _ in range(self.rng.choice([1, 1, 2, 3]))]
            if self.rng.random() < 0.2:
                await asyncio.sleep(self.rng.uniform(0, 2))
                await self._stop()
            await asyncio.gather(*steers)
            await reading

    async def say(self, kind: str) -> None:
        """Send a message that begins a turn, read the reply to its end, and approve its calls."""
        sent = SentMessage(self._message(f"{kind} {self.chat}.{len(self.sent)}"))
        self.sent.append(sent)
        shown = await self._post(sent.body, sent)
        calls = [part for part in (shown.message["parts"] if shown else ()) if _asks(part)]
        if not calls or self.rng.random() < 0.2:
            return
        await asyncio.sleep(self.rng.uniform(0, 0.6))
        answered = copy.deepcopy(shown.message) if shown else {}
        for part in filter(_asks, answered["parts"]):
            part["state"] = "approval-responded"
            part["approval"] = {**part["approval"], "approved": True}
        await self._post(answered)

    async def _steer(self) -> None:
        await asyncio.sleep(self.rng.choice([self.rng.uniform(0, 0.5), self.rng.uniform(0, 3.5)]))
        steered = SentMessage(self._message(f"also {self.chat}.s{len(self.steered)}"))
        self.steered.append(steered)
        if self.rng.choice(WAYS) == "route" and (await self._by_route(steered) or self.rng.random() < 0.5):
            return
        await self._post(steered.body, steered)

    async def _by_route(self, steered: SentMessage) -> bool:
        """Send the message by the route until a server replies. Return True if it was delivered."""
        deadline = time.monotonic() + HANG
        while time.monotonic() < deadline:
            try:
                answer = await self.http.post(self._url("/steer"), json=steered.body)
            except httpx.TransportError as error:
                self._note(f"{steered.text} {error!r}")
            else:
                self._note(f"{steered.text} {answer.status_code} {answer.text}")
                if answer.status_code not in RETRIED:
                    is_delivered = answer.status_code == 200 and answer.json()["type"] == "delivered"
                    assert answer.status_code in {200, 404}, answer.text
                    steered.outcome = "delivered" if is_delivered else "refused"
                    return is_delivered
            await asyncio.sleep(PAUSE)
        raise TimeoutError(f"{steered.text} got no reply")

    async def _stop(self) -> None:
        self.has_stopped = True
        try:
            answer = await self.http.post(self._url("/stop"))
        except httpx.TransportError as error:
            self._note(f"stop {error!r}")
        else:
            self._note(f"stop {answer.status_code}")

    async def _post(self, message: Json, sent_message: SentMessage | None = None) -> Shown | None:
        """Post the message until a server accepts it, and read the response to its end, on any worker.

        ``sent_message``: gets the outcome.
        """
        body = {"id": self.chat, "messages": [message]}
        target: Any = message if message["role"] == "assistant" else None
        if target is not None:
            body |= {"trigger": "submit-message", "messageId": message["id"]}
        deadline = time.monotonic() + HANG
        method, path, sent = "POST", "", cast("Json | None", body)
        while time.monotonic() < deadline:
            reducer = MessageReducer(ai_sdk=self.ai_sdk, message=copy.deepcopy(target), replay=method == "GET")
            status, ends_in = 0, ""
            try:
                async with self.http.stream(method, self._url(path), json=sent) as answer:
                    status = answer.status_code
                    if method == "POST" and status in {200, 409} and sent_message is not None:
                        sent_message.outcome = "delivered" if status == 200 else "refused"
                    if status == 200:
                        ends_in = await _read(answer, reducer)
                    elif method == "POST" and status not in RETRIED:
                        self._note(f"refused {(await answer.aread())[:200]!r}")
            except httpx.TransportError as error:
                self._note(f"{method} {_brief(message)} {error!r}")
            self._note(f"{method} {_brief(message)} {status} {ends_in}")
            if ends_in and reducer.message is not None:
                self.shown.append(Shown(copy.deepcopy(reducer.message), ends_in))
                return self.shown[-1]
            if status in {204, 409}:
                return None
            if status == 200:
                method, path, sent = "GET", "/stream", None
            await asyncio.sleep(PAUSE)
        raise TimeoutError(f"{_brief(message)} got no end")

    def _message(self, text: str) -> Json:
        number = len(self.sent) + len(self.steered)
        return {"id": f"{self.chat}-u{number}", "role": "user", "parts": [{"type": "text", "text": text}]}

    def _url(self, path: str) -> str:
        whole = "" if not path else f"/{self.chat}{path}"
        return f"http://127.0.0.1:{self.rng.choice(self.ports)}/api/chat{whole}"

    def _note(self, text: str) -> None:
        self.log.append(f"{time.monotonic() % 1000:.3f} {self.chat} {text}")


def _asks(part: Json) -> bool:
    return part.get("state") == "approval-requested"


def _brief(message: Json) -> str:
    return str(next((part["text"] for part in message["parts"] if "text" in part), message["id"]))[:40]


async def _read(answer: httpx.Response, reducer: MessageReducer) -> str:
    """Read the response. Return the type of its last chunk; an empty text if the response was cut off."""
    last = ""
    async for line in answer.aiter_lines():
        if line == "data: [DONE]":
            return last
        if line.startswith("data: "):
            chunk = json.loads(line.removeprefix("data: "))
            last = chunk["type"]
            try:
                reducer.apply(chunk)
            except ClientStreamError as error:  # the client raises at an `error` chunk
                if error.error_class != "Error":
                    raise
    return ""
