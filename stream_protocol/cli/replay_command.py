"""Command ``adk-ui-stream replay``: prints the conversation or the stream of a recording.

Exit code 2 means that the file is not a recording.
"""

from __future__ import annotations

import sys
import tempfile
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Literal, get_args

import click
import orjson

from stream_protocol.cli._command_options import AI_SDK_HELP, FILE, AiSdk, Count, Pace, require_path
from stream_protocol.cli._output import SPOOL_BYTES, print_at_once, progress, shown_on_terminal
from stream_protocol.cli._program import DocumentedCommand, refuse
from stream_protocol.wire import SSE_DONE, ChatRequestError, json_value, parse_chat_request
from stream_protocol.wire.client import parse_sse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from stream_protocol.cli._transcript import Transcript
    from stream_protocol.recording import Recording, TurnItem, TurnStream
    from stream_protocol.stream import ConverterOptions
    from stream_protocol.wire import AiSdkOption, UIMessage

OutputFormat = Literal["text", "sse", "chunks", "messages"]


_EXAMPLES: Final = {
    "The conversation as text": "adk-ui-stream replay weather.jsonl --to text",
    "The stream, as a browser gets it": "adk-ui-stream replay weather.jsonl --to sse",
    "The client's messages, for one session of a store": (
        "adk-ui-stream replay sessions.db --session c1 --to messages"
    ),
    "Only the second turn, at its recorded pace": "adk-ui-stream replay weather.jsonl --turn 2 --pace recorded",
}


@click.command(
    cls=DocumentedCommand, short_help="Print recorded events as a conversation or a stream.", examples=_EXAMPLES
)
@click.argument("file", type=FILE)
@click.option("--session", metavar="ID", help="Session to use, if the file has several sessions.")
@click.option("--turn", type=Count(), metavar="N", help="Print this turn only, counted from 1.")
@click.option(
    "--ai-sdk",
    type=AiSdk(),
    metavar="VERSION",
    help=f"{AI_SDK_HELP}  [default: the recorded version, else 6]",
)
@click.option(
    "--to",
    type=click.Choice(get_args(OutputFormat)),
    help="Output: a transcript, the SSE stream, chunks as JSON lines, or the client's messages.  "
    "[default: text on a terminal, else sse]",
)
@click.option(
    "--pace",
    type=Pace(),
    default="instant",
    show_default=True,
    metavar="PACE",
    help="Pace: instant; recorded; or a factor such as 4 (faster) or 0.5 (slower).",
)
def replay(
    file: str,
    *,
    session: str | None,
    turn: int | None,
    ai_sdk: AiSdkOption | None,
    to: OutputFormat | None,
    pace: float,
) -> None:
    """Convert recorded ADK events in FILE, and print the conversation or the stream, turn by turn.

    FILE is a recording, or another file with events or sessions: see 'Recordings' in the docs.
    """
    require_path(file)

    from stream_protocol.recording import INSTANT, RecordingError
    from stream_protocol.recording.read import rereadable

    name = click.format_filename(file)
    options: ConverterOptions = {} if ai_sdk is None else {"ai_sdk": ai_sdk}
    try:
        with rereadable(file) as path:
            chosen = to or ("text" if sys.stdout.isatty() else "sse")
            if chosen == "text":
                text = _text(path, session, turn, pace, options)
                print_at_once(["".join(text)] if pace == INSTANT else text)
                return
            output = shown_on_terminal(_output(path, session, turn, chosen, pace, options))
            if pace == INSTANT:
                _print_when_complete(output, f"Replaying {name}")
            else:
                print_at_once(output)
    except RecordingError as error:
        refuse(f"{name}: {error}")


def _output(
    path: Path, session: str | None, turn: int | None, to: OutputFormat, pace: float, options: ConverterOptions
) -> Iterator[bytes]:
    """Yield the output in parts. The whole file is read first, so that nothing is printed for an invalid file."""
    from stream_protocol.recording import replay_messages, replay_sse, select_turn

    recording, turns = _load(path, session, turn, pace)
    if to == "messages":
        yield _message_array(replay_messages(turns, turn=turn, delegated=recording.delegated, **options))
    else:
        events = replay_sse(select_turn(turns, turn), delegated=recording.delegated, **options)
        yield from events if to == "sse" else _chunk_lines(events)


def _text(path: Path, session: str | None, turn: int | None, pace: float, options: ConverterOptions) -> Iterator[str]:
    from stream_protocol.cli._transcript import Transcript
    from stream_protocol.recording import replay_sse, select_turn

    recording, turns = _load(path, session, turn, pace)
    transcript = Transcript()
    for head, items in select_turn(turns, turn):
        turn_items = _TurnItems(items, transcript)
        for event in replay_sse([(head, turn_items)], delegated=recording.delegated, **options):
            user_text = turn_items.take()
            yield user_text + "".join(map(transcript.chunk, parse_sse(event)))
        yield turn_items.take() + transcript.end()


class _TurnItems:
    """The items of a recorded turn. While you iterate over them, this object also collects the user's texts, and sets
    ``agent`` of the transcript.
    """

    def __init__(self, items: Iterable[TurnItem], transcript: Transcript) -> None:
        self._items = items
        self._transcript = transcript
        self._user_texts: list[str] = []

    def __iter__(self) -> Iterator[TurnItem]:
        from stream_protocol.recording import TimedEvent
        from stream_protocol.recording.read import TurnRecord

        has_request = False
        for item in self._items:
            if isinstance(item, TurnRecord) and item.request is not None:
                with suppress(ChatRequestError):  # another program may have written the file
                    self._user_texts.append(self._transcript.user_message(parse_chat_request(item.request).target))
                    has_request = True
            elif isinstance(item, TimedEvent) and item.event.author != "user":
                self._transcript.agent = item.event.author
            elif isinstance(item, TimedEvent) and not has_request and item.event.content is not None:
                texts = [part.text for part in item.event.content.parts or () if part.text]
                self._user_texts += [self._transcript.user_texts(texts)] if texts else []
            yield item

    def take(self) -> str:
        """Return the user's texts that were collected since the last call of this method."""
        text, self._user_texts = "".join(self._user_texts), []
        return text


def _load(path: Path, session: str | None, turn: int | None, pace: float) -> tuple[Recording, TurnStream]:
    from stream_protocol.recording import INSTANT, check_has_times, load_recording, pace_turns, select_turn

    recording = load_recording(path, session=session)
    turns: TurnStream = recording.stream_turns()
    if pace == INSTANT:
        return recording, turns
    check_has_times(select_turn(recording.stream_turns(), turn))
    return recording, pace_turns(turns, pace)


def _chunk_lines(events: Iterable[bytes]) -> Iterator[bytes]:
    return (event[len(b"data: ") : -1] for event in events if event != SSE_DONE)


def _message_array(messages: Iterable[UIMessage]) -> bytes:
    return b"[\n" + b",\n".join(map(_json, messages)) + b"\n]\n"


def _json(message: UIMessage) -> bytes:
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
