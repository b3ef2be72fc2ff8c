"""The routes of the Inspector, beside those of the chat endpoint."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, TypeVar

import anyio.to_thread
from anyio import CapacityLimiter
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from stream_protocol.inspector._chat_view import chat_recording, check_chat, newest_entries
from stream_protocol.inspector._dropped_file import recording_of_file, shown_file
from stream_protocol.inspector._file_process import Reading, convert_in_process
from stream_protocol.inspector._inspector import InspectedTurn, Inspector
from stream_protocol.inspector._pytest_text import pytest_text
from stream_protocol.recording.read import UnreadableError
from stream_protocol.serving import ChatService, Identify, local_user, plain_text_errors
from stream_protocol.serving.http import (
    INSPECTOR,
    RequestBodies,
    dropping_body_if_refused,
    identify_user,
    require_trusted_origin,
    trusted_origins,
)
from stream_protocol.wire import ChatRequestError, parse_chat_id

T = TypeVar("T")

MAX_FILE_BYTES: Final = 16 * 2**20
"""The most bytes of a file that is dropped on the page."""

_FILE_WAY_OUT: Final = "convert it with adk-ui-stream replay, or choose one session of it."
_NOTHING_KEPT: Final = "Nothing is kept of this chat: it ran before the server was started, or long ago."


def inspector_routes(
    inspector: Inspector,
    service: ChatService,
    *,
    path: str = "/api/chat",
    identify: Identify = local_user,
    allow_origins: Sequence[str] = (),
) -> list[BaseRoute]:
    """The routes of the Inspector. Put them before those of a page at ``/``.

    ``GET {path}/{id}/inspect?after=N``: the entries of the user's own chat behind number N, for a page that asks again
    and again. ``…/inspect/recording``, ``…/inspect/pytest`` and ``…/inspect/findings``: the chat as a recording, a test
    of that recording, and what ``check`` says of the chat.
    ``POST`` of a file to ``/api/inspect``, ``/api/inspect/recording`` and ``/api/inspect/pytest`` (beside ``path``):
    the same of a recording in any form, or of a capture. It is stored nowhere. ``?session=ID`` chooses one of several.
    The page of ``create_app`` offers the panel where the app has these routes.

    ``inspector``: the service's recorder. ``identify`` and ``allow_origins`` as in ``chat_routes``.
    """
    bodies = RequestBodies(MAX_FILE_BYTES, max_bytes_in_flight=4 * MAX_FILE_BYTES)
    one_at_a_time = CapacityLimiter(1)
    trusted = trusted_origins(allow_origins)
    files = path.rpartition("/")[0] + "/inspect"

    async def beside(work: Callable[..., T], *arguments: object) -> T:
        try:
            return await anyio.to_thread.run_sync(work, *arguments, limiter=one_at_a_time)
        except UnreadableError as error:
            raise _cannot_be_shown(error) from None

    async def turns(request: Request, user_id: str) -> Sequence[InspectedTurn]:
        chat_id = parse_chat_id(request.path_params["chat_id"])
        if not await service.has_chat(chat_id, user_id=user_id):  # never there, of somebody else, or deleted since
            inspector.forget(chat_id, user_id=user_id)
        return inspector.turns(chat_id, user_id=user_id)

    async def kept(request: Request, user_id: str) -> bytes:
        if not (found := await turns(request, user_id)):
            raise ChatRequestError(_NOTHING_KEPT, status=404)
        return await beside(chat_recording, found)

    async def chat(request: Request, user_id: str) -> Response:
        after = request.query_params.get("after", "0")
        if not (after.isascii() and after.isdigit() and len(after) < 16):
            raise ChatRequestError("after must be a number.", status=422)
        return _json(newest_entries(await turns(request, user_id), int(after)))

    async def chat_findings(request: Request, user_id: str) -> Response:
        return _json(await beside(check_chat, await turns(request, user_id)))

    async def chat_as_recording(request: Request, user_id: str) -> Response:
        return _download(*await beside(_named_recording, await kept(request, user_id)))

    async def chat_as_test(request: Request, user_id: str) -> Response:
        return PlainTextResponse((await beside(_test_of, await kept(request, user_id)))[1])

    @asynccontextmanager
    async def dropped(request: Request, user_id: str) -> AsyncIterator[tuple[bytearray, str | None]]:
        async with bodies.read_file(request, user_id, MAX_FILE_BYTES, _FILE_WAY_OUT) as body:
            yield body, request.query_params.get("session") or None

    async def converted(read: Reading, body: bytearray, session: str | None) -> bytes:
        try:
            return await convert_in_process(read, body, session)
        except UnreadableError as error:
            raise _cannot_be_shown(error) from None

    async def file(request: Request, user_id: str) -> Response:
        async with dropped(request, user_id) as (body, session):
            return _json(await converted(shown_file, body, session))

    async def file_as_recording(request: Request, user_id: str) -> Response:
        async with dropped(request, user_id) as (body, session):
            recording = await converted(recording_of_file, body, session)
            return _download(*await beside(_named_recording, recording))

    async def file_as_test(request: Request, user_id: str) -> Response:
        async with dropped(request, user_id) as (body, session):
            recording = await converted(recording_of_file, body, session)
            return PlainTextResponse((await beside(_test_of, recording))[1])

    def route(
        method: str, path: str, endpoint: Callable[[Request, str], Awaitable[Response]], name: str | None = None
    ) -> BaseRoute:
        async def admitted(request: Request) -> Response:
            async with dropping_body_if_refused(request):
                user_id = await identify_user(identify, request)
                if method != "GET":
                    require_trusted_origin(request, trusted)
                service.count_request(user_id)
            return await endpoint(request, user_id)

        return Route(path, plain_text_errors(admitted, service.error_text), methods=[method], name=name)

    return [
        route("GET", path + "/{chat_id}/inspect", chat, INSPECTOR),
        route("GET", path + "/{chat_id}/inspect/findings", chat_findings),
        route("GET", path + "/{chat_id}/inspect/recording", chat_as_recording),
        route("GET", path + "/{chat_id}/inspect/pytest", chat_as_test),
        route("POST", files, file),
        route("POST", files + "/recording", file_as_recording),
        route("POST", files + "/pytest", file_as_test),
    ]


def _cannot_be_shown(error: UnreadableError) -> ChatRequestError:
    return ChatRequestError(f"This cannot be shown: {error}.", status=422)


def _json(body: bytes) -> Response:
    return Response(body, media_type="application/json", headers={"cache-control": "no-store"})


def _download(name: str, recording: bytes) -> Response:
    return Response(
        recording,
        media_type="application/jsonl",
        headers={"cache-control": "no-store", "content-disposition": f'attachment; filename="{name}.jsonl"'},
    )


def _test_of(recording: bytes) -> tuple[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chat.jsonl"
        path.write_bytes(recording)
        return pytest_text(path)


def _named_recording(recording: bytes) -> tuple[str, bytes]:
    """The name of the recording's file, the same that its test has, and the recording."""
    return _test_of(recording)[0], recording
