"""``InspectorEndpoints``: the Inspector's endpoints, for live chats and for files that are dropped on the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

import anyio.to_thread
import orjson
from anyio import CapacityLimiter
from starlette.requests import Request
from starlette.responses import Response

from stream_protocol.inspector._agent_info import agent_info
from stream_protocol.inspector._chat_view import chat_recording, check_chat, newest_entries
from stream_protocol.inspector._dropped_file import recording_of_file, shown_file, test_of_file
from stream_protocol.inspector._file_process import Reading, convert_in_process, refuse_if_crowded
from stream_protocol.inspector._inspector import InspectedTurn, Inspector
from stream_protocol.inspector._pytest_text import named_test
from stream_protocol.recording.read import UnreadableError
from stream_protocol.serving import ChatService
from stream_protocol.serving.http import RequestBodies, whole_response
from stream_protocol.wire import ChatRequestError, parse_chat_id

if TYPE_CHECKING:
    from pathlib import Path

    from stream_protocol.inspector._replayed_chats import InspectedChats
    from stream_protocol.serving.base import ByteShare

T = TypeVar("T")

MAX_FILE_BYTES: Final = 16 * 2**20
"""The most bytes of a file that is dropped on the page."""

MAX_FILES_IN_FLIGHT: Final = 4
"""The number of largest files that are in memory at one time, while they arrive and wait."""

_FILE_HINT: Final = "convert it with adk-ui-stream replay, or choose one session of it."
_NOTHING_KEPT: Final = "Nothing is kept of this chat: it ran before the server was started, or long ago."


class FileEndpoints:
    """Each method takes a request of a user, who is known and has been counted, and returns what the page shows.

    A method raises ``ChatRequestError`` for an error of the request. ``hold_memory``: counts the memory that a response
    to a user holds.
    """

    def __init__(self, hold_memory: Callable[[str], ByteShare]) -> None:
        self._hold_memory = hold_memory
        self._bodies = RequestBodies(MAX_FILE_BYTES, max_bytes_in_flight=MAX_FILES_IN_FLIGHT * MAX_FILE_BYTES)

    async def file(self, request: Request, user_id: str) -> Response:
        """A file: its entries, its messages, and the findings of ``check``."""
        return self._json(await self._of_file(shown_file, request, user_id), user_id)

    async def file_recording(self, request: Request, user_id: str) -> Response:
        """A file as a recording, without secrets."""
        return self._download(*await self._of_file(recording_of_file, request, user_id), user_id)

    async def file_test(self, request: Request, user_id: str) -> Response:
        """A test of that recording."""
        return self._text(await self._of_file(test_of_file, request, user_id), user_id)

    async def _of_file(self, read: Reading[T], request: Request, user_id: str) -> T:
        """The result of ``read`` for the file in the request."""
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
    """Those of live chats, too."""

    def __init__(self, inspector: Inspector, service: ChatService) -> None:
        super().__init__(service.hold_memory)
        self._inspector = inspector
        self._service = service
        self._one_at_a_time = CapacityLimiter(1)

    async def chat(self, request: Request, user_id: str) -> Response:
        """The entries of a chat after the number ``after``."""
        return self._json(newest_entries(await self._turns(request, user_id), parse_after(request)), user_id)

    async def chat_findings(self, request: Request, user_id: str) -> Response:
        """The findings of ``check`` for a chat."""
        return self._json(await self._beside(check_chat, await self._turns(request, user_id)), user_id)

    async def chat_recording(self, request: Request, user_id: str) -> Response:
        """A chat as a recording."""
        recording = await self._recording(request, user_id)
        name, _ = await _converted(named_test, recording)
        return self._download(name, recording, user_id)

    async def chat_test(self, request: Request, user_id: str) -> Response:
        """A test of that recording."""
        _, test = await _converted(named_test, await self._recording(request, user_id))
        return self._text(test, user_id)

    async def agents(self, _request: Request, user_id: str) -> Response:
        """The tree of agents."""
        return self._json(orjson.dumps(agent_info(self._service.runner.agent)), user_id)

    async def _turns(self, request: Request, user_id: str) -> Sequence[InspectedTurn]:
        chat_id = parse_chat_id(request.path_params["chat_id"])
        if not await self._service.has_chat(
            chat_id, user_id=user_id
        ):  # it never existed, belongs to another user, or was deleted
            self._inspector.forget(chat_id, user_id=user_id)
        return self._inspector.turns(chat_id, user_id=user_id)

    async def _recording(self, request: Request, user_id: str) -> bytes:
        turns = await self._turns(request, user_id)
        if not turns:
            raise ChatRequestError(_NOTHING_KEPT, status=404)
        return await self._beside(chat_recording, turns)

    async def _beside(self, work: Callable[[Sequence[InspectedTurn]], bytes], turns: Sequence[InspectedTurn]) -> bytes:
        """Runs ``work`` on the stored turns in a thread. Only one such call runs at a time."""
        refuse_if_crowded(self._one_at_a_time)
        return await anyio.to_thread.run_sync(work, turns, limiter=self._one_at_a_time)


class ReplayEndpoints(FileEndpoints):
    """Those of the chats of a replay server, which have one user."""

    def __init__(self, chats: InspectedChats, hold_memory: Callable[[str], ByteShare]) -> None:
        super().__init__(hold_memory)
        self._chats = chats

    async def chat(self, request: Request, user_id: str) -> Response:
        """The entries of a chat after the number ``after``."""
        chat_id, after = parse_chat_id(request.path_params["chat_id"]), parse_after(request)
        return self._json(await anyio.to_thread.run_sync(self._chats.entries, chat_id, after), user_id)

    async def chat_findings(self, request: Request, user_id: str) -> Response:
        """Return the findings of ``check`` for the recording."""
        return self._json(await anyio.to_thread.run_sync(self._chats.findings, self._file(request)), user_id)

    async def chat_recording(self, request: Request, user_id: str) -> Response:
        """The recording, without secrets."""
        made = await anyio.to_thread.run_sync(recording_of_file, self._file(request), self._chats.session)
        return self._download(*made, user_id)

    async def chat_test(self, request: Request, user_id: str) -> Response:
        """A test of that recording."""
        made = await anyio.to_thread.run_sync(test_of_file, self._file(request), self._chats.session)
        return self._text(made, user_id)

    async def agents(self, _request: Request, user_id: str) -> Response:
        """``null``: a recording does not tell which agents there are."""
        return self._json(b"null", user_id)

    def _file(self, request: Request) -> Path:
        path = self._chats.file(parse_chat_id(request.path_params["chat_id"]))
        if path is None:
            raise ChatRequestError("This chat has not played a recording yet.", status=404)
        return path


def parse_after(request: Request) -> int:
    """The number after which entries are asked for."""
    after = request.query_params.get("after", "0")
    if not (after.isascii() and after.isdigit() and len(after) < 16):
        raise ChatRequestError("after must be a number.", status=422)
    return int(after)


async def _converted(read: Reading[T], content: bytes | bytearray, session: str | None = None) -> T:
    try:
        return await convert_in_process(read, content, session)
    except UnreadableError as error:
        raise ChatRequestError(f"This cannot be shown: {error}.", status=422) from None
