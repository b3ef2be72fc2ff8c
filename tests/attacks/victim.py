"""Another user's chat beside an attack: a stream with a number every 20 ms, and a probe of ``/healthz``."""

import json
import threading
import time
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from multiprocessing.connection import Connection
from typing import Final

from tests.attacks.attacker import JSON, said

PROBE_SECONDS: Final = 0.01
PATIENCE: Final = 60.0
WORDS_BEFORE: Final = 10
"""Words of the stream before the attack begins."""


@dataclass(frozen=True)
class VictimReport:
    """Observations of the other user.

    ``whole``: each word came once, in order, and then the end. Delays are in seconds: the longest pause between two
    words, and the longest response time of ``/healthz``.
    """

    pause: float
    healthz: float
    whole: bool


def run_victim(port: int, user: str, door: str, has_agent: bool, attack: Connection) -> None:
    """Report when the stream has begun. Observe it until the end of the attack, and report the observations."""
    began, stop = threading.Event(), threading.Event()
    ready = threading.Event()
    healthz: list[float] = [0.0]
    stream: list[tuple[float, bool]] = []
    probe = threading.Thread(target=lambda: healthz.append(_probe(port, began, stop)), daemon=True)
    reader = threading.Thread(target=lambda: stream.append(_read(port, user, door, began, ready)), daemon=True)
    probe.start()
    if has_agent:
        reader.start()
        ready.wait(PATIENCE)
    began.set()
    attack.send("ready")
    attack.recv()
    stop.set()
    probe.join(PATIENCE)
    if has_agent:
        reader.join(PATIENCE)
    pause, whole = stream[0] if stream else (0.0, not has_agent)
    attack.send(VictimReport(pause, max(healthz), whole))


def _probe(port: int, began: threading.Event, stop: threading.Event) -> float:
    """Return the longest response time since the attack began. A refused request counts, and is repeated."""
    longest = 0.0
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    while not stop.is_set():
        asked = time.monotonic()
        try:
            connection.request("GET", "/healthz")
            connection.getresponse().read()
        except (OSError, HTTPException):
            connection.close()
        if began.is_set():
            longest = max(longest, time.monotonic() - asked)
        time.sleep(PROBE_SECONDS)
    connection.close()
    return longest


def _read(port: int, user: str, door: str, began: threading.Event, ready: threading.Event) -> tuple[float, bool]:
    """Return the longest pause between two pieces after the attack began, and True if the stream was complete."""
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request("POST", "/api/chat", json.dumps(said(f"tick {door}", door)), {**JSON, "x-user": user})
    response = connection.getresponse()
    assert connection.sock is not None or response.status != 200
    longest, last, received = 0.0, None, b""
    try:
        while piece := response.read1():
            now = time.monotonic()
            if last is not None and began.is_set():
                longest = max(longest, now - last)
            last = now
            received += piece
            if received.count(b"text-delta") >= WORDS_BEFORE:
                ready.set()
    except (TimeoutError, OSError, HTTPException):
        pass
    connection.close()
    return longest, _is_whole(received.decode(errors="replace"))


def _is_whole(stream: str) -> bool:
    events = [event.removeprefix("data: ") for event in stream.split("\n\n") if event.startswith("data: ")]
    if events[-1:] != ["[DONE]"]:
        return False
    chunks = [json.loads(event) for event in events[:-1]]
    words = "".join(chunk["delta"] for chunk in chunks if chunk["type"] == "text-delta").split()
    return words == [*map(str, range(len(words) - 1)), "whole"]
