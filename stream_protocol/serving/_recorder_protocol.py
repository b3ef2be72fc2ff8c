"""What a ``ChatService`` tells whoever records its chats. The recorders are in ``stream_protocol.recording``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from google.adk.events import Event

    from stream_protocol.convert import ConverterOptions, Ending
    from stream_protocol.wire import ChatRequest


class TurnRecorder(Protocol):
    """Is told of one run, in order, as it happens, on the event loop. Nothing here may raise or wait."""

    def begin(self, message_id: str | None) -> None:
        """The response begins, in this message."""

    def event(self, event: Event) -> None:
        """The converter is about to be fed this event. ADK may change it later."""

    def written(self, sse: Sequence[bytes]) -> None:
        """Tells what goes out: SSE events, one chunk each."""

    def end(self, outcome: Ending | None) -> None:
        """The response has ended. What the run still does is not told."""


class Recorder(Protocol):
    """Records the chats of a service."""

    def turn(self, request: ChatRequest, *, app_name: str, user_id: str, options: ConverterOptions) -> TurnRecorder:
        """The recorder of the run that answers this request. ``options``: what its events are converted with."""


class Unrecorded:
    """Nobody records: the recorder, and that of each turn."""

    def turn(self, _request: ChatRequest, **_how: object) -> Unrecorded:
        """Itself."""
        return self

    def begin(self, message_id: str | None) -> None:
        """Does nothing."""

    def event(self, event: Event) -> None:
        """Does nothing."""

    def written(self, sse: Sequence[bytes]) -> None:
        """Does nothing."""

    def end(self, outcome: Ending | None) -> None:
        """Does nothing."""
