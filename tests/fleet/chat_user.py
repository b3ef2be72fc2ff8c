"""User of a fleet: reads from any worker, leaves, stops, continues, steers, approves twice, and records all of it."""

import asyncio
import copy
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

import httpx

from stream_protocol.wire import ClientStreamError
from stream_protocol.wire.client import MessageReducer

Json = dict[str, Any]

TERMINALS: Final = ("finish", "abort", "error")

REST: Final = 0.1
"""Seconds between two actions of a user."""

STEERING_ATTEMPTS: Final = 20
"""Attempts to steer a run. Then the user sends the message as a new one."""


@dataclass
class Reading:
    """A response, as far as the user has read it."""

    what: str
    worker: int
    key: str
    """Key in the user's message."""
    begun: float = field(default_factory=time.monotonic)
    ended: float = 0.0
    status: int = 0
    """Status of the response; 0 if none came."""
    chunks: list[Any] = field(default_factory=list)
    done: bool = False
    """True if the response was read to ``[DONE]``."""
    left: bool = False
    """True if the reader disconnected."""
    message: Any = None
    """The client's message."""
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when enough has been read, or the response has ended."""

    @property
    def ends_in(self) -> str | None:
        """Type of the response's last chunk; ``None`` if it was not read to its end."""
        return self.chunks[-1]["type"] if self.done and self.chunks else None


@dataclass
class SteeringMessage:
    """A message that the user sent to a running agent. ``key``: the agent repeats it in its answer."""

    id: str
    key: str
    is_accepted: bool = False
    """True if a server has it: it was delivered, or accepted as a new message."""


