"""The audit trail: who approved, denied, answered, signed in, stopped or deleted what, and who was refused."""

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
from stream_protocol.serving.base._timeout import HookTimeoutError, with_timeout
from stream_protocol.session import AttemptedDecisions, Decision, Transcript, attempted_decisions
from stream_protocol.wire import ChatRequestError, check_path

if TYPE_CHECKING:
    from stream_protocol.session import CallAnswer
    from stream_protocol.wire import ChatRequest

logger = logging.getLogger(__name__)

audit_logger = logging.getLogger("stream_protocol.audit")
"""Gets each record as one line of JSON, at INFO."""

MAX_ID_LENGTH: Final = 256
"""Characters of an id in a record. Of a refused request an id is whatever the client sent."""

MAX_WAITING: Final = 10_000
"""Records that wait for a slow hook, about 5 MB. Further ones go to the log alone."""

_CANONICAL: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=str)

CLOSING_SECONDS: Final = 10.0
"""Seconds that a service that is closed waits until the hook has had all records."""


@dataclass(frozen=True, kw_only=True)
class AuditRecord:
    """One act of a user. It holds no arguments, outputs, reasons, texts or credentials."""

    time: str
    """When it was accepted or refused: ISO 8601, in UTC, with milliseconds."""
    user_id: str
    app: str
    chat_id: str
    action: Literal["approve", "deny", "answer", "sign-in", "stop", "delete"]
    outcome: Literal["accepted", "refused"]
    status: int | None = None
    """The HTTP status of the refusal; ``None`` if it was accepted."""
    call_id: str | None = None
    """The call's ``toolCallId``; ``None`` for ``stop`` and ``delete``, and if a refused request named no call."""
    tool: str | None = None
    """The name of the tool; ``None`` also for a call that is not stored."""
    arguments_sha256: str | None = None
    """Of the call's stored arguments, as hexadecimal text: see ``arguments_digest``. ``None`` as for ``tool``."""
    omitted: int = 0
    """On the last record of a refused request: how many answers it had beyond those that have a record."""

    def to_json(self) -> str:
        """Returns the record as one line of JSON, in ASCII."""
        return json.dumps(asdict(self))


OnAudit: TypeAlias = Callable[[AuditRecord], Awaitable[None] | None]
"""Gets each record after the act, one at a time, in their order.

An ``async def`` runs on the event loop, a plain ``def`` in a thread: no request waits for it. A failure is logged. A
call that takes longer than ``ServiceLimits.hook_timeout`` is logged, too. An ``async def`` is cancelled then. A ``def``
cannot be cancelled, and until it ends later records are in the log alone.
"""


