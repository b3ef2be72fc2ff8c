"""``DbosEngine``: keeps in DBOS what the calls of runs gave, and which runs have not ended."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
import sqlite3
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from dbos import DBOS, DBOSClient
from google.adk.agents import BaseAgent
from sqlalchemy import make_url

from stream_protocol.durable._held_agents import held_agents, shape, unheld_agents
from stream_protocol.durable._kept_calls import KeptCalls
from stream_protocol.durable._workflows import NOTHING, RUN, Workflows
from stream_protocol.serving.adk_runner import make_private_file, runner_for
from stream_protocol.serving.engine import OtherVersionError, RunRecord
from stream_protocol.wire import StreamProtocolError, check_text, check_texts

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Sequence

    from dbos import DBOSConfig, WorkflowStatus
    from google.adk.runners import Runner

    from stream_protocol.serving.engine import Execution

FORMAT: Final = "1"
"""Of what is kept, and of the names of calls. Another one is another version."""

NAME: Final = "adk-ui-stream"
"""Of the application, as DBOS calls whose workflows these are."""

CONNECT_SECONDS: Final = 10
"""How long the store may take to be connected to."""

SILENCE_SECONDS: Final = 10
"""How long its machine may take to say that it has got something: one that is gone says nothing, for hours."""

NEEDING_PYTHON: Final = (3, 12)
NEEDED_SQLITE: Final = (3, 42)
"""From this Python on DBOS's tables call ``unixepoch('subsec')``, which SQLite has from this version on."""


@dataclass(frozen=True)
class _Execution:
    runner: Runner
    log_id: str | None
    calls: KeptCalls

    @property
    def is_live(self) -> bool:
        return self.calls.is_live


