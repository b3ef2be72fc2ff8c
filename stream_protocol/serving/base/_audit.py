"""The audit trail: one record for each act of a user, accepted or refused."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import os
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import Context
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import anyio
import anyio.to_thread

from stream_protocol._private_files import open_private
from stream_protocol.serving.base._off_loop import run_off_loop
from stream_protocol.serving.base._tasks import HookTimeoutError, with_timeout
from stream_protocol.session import AttemptedDecisions, Decision, Transcript, attempted_decisions
from stream_protocol.wire import ChatRequestError, check_path

if TYPE_CHECKING:
    from stream_protocol.session import CallAnswer
    from stream_protocol.wire import ChatRequest

logger = logging.getLogger(__name__)

audit_logger = logging.getLogger("stream_protocol.audit")
"""Logger of the audit trail. Each audit record is one line of JSON at level INFO."""

MAX_ID_LENGTH: Final = 256
"""The maximum number of characters of an id in an audit record. A refused request may contain any text as an id."""

MAX_WAITING: Final = 10_000
"""The maximum number of records that wait for a slow ``on_audit`` hook, about 5 MB. Additional records are only
logged."""

_CANONICAL: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=str)

CLOSING_SECONDS: Final = 10.0
"""Seconds that ``aclose`` waits until the ``on_audit`` hook has received all records."""


AuditAction: TypeAlias = Literal["approve", "deny", "answer", "sign-in", "stop", "delete", "branch", "context", "state"]
"""The kind of a user's act. ``branch``: the user chose a version of a message. ``context``: the client sent context.
``state``: the client wrote session state."""


@dataclass(frozen=True, kw_only=True)
class AuditRecord:
    """One act of a user, such as an approval, a stop or a deletion. Contains no arguments, outputs, reasons, texts or
    credentials.
    """

    time: str
    """Time at which the act was accepted or refused: ISO 8601, in UTC, with milliseconds."""
    user_id: str
    app: str
    chat_id: str
    action: AuditAction
    outcome: Literal["accepted", "refused"]
    status: int | None = None
    """The HTTP status of the refusal; ``None`` if the act was accepted."""
    call_id: str | None = None
    """The ``toolCallId`` of the tool call that the act is about. ``None`` for acts on a whole chat, and for a refused
    request that named no tool call."""
    tool: str | None = None
    """The name of the called tool. ``None`` without a ``call_id``, and if no call with this id is stored."""
    arguments_sha256: str | None = None
    """SHA-256 of the call's stored arguments, as hexadecimal text: see ``arguments_digest``. ``None`` if ``tool`` is
    ``None``. In the record of an accepted ``context`` or ``state``: SHA-256 of the data that the client sent."""
    omitted: int = 0
    """The number of the user's answers to tool calls that have no audit record. Set only in the last record of a
    refused request."""

    def to_json(self) -> str:
        """Returns the record as JSON: one line of ASCII text."""
        return json.dumps(asdict(self))


OnAudit: TypeAlias = Callable[[AuditRecord], Awaitable[None] | None]
"""Hook that receives each audit record after the act, one record at a time, in order.