class AuditFile:
    """Appends each record to a file, a line each: ``ChatService(on_audit=AuditFile("audit.jsonl"))``.

    The file is made for its owner alone (mode 0600). It is opened for each record, so it may be moved away at any time.
    Each record begins on a new line: after a full disk, a record that was cut off stays on a line of its own.
    Raises ``OSError`` if it cannot be written.
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
        """Tell whether a record was cut off at the end. A pipe or a file without read access counts as whole."""
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


def arguments_digest(arguments: dict[str, Any]) -> str:
    """Returns the SHA-256 of ``json.dumps(arguments, sort_keys=True, separators=(",", ":"))``, as hexadecimal text."""
    digest = sha256()
    for piece in _CANONICAL.iterencode(arguments):  # in pieces, between which other threads go on
        digest.update(piece.encode())
    return digest.hexdigest()


class AuditScope:
    """A request that may answer calls, while it is decided about."""

    def __init__(self, accept: Callable[[Decision], None]) -> None:
        self._transcript = Transcript()
        self._decisions: tuple[Decision, ...] | None = None
        self._accept = accept

    @property
    def transcript(self) -> Transcript:
        """The chat as stored, while the request is planned in it."""
        return self._transcript

    @property
    def decisions(self) -> tuple[Decision, ...] | None:
        """The decisions of the request that are not accepted; ``None`` until it was planned."""
        return self._decisions

    def planned_in(self, transcript: Transcript) -> None:
        """The request is planned in this chat, as it is stored."""
        self._transcript = transcript

    def plan(self, answers: tuple[CallAnswer, ...]) -> None:
        """The request was planned: it gives these answers. It may wait for long now, without the transcript."""
        self._transcript = Transcript()
        self._decisions = tuple(answer.decision for answer in answers if answer.decision is not None)

    def accept(self, answers: Iterable[CallAnswer]) -> None:
        """Records that these of its answers are stored. A refusal of the request is then one of all others."""
        for answer in answers:
            if self._decisions and answer.decision in self._decisions:
                self._decisions = tuple(decision for decision in self._decisions if decision != answer.decision)
                self._accept(answer.decision)


class AuditTrail:
    """Makes the records of a service, and gives them to the logger and to the hook.

    ``timeout``: seconds that the hook may take for a record; ``None`` for no limit.
    """

    def __init__(self, app: str, hook: OnAudit | None, *, timeout: float | None) -> None:
        self._app = app
        self._hook = hook
        self._timeout = timeout
        self._waiting: deque[AuditRecord] = deque()
        self._delivery: asyncio.Task[None] | None = None
        self._thread = anyio.CapacityLimiter(1)
        """A hook that hangs keeps one thread, none of those in which tools run, and the next record gets no other."""

    def scope(self, user_id: str, request: ChatRequest) -> AuditScope:
        """Returns what is known of a request that comes."""
        return AuditScope(lambda accepted: self._record(user_id, request.id, accepted.kind, decision=accepted))

    @asynccontextmanager
    async def answering(self, user_id: str, request: ChatRequest, scope: AuditScope) -> AsyncIterator[None]:
        """Records a ``ChatRequestError`` as the refusal of each answer that the request has."""
        try:
            yield
        except ChatRequestError as refused:
            if scope.decisions is None:
                transcript = scope.transcript
                work = partial(attempted_decisions, request, transcript)
                attempted = await run_off_loop(work, size=request.size, events=transcript.stored)
            else:
                attempted = AttemptedDecisions(decisions=scope.decisions)
            for number, one in enumerate(attempted.decisions, 1):
                omitted = attempted.omitted if number == len(attempted.decisions) else 0
                self._record(user_id, request.id, one.kind, decision=one, status=refused.status, omitted=omitted)
            raise

    @contextmanager
    def acting(self, user_id: str, chat_id: str, action: Literal["stop", "delete"]) -> Iterator[None]:
        """Records that the act was accepted, or the ``ChatRequestError`` that refuses it."""
        try:
            yield
        except ChatRequestError as refused:
            self._record(user_id, chat_id, action, status=refused.status)
            raise
        self._record(user_id, chat_id, action)

    async def aclose(self) -> None:
        """Waits up to ``CLOSING_SECONDS`` until the hook has had all records."""
        if self._delivery is not None:
            await asyncio.wait({self._delivery}, timeout=CLOSING_SECONDS)
            self._delivery = None  # a second `aclose` does not wait again

    def _record(
        self,
        user_id: str,
        chat_id: str,
        action: Literal["approve", "deny", "answer", "sign-in", "stop", "delete"],
        *,
        decision: Decision | None = None,
        status: int | None = None,
        omitted: int = 0,
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
            arguments_sha256=None if call.arguments is None else arguments_digest(call.arguments),
            omitted=omitted,
        )
        audit_logger.info("%s", record.to_json())
        if self._hook is not None:
            self._give(self._hook, record)

    def _give(self, hook: OnAudit, record: AuditRecord) -> None:
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
                logger.error("`on_audit` was cancelled. %s", error)  # noqa: TRY400 - no trace of ours helps
            except Exception:
                logger.exception("`on_audit` failed.")

    async def _call(self, hook: OnAudit, record: AuditRecord) -> None:
        if inspect.iscoroutinefunction(hook):
            await hook(record)
            return
        result = await anyio.to_thread.run_sync(hook, record, limiter=self._thread)
        if inspect.isawaitable(result):
            await result
