"""Client of an attack. It runs in a separate process, so its own work does not delay the server."""

import json
import socket
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import quote

PATIENCE: Final = 15.0
"""Seconds that an attacker waits for a response."""

T = TypeVar("T")

JSON: Final = {"content-type": "application/json"}


@dataclass(frozen=True)
class Answer:
    """Response to the attacker.

    ``status``: 0 if the server closed the connection before a response, -1 if no response came in time.
    """

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return self.body.decode(errors="replace")

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def refused(self) -> bool:
        return 400 <= self.status < 500 or self.status == 503


@dataclass(frozen=True)
class Outcome:
    """Result of an attack. ``broken``: violations, as sentences."""

    statuses: Mapping[int, int]
    broken: Sequence[str]


class Attacker:
    """Client of an attack. ``ports``: those of the servers; the first is attacked. ``user``: the default user."""

    def __init__(self, ports: Sequence[int], user: str, folder: Path) -> None:
        self.ports = ports
        self.user = user
        self._folder = folder
        self._statuses: Counter[int] = Counter()
        self._broken: Counter[str] = Counter()

    @property
    def outcome(self) -> Outcome:
        return Outcome(dict(self._statuses), [f"{text} ({count} times)" for text, count in self._broken.items()])

    def expect(self, holds: object, sentence: str) -> None:
        if not holds:
            self._broken[sentence] += 1

    def note(self, answer: Answer, allowed: Iterable[int], what: str) -> Answer:
        """Count the status, which must be one of ``allowed``."""
        self._statuses[answer.status] += 1
        self.expect(answer.status in {*allowed}, f"{what}: {answer.status} {answer.text[:200]!r}")
        return answer

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | Mapping[str, Any] | None = None,
        *,
        user: str | None = None,
        headers: Mapping[str, str] | None = None,
        server: int = 0,
        patience: float = PATIENCE,
    ) -> Answer:
        """Send a request on a new connection, and read the whole response. Counts nothing."""
        content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        connection = HTTPConnection("127.0.0.1", self.ports[server], timeout=patience)
        try:
            with suppress(BrokenPipeError, ConnectionResetError):  # it may answer before it has read all
                connection.request(
                    method, path, content, {**(JSON if body else {}), "x-user": user or self.user, **(headers or {})}
                )
            response = connection.getresponse()
            return Answer(response.status, response.read(), {k.lower(): v for k, v in response.getheaders()})
        except TimeoutError:
            return Answer(-1)
        except (OSError, HTTPException):
            return Answer(0)
        finally:
            connection.close()

    def say(self, words: str, chat: str = "c1", **options: Any) -> Answer:
        """Send a new message in a chat."""
        return self.ask("POST", "/api/chat", said(words, chat), **options)

    def messages(self, chat: str = "c1", **options: Any) -> Any:
        """Return the messages of the chat for a reloaded page."""
        answer = self.ask("GET", f"/api/chat/{quote(chat)}", **options)
        return answer.json["messages"] if answer.status == 200 else []

    def answered(self, changes: Mapping[str, Any], chat: str = "c1", **options: Any) -> Answer:
        """Post the chat, after these keys were set in its last open call."""
        messages = self.messages(chat, **options)
        open_parts = [
            part
            for part in (messages or [{"parts": []}])[-1]["parts"]
            if part.get("state") in ("input-available", "approval-requested")
        ]
        self.expect(open_parts, f"no call waits in {chat}")
        if not open_parts:
            return Answer(0)
        open_parts[-1].update(changes)
        return self.ask("POST", "/api/chat", answering(messages, chat), **options)

    def connect(self, server: int = 0, *, patience: float = PATIENCE, receive: int | None = None) -> socket.socket:
        """Open a socket. ``receive``: bytes of its receive buffer."""
        connection = socket.socket()
        if receive is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
        connection.settimeout(patience)
        connection.connect(("127.0.0.1", self.ports[server]))
        return connection

    def read_status(self, connection: socket.socket) -> Answer:
        """Read the status line from a socket."""
        try:
            line = connection.recv(4096)
        except TimeoutError:
            return Answer(-1)
        except OSError:
            return Answer(0)
        return Answer(int(line.split(maxsplit=2)[1]), line) if line.startswith(b"HTTP/1.1 ") else Answer(0, line)

    def head(self, method: str, path: str, *more: str, user: str | None = None) -> bytes:
        """Return a request up to its empty line."""
        lines = [f"{method} {path} HTTP/1.1", "host: 127.0.0.1", f"x-user: {user or self.user}", *more]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    def saying(self, words: str, chat: str = "c1", user: str | None = None) -> bytes:
        """Return the bytes of a request with a new message, for a socket."""
        body = json.dumps(said(words, chat)).encode()
        more = ("content-type: application/json", f"content-length: {len(body)}")
        return self.head("POST", "/api/chat", *more, user=user) + body

    def begin(self, stack: ExitStack, words: str, chat: str = "c1", **options: Any) -> Answer:
        """Send the message, and read only the beginning of the response. The stack closes the connection."""
        connection = stack.enter_context(self.connect())
        connection.sendall(self.saying(words, chat, **options))
        return self.read_status(connection)

    def together(self, jobs: Iterable[Callable[[], T]], at_once: int = 32) -> list[T]:
        with ThreadPoolExecutor(at_once) as pool:
            return [job.result() for job in [pool.submit(job) for job in jobs]]

    def open_door(self, key: str) -> None:
        """End the runs that wait at this door."""
        (self._folder / key).touch()

    def tool_runs(self, tool: str, user: str | None = None) -> int:
        """Return the number of runs of this tool for the user."""
        tool_log = self._folder / "tool_log"
        lines = tool_log.read_text().splitlines() if tool_log.exists() else []
        return sum(line.startswith(f"{tool} {user or self.user} ") for line in lines)


def message(words: str) -> dict[str, Any]:
    return {"id": "u1", "role": "user", "parts": [{"type": "text", "text": words}]}


def said(words: str, chat: str = "c1") -> dict[str, Any]:
    return {"id": chat, "messages": [message(words)], "trigger": "submit-message"}


def answering(messages: Sequence[Mapping[str, Any]], chat: str = "c1") -> dict[str, Any]:
    """Return the body of a client that has answered calls in the last message."""
    return {"id": chat, "messages": messages, "messageId": messages[-1]["id"], "trigger": "submit-message"}
