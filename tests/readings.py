"""Reads a stored chat in every way except its history: it replays each form of the stored session."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from google.adk.sessions import BaseSessionService, DatabaseSessionService, Session
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.utils.yaml_utils import dump_pydantic_to_yaml

from stream_protocol.recording import Recording, load_recording, replay_messages
from stream_protocol.wire import UIMessage


def _lines(session: Session, path: Path) -> None:
    path.write_text("\n".join(event.model_dump_json(by_alias=True, exclude_none=True) for event in session.events))


def _yaml(session: Session, path: Path) -> None:
    dump_pydantic_to_yaml(session, path, sort_keys=False)


def _dump(session: Session, path: Path) -> None:
    path.write_text(session.model_dump_json())


def _pretty(session: Session, path: Path) -> None:
    path.write_text(session.model_dump_json(indent=2, by_alias=True, exclude_none=True))


WRITERS: Final[Mapping[str, Callable[[Session, Path], None]]] = MappingProxyType(
    {"dump": _dump, "pretty": _pretty, "lines": _lines, "yaml": _yaml}
)
"""Name of a form -> function that writes a session in this form."""

STORES: Final[Mapping[str, Callable[[Path], BaseSessionService]]] = MappingProxyType(
    {
        "sqlite": lambda path: SqliteSessionService(str(path)),
        "sqlalchemy": lambda path: DatabaseSessionService(f"sqlite+aiosqlite:///{path}"),
    }
)
"""Name of a store in a file -> function that makes its session service."""


def replayed(path: Path, *, session: str | None = None, **options: Any) -> list[UIMessage]:
    """Return the messages that ``replay --to messages`` prints."""
    return messages_of(load_recording(path, session=session), **options)


def messages_of(recording: Recording, **options: Any) -> list[UIMessage]:
    """Return the same messages for a loaded recording."""
    return replay_messages(recording.stream_turns(), delegated=recording.delegated, **options)


def recordings(session: Session, folder: Path) -> Iterator[tuple[str, Recording]]:
    """Yield each form's name, and the session loaded from this form. A session without events has no forms."""
    for form, write in WRITERS.items() if session.events else ():
        write(session, folder / form)
        yield form, load_recording(folder / form)


def replays(session: Session, folder: Path, **options: Any) -> Iterator[tuple[str, list[UIMessage]]]:
    """Yield each form's name, and its replay."""
    for form, recording in recordings(session, folder):
        yield form, messages_of(recording, **options)
