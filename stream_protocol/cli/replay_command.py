"""``adk-ui-stream replay``: prints the stream of a recording. Exit code 2 if the file is no recording."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING, Final, Literal, get_args

import click
import orjson

from stream_protocol.cli._command_options import AI_SDK_VERSIONS, FILE, Pace, ai_sdk_version
from stream_protocol.cli._output import SPOOL_BYTES, print_at_once, progress, shown_on_terminal
from stream_protocol.cli._program import DocumentedCommand, refuse
from stream_protocol.wire import SSE_DONE, json_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from stream_protocol.recording import TurnStream
    from stream_protocol.stream import ConverterOptions
    from stream_protocol.wire import UIMessage

OutputFormat = Literal["sse", "chunks", "messages"]


_EXAMPLES: Final = {
    "What a browser would get": "adk-ui-stream replay weather.jsonl",
    "The messages that the page would show, of one session of a store": (
        "adk-ui-stream replay sessions.db --session c1 --to messages"
    ),
    "The second turn alone, as fast as it was": "adk-ui-stream replay weather.jsonl --turn 2 --pace recorded",
}


@click.command(cls=DocumentedCommand, short_help="Print the stream of recorded events.", examples=_EXAMPLES)
@click.argument("file", type=FILE)
@click.option("--session", metavar="ID", help="Which session, in a store or an evalset that has several.")
@click.option("--turn", type=click.IntRange(min=1), metavar="N", help="This turn only, counted from 1.")
@click.option(
    "--ai-sdk", type=AI_SDK_VERSIONS, help="Major version of the client's `ai`.  [default: as recorded, or 6]"
)
@click.option(
    "--to", type=click.Choice(get_args(OutputFormat)), default="sse", show_default=True, help="What is printed."
)
@click.option(
    "--pace",
    type=Pace(),
    default="instant",
    show_default=True,
    metavar="PACE",
    help="instant; recorded; or a factor: 4 is four times as fast as recorded, 0.5 half as fast.",
)
def replay(
    file: str, *, session: str | None, turn: int | None, ai_sdk: str | None, to: OutputFormat, pace: float
) -> None:
    """Print the stream that FILE would be now: recorded ADK events in any form, turn by turn.

    A form is told by the content: JSONL of events, a session (JSON, YAML, or a store of SqliteSessionService or
    DatabaseSessionService), what /run and /run_sse sent, an evalset, traces of agents-cli, a conformance test, a
    recording of adk-ui-stream.
    """
    from stream_protocol.recording import INSTANT, RecordingError
    from stream_protocol.recording.read import rereadable

    name = click.format_filename(file)
    options: ConverterOptions = {} if ai_sdk is None else {"ai_sdk": ai_sdk_version(ai_sdk)}
    try:
        with rereadable(file) as path:
            output = shown_on_terminal(_output(path, session, turn, to, pace, options))
            if pace == INSTANT:
                _print_when_complete(output, f"Replaying {name}")
            else:
                print_at_once(output)
    except RecordingError as error:
        refuse(f"{name}: {error}")


def _output(
    path: Path, session: str | None, turn: int | None, to: OutputFormat, pace: float, options: ConverterOptions
) -> Iterator[bytes]:
    """What is printed. Reads the whole file before the first piece: a bad one must print nothing."""
    from stream_protocol.recording import (
        INSTANT,
        check_has_times,
        load_recording,
        pace_turns,
        replay_messages,
        replay_sse,
        select_turn,
    )

    recording = load_recording(path, session=session)
    turns: TurnStream = recording.stream_turns()
    if pace != INSTANT:
        check_has_times(select_turn(recording.stream_turns(), turn))
        turns = pace_turns(turns, pace)
    if to == "messages":
        yield _message_array(replay_messages(turns, turn=turn, delegated=recording.delegated, **options))
    else:
        events = replay_sse(select_turn(turns, turn), delegated=recording.delegated, **options)
        yield from events if to == "sse" else _chunk_lines(events)


def _chunk_lines(events: Iterable[bytes]) -> Iterator[bytes]:
    """The chunks of SSE events, each as JSON on a line."""
    return (event[len(b"data: ") : -1] for event in events if event != SSE_DONE)


def _message_array(messages: Iterable[UIMessage]) -> bytes:
    """A JSON array, each message on a line."""
    return b"[\n" + b",\n".join(map(_json, messages)) + b"\n]\n"


def _json(message: UIMessage) -> bytes:
    """What the user wrote, and ids, may hold lone surrogates, which UTF-8 cannot say: the stream replaces them, too."""
    try:
        return orjson.dumps(message)
    except orjson.JSONEncodeError:
        return orjson.dumps(json_value(message, lossy=True))


def _print_when_complete(output: Iterable[bytes], doing: str) -> None:
    with tempfile.SpooledTemporaryFile(SPOOL_BYTES) as spool:
        with progress(doing):
            spool.writelines(output)
        spool.seek(0)
        print_at_once(iter(lambda: spool.read(SPOOL_BYTES), b""))