An ``async def`` runs on the event loop, a plain ``def`` in a thread. No request waits for the hook. The service logs
each failure of the hook. If a call takes longer than ``ServiceLimits.hook_timeout``, the service logs the delay. It
then cancels an ``async def`` hook, but cannot cancel a plain ``def`` hook. Until a slow plain ``def`` hook ends, later
records are only logged.
"""


class AuditFile:
    """Hook that appends each audit record to a file, as a line: ``ChatService(on_audit=AuditFile("audit.jsonl"))``.

    A new file is readable only by its owner (mode 0600). The file is opened for each record, so you can move the file
    at any time. Each record begins on a new line, even if a full disk has truncated the previous record. Raises
    ``OSError`` if the file cannot be written.
    """

    def __init__(self, path: str | Path) -> None:
        check_path("path", path)
        self._path = path
        self._append(b"")

    def __call__(self, record: AuditRecord) -> None:
        self._append(record.to_json().encode() + b"\n")

    def _append(self, line: bytes) -> None:
        with open(self._path, "ab", opener=open_private) as file:
            file.write(b"\n" + line if line and self._ends_within_a_line() else line)

    def _ends_within_a_line(self) -> bool:
        try:
            if not Path(self._path).is_file():
                return False
            with Path(self._path).open("rb") as file:
                if not file.seek(0, os.SEEK_END):
                    return False
                file.seek(-1, os.SEEK_END)
                return file.read(1) != b"\n"
        except OSError:
            return False


def arguments_digest(arguments: Any) -> str:
    """Returns the SHA-256 hash of the arguments as hexadecimal text.

    The hashed text is ``json.dumps(arguments, sort_keys=True, separators=(",", ":"))``.
    """
    digest = sha256()
    for piece in _CANONICAL.iterencode(arguments):  # other threads can run between two steps
        digest.update(piece.encode())
    return digest.hexdigest()


class AuditScope:
    """The user's decisions in one request: approvals, denials, answers to tool calls, and sign-ins.

    The scope ends when the service has accepted or refused the decisions. ``accept``: called with each accepted
    decision.
    """

    def __init__(self, accept: Callable[[Decision], None]) -> None:
        self._transcript = Transcript()
        self._decisions: tuple[Decision, ...] | None = None
        self._accept = accept

    @property
    def transcript(self) -> Transcript:
        """The stored chat of the request; empty after ``plan`` is called."""
        return self._transcript

    @property
    def decisions(self) -> tuple[Decision, ...] | None:
        """The decisions that the service has not yet accepted; ``None`` before ``plan`` is called."""
        return self._decisions

    def planned_in(self, transcript: Transcript) -> None:
        self._transcript = transcript

    def plan(self, answers: tuple[CallAnswer, ...]) -> None:
        """Sets the request's decisions. Also drops ``transcript``, so that a waiting request does not keep the stored
        chat in memory.
        """
        self._transcript = Transcript()
        self._decisions = tuple(answer.decision for answer in answers if answer.decision is not None)

    def accept(self, answers: Iterable[CallAnswer]) -> None:
        """Records stored answers as accepted. If the request is refused later, these answers stay accepted, and its
        other answers are recorded as refused.
        """
        for answer in answers:
            if self._decisions and answer.decision in self._decisions:
                self._decisions = tuple(decision for decision in self._decisions if decision != answer.decision)
                self._accept(answer.decision)


class AuditTrail:
    """Writes audit records to ``audit_logger``, and sends them to the ``on_audit`` hook.

    ``timeout``: the time limit of the hook for one record, in seconds; ``None`` for no limit.
    """

    def __init__(self, app: str, hook: OnAudit | None, *, timeout: float | None) -> None:
        self._app = app
        self._hook = hook
        self._timeout = timeout
        self._waiting: deque[AuditRecord] = deque()
        self._delivery: asyncio.Task[None] | None = None
        self._thread = anyio.CapacityLimiter(1)
        """Separate thread for the hook. A hook that hangs blocks none of the threads in which tools run."""

    def scope(self, user_id: str, request: ChatRequest) -> AuditScope:
        return AuditScope(lambda accepted: self._record(user_id, request.id, accepted.kind, decision=accepted))

    @asynccontextmanager
    async def answering(self, user_id: str, request: ChatRequest, scope: AuditScope) -> AsyncIterator[None]:
        """Context manager around one request. If ``ChatRequestError`` is raised, records each decision in the request
        as refused.
        """
        try:
            yield
        except ChatRequestError as refused:
            if scope.decisions is None:
                transcript = scope.transcript
                work = partial(attempted_decisions, request, transcript)
                attempted = await run_off_loop(work, size=request.size, events=transcript.stored)
            else:
                attempted = AttemptedDecisions(decisions=scope.decisions)
            for number, decision in enumerate(attempted.decisions, 1):
                omitted = attempted.omitted if number == len(attempted.decisions) else 0
                self._record(
                    user_id, request.id, decision.kind, decision=decision, status=refused.status, omitted=omitted
                )
            raise

    @contextmanager
    def acting(
        self, user_id: str, chat_id: str, action: Literal["stop", "delete", "branch", "context", "state"]
    ) -> Iterator[Callable[[Any], None]]:
        """Context manager that records an act of the user. If ``ChatRequestError`` is raised, the act is recorded as
        refused, otherwise as accepted.

        Yields a function. If you call it with the data from the client, the record contains the SHA-256 hash of this
        data.
        """
        sent: list[str] = []
        try:
            yield lambda value: sent.append(arguments_digest(value))
        except ChatRequestError as refused:
            self._record(user_id, chat_id, action, status=refused.status)
            raise
        self._record(user_id, chat_id, action, digest=sent[0] if sent else None)

    async def aclose(self) -> None:
        if self._delivery is not None:
            await asyncio.wait({self._delivery}, timeout=CLOSING_SECONDS)
            self._delivery = None  # a second `aclose` does not wait again

    def _record(
        self,
        user_id: str,
        chat_id: str,
        action: AuditAction,
        *,
        decision: Decision | None = None,
        status: int | None = None,
        omitted: int = 0,
        digest: str | None = None,
    ) -> None:
        call = decision or Decision(kind="answer")
        record = AuditRecord(
            time=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            user_id=user_id,
            app=self._app,
            chat_id=chat_id[:MAX_ID_LENGTH],
            action=action,
            outcome="accepted" if status is None else "refused",
            status=status,
            call_id=None if call.call_id is None else call.call_id[:MAX_ID_LENGTH],
            tool=call.tool,
            arguments_sha256=digest if call.arguments is None else arguments_digest(call.arguments),
            omitted=omitted,
        )
        audit_logger.info("%s", record.to_json())
        if self._hook is not None:
            self._send_to_hook(self._hook, record)

    def _send_to_hook(self, hook: OnAudit, record: AuditRecord) -> None:
        if len(self._waiting) >= MAX_WAITING:
            logger.error("`on_audit` is too slow: a record went to the log alone.")
            return
        self._waiting.append(record)
        if self._delivery is None or self._delivery.done():
            self._delivery = asyncio.create_task(self._deliver(hook), context=Context())  # records of several chats

    async def _deliver(self, hook: OnAudit) -> None:
        while self._waiting:
            try:
                await with_timeout(self._timeout, self._call(hook, self._waiting.popleft()))
            except HookTimeoutError as error:
                logger.error("`on_audit` was cancelled. %s", error)  # noqa: TRY400 - a traceback would not help
            except Exception:
                logger.exception("`on_audit` failed.")

    async def _call(self, hook: OnAudit, record: AuditRecord) -> None:
        if inspect.iscoroutinefunction(hook):
            await hook(record)
            return
        result = await anyio.to_thread.run_sync(hook, record, limiter=self._thread)
        if inspect.isawaitable(result):
            await result
