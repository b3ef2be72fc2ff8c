"""``adk-ui-stream record``: talks with an agent on the command line, and records the conversation.

Exit code 1 if all turns failed.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import click

from stream_protocol.cli._command_options import AI_SDK_VERSIONS, FOLDER, ai_sdk_version
from stream_protocol.cli._output import data_on_stdout, progress
from stream_protocol.cli._program import DocumentedCommand, refuse
from stream_protocol.wire import ChatRequestError, ClientStreamError, StreamProtocolError, parse_chat_request
from stream_protocol.wire.client import MessageReducer

if TYPE_CHECKING:
    from stream_protocol.serving import ChatService
    from stream_protocol.wire import AiSdkVersion

CHAT_ID = "recorded"
"""The chat's id in the requests."""


_EXAMPLES: Final = {
    "One turn with an ADK agent folder": 'adk-ui-stream record my_agent --say "Hello" --to hello.jsonl',
    "Two turns with an agent by its name": (
        'adk-ui-stream record my_package.agent:root_agent --say "Hi" --say "And tomorrow?" --to two-turns.jsonl'
    ),
}


@click.command(cls=DocumentedCommand, short_help="Talk with an agent and record it.", examples=_EXAMPLES)
@click.argument("target", type=FOLDER)
@click.option("--say", "texts", multiple=True, required=True, help="What the user says; repeatable, one turn each.")
@click.option("--to", "file", required=True, type=click.Path(path_type=Path), help="The recording; it must not exist.")
@click.option(
    "--ai-sdk", type=AI_SDK_VERSIONS, default="6", show_default=True, help="Major version of the client's `ai`."
)
@click.option("--verbose", is_flag=True, help="Print the tracebacks of errors, not only their causes.")
def record(target: str, *, texts: tuple[str, ...], file: Path, ai_sdk: str, verbose: bool) -> None:
    """Talk with TARGET (as in `serve`) and record it, for `replay` and tests. It really runs: models cost money.

    A turn that fails is recorded as well, and reported on stderr. The exit code is 1 if all turns failed.
    """
    with data_on_stdout() as print_data:
        failed = _record(target, texts, file, ai_sdk=ai_sdk, verbose=verbose)
        summary = f"Recorded {len(texts)} turn{'s' * (len(texts) > 1)} in {file}"
        print_data(summary + (f", {failed} of which failed\n" if failed else "\n"))
    if failed == len(texts):
        sys.exit(1)


def _record(target: str, texts: tuple[str, ...], file: Path, *, ai_sdk: str, verbose: bool) -> int:
    """Return how many turns failed."""
    from stream_protocol.cli._targets import load_or_refuse
    from stream_protocol.recording.write import FileRecorder
    from stream_protocol.server import log_to_terminal
    from stream_protocol.serving import ChatService

    version = ai_sdk_version(ai_sdk)
    if file.exists():
        refuse(f"{file} is there already: delete it, or name another file with --to")
    if not file.parent.is_dir():
        refuse(f"{file.parent} is no folder")
    try:
        with progress(f"Loading {target}"):
            loaded = load_or_refuse(target, "record {} --say …")  # it may have a logging of its own
            log_to_terminal(verbose=verbose)
            service = ChatService(loaded, ai_sdk=version, recorder=FileRecorder(file))
        failed = asyncio.run(_talk(service, texts, version))
    except (StreamProtocolError, ChatRequestError) as error:
        refuse(str(error))
    if not file.exists():
        refuse(f"{file} could not be written")
    return failed


async def _talk(service: ChatService, texts: tuple[str, ...], ai_sdk: AiSdkVersion) -> int:
    """Send each text after the answer to the previous one has ended, as a page does. Returns how many turns failed."""
    messages: list[dict[str, Any]] = []
    failed = 0
    for number, text in enumerate(texts, 1):
        messages.append({"id": f"user-{number}", "role": "user", "parts": [{"type": "text", "text": text}]})
        request = parse_chat_request({"id": CHAT_ID, "messages": messages, "trigger": "submit-message"})
        reducer = MessageReducer(ai_sdk=ai_sdk)
        try:
            with progress(f"Turn {number} of {len(texts)}"):
                async for chunk in await service.respond_chunks(request, user_id="local"):
                    reducer.apply(chunk)
        except ClientStreamError as error:
            failed += 1
            click.echo(f"turn {number} ended in an error: {error}", err=True)
        messages.append(cast("dict[str, Any]", reducer.message))
    await service.aclose()
    return failed
