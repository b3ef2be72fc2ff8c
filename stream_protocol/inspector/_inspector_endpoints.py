"""Endpoints of the Inspector for live chats, for chats of a replay server, and for files dropped on the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypedDict, TypeVar

import anyio.to_thread
import orjson
from anyio import CapacityLimiter
from google.adk.agents import LlmAgent
from google.adk.workflow import BaseNode
from starlette.requests import Request
from starlette.responses import Response

from stream_protocol.check import Rule
from stream_protocol.inspector._chat_view import chat_recording, check_chat, newest_entries
from stream_protocol.inspector._dropped_file import recording_of_file, shown_file, test_of_file
from stream_protocol.inspector._file_process import Reading, convert_in_process, refuse_if_crowded
from stream_protocol.inspector._inspector import InspectedTurn, Inspector
from stream_protocol.inspector._pytest_text import named_test
from stream_protocol.recording.read import UnreadableError
from stream_protocol.serving import ChatService
from stream_protocol.serving.adk_runner import tool_infos
from stream_protocol.serving.http import RequestBodies, whole_response
from stream_protocol.wire import ChatRequestError, parse_chat_id

if TYPE_CHECKING:
    from pathlib import Path

    from stream_protocol.inspector._replayed_chats import InspectedChats
    from stream_protocol.serving.base import ByteShare

T = TypeVar("T")

MAX_FILE_BYTES: Final = 16 * 2**20
"""The maximum number of bytes of a dropped file."""

MAX_FILES_IN_FLIGHT: Final = 4
"""Maximum number of files of the largest size that are in memory at the same time."""

_FILE_HINT: Final = "convert it with adk-ui-stream replay, or select one of its sessions."
_NOT_STORED: Final = "The Inspector has nothing of this chat: its runs ended before the server's start, or long ago."


class AgentInfo(TypedDict):
    """The description of an agent as JSON. ``model`` is empty for an agent without a model."""

    name: str
    type: str
    model: str
    description: str
    tools: list[str]
    agents: list[AgentInfo]


def agent_info(agent: BaseNode) -> AgentInfo:
    """Return the description of an agent and its sub-agents. Instructions are left out, because they may be
    confidential.
    """
    model = agent.model if isinstance(agent, LlmAgent) else ""
    return AgentInfo(
        name=agent.name,
        type=type(agent).__name__,
        model=model if isinstance(model, str) else model.model,
        description=agent.description,
        tools=[tool["name"] for tool in tool_infos(agent)],
        agents=[agent_info(each) for each in getattr(agent, "sub_agents", ())],
    )


class FileEndpoints:
    """Endpoints for files that a user drops on the Inspector's page.

    Each method raises ``ChatRequestError`` for an invalid request. The caller must identify the user, and count the
    user's requests. ``hold_memory``: function that takes a user id. It returns the memory budget for a response to this
    user.
    """

    def __init__(self, hold_memory: Callable[[str], ByteShare]) -> None:
        self._hold_memory = hold_memory
        self._bodies = RequestBodies(MAX_FILE_BYTES, max_bytes_in_flight=MAX_FILES_IN_FLIGHT * MAX_FILE_BYTES)

    async def file(self, request: Request, user_id: str) -> Response:
        """Return the content of a dropped file for the page, with the findings of ``adk-ui-stream check``."""
        return self._json(await self._of_file(shown_file, request, user_id), user_id)

    async def file_recording(self, request: Request, user_id: str) -> Response:
        """Return a dropped file as a recording, without secrets."""
        return self._download(*await self._of_file(recording_of_file, request, user_id), user_id)

    async def file_test(self, request: Request, user_id: str) -> Response:
        return self._text(await self._of_file(test_of_file, request, user_id), user_id)

    async def rules(self, _request: Request, user_id: str) -> Response:
        rules = [
            {"name": rule, "severity": rule.severity, "requirement": rule.requirement, "effect": rule.effect}
            for rule in Rule
        ]
        return self._json(orjson.dumps(rules), user_id)

    async def _of_file(self, read: Reading[T], request: Request, user_id: str) -> T:
        session = request.query_params.get("session") or None
        async with self._bodies.read_file(request, user_id, MAX_FILE_BYTES, _FILE_HINT) as body:
            return await _converted(read, body, session)

    def _json(self, body: bytes, user_id: str) -> Response:
        return self._response(body, user_id, {"content-type": "application/json"})

    def _text(self, text: str, user_id: str) -> Response:
        return self._response(text.encode(), user_id, {"content-type": "text/plain; charset=utf-8"})

    def _download(self, name: str, recording: bytes, user_id: str) -> Response:
        disposition = f'attachment; filename="{name}.jsonl"'
        headers = {"content-type": "application/jsonl", "content-disposition": disposition}
        return self._response(recording, user_id, headers)

    def _response(self, body: bytes, user_id: str, headers: dict[str, str]) -> Response:
        return whole_response(body, self._hold_memory(user_id), {"cache-control": "no-store", **headers})


class InspectorEndpoints(FileEndpoints):
    """Endpoints for live chats and for files dropped on the page."""

    def __init__(self, inspector: Inspector, service: ChatService) -> None:
        super().__init__(service.hold_memory)
        self._inspector = inspector
        self._service = service
        self._one_at_a_time = CapacityLimiter(1)

    async def chat(self, request: Request, user_id: str) -> Response:
        """Return a live chat's entries with a number above the query parameter ``after``."""
        return self._json(newest_entries(await self._turns(request, user_id), parse_after(request)), user_id)

    async def chat_findings(self, request: Request, user_id: str) -> Response:
        return self._json(await self._in_thread(check_chat, await self._turns(request, user_id)), user_id)

    async def chat_recording(self, request: Request, user_id: str) -> Response:
        recording = await self._recording(request, user_id)
        name, _ = await _converted(named_test, recording)
        return self._download(name, recording, user_id)

    async def chat_test(self, request: Request, user_id: str) -> Response:
        _, test = await _converted(named_test, await self._recording(request, user_id))
        return self._text(test, user_id)

    async def agents(self, _request: Request, user_id: str) -> Response:
        return self._json(orjson.dumps(agent_info(self._service.runner.agent)), user_id)

    async def _turns(self, request: Request, user_id: str) -> Sequence[InspectedTurn]:
        chat_id = parse_chat_id(request.path_params["chat_id"])
        if not await self._service.has_chat(chat_id, user_id=user_id):
            # The chat never existed, belongs to another user, or was deleted.
            self._inspector.forget(chat_id, user_id=user_id)
        return self._inspector.turns(chat_id, user_id=user_id)

    async def _recording(self, request: Request, user_id: str) -> bytes:
        turns = await self._turns(request, user_id)
        if not turns:
            raise ChatRequestError(_NOT_STORED, status=404)
        return await self._in_thread(chat_recording, turns)

    async def _in_thread(
        self, work: Callable[[Sequence[InspectedTurn]], bytes], turns: Sequence[InspectedTurn]
    ) -> bytes:
        """Call ``work`` with the turns, in a thread. Only one call runs at a time."""
        refuse_if_crowded(self._one_at_a_time)
        return await anyio.to_thread.run_sync(work, turns, limiter=self._one_at_a_time)