class ChatUser:
    """User of one chat. The seed chooses the worker of each request. ``kinds``: the messages, each equally likely."""

    def __init__(
        self,
        chat: str,
        ports: Sequence[int],
        http: httpx.AsyncClient,
        rng: Random,
        kinds: Sequence[str] = ("say", "stroll", "stroll", "stroll", "pay", "pay", "where"),
    ) -> None:
        self.chat = chat
        self.sent: list[str] = []
        self.moments: dict[str, int] = {}
        """Order of the user's messages. Messages that were sent at once have the same number."""
        self.readings: list[Reading] = []
        self.steered: list[SteeringMessage] = []
        self._ports = ports
        self._http = http
        self._rng = rng
        self._kinds = kinds

    async def live(self, until: float) -> None:
        """Act until this time."""
        while time.monotonic() < until:
            await self.take_turn()
            await asyncio.sleep(REST)

    async def say(self, text: str, *, at: int | None = None, leave: bool = False, with_last: bool = False) -> Reading:
        """Send the message and read the response. ``with_last``: at the same time as the last message."""
        said = self._message(text, with_last=with_last)
        return await self._read(self._reading("send"), "POST", {"id": self.chat, "messages": [said]}, at, leave=leave)

    async def history(self, worker: int) -> list[Any]:
        """Return the stored messages, as this worker returns them."""
        answer = await self._http.get(self._url(worker, f"/{self.chat}"))
        assert answer.status_code == 200, answer.text
        messages: list[Any] = answer.json()["messages"]
        return messages

    async def take_turn(self) -> None:
        """Send a message, then act like a person: read, disconnect and return, stop, or send another message."""
        kind = self._rng.choice(self._kinds)
        text = f"{kind} {self.chat}.{len(self.sent)}"
        at = self._rng.randrange(1, 12)
        match self._rng.choice(["read", "leave", "stop", "watch", "go on", "two tabs", "steer"]):
            case "go on":  # as who presses stop, which only leaves, and sends the next words
                await self.say(text, at=at, leave=True)
                return
            case "two tabs":
                other = f"say {self.chat}.{len(self.sent) + 1}"
                first, reading = await asyncio.gather(self.say(text), self.say(other, with_last=True))
                if first.ends_in == "finish":
                    reading = first
            case "leave":
                reading = await self.say(text, at=at, leave=True)
            case "stop":
                saying = asyncio.create_task(self.say(text, at=at))
                await asyncio.sleep(0)
                await self.readings[-1].reached.wait()
                await self._stop()
                reading = await saying
            case "steer" if kind == "stroll":  # it has several model calls
                saying = asyncio.create_task(self.say(text, at=at))
                await asyncio.sleep(0)
                await self.readings[-1].reached.wait()
                await self._steer()
                reading = await saying
            case "watch":
                reading, _ = await asyncio.gather(self.say(text), self._resume())
            case _:
                reading = await self.say(text)
        while not reading.done and reading.status in {0, 200, 503}:
            reading = await self._resume()
        if reading.ends_in == "finish" and kind == "pay":
            await self._approve_twice(reading.message)

    async def _resume(self) -> Reading:
        await asyncio.sleep(REST)
        return await self._read(self._reading("resume"), "GET")

    async def _approve_twice(self, asked: Any) -> None:
        """Send an approval to two workers at once."""
        message = copy.deepcopy(asked)
        for part in message["parts"]:
            if part.get("state") == "approval-requested":
                part["state"] = "approval-responded"
                part["approval"] = {**part["approval"], "approved": True}
        body = {"id": self.chat, "messages": [message], "messageId": message["id"], "trigger": "submit-message"}
        readings = [self._reading("approve", worker) for worker in range(len(self._ports))]
        await asyncio.gather(*(self._read(reading, "POST", body, message=message) for reading in readings))

    async def _stop(self) -> None:
        try:
            answer = await self._http.post(self._url(self._any(), f"/{self.chat}/stop"))
        except httpx.TransportError:
            return  # of a worker that was killed
        assert answer.status_code in {202, 404, 503}, answer.text

    async def _steer(self) -> None:
        """Sends a message to the running agent, and as a new message if the agent does not accept it."""
        key = f"{self.chat}.{len(self.sent)}"
        message = self._message(f"say {key}")
        steered = SteeringMessage(message["id"], key)
        self.steered.append(steered)
        for _ in range(STEERING_ATTEMPTS):
            try:
                answer = await self._http.post(self._url(self._any(), f"/{self.chat}/steer"), json=message)
            except httpx.TransportError:
                pass  # of a worker that was killed
            else:
                assert answer.status_code in {200, 404, 429, 503}, answer.text
                if answer.status_code == 200 and answer.json()["type"] == "delivered":
                    steered.is_accepted = True
                    return
                if answer.status_code in {200, 404}:
                    break
            await asyncio.sleep(REST)
        reading = await self._read(self._reading("send"), "POST", {"id": self.chat, "messages": [message]})
        steered.is_accepted = reading.status == 200

    def _message(self, text: str, *, with_last: bool = False) -> Json:
        self.sent.append(text)
        self.moments[text] = len(self.moments) if not with_last else self.moments[self.sent[-2]]
        return {"id": f"{self.chat}-u{len(self.sent)}", "role": "user", "parts": [{"type": "text", "text": text}]}

    def _reading(self, what: str, worker: int | None = None) -> Reading:
        reading = Reading(what, self._any() if worker is None else worker, self.sent[-1])
        self.readings.append(reading)
        return reading

    async def _read(
        self,
        reading: Reading,
        method: str,
        body: Json | None = None,
        at: int | None = None,
        *,
        leave: bool = False,
        message: Any = None,
    ) -> Reading:
        """Read to the end, or until so many chunks came. Errors are recorded, and checked later."""
        url = self._url(reading.worker, "" if method == "POST" else f"/{self.chat}/stream")
        reducer = MessageReducer(ai_sdk=6, message=copy.deepcopy(message), replay=method == "GET")
        try:
            async with self._http.stream(method, url, json=body) as answer:
                reading.status = answer.status_code
                async for line in answer.aiter_lines():
                    if line == "data: [DONE]":
                        reading.done = True
                    elif line.startswith("data: "):
                        _take(reading, reducer, json.loads(line.removeprefix("data: ")))
                    if at is not None and len(reading.chunks) >= at:
                        reading.reached.set()
                        reading.left = leave
                        if leave:
                            break
        except httpx.TransportError:
            pass
        finally:
            reading.ended = time.monotonic()
            reading.reached.set()
            reading.message = copy.deepcopy(reducer.message)
        return reading

    def _url(self, worker: int, path: str) -> str:
        return f"http://127.0.0.1:{self._ports[worker]}/api/chat{path}"

    def _any(self) -> int:
        return self._rng.randrange(len(self._ports))


def _take(reading: Reading, reducer: MessageReducer, chunk: Any) -> None:
    reading.chunks.append(chunk)
    try:
        reducer.apply(chunk)
    except ClientStreamError as error:
        if error.error_class != "Error":
            raise
