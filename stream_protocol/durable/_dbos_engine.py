"""Provides ``DbosEngine``, which stores unfinished runs and the results of their model and tool calls in DBOS."""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from dbos import DBOS, DBOSClient
from google.adk.agents import BaseAgent

from stream_protocol.durable._call_journal import CallJournal
from stream_protocol.durable._durable_agents import durable_agents, shape, unsupported_agents
from stream_protocol.durable._runs import (
    LOG,
    OLDEST_FORMAT,
    OLDEST_RUN,
    RUN,
    KeptRun,
    chat_prefixes,
    execution_attributes,
    run_of_call,
    run_prefixes,
    workflow_id,
)
from stream_protocol.durable._store import (
    CONNECTIONS,
    ENGINE_OPTIONS,
    NEEDED_SQLITE,
    StoreFile,
    check_store_url,
    client_engine,
    is_postgres,
    sqlite_is_too_old,
    with_timeouts,
    without_prepared_statements,
)
from stream_protocol.durable._workflows import CALL, NOTHING, Workflows
from stream_protocol.serving.adk_runner import make_private_file, runner_for
from stream_protocol.serving.engine import OtherVersionError
from stream_protocol.wire import StreamProtocolError, check_text, check_texts

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Sequence

    from dbos import DBOSConfig
    from google.adk.runners import Runner
    from sqlalchemy import Engine as Connections

    from stream_protocol.serving.engine import Deployment, Execution, LiveState, OrphanedRun, RunRecord, ToldEnd

NAME: Final = "adk-ui-stream"
"""The name of the DBOS application that owns the workflows."""

OLD: Final = timedelta(days=1)
"""The age at which stored model and tool calls of a deleted run are deleted."""


@dataclass(frozen=True)
class _Execution:
    runner: Runner
    calls: CallJournal

    @property
    def is_live(self) -> bool:
        return self.calls.is_live

    async def repeats_model_call(self, agent: str, branch: str | None) -> bool:
        return await self.calls.repeats_model_call(agent, branch)