class DbosEngine:
    """Executes a run again whose worker is dead: ``ChatService(…, engine=DbosEngine("postgresql://…"))``.

    ``url``: of the database in which DBOS keeps workflows: PostgreSQL for many workers, or ``sqlite:///runs.db`` for
    one machine. ``None``: the DBOS that the app has constructed and launched itself.
    ``idempotent_tools``: the names of tools that may be run again if they began and did not end. Others get an error in
    place of their result, which the model reads.
    ``version``: of the app's agents. A run is only executed again by a worker of the same version: change it when an
    agent's tools or the order of its calls change. The names and classes of the agents count by themselves.

    Raises ``StreamProtocolError`` for a file, if SQLite is too old for DBOS: 3.42 is needed from Python 3.12 on.
    """

    def __init__(self, url: str | None, *, idempotent_tools: Collection[str] = (), version: str = "") -> None:
        check_text("url", url, or_none=True, expected="a URL")
        check_texts("idempotent_tools", idempotent_tools, expected="a list of names of tools")
        check_text("version", version)
        if url is not None and url.startswith("sqlite") and sqlite_is_too_old():
            raise StreamProtocolError(
                "The engine's store cannot be used: from Python 3.12 on DBOS needs SQLite "
                f"{'.'.join(map(str, NEEDED_SQLITE))} or later, and this is {sqlite3.sqlite_version}."
            )
        self._url = url and url.replace("postgresql+asyncpg:", "postgresql:")
        self._idempotent_tools = frozenset(idempotent_tools)
        self._version = version
        self._records: dict[str, RunRecord] = {}
        """Of the runs that were unfinished at the last look: a record is read once."""
        self._held: dict[int, tuple[Runner, Runner]] = {}
        self._launching = asyncio.Lock()
        self._workflows: Workflows | None = None
        self._client: DBOSClient | None = None

    def prepare(self) -> None:
        """Makes the tables of the store if they are missing. Raises ``StreamProtocolError`` if it cannot be used.

        ``launch`` does so, too; this says in one line what is wrong.
        """
        if self._url is not None:
            _log_as_others()
            make_private_file(self._url)
            try:
                DBOS.migrate(_with_timeouts(self._url))
            except Exception as error:
                reason = str(error).strip().partition("\n")[0]
                raise StreamProtocolError(f"The engine's store cannot be used: {reason}") from error

    async def launch(self) -> None:
        """Connects to the store, and makes its tables if they are missing."""
        async with self._launching:
            if self._workflows is None:
                if self._url is not None:
                    make_private_file(self._url)
                    config: DBOSConfig = {
                        "name": NAME,
                        "system_database_url": self._url,
                        "executor_id": f"adk-ui-stream-{os.getpid()}-{uuid4().hex[:8]}",  # each executes its own again
                        "application_version": f"adk-ui-stream-{FORMAT}",
                        "console_log_level": "ERROR",
                        "enable_otlp": False,
                    }
                    DBOS(config=config)
                    _log_as_others()
                workflows = Workflows()
                if self._url is not None:
                    try:
                        DBOS.launch()  # in this thread: what DBOS begins by itself runs on this event loop
                    except Exception:
                        DBOS.destroy(destroy_registry=True)  # else it would take itself for launched the next time
                        raise
                self._workflows = workflows

    async def aclose(self) -> None:
        """Leaves the store."""
        if self._workflows is not None:
            self._workflows = None
            if self._url is not None:
                await asyncio.to_thread(partial(DBOS.destroy, destroy_registry=True))
                # DBOS has put its own in its place, which takes nothing any more.
                asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor())
        if self._client is not None:
            self._client.destroy()
            self._client = None

    async def ping(self) -> None:
        """See ``Engine``. Asks for a write, of nothing: a standby would answer what only reads."""
        if self._workflows is not None:
            await self._store.delete_workflows_async([NOTHING])
        elif isinstance(self._store, DBOSClient):  # the tables may be missing
            await self._store.check_connection_async()

    def holds(self, runner: Runner) -> bool:
        """Whether all agents are ADK's own, and the app is not resumable in ADK's way."""
        resumability = runner.resumability_config
        resumable = resumability is not None and resumability.is_resumable
        return isinstance(runner.agent, BaseAgent) and not resumable and not unheld_agents(runner.agent)

    async def execute(
        self, record: RunRecord, runner: Runner, log_id: str, work: Callable[[Execution], Awaitable[None]]
    ) -> None:
        """See ``Engine``."""
        workflow_id = _workflow_id(record)
        calls = KeptCalls(self._here, workflow_id, again=False)
        kept = json.dumps({"record": record.to_json(), "version": self._version_of(runner), "log": log_id})
        await self._here.run(workflow_id, kept, self._do(runner, None, calls, work))

    async def execute_again(
        self, record: RunRecord, runner: Runner, log_id: str, work: Callable[[Execution], Awaitable[None]]
    ) -> None:
        """See ``Engine``."""
        workflow_id = _workflow_id(record)
        status = await DBOS.get_workflow_status_async(workflow_id)
        if status is None or status.input is None:
            return
        kept = _kept(status)
        if kept["version"] != self._version_of(runner):
            raise OtherVersionError
        log = (status.attributes or {}).get("log", kept["log"])
        await DBOS.update_workflow_attributes_async(workflow_id, {"log": log_id})
        calls = KeptCalls(self._here, workflow_id, again=True)
        await self._here.run_again(workflow_id, self._do(runner, log, calls, work))

    async def unfinished(self, chat: tuple[str, str] | None = None) -> Sequence[RunRecord]:
        """See ``Engine``."""
        prefix = None if chat is None else _chat_prefix(*chat)
        look = partial(self._store.list_workflows_async, name=RUN, load_output=False)
        found = await look(status="PENDING", workflow_id_prefix=prefix, load_input=False)
        ids = [status.workflow_id for status in found if status.workflow_id not in self._here.executed]
        if new := [each for each in ids if each not in self._records]:
            for status in await look(workflow_ids=new):
                self._records[status.workflow_id] = RunRecord(**_kept(status)["record"])
        if chat is None:
            self._records = {each: self._records[each] for each in ids if each in self._records}
        return [self._records[each] for each in ids if each in self._records]

    async def cancel(self, record: RunRecord) -> None:
        """See ``Engine``."""
        prefix = _workflow_id(record)  # and the calls of the run
        found = await self._store.list_workflows_async(workflow_id_prefix=prefix, load_input=False, load_output=False)
        if found:
            await self._store.delete_workflows_async([status.workflow_id for status in found])

    @property
    def _store(self) -> type[DBOS] | DBOSClient:
        """Who asks for what is kept where nobody can wait: while the store is away, that is an error at once.

        What a run does goes through DBOS itself, which waits until the store is back, and a while longer. So does all
        else in the app's own DBOS.
        """
        if self._url is None:
            return DBOS
        if self._client is None:
            make_private_file(self._url)  # a connection would create it with the mode of the umask
            url = _with_timeouts(self._url)
            self._client = DBOSClient(
                system_database_url=url, lazy=True, retry_connection_errors=False, application_name=NAME
            )
        return self._client

    @property
    def _here(self) -> Workflows:
        if self._workflows is None:
            raise StreamProtocolError("The engine was not launched.")
        return self._workflows

    def _do(
        self,
        runner: Runner,
        log_id: str | None,
        calls: KeptCalls,
        work: Callable[[Execution], Awaitable[None]],
    ) -> Callable[[], Awaitable[None]]:
        async def do() -> None:
            with calls.current():
                await work(_Execution(self._held_runner(runner), log_id, calls))

        return do

    def _held_runner(self, runner: Runner) -> Runner:
        """The runner with held agents, which are made once."""
        if id(runner) not in self._held:
            assert isinstance(runner.agent, BaseAgent)
            held = runner_for(held_agents(runner.agent, self._idempotent_tools), runner)
            self._held[id(runner)] = runner, held
        return self._held[id(runner)][1]

    def _version_of(self, runner: Runner) -> str:
        assert runner.agent is not None
        return json.dumps([FORMAT, self._version, shape(runner.agent)])


