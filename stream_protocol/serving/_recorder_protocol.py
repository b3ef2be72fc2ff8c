"""The interface of a recorder, as ``ChatService`` calls it. The recorders are in ``stream_protocol.recording``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from google.adk.events import Event

    from stream_protocol.convert import ConverterOptions, Ending
    from stream_protocol.wire import ChatRequest


class TurnRecorder(Protocol):
    """Records one run. Its methods are called in order, on the event loop; they must neither raise nor wait."""

    def begin(self, message_id: str | None) -> None:
        """The response begins. ``message_id``: the id of the assistant's message; ``None`` if there is none."""

    def event(self, event: Event) -> None:
        """The converter gets this event next. ADK may change the event later, so copy what you keep."""

    def written(self, sse: Sequence[bytes]) -> None:
        """These SSE events are sent, one chunk each."""

    def end(self, outcome: Ending | None) -> None:
        """The response has ended; ``None`` if it never began. The run may go on, but nothing more is recorded."""


class Recorder(Protocol):
    """Records the chats of a service."""

    def turn(self, request: ChatRequest, *, app_name: str, user_id: str, options: ConverterOptions) -> TurnRecorder:
        """Returns the recorder of the run that answers this request. ``options``: those of the run's converter."""


class NoRecorder:
    """A ``Recorder`` and ``TurnRecorder`` that records nothing."""

    def turn(self, request: ChatRequest, **_how: object) -> NoRecorder:
        """Returns itself."""
        return self

    def begin(self, message_id: str | None) -> None:
        """Does nothing."""

    def event(self, event: Event) -> None:
        """Does nothing."""

    def written(self, sse: Sequence[bytes]) -> None:
        """Does nothing."""

    def end(self, outcome: Ending | None) -> None:
        """Does nothing."""
