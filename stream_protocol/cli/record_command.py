"""Command ``adk-ui-stream record``: talks with an agent on the command line, and records the conversation.

Exit code 1 means that all turns failed, so that nothing was recorded.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import click

from stream_protocol.cli._command_options import AI_SDK_HELP, FOLDER, AiSdk
from stream_protocol.cli._output import data_on_stdout, progress
from stream_protocol.cli._program import DocumentedCommand, color_choice, refuse
from stream_protocol.cli._transcript import Transcript
from stream_protocol.wire import (
    ChatRequestError,
    ClientStreamError,
    StreamProtocolError,
    client_version,
    is_tool_part,
    parse_chat_request,
)
from stream_protocol.wire.client import MessageReducer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from stream_protocol.serving import ChatService
    from stream_protocol.wire import AiSdkOption, AiSdkVersion, UIMessage

CHAT_ID = "recorded"


_EXAMPLES: Final = {
    "One turn with an ADK agent folder": 'adk-ui-stream record my_agent --say "Hello" --to hello.jsonl',
    "Two turns with an agent by its name": (
        'adk-ui-stream record my_package.agent:root_agent --say "Hi" --say "And tomorrow?" --to two-turns.jsonl'
    ),
    "A tool call that needs approval, and is denied": (
        'adk-ui-stream record my_agent --say "Book it" --deny --to denied.jsonl'
    ),
}


@click.command(cls=DocumentedCommand, short_help="Talk with an agent and record it.", examples=_EXAMPLES)
@click.argument("target", type=FOLDER)
@click.option("--say", "texts", multiple=True, required=True, help="Message of the user; repeatable, one turn each.")
@click.option(
    "--to", "file", required=True, type=click.Path(path_type=Path), help="File for the recording; it must not exist."
)
@click.option(
    "--approve/--deny",
    default=None,
    help="Approve or deny each tool call that needs approval.  [default: no answer is sent]",
)
@click.option(
    "--ai-sdk",
    type=AiSdk(),
    default="6",
    show_default=True,
    metavar="VERSION",
    help=AI_SDK_HELP,
)
@click.option("--verbose", is_flag=True, help="Print the tracebacks of errors.")
def record(
    target: str, *, texts: tuple[str, ...], file: Path, approve: bool | None, ai_sdk: AiSdkOption, verbose: bool
) -> None:
    """Talk with TARGET (as in `serve`), print the conversation and record it, for `replay` and tests.

    The agent really runs, so model calls cost money.
    """
    colored = color_choice() or (color_choice() is None and sys.stdout.isatty())
    with data_on_stdout() as print_data:

        def show(text: str) -> None:
            print_data(text if colored else click.unstyle(text))

        turns, failed = _record(target, texts, file, approve=approve, ai_sdk=ai_sdk, verbose=verbose, show=show)
        if failed == turns:
            file.unlink()  # so that the command can be repeated
            print_data(f"\nRecorded nothing: {'each turn' if turns > 1 else 'the turn'} failed\n")
            sys.exit(1)
        summary = f"\nRecorded {turns} turn{'s' * (turns > 1)} in {file}"
        print_data(summary + (f", {failed} of which failed\n" if failed else "\n"))


def _record(
    target: str,
    texts: tuple[str, ...],
    file: Path,
    *,
    approve: bool | None,
    ai_sdk: AiSdkOption,
    verbose: bool,
    show: Callable[[str], None],
) -> tuple[int, int]:
    """Record the conversation. Returns the number of all turns, and the number of failed turns."""
    if file.exists():
        refuse(f"{file} already exists: delete it, or pass another file with --to")
    if not file.parent.is_dir():
        refuse(f"{file.parent} is not a folder: create it, or pass another file with --to")

    from stream_protocol.cli._targets import load_or_refuse
    from stream_protocol.recording.write import FileRecorder
    from stream_protocol.server import log_to_terminal
    from stream_protocol.serving import ChatService

    try:
        with progress(f"Loading {target}"):
            loaded = load_or_refuse(target, "record {} --say …")
            log_to_terminal(verbose=verbose)  # after the agent's module, which may configure logging
            service = ChatService(loaded, ai_sdk=ai_sdk, recorder=FileRecorder(file))
        conversation = _Conversation(service, client_version(ai_sdk).major, show)
        asyncio.run(conversation.run(texts, approve=approve))
    except (StreamProtocolError, ChatRequestError) as error:
        refuse(str(error))
    if not file.exists():
        refuse(f"{file} could not be written: the error is above")
    return conversation.turns, conversation.failed


class _Conversation:
    """Client of one conversation. Sends each message after the response to the previous message has ended."""

    def __init__(self, service: ChatService, ai_sdk: AiSdkVersion, show: Callable[[str], None]) -> None:
        self._service = service
        self._ai_sdk: AiSdkVersion = ai_sdk
        self._show = show
        self._transcript = Transcript(service.runner.agent.name)
        self._messages: list[UIMessage] = []
        self.turns = 0
        self.failed = 0

    async def run(self, texts: Iterable[str], *, approve: bool | None) -> None:
        """Send each text as a user message, and read the reply. ``approve``: True to approve each tool call that needs
        approval, False to deny it, ``None`` to send no answer.
        """
        for number, text in enumerate(texts, 1):
            message: UIMessage = {"id": f"user-{number}", "role": "user", "parts": [{"type": "text", "text": text}]}
            reply = await self._send([*self._messages, message])
            while approve is not None and (approved := _with_approvals(reply, approve=approve)) is not None:
                reply = await self._send([*self._messages[:-1], approved])
        await self._service.aclose()

    async def _send(self, messages: list[UIMessage]) -> UIMessage:
        """Send the messages. Return the assistant message that the client has after the response."""
        self.turns += 1
        last = messages[-1]
        body = {"id": CHAT_ID, "messages": messages, "trigger": "submit-message"}
        reducer = MessageReducer(ai_sdk=self._ai_sdk, message=last if last["role"] == "assistant" else None)
        chunks = await self._service.respond_chunks(parse_chat_request(body), user_id="local")
        self._show(self._transcript.user_message(last))
        try:
            async for chunk in chunks:
                self._show(self._transcript.chunk(chunk))
                reducer.apply(chunk)
        except ClientStreamError:
            self.failed += 1
        self._show(self._transcript.end())
        self._messages = [*messages[: -1 if last["role"] == "assistant" else None], reducer.message]
        return reducer.message


def _with_approvals(message: UIMessage, *, approve: bool) -> UIMessage | None:
    if not any(is_tool_part(part) and part["state"] == "approval-requested" for part in message["parts"]):
        return None
    parts = [
        {**part, "state": "approval-responded", "approval": {**part["approval"], "approved": approve}}
        if is_tool_part(part) and part["state"] == "approval-requested"
        else part
        for part in message["parts"]
    ]
    return cast("UIMessage", {**message, "parts": parts})
