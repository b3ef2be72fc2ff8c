"""The server of ``adk-ui-stream serve TARGET``. Importing this module loads ADK."""

from __future__ import annotations

import logging
import platform
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.synchronize import Event
from time import monotonic
from typing import TYPE_CHECKING, Literal, NamedTuple

import anyio.to_thread
import click
from google.adk.agents import BaseAgent
from google.adk.runners import Runner
from google.adk.sessions import BaseSessionService, InMemorySessionService
from starlette.types import ASGIApp

from stream_protocol.cli._program import refuse, warn
from stream_protocol.cli._run_lines import RunLines
from stream_protocol.cli._serve_options import ServeOptions
from stream_protocol.cli._serve_screen import show_screen
from stream_protocol.cli._targets import load_declared, load_or_refuse
from stream_protocol.inspector import Inspector, inspector_routes
from stream_protocol.recording.write import ChatRecorder
from stream_protocol.server import (
    AddressError,
    ServerLimits,
    bind_socket,
    exposure_warning,
    log_to_terminal,
    only_allowed_hosts,
    run_server,
    tune_gc,
)
from stream_protocol.serving import (
    AuditFile,
    ChatService,
    PageContext,
    ServiceLimits,
    SharedState,
    Suggestion,
    explain_error,
)
from stream_protocol.serving.adk_runner import (
    SessionServiceError,
    Target,
    TargetError,
    agent_tree,
    is_in_memory,
    load_session_service,
    target_version,
    used_models,
    without_password,
)
from stream_protocol.serving.http import MetricsPage, create_app, header_user, local_user
from stream_protocol.serving.run_logs import RunLog, RunLogError, load_run_log
from stream_protocol.serving.telemetry import export_for_prometheus, export_to_otlp, flush_exports
from stream_protocol.stream import ConverterOptions
from stream_protocol.wire import StreamProtocolError

if TYPE_CHECKING:
    from stream_protocol.durable import DbosEngine

logger = logging.getLogger(__name__)

Shown = Literal["screen", "address", "nothing"]
"""The message of a serving process at its start: the start screen, only the address, or nothing."""


class Loaded(NamedTuple):
    """The chat service of a loaded agent, and the agent's Inspector or ``None``."""

    service: ChatService
    inspector: Inspector | None


@dataclass(frozen=True)
class _FlushingService:
    """Chat service that sends the last spans and metrics when it is closed, because the process may end directly after
    that.
    """

    service: ChatService

    async def drain(self) -> None:
        await self.service.drain()

    async def aclose(self) -> None:
        await self.service.aclose()
        await anyio.to_thread.run_sync(flush_exports)