def _with_timeouts(url: str) -> str:
    """The URL for what DBOS sets no limits for: a server that accepts connections and says nothing, or is gone."""
    address = make_url(url)
    if not address.drivername.startswith("postgres"):
        return url
    limits = {
        "connect_timeout": CONNECT_SECONDS,
        "keepalives_idle": SILENCE_SECONDS,
        "keepalives_interval": SILENCE_SECONDS,
        "tcp_user_timeout": SILENCE_SECONDS * 1000,
    }
    missing = {name: str(limit) for name, limit in limits.items() if name not in address.query}
    return address.update_query_dict(missing).render_as_string(hide_password=False)


def sqlite_is_too_old() -> bool:
    """Whether DBOS cannot keep anything in a file here."""
    return sys.version_info >= NEEDING_PYTHON and sqlite3.sqlite_version_info < NEEDED_SQLITE


def _log_as_others() -> None:
    """DBOS's lines go where all others go, and not in a form of their own to the terminal."""
    logger = logging.getLogger("dbos")
    logger.handlers.clear()
    logger.propagate = True
    logger.setLevel(logging.ERROR)


def _workflow_id(record: RunRecord) -> str:
    return f"{_chat_prefix(record.user_id, record.chat_id)}{record.id}"


def _chat_prefix(user_id: str, chat_id: str) -> str:
    """How the ids of a chat's workflows begin. As a hash: they are in logs, and a user's id may be an address."""
    digest = hashlib.sha256(json.dumps([user_id, chat_id]).encode()).hexdigest()
    return f"adk-ui-stream/{digest[:32]}/"


def _kept(status: WorkflowStatus) -> dict[str, Any]:
    assert status.input is not None
    kept: dict[str, Any] = json.loads(status.input["args"][0])
    return kept
