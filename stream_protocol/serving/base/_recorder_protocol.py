"""The interface of a recorder, as ``ChatService`` calls it. The recorders are in ``stream_protocol.recording``."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from stream_protocol.wire import check_interface

if TYPE_CHECKING:
    from google.adk.events import Event

    from stream_protocol.stream import ConverterOptions, Ending
    from stream_protocol.wire import ChatRequest

logger = logging.getLogger(__name__)


class TurnRecorder(Protocol):
    """Records one run. Its methods are called in order, on the event loop, so they must not wait.

    If one raises, that is logged, and nothing more of the run is recorded.
    """

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


class TurnRecorders:
    """The recorders of one run. One that fails stops none of the others: it is logged, and gets nothing more."""

    def __init__(self, recorders: Iterable[TurnRecorder] = ()) -> None:
        self._recorders = [*recorders]

    def begin(self, message_id: str | None) -> None:
        """Call ``begin`` of each recorder."""
        self._tell(lambda recorder: recorder.begin(message_id))

    def event(self, event: Event) -> None:
        """Call ``event`` of each recorder."""
        if self._recorders:
            self._tell(lambda recorder: recorder.event(event))

    def written(self, sse: Sequence[bytes]) -> None:
        """Call ``written`` of each recorder."""
        if self._recorders:
            self._tell(lambda recorder: recorder.written(sse))

    def end(self, outcome: Ending | None) -> None:
        """Call ``end`` of each recorder."""
        self._tell(lambda recorder: recorder.end(outcome))

    def _tell(self, tell: Callable[[TurnRecorder], None]) -> None:
        for recorder in [*self._recorders]:
            try:
                tell(recorder)
            except Exception:
                logger.exception("The recorder failed: this run is not recorded any further.")
                self._recorders.remove(recorder)


def all_recorders(recorder: Recorder | Sequence[Recorder] | None) -> Sequence[Recorder]:
    """Return the recorders of the option ``recorder``."""
    if recorder is None:
        return ()
    return recorder if isinstance(recorder, Sequence) else (recorder,)


def check_recorder(name: str, recorder: object) -> None:
    """Raises ``InvalidArgumentError`` for anything but a recorder, several, or ``None``."""
    for each in recorder if isinstance(recorder, Sequence) and not isinstance(recorder, str | bytes) else [recorder]:
        check_interface(
            name,
            each,
            Recorder,
            "a recorder, or a list of recorders",
            or_none=recorder is None,
            hint="give ChatRecorder(folder)",
        )
