"""``adk-ui-stream replay``: exit 0, or 2 for bad usage and for what is no recording, told in one line on stderr."""

from __future__ import annotations

import os
import sys
import tempfile
from typing import TYPE_CHECKING, Literal, get_args

import click
import orjson

from stream_protocol.cli._command_options import AI_SDK_VERSIONS, HELD_OUTPUT, ai_sdk_version, refuse
from stream_protocol.cli._pace_option import Pace
from stream_protocol.wire import SSE_DONE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from stream_protocol.convert import ConverterOptions
    from stream_protocol.recording import Turns
    from stream_protocol.wire import UIMessage

Target = Literal["sse", "chunks", "messages"]


@click.command()
@click.argument("file")
@click.option("--session", metavar="ID", help="Which session, in a store or an evalset that has several.")
@click.option("--turn", type=click.IntRange(min=1), metavar="N", help="This turn only, counted from 1.")
@click.option(
    "--ai-sdk", type=AI_SDK_VERSIONS, help="Major version of the client's `ai`.  [default: as recorded, or 6]"
)
@click.option("--to", type=click.Choice(get_args(Target)), default="sse", show_default=True, help="What is printed.")
@click.option(
    "--pace",
    type=Pace(),
    default="instant",
    show_default=True,
    metavar="PACE",
    help="instant; recorded; or a factor: 4 is four times as fast as recorded, 0.5 half as fast.",
)
def replay(file: str, *, session: str | None, turn: int | None, ai_sdk: str | None, to: Target, pace: float) -> None:
    """Print the stream that FILE would be now: recorded ADK events in any form, turn by turn.

    A form is told by the content: JSONL of events, a session (JSON, YAML, or a store of SqliteSessionService or
    DatabaseSessionService), what /run and /run_sse sent, an evalset, a conformance test, a recording of adk-ui-stream.
    """
    from stream_protocol.recording import (
        INSTANT,
        check_times,
        load_recording,
        paced,
        replay_messages,
        replay_sse,
        selected,
    )
    from stream_protocol.recording.read import RecordingError, as_file

    options: ConverterOptions = {} if ai_sdk is None else {"ai_sdk": ai_sdk_version(ai_sdk)}
    try:
        with as_file(file) as path:
            recording = load_recording(path, session=session)  # a bad file must print nothing
            turns: Turns = recording.responses()
            if pace != INSTANT:
                check_times(selected(recording.responses(), turn))
                turns = paced(turns, pace)
            if to == "messages":
                messages = replay_messages(turns, turn=turn, delegated=recording.delegated, **options)
                output = _message_array(messages)
            else:
                events = replay_sse(selected(turns, turn), delegated=recording.delegated, **options)
                output = events if to == "sse" else _chunk_lines(events)
            if pace == INSTANT:
                _print_when_whole(output)
            else:
                _print_at_once(output)
    except RecordingError as error:
        refuse(f"{click.format_filename(file)}: {error}")


def _chunk_lines(events: Iterable[bytes]) -> Iterator[bytes]:
    """The chunks of SSE events, each as JSON on a line."""
    return (event[len(b"data: ") : -1] for event in events if event != SSE_DONE)


def _message_array(messages: Iterable[UIMessage]) -> Iterator[bytes]:
    """A JSON array, each message on a line."""
    opening = b"[\n"
    for message in messages:
        yield opening + orjson.dumps(message)
        opening = b",\n"
    yield b"\n]\n"


def _print_when_whole(output: Iterable[bytes]) -> None:
    with tempfile.SpooledTemporaryFile(HELD_OUTPUT) as held:
        held.writelines(output)
        held.seek(0)
        _print_at_once(iter(lambda: held.read(HELD_OUTPUT), b""))


def _print_at_once(output: Iterable[bytes]) -> None:
    out = sys.stdout.buffer
    try:
        for piece in output:
            out.write(piece)
            out.flush()
    except BrokenPipeError:  # the reader, `head` perhaps, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
