"""Interface of the recorders that ``ChatService`` calls. Implementations are in ``stream_protocol.recording``."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from stream_protocol.wire import check_interface

if TYPE_CHECKING:
    from google.adk.events import Event
    from google.adk.plugins import BasePlugin

    from stream_protocol.stream import ConverterOptions, Ending
    from stream_protocol.wire import ChatRequest

logger = logging.getLogger(__name__)


class TurnRecorder(Protocol):
    """Recorder of one run. The service calls the methods on the event loop, so they must not block.

    If a method raises, the service logs the error, and no longer calls this recorder.
    """

    def begin(self, message_id: str | None) -> None:
        """Called when the response begins. ``message_id``: the id of the assistant message; ``None`` if the response
        has no assistant message.
        """

    def event(self, event: Event) -> None:
        """Called with each event before the event becomes chunks. Keep only a copy of the event, because ADK may change
        the event later.
        """

    def written(self, sse: Sequence[bytes]) -> None:
        """Called with SSE events of the response, as bytes. Each SSE event contains one chunk."""

    def end(self, outcome: Ending | None) -> None:
        """Called once, at the end of the response. No other method is called after ``end``, even if the run continues.

        ``outcome``: the way in which the response ended; ``None`` if the response never began.
        """


@runtime_checkable
class RunObserving(Protocol):
    """Interface of a ``TurnRecorder`` that also observes the run with an ADK plugin."""

    def plugin(self) -> BasePlugin:
        """Returns an ADK plugin for the run. ADK calls this plugin after all other plugins. If the plugin raises, the
        run fails.
        """


@runtime_checkable
class FailureObserving(Protocol):
    """Interface of a ``TurnRecorder`` that also records the exception of a failed run."""

    def failed(self, error: BaseException) -> None:
        """Called before the response ends. ``error``: the exception of the run, or of a hook of the app."""


class Recorder(Protocol):
    """Recorder of the chats of a service."""

    def turn(self, request: ChatRequest, *, app_name: str, user_id: str, options: ConverterOptions) -> TurnRecorder:
        """Returns the recorder for the run of a request. ``options``: the options for the conversion of events to
        chunks.
        """


class TurnRecorders:
    """The recorders of one run. A recorder that raises is removed and its error is logged. The other recorders stay."""

    def __init__(self, recorders: Iterable[TurnRecorder] = ()) -> None:
        self._recorders = [*recorders]

    def begin(self, message_id: str | None) -> None:
        self._tell(lambda recorder: recorder.begin(message_id))

    def event(self, event: Event) -> None:
        if self._recorders:
            self._tell(lambda recorder: recorder.event(event))

    def written(self, sse: Sequence[bytes]) -> None:
        if self._recorders:
            self._tell(lambda recorder: recorder.written(sse))

    def plugins(self) -> list[BasePlugin]:
        return [recorder.plugin() for recorder in self._recorders if isinstance(recorder, RunObserving)]

    def failed(self, error: BaseException) -> None:
        self._tell(lambda recorder: recorder.failed(error) if isinstance(recorder, FailureObserving) else None)

    def end(self, outcome: Ending | None) -> None:
        self._tell(lambda recorder: recorder.end(outcome))

    def _tell(self, tell: Callable[[TurnRecorder], None]) -> None:
        for recorder in [*self._recorders]:
            try:
                tell(recorder)
            except Exception:
                logger.exception("The recorder failed: this run is not recorded any further.")
                self._recorders.remove(recorder)


def all_recorders(recorder: Recorder | Sequence[Recorder] | None) -> Sequence[Recorder]:
    if recorder is None:
        return ()
    return recorder if isinstance(recorder, Sequence) else (recorder,)


def check_recorder(name: str, recorder: object) -> None:
    for each in recorder if isinstance(recorder, Sequence) and not isinstance(recorder, str | bytes) else [recorder]:
        check_interface(
            name,
            each,
            Recorder,
            "a recorder, or a list of recorders",
            or_none=recorder is None,
            hint="give ChatRecorder(folder)",
        )
