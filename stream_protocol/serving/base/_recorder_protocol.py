"""The interface of a recorder, as ``ChatService`` calls it. The recorders are in ``stream_protocol.recording``."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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


class FailsafeRecorder:
    """``recorder`` until it fails: then the failure is logged, and the run goes on unrecorded."""

    def __init__(self, recorder: TurnRecorder) -> None:
        self._recorder = recorder

    def begin(self, message_id: str | None) -> None:
        """As of ``TurnRecorder``."""
        with self._stop_on_failure():
            self._recorder.begin(message_id)

    def event(self, event: Event) -> None:
        """As of ``TurnRecorder``."""
        with self._stop_on_failure():
            self._recorder.event(event)

    def written(self, sse: Sequence[bytes]) -> None:
        """As of ``TurnRecorder``."""
        with self._stop_on_failure():
            self._recorder.written(sse)

    def end(self, outcome: Ending | None) -> None:
        """As of ``TurnRecorder``."""
        with self._stop_on_failure():
            self._recorder.end(outcome)

    @contextmanager
    def _stop_on_failure(self) -> Iterator[None]:
        try:
            yield
        except Exception:
            logger.exception("The recorder failed: this run is not recorded any further.")
            self._recorder = NoRecorder()


def as_one_recorder(recorder: Recorder | Sequence[Recorder] | None) -> Recorder:
    """Return a recorder that gives each run to all of these. One that fails stops none of the others."""
    if recorder is None:
        return NoRecorder()
    return _SeveralRecorders(recorder) if isinstance(recorder, Sequence) else recorder


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


class _SeveralRecorders:
    def __init__(self, recorders: Sequence[Recorder]) -> None:
        self._recorders = recorders

    def turn(self, request: ChatRequest, *, app_name: str, user_id: str, options: ConverterOptions) -> TurnRecorder:
        """The recorder of the run that answers this request."""
        if not self._recorders:
            return NoRecorder()
        turns = (
            recorder.turn(request, app_name=app_name, user_id=user_id, options=options) for recorder in self._recorders
        )
        return _SeveralTurns([FailsafeRecorder(turn) for turn in turns])


class _SeveralTurns:
    def __init__(self, turns: Sequence[TurnRecorder]) -> None:
        self._turns = turns

    def begin(self, message_id: str | None) -> None:
        for turn in self._turns:
            turn.begin(message_id)

    def event(self, event: Event) -> None:
        for turn in self._turns:
            turn.event(event)

    def written(self, sse: Sequence[bytes]) -> None:
        for turn in self._turns:
            turn.written(sse)

    def end(self, outcome: Ending | None) -> None:
        for turn in self._turns:
            turn.end(outcome)