class ReplayEndpoints(FileEndpoints):
    """Endpoints for the chats of a replay server, which has only one user, and for files dropped on the page."""

    def __init__(self, chats: InspectedChats, hold_memory: Callable[[str], ByteShare]) -> None:
        super().__init__(hold_memory)
        self._chats = chats

    async def chat(self, request: Request, user_id: str) -> Response:
        """Return a replayed chat's entries with a number above the query parameter ``after``."""
        chat_id, after = parse_chat_id(request.path_params["chat_id"]), parse_after(request)
        return self._json(await anyio.to_thread.run_sync(self._chats.entries, chat_id, after), user_id)

    async def chat_findings(self, request: Request, user_id: str) -> Response:
        return self._json(await anyio.to_thread.run_sync(self._chats.findings, self._file(request)), user_id)

    async def chat_recording(self, request: Request, user_id: str) -> Response:
        """Return the recording that the chat replays, without secrets."""
        made = await anyio.to_thread.run_sync(recording_of_file, self._file(request), self._chats.session)
        return self._download(*made, user_id)

    async def chat_test(self, request: Request, user_id: str) -> Response:
        made = await anyio.to_thread.run_sync(test_of_file, self._file(request), self._chats.session)
        return self._text(made, user_id)

    async def agents(self, _request: Request, user_id: str) -> Response:
        """Return ``null``, because a recording does not contain a description of its agents."""
        return self._json(b"null", user_id)

    def _file(self, request: Request) -> Path:
        path = self._chats.file(parse_chat_id(request.path_params["chat_id"]))
        if path is None:
            raise ChatRequestError("This chat has not played a recording: send a message first.", status=404)
        return path


def parse_after(request: Request) -> int:
    """Return the query parameter ``after``. Raises ``ChatRequestError`` (422) if it is not a number."""
    after = request.query_params.get("after", "0")
    if not (after.isascii() and after.isdigit() and len(after) < 16):
        raise ChatRequestError("after must be a number.", status=422)
    return int(after)


async def _converted(read: Reading[T], content: bytes | bytearray, session: str | None = None) -> T:
    try:
        return await convert_in_process(read, content, session)
    except UnreadableError as error:
        raise ChatRequestError(f"The file or chat cannot be shown: {error}.", status=422) from None
