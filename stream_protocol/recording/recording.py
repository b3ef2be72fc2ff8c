"""A recorded conversation and its turns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Unpack

from google.adk.events import Event

from stream_protocol.conversation.stretches import is_shown
from stream_protocol.convert.delegations import delegated_tools, hiding
from stream_protocol.convert.options import ConverterOptions
from stream_protocol.convert.streams import iter_sse
from stream_protocol.recording.load import read_events
from stream_protocol.recording.splitting import ResponseSplitter
from stream_protocol.wire.chunks import AnyChunk


@dataclass(frozen=True, kw_only=True, eq=False)
class Turn:
    """One response of a recording, from what somebody said or answered to the agent's last event."""

    message_id: str
    past: tuple[Event, ...] = ()
    """The earlier events of the message, if this response continues one."""
    events: tuple[Event, ...]
    """As they came; the user's own is the first, where it was recorded."""
    request: Mapping[str, Any] | None = None
    """The client's request body, where the recording has it."""
    at: tuple[float, ...] | None = None
    """When each event came, in seconds from the turn's beginning; ``None`` if nobody recorded that."""
    chunks: tuple[AnyChunk, ...] | None = None
    """What went out then, where it was recorded."""


@dataclass(frozen=True)
class Recording:
    """A recording in a file. Its events are read anew each time that they are asked for, and never all held."""

    path: Path
    session: str | None = None
    """Which session, in a file that holds several."""

    def turns(self) -> Iterator[Turn]:
        """The turns, in order. Raises ``RecordingError`` for a file that changed into none."""
        with self.path.open(encoding="utf-8-sig") as lines:
            splitter = ResponseSplitter()
            for response, own in groupby(filter(is_shown, read_events(lines)), key=splitter.place):
                yield Turn(message_id=response.message_id, past=response.past, events=tuple(own))


def load_recording(path: str | Path, *, session: str | None = None) -> Recording:
    """The recording in a file, whatever form it has. Raises ``RecordingError`` for what is none."""
    recording = Recording(Path(path), session)
    for _ in recording.turns():
        pass
    return recording


def replay(recording: Recording, **options: Unpack[ConverterOptions]) -> Iterator[bytes]:
    """The SSE events of all turns, each from ``start`` to ``[DONE]``: the same bytes each time."""
    options = hiding(delegated_tools(event for turn in recording.turns() for event in turn.events), options)
    for turn in recording.turns():
        yield from iter_sse(turn.events, past=turn.past, message_id=turn.message_id, **options)