class DbosEngine:
    """Engine that executes a run again after its worker died: ``ChatService(…, engine=DbosEngine("postgresql://…"))``.

    ``url``: the database in which DBOS stores workflows: PostgreSQL for many workers, or ``sqlite:///runs.db`` for one
    machine. ``None`` selects the DBOS instance that the app itself has created and launched.

    ``idempotent_tools``: the names of tools that may run again if the worker died while they were running. All other
    tools are not run again. Instead of their result, the model reads an error text.

    ``version``: the version of the app's agents. Only a worker with an equal version executes a run again. Change the
    version when you change an agent's tools or the order of its calls. Names and classes of agents are compared
    automatically.

    Several deployments can share a database. Each deployment finds only the runs of its own app, session store and run
    log. Only one process at a time can use an SQLite file.

    Raises ``StreamProtocolError`` if the URL is not one of PostgreSQL or SQLite, or if the installed SQLite is too old
    for DBOS. With Python 3.12 and later, DBOS needs SQLite 3.42 or later.
    """

    def __init__(self, url: str | None, *, idempotent_tools: Collection[str] = (), version: str = "") -> None:
        check_text("url", url, or_none=True, expected="a URL")
        check_texts("idempotent_tools", idempotent_tools, expected="a list of names of tools")
        check_text("version", version)
        if url is not None:
            check_store_url(url)
        if url is not None and url.startswith("sqlite") and sqlite_is_too_old():
            raise StreamProtocolError(
                "The engine's store cannot be used: from Python 3.12 on DBOS needs SQLite "
                f"{'.'.join(map(str, NEEDED_SQLITE))} or later, and this is {sqlite3.sqlite_version}."
            )
        self._url = url and url.replace("postgresql+asyncpg:", "postgresql:")
        self._idempotent_tools = frozenset(idempotent_tools)
        self._version = version
        self._file = StoreFile(url) if url is not None else None
        self._deployment: Deployment | None = None
        self._kept: dict[str, KeptRun | None] = {}
        """The unfinished runs of the last query, so that each run is read only once: workflow id -> run.

        The value is ``None`` if this release cannot read the run.
        """
        self._durable_runners: dict[int, tuple[Runner, Runner]] = {}
        self._launching = asyncio.Lock()
        self._workflows: Workflows | None = None
        self._client: DBOSClient | None = None
        self._connections: Connections | None = None

    @property
    def is_shared(self) -> bool:
        """True if several workers can use the store: True for PostgreSQL, False for SQLite. Also False for the app's
        own DBOS, because its database is unknown.
        """
        return self._url is not None and is_postgres(self._url)

    def attach(self, deployment: Deployment) -> None:
        """Set the deployment of this engine: an app, a session store and a run log. The engine then finds only runs of
        this deployment.
        """
        self._deployment = deployment

    def prepare(self) -> None:
        """Create missing tables in the store. Raises ``StreamProtocolError`` with a text of one line if the store
        cannot be used.
        """
        if self._url is not None:
            self._take_file()
            _log_as_others()
            make_private_file(self._url)
            try:
                with without_prepared_statements() if is_postgres(self._url) else nullcontext():
                    DBOS.migrate(with_timeouts(self._url))
                if isinstance(self._store, DBOSClient):
                    self._store.delete_workflows([NOTHING])  # fails if the database is read-only
            except Exception as error:
                reason = str(error).strip().partition("\n")[0]
                raise StreamProtocolError(f"The engine's store cannot be used: {reason}") from error

    async def start(self) -> None:
        """Connect to the store, and create missing tables.

        Raises ``StreamProtocolError`` if the store is a file that another process uses.
        """
        async with self._launching:
            if self._workflows is None:
                self._take_file()
                if self._url is not None:
                    make_private_file(self._url)
                    config: DBOSConfig = {
                        "name": NAME,
                        "system_database_url": self._url,
                        # Each process has a new id, so that DBOS recovers no workflow of an earlier process.
                        "executor_id": f"adk-ui-stream-{os.getpid()}-{uuid4().hex[:8]}",
                        "application_version": f"adk-ui-stream-{OLDEST_FORMAT}",  # constant: DBOS recovers nothing
                        "console_log_level": "ERROR",
                        "enable_otlp": False,
                    }
                    if is_postgres(self._url):
                        config["db_engine_kwargs"] = ENGINE_OPTIONS
                        config["sys_db_pool_size"] = CONNECTIONS
                    dbos = DBOS(config=config)
                    _log_as_others()
                workflows = Workflows()
                if self._url is not None:
                    try:
                        DBOS.launch()  # in this thread, so that DBOS's tasks run on this event loop
                    except Exception:
                        DBOS.destroy(destroy_registry=True)  # otherwise the next launch would do nothing
                        raise
                    _stop_polling(dbos)
                self._workflows = workflows
                await self._sweep()

    async def aclose(self) -> None:
        """Disconnect from the store."""
        if self._workflows is not None:
            self._workflows = None
            if self._url is not None:
                await asyncio.to_thread(partial(DBOS.destroy, destroy_registry=True))
                # DBOS has replaced the loop's executor by its own, which is shut down now.
                asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor())
        if self._client is not None:
            self._client.destroy()
            self._client = None
        if self._connections is not None:
            self._connections.dispose()
            self._connections = None
        if self._file is not None:
            self._file.free()

    async def ping(self) -> None:
        """Raise an error if the store does not accept writes, for example because the database is a standby."""
        if self._workflows is not None:
            await self._store.delete_workflows_async([NOTHING])
        elif isinstance(self._store, DBOSClient):  # before `start`, when tables may be missing
            await self._store.check_connection_async()

    def unsupported(self, runner: Runner) -> Sequence[str]:
        """Return the names of agents that the engine does not support. If the app sets ADK's option
        ``resumability_config``, the result also names this option.
        """
        resumability = runner.resumability_config
        resumable = resumability is not None and resumability.is_resumable
        return [*unsupported_agents(runner.agent), *(["`ResumabilityConfig(is_resumable=True)`"] if resumable else ())]

    async def execute(
        self, record: RunRecord, runner: Runner, log_id: str, work: Callable[[Execution], Awaitable[None]]
    ) -> None:
        """Execute a run for the first time, as ``Engine.execute`` describes."""
        run_id = workflow_id(record)
        calls = CallJournal(self._here, run_id, again=False)
        kept = KeptRun(record=record, version=self._version_of(runner), log_id=log_id)
        await self._here.run(run_id, kept.to_text(), self._do(runner, calls, work))

    async def execute_again(
        self,
        record: RunRecord,
        runner: Runner,
        log_id: str,
        work: Callable[[Execution], Awaitable[None]],
        *,
        alone: bool = False,
    ) -> None:
        """Execute a run again after its worker died, as ``Engine.execute_again`` describes."""
        run_id = workflow_id(record)
        status = await DBOS.get_workflow_status_async(run_id)
        kept = KeptRun.of(status) if status is not None else None
        if status is None or kept is None:
            return
        if kept.version != self._version_of(runner):
            raise OtherVersionError
        noted = {LOG: log_id, **execution_attributes(log_id, "alone" if alone else "running")}
        await self._store.update_workflow_attributes_async(run_id, noted, merge=True)
        calls = CallJournal(self._here, run_id, again=True, names_by_id=kept.format == OLDEST_FORMAT)
        await self._here.run_again(run_id, self._do(runner, calls, work))

    async def mark(self, record: RunRecord, log_id: str, state: LiveState | ToldEnd) -> None:
        """Store the state of one execution of a run, as ``Engine.mark`` describes."""
        noted = execution_attributes(log_id, state)
        await self._store.update_workflow_attributes_async(workflow_id(record), noted, merge=True)

    async def unfinished(self, chat: tuple[str, str] | None = None) -> Sequence[OrphanedRun]:
        """Return the unfinished runs, except runs that this process executes, as ``Engine.unfinished`` describes."""
        assert self._deployment is not None
        prefixes = run_prefixes(self._deployment) if chat is None else chat_prefixes(self._deployment, chat)
        look = partial(self._store.list_workflows_async, name=[RUN, OLDEST_RUN], load_output=False)
        listed = await look(status="PENDING", workflow_id_prefix=prefixes, load_input=False)
        found = [status for status in listed if status.workflow_id not in self._here.executed]
        if new := [status.workflow_id for status in found if status.workflow_id not in self._kept]:
            for status in await look(workflow_ids=new):
                self._kept[status.workflow_id] = KeptRun.of(status)
        kept = {status.workflow_id: self._kept.get(status.workflow_id) for status in found}
        if chat is None:
            self._kept = {run_id: self._kept[run_id] for run_id in kept if run_id in self._kept}
        runs = [(status, kept[status.workflow_id]) for status in found]
        orphans = [run.with_attributes(status.attributes) for status, run in runs if run is not None]
        return [orphan for orphan in orphans if orphan is not None]

    async def cancel(self, record: RunRecord, *, has_ended: bool = False) -> None:
        """Delete a run with its model and tool calls, as ``Engine.cancel`` describes."""
        run_id = workflow_id(record)
        # `found` includes the run's calls. DBOS fails if a call is deleted while the call is running.
        found = await self._store.list_workflows_async(workflow_id_prefix=run_id, load_input=False, load_output=False)
        deleted = [
            status.workflow_id
            for status in found
            if has_ended or status.workflow_id == run_id or status.status != "PENDING"
        ]
        if deleted:
            await self._store.delete_workflows_async(deleted)

    async def _sweep(self) -> None:
        """Delete old model and tool calls whose run is already deleted. If a worker dies during a call, the call stays
        in the store.
        """
        if self._deployment is None:  # without a deployment, its runs are not known
            return
        look = partial(self._store.list_workflows_async, load_input=False, load_output=False)
        before = (datetime.now(UTC) - OLD).isoformat()
        prefixes = run_prefixes(self._deployment)
        calls = await look(name=CALL, workflow_id_prefix=prefixes, end_time=before)
        runs = {run_of_call(call.workflow_id) for call in calls}
        kept = {run.workflow_id for run in await look(workflow_ids=[*runs])} if runs else set()
        if old := [call.workflow_id for call in calls if run_of_call(call.workflow_id) not in kept]:
            await self._store.delete_workflows_async(old)

    @property
    def _store(self) -> type[DBOS] | DBOSClient:
        """The DBOS client for queries that must not wait. While the store is unreachable, the client raises an error
        immediately.

        Model and tool calls do not use this client, because they must wait for the store. If the app has its own DBOS,
        all queries use the app's DBOS.
        """
        if self._url is None:
            return DBOS
        if self._client is None:
            make_private_file(self._url)  # a connection would create a file that others can read
            self._connections = client_engine(self._url)
            self._client = DBOSClient(
                system_database_url=self._url,
                system_database_engine=self._connections,
                lazy=True,
                retry_connection_errors=False,
                application_name=NAME,
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
        calls: CallJournal,
        work: Callable[[Execution], Awaitable[None]],
    ) -> Callable[[], Awaitable[None]]:
        async def do() -> None:
            with calls.current():
                await work(_Execution(self._durable_runner(runner), calls))

        return do

    def _durable_runner(self, runner: Runner) -> Runner:
        if id(runner) not in self._durable_runners:
            assert isinstance(runner.agent, BaseAgent)
            durable = runner_for(durable_agents(runner.agent, self._idempotent_tools), runner)
            self._durable_runners[id(runner)] = runner, durable
        return self._durable_runners[id(runner)][1]

    def _version_of(self, runner: Runner) -> list[Any]:
        assert runner.agent is not None
        return [self._version, shape(runner.agent)]

    def _take_file(self) -> None:
        if self._file is not None and not self._file.take():
            raise StreamProtocolError(
                f"The engine's file {self._file.name} is in use by another process, and takes one at a time: "
                "give each server a file of its own, or take PostgreSQL."
            )


def _stop_polling(dbos: DBOS) -> None:
    """Stop the threads in which DBOS polls the store every second.

    The threads serve features that the engine does not use: queues, schedules, delayed workflows and timeouts.
    """
    for stopping in (*dbos.background_thread_stop_events, dbos._background_jobs_stop_event):  # noqa: SLF001 - DBOS has no option for it
        stopping.set()


def _log_as_others() -> None:
    """Send DBOS's log lines to the root logger, and not directly to the terminal."""
    logger = logging.getLogger("dbos")
    logger.handlers.clear()
    logger.propagate = True
    logger.setLevel(logging.ERROR)
