"""``adk-ui-stream replay``: prints the stream of a recording. Exit code 2 if the file is no recording."""

from __future__ import annotations

import os
import sys
import tempfile
from typing import TYPE_CHECKING, Literal, get_args

import click
import orjson

from stream_protocol.cli._command_options import AI_SDK_VERSIONS, SPOOL_BYTES, Pace, ai_sdk_version, refuse
from stream_protocol.wire import SSE_DONE, json_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from stream_protocol.convert import ConverterOptions
    from stream_protocol.recording import TurnStream
    from stream_protocol.wire import UIMessage

OutputFormat = Literal["sse", "chunks", "messages"]


@click.command()
@click.argument("file")
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
    DatabaseSessionService), what /run and /run_sse sent, an evalset, a conformance test, a recording of adk-ui-stream.
    """
    from stream_protocol.recording import (
        INSTANT,
        RecordingError,
        check_has_times,
        load_recording,
        pace_turns,
        replay_messages,
        replay_sse,
        select_turn,
    )
    from stream_protocol.recording.read import rereadable

    options: ConverterOptions = {} if ai_sdk is None else {"ai_sdk": ai_sdk_version(ai_sdk)}
    try:
        with rereadable(file) as path:
            recording = load_recording(path, session=session)  # reads the whole file: a bad one must print nothing
            turns: TurnStream = recording.stream_turns()
            if pace != INSTANT:
                check_has_times(select_turn(recording.stream_turns(), turn))
                turns = pace_turns(turns, pace)
            if to == "messages":
                messages = replay_messages(turns, turn=turn, delegated=recording.delegated, **options)
                output: Iterable[bytes] = [_message_array(messages)]
            else:
                events = replay_sse(select_turn(turns, turn), delegated=recording.delegated, **options)
                output = events if to == "sse" else _chunk_lines(events)
            if pace == INSTANT:
                _print_when_complete(output)
            else:
                _print_at_once(output)
    except RecordingError as error:
        refuse(f"{click.format_filename(file)}: {error}")


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


def _print_when_complete(output: Iterable[bytes]) -> None:
    with tempfile.SpooledTemporaryFile(SPOOL_BYTES) as spool:
        spool.writelines(output)
        spool.seek(0)
        _print_at_once(iter(lambda: spool.read(SPOOL_BYTES), b""))


def _print_at_once(output: Iterable[bytes]) -> None:
    out = sys.stdout.buffer
    try:
        for piece in output:
            out.write(piece)
            out.flush()
    except BrokenPipeError:  # the reader has closed the pipe, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
