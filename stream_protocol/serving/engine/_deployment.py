"""Provides ``deployment_of``, which names an app and its stores."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

from google.adk.sessions import InMemorySessionService

from stream_protocol.serving.adk_runner import ThreadedReads
from stream_protocol.serving.engine._engine import Deployment

if TYPE_CHECKING:
    from google.adk.runners import Runner
    from google.adk.sessions import BaseSessionService

    from stream_protocol.serving.run_logs import RunLog

MEMORY: Final = "memory"

POSTGRES_PORT: Final = 5432


@runtime_checkable
class _Placed(Protocol):
    """A run log that knows the address of its store."""

    @property
    def place(self) -> str: ...


def deployment_of(runner: Runner, run_log: RunLog) -> Deployment:
    """Return the names of the app and of its stores, without passwords. All workers of the deployment get the same
    names. The engine stores them with each run, and uses them to find the runs of this deployment.
    """
    return Deployment(
        app=runner.app_name,
        run_log=run_log.place if isinstance(run_log, _Placed) else _class_name(run_log),
        session_store=_place_of_sessions(runner.session_service),
    )


def _place_of_sessions(service: BaseSessionService) -> str:
    if isinstance(service, ThreadedReads):
        service = service.service
    if isinstance(service, InMemorySessionService):
        return MEMORY
    attributes: dict[str, Any] = vars(service)
    match attributes:
        case {"db_engine": engine}:  # ADK's DatabaseSessionService
            return _place_of_database(engine.url)
        case {"_db_path": str(path)}:  # ADK's SqliteSessionService
            return _place_of_file(path)
        case {"_project": project, "_location": location, "_agent_engine_id": engine_id}:  # its VertexAiSessionService
            return f"vertexai://{project}/{location}/{engine_id}"
    return _class_name(service)


def _place_of_database(url: Any) -> str:
    """Return the address of a database, without user name and password. ``url``: the URL object of SQLAlchemy."""
    if url.get_backend_name() == "sqlite":
        return _place_of_file(url.database or "")
    port = url.port or (POSTGRES_PORT if url.get_backend_name() == "postgresql" else "")
    return f"{url.get_backend_name()}://{url.host or ''}:{port}/{url.database or ''}"


def _place_of_file(path: str) -> str:
    return MEMORY if path in ("", ":memory:") else f"sqlite://{Path(path).resolve()}"


def _class_name(store: object) -> str:
    return f"{type(store).__module__}.{type(store).__qualname__}"
