"""``InspectorEndpoints``: the Inspector's endpoints, for live chats and for files that are dropped on the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

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

T = TypeVar("T")

MAX_FILE_BYTES: Final = 16 * 2**20
"""The most bytes of a file that is dropped on the page."""

MAX_FILES_IN_FLIGHT: Final = 4
"""The number of largest files that are in memory at one time, while they arrive and wait."""

_FILE_HINT: Final = "convert it with adk-ui-stream replay, or choose one session of it."
_NOTHING_KEPT: Final = "The Inspector does not have this chat: it ran before the server was started, or long ago."


class InspectorEndpoints:
    """Each method takes a request of an authenticated and counted user, and returns the response for the page.

    An invalid request raises ``ChatRequestError``.
    """

    def __init__(self, inspector: Inspector, service: ChatService) -> None:
        self._inspector = inspector
        self._service = service
        self._bodies = RequestBodies(MAX_FILE_BYTES, max_bytes_in_flight=MAX_FILES_IN_FLIGHT * MAX_FILE_BYTES)
        self._one_at_a_time = CapacityLimiter(1)

    async def chat(self, request: Request, user_id: str) -> Response:
        """The entries of a chat after the number ``after``."""
        after = request.query_params.get("after", "0")
        if not (after.isascii() and after.isdigit() and len(after) < 16):
            raise ChatRequestError("after must be a number.", status=422)
        return self._json(newest_entries(await self._turns(request, user_id), int(after)), user_id)

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

    async def file(self, request: Request, user_id: str) -> Response:
        """A file: its entries, its messages, and the findings of ``check``."""
        return self._json(await self._of_file(shown_file, request, user_id), user_id)

    async def file_recording(self, request: Request, user_id: str) -> Response:
        """A file as a recording, without secrets."""
        return self._download(*await self._of_file(recording_of_file, request, user_id), user_id)

    async def file_test(self, request: Request, user_id: str) -> Response:
        """A test of that recording."""
        return self._text(await self._of_file(test_of_file, request, user_id), user_id)

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
        memory = self._service.hold_memory(user_id)
        return whole_response(body, memory, {"cache-control": "no-store", **headers})


async def _converted(read: Reading[T], content: bytes | bytearray, session: str | None = None) -> T:
    try:
        return await convert_in_process(read, content, session)
    except UnreadableError as error:
        raise ChatRequestError(f"This cannot be shown: {error}.", status=422) from None