@dataclass(frozen=True)
class AgentServer:
    """The server of one agent, with the options of ``serve``. The object can be pickled for a child process."""

    target: str
    options: ServeOptions
    began: float
    """The start time of the command, from ``time.monotonic()``."""
    is_demo: bool = False
    suggestions: Sequence[Suggestion] = ()
    """Prompts that the chat page suggests in an empty chat."""

    def load(self) -> Loaded:
        """Load the agent, and open the stores. If the agent or a store cannot be used, the process ends with exit code
        2.
        """
        converting: ConverterOptions = {"ai_sdk": self.options.ai_sdk}
        if self.options.show_errors:
            converting["on_error"] = explain_error
        inspector = Inspector() if self.options.inspect else None
        try:
            target = load_or_refuse(self.target, "serve {}")
            self.set_up_log()  # after the agent's module, which may configure logging
            engine = self._engine(self.options.durable_url) if self.options.durable_url is not None else None
            sessions = (
                load_session_service(self.options.session_service_uri)
                if self.options.session_service_uri is not None
                else None
            )
            if self._keeps_chats_in_memory(target, sessions):
                if engine is not None:
                    refuse("--durable needs stored chats: add --session-service-uri with a file or a database")
                if self.options.workers > 1:
                    refuse("--workers needs shared chats: add --session-service-uri with a file or a database")
            if engine is not None:
                engine.prepare()
            service = ChatService(
                target,
                session_service=sessions,
                run_log=self._run_log(self.options.run_log_url) if self.options.run_log_url is not None else None,
                engine=engine,
                limits=ServiceLimits(
                    disconnect_grace=self.options.disconnect_grace,
                    max_runs=self.options.max_runs,
                    max_runs_per_user=self.options.max_runs_per_user,
                    max_requests_per_minute=self.options.requests_per_minute,
                ),
                on_busy=self.options.on_busy,
                truncated_history=self.options.truncated_history,
                context=load_declared("context", self.options.context, PageContext),
                shared_state=load_declared("shared-state", self.options.shared_state, SharedState),
                on_audit=_audit_file(self.options.audit_file) if self.options.audit_file else None,
                recorder=[
                    *([ChatRecorder(self.options.record_folder)] if self.options.record_folder else ()),
                    *([inspector] if inspector else ()),
                    *([RunLines(self._failure_hint())] if self._prints_runs() else ()),
                ],
                **converting,
            )
        except OSError as error:
            refuse(f"cannot record into {self.options.record_folder}: {error.strerror}")
        except (SessionServiceError, StreamProtocolError, TargetError) as error:
            refuse(str(error))
        return Loaded(service, inspector)

    def set_up_log(self) -> None:
        log_to_terminal(
            verbose=self.options.verbosity == "verbose",
            log_format=self.options.log_format,
            whole=self.options.log_whole,
        )

    def warn(self, text: str) -> None:
        """Print a warning on stderr. With ``--log-format json``, log the warning instead."""
        if self.options.log_format == "json":
            logger.warning(text)
        else:
            warn(text)

    def inform(self, text: str) -> None:
        """Print a message on stdout. With ``--log-format json``, log the message instead."""
        if self.options.log_format == "json":
            logger.info(text)
        else:
            click.echo(text)

    def _prints_runs(self) -> bool:
        """Return True if a line is printed for each run. This is the case on a terminal, without ``--quiet`` and
        ``--log-format json``. If stdout were a pipe that nobody reads, printing would block the server.
        """
        return self.options.verbosity != "quiet" and self.options.log_format == "text" and sys.stdout.isatty()

    def _failure_hint(self) -> str:
        return "" if self.options.verbosity == "verbose" else "  --verbose prints the traceback"

    def _run_log(self, url: str) -> RunLog:
        try:
            return load_run_log(url, prefix=self.options.run_log_prefix, lease=self.options.lease)
        except (ImportError, RunLogError) as error:  # ImportError: the extra for this store is not installed
            refuse(str(error))
        except StreamProtocolError as error:
            refuse(f"--run-log: {error}")

    def _engine(self, url: str) -> DbosEngine:
        try:
            from stream_protocol.durable import DbosEngine  # noqa: PLC0415 - needs the extra `durable`
        except ImportError:
            refuse("--durable needs DBOS: pip install 'adk-ui-stream[durable]'")
        version = target_version(self.target)
        try:
            return DbosEngine(url, idempotent_tools=self.options.idempotent_tools, version=version)
        except StreamProtocolError as error:
            refuse(f"--durable: {error}")

    def _keeps_chats_in_memory(self, target: Target, sessions: BaseSessionService | None) -> bool:
        if sessions is None and isinstance(target, Runner):
            sessions = target.session_service
        in_memory = sessions is None or isinstance(sessions, InMemorySessionService)
        return in_memory or (
            self.options.session_service_uri is not None and is_in_memory(self.options.session_service_uri)
        )

    def serve(
        self,
        loaded: Loaded,
        listener: socket.socket,
        *,
        shows: Shown,
        opens_page: bool,
        announced: Event | None = None,
    ) -> None:
        """Serve the agent until the process is stopped.

        ``shows``: the message to print at the start. ``announced``: an event to set after the server has started.
        """
        service, inspector = loaded
        identify = header_user(self.options.user_header) if self.options.user_header else local_user
        app = create_app(
            service,
            identify=identify,
            allow_origins=self.options.origins,
            page=self.options.page,
            suggestions=self.suggestions,
            while_busy=self.options.while_busy,
        )
        if inspector is not None:  # before the page's own files
            app.routes[:0] = inspector_routes(inspector, service, identify=identify)
        try:
            with_metrics = self._export(app)
            guarded = only_allowed_hosts(
                with_metrics, listener, self.options.allowed_hosts, behind_proxy=bool(self.options.user_header)
            )
        except (ImportError, StreamProtocolError) as error:
            refuse(str(error))
        if shows == "screen" and not self.options.user_header and (meaning := exposure_warning(listener)) is not None:
            self.warn(f"{meaning}; behind a proxy that signs users in, add --user-header.")
        if shows == "screen" and self.options.user_header and self.options.inspect:
            self.warn(
                "--inspect shows each signed-in user the prompts and tracebacks of their chats: "
                "do not use it in production."
            )

        def announce(url: str) -> None:
            headline = f"Serving {'the demo' if self.is_demo else self.target}"
            if self.options.log_format == "json":
                self._log_start(f"{headline} at {url}", service, shows)
            elif shows == "screen":
                self._show_screen(headline, service, url)
            elif shows == "address":
                click.echo(f"{headline} at {url}")
            if opens_page:
                click.launch(url)
            if announced is not None:
                announced.set()

        limits = ServerLimits(connections=self.options.max_connections)
        run_server(
            guarded,
            _FlushingService(service),
            listener,
            announce=announce,
            limits=limits,
            before_accepting=tune_gc,
            drain=0 if self.options.reload else self.options.drain,  # the developer waits for the reload
        )

    def _export(self, app: ASGIApp) -> ASGIApp:
        if self.options.metrics:
            return MetricsPage(app, export_for_prometheus())
        export_to_otlp()
        return app

    def _log_start(self, headline: str, service: ChatService, shows: Shown) -> None:
        if shows == "nothing":
            return
        logger.info(headline)
        for text in used_models(service.runner.agent).missing:
            logger.warning("Missing: %s", text)

    def _show_screen(self, headline: str, service: ChatService, url: str) -> None:
        root = service.runner.agent
        models = used_models(root)
        others = sum(isinstance(node, BaseAgent) and node is not root for node in agent_tree(root))
        links = {
            "Page": url if self.options.page else "",
            "Inspector": self._inspector_hint(),
            "API": f"{url}/api/chat",
        }
        rows = {
            "Agent": root.name + (f" and {others} more below it" if others else ""),
            "Model": ", ".join(models.names),
            "Chats": self._chat_storage(service),
            "Reload": "when a file of the agent changes" if self.options.reload else "",
            "Workers": f"{self.options.workers} processes" if self.options.workers > 1 else "",
            "Runs": f"shared by the workers of {without_password(self.options.run_log_url)}"
            if self.options.run_log_url
            else "",
            "Durable": f"by {without_password(self.options.durable_url)}" if self.options.durable_url else "",
            "Recorded": f"into {self.options.record_folder}" if self.options.record_folder else "",
            "Audited": f"into {self.options.audit_file}" if self.options.audit_file else "",
        }
        show_screen(
            headline,
            url,
            {label: text for label, text in links.items() if text},
            {label: text for label, text in rows.items() if text},
            seconds=monotonic() - self.began,
            missing=models.missing,
        )

    def _inspector_hint(self) -> str:
        if not self.options.page or self.options.user_header or self.options.workers > 1:
            return ""
        keys = "Cmd+I" if platform.system() == "Darwin" else "Ctrl+I"
        return f"{keys} on the page" if self.options.inspect else "--inspect adds it to the page"

    def _chat_storage(self, service: ChatService) -> str:
        store = service.runner.session_service
        if self.options.session_service_uri:
            return f"in {without_password(self.options.session_service_uri)}"
        if isinstance(store, InMemorySessionService):
            if self.is_demo:
                return "in memory, until the server ends"
            return "in memory; --session-service-uri sqlite:///chats.db keeps them"
        return f"in the {type(store).__name__} of the target"


def bound_socket(host: str, port: int) -> socket.socket:
    """Return a listening socket. If the address cannot be used, the process ends with exit code 2."""
    try:
        return bind_socket(host, port)
    except AddressError as error:
        refuse(str(error))


def _audit_file(path: str) -> AuditFile:
    try:
        return AuditFile(path)
    except OSError as error:
        refuse(f"cannot write {path}: {error.strerror}")
