"""The ASGI app of a replay server: the chat endpoint, and a route below ``/__replay`` that plays a response in
steps.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from stream_protocol.replay_server._playback import HELD
from stream_protocol.replay_server._played_chats import Chats
from stream_protocol.replay_server._recording_library import LibraryEntry
from stream_protocol.serving.base import response_budget
from stream_protocol.serving.http import (
    PageInfo,
    RequestBodies,
    UIMessageStreamResponse,
    admit,
    app_around,
    json_errors,
    plain_text_errors,
    read_small,
    unknown_chat_response,
    whole_response,
)
from stream_protocol.wire import AnyChunk, ChatRequestError, check_flag, check_instance, parse_chat_id, parse_json

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]

PATH: Final = "/api/chat"

MAX_STEP_BYTES: Final = 16 * 1024

STEP_KEYS: Final = frozenset({"count", "to", "all", "wait"})

DEFAULT_WAIT: Final = 10.0
"""The default seconds that a step waits for a response, because a test may request the step too early."""

WAIT_LIMIT: Final = 600.0
"""Maximum number of seconds that a step may wait."""

STEP_SENTENCE: Final = 'The body of a step may have one of count, to and all, and wait: {"count": 3, "wait": 10}.'


@dataclass(frozen=True, kw_only=True)
class StepRequest:
    """A request to send the next chunks of a response that is played in steps (pace ``HELD``).

    ``count``: the number of chunks. ``to``: the type of the last chunk to send. If both are ``None``, all chunks are
    sent.
    """

    count: int | None
    to: str | None
    wait: float
    """Seconds to wait for a response in the chat."""

    def count_chunks(self, left: Sequence[AnyChunk]) -> int:
        """Return the number of chunks to send. ``left``: the unsent chunks. Raises ``ChatRequestError`` if none of them
        has the type ``to``.
        """
        if self.to is None:
            return len(left) if self.count is None else self.count
        types = [chunk["type"] for chunk in left]
        if self.to not in types:
            held = ", ".join(dict.fromkeys(types))
            raise ChatRequestError(f"No chunk {self.to} is unsent. Unsent: {held}.", status=409)
        return types.index(self.to) + 1


def parse_step(values: Mapping[str, Any]) -> StepRequest:
    """Return the step that is described by a query or a JSON object. The default is one chunk.

    Raises ``ChatRequestError`` (422) for invalid values.
    """
    count, to, wait = values.get("count"), values.get("to"), values.get("wait", DEFAULT_WAIT)
    release_all = values.get("all", False) in (True, "true", "1", "")
    if sum((count is not None, to is not None, release_all)) > 1:
        raise ChatRequestError("A step can have only one of count, to and all.", status=422)
    try:
        number = None if release_all else int(1 if count is None else count)
        step = StepRequest(count=number, to=to, wait=float(wait))
    except (TypeError, ValueError):
        raise ChatRequestError("count and wait must be numbers.", status=422) from None
    if (number is not None and number < 1) or not 0 <= step.wait <= WAIT_LIMIT or not isinstance(to, str | None):
        text = "count must be at least 1, wait must be from 0 to 600, and to must be a chunk's type."
        raise ChatRequestError(text, status=422)
    return step


def create_replay_app(chats: Chats, *, allow_origins: Sequence[str] = (), page: bool = True) -> Starlette:
    """Return an ASGI app whose chat endpoint replays recordings.

    ``POST /__replay/{id}/step`` releases the next chunks of a response with the pace ``HELD``.
    ``allow_origins`` and ``page``: as in ``create_app``. The page suggests the first user text of each recording.
    """

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        yield
        await chats.aclose()

    check_instance("chats", chats, Chats, "Chats", hint="Chats(load_library(path), pace, ai_sdk) makes them")
    check_flag("page", page)
    info: PageInfo = {"suggestions": [entry.title for entry in chats.library if entry.title is not None]}
    routes = _routes(chats)
    return app_around(routes, lifespan=lifespan, allow_origins=allow_origins, page=info if page else None)


def _routes(chats: Chats) -> list[BaseRoute]:
    bodies = RequestBodies()
    responses = response_budget()

    async def post_chat(request: Request) -> Response:
        async with bodies.read_chat_request(request, user_id="") as chat_request:
            playback = await chats.respond(chat_request)
        return UIMessageStreamResponse(playback.read())

    async def get_chat(request: Request) -> Response:
        messages = chats.history(_chat_id(request))
        if messages is None:
            return unknown_chat_response()
        content = json.dumps({"messages": messages}).encode()
        return whole_response(content, responses.share(""), {"content-type": "application/json"})

    async def get_stream(request: Request) -> Response:
        playback = chats.current_response(_chat_id(request))
        return (
            UIMessageStreamResponse(playback.read(rebuild=True)) if playback is not None else Response(status_code=204)
        )

    async def list_chats(request: Request) -> Response:
        listed = () if request.query_params.get("archived") == "true" else chats.library
        return JSONResponse(
            {"chats": [_list_item(entry) for entry in listed], "nextCursor": None, "hasArchived": False}
        )

    async def stop_chat(request: Request) -> Response:
        if (playback := chats.current_response(_chat_id(request))) is not None:
            playback.stop()
        return Response(status_code=202)

    async def steer_chat(request: Request) -> Response:
        async with bodies.read_chat_request(request, user_id="", of_chat=_chat_id(request)) as steering:
            return JSONResponse({"type": "not-delivered", "id": steering.target["id"], "reason": "finished"})

    async def delete_chat(request: Request) -> Response:
        chats.forget(_chat_id(request))
        return Response(status_code=204)

    async def step(request: Request) -> Response:
        return JSONResponse(await _release(chats, _chat_id(request), await _read_step(request)))

    async def healthz(_request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    return [
        Route(PATH, _admitting(post_chat), methods=["POST"]),
        Route(PATH + "/{chat_id}", json_errors(get_chat), methods=["GET"]),
        Route(PATH + "/{chat_id}/stream", plain_text_errors(get_stream), methods=["GET"]),
        Route(PATH + "s", json_errors(list_chats), methods=["GET"]),
        Route(PATH + "/{chat_id}/stop", _admitting(stop_chat), methods=["POST"]),
        Route(PATH + "/{chat_id}/steer", _admitting(steer_chat), methods=["POST"]),
        Route(PATH + "/{chat_id}", _admitting(delete_chat), methods=["DELETE"]),
        Route("/__replay/{chat_id}/step", _admitting(step), methods=["POST"]),
        Route("/healthz", plain_text_errors(healthz), methods=["GET"]),
    ]


def _admitting(endpoint: Endpoint) -> Endpoint:
    """Wrap ``endpoint``. The result refuses a request that changes data if a page of another site has sent the
    request.
    """

    async def respond(request: Request) -> Response:
        _ = admit(request)
        return await endpoint(request)

    return plain_text_errors(respond)


def _chat_id(request: Request) -> str:
    return parse_chat_id(request.path_params["chat_id"])


def _list_item(entry: LibraryEntry) -> dict[str, Any]:
    return {
        "id": entry.name,
        "title": entry.title,
        "updatedAt": entry.changed.isoformat(),
        "archived": False,
        "running": False,
        "waiting": False,
    }


async def _read_step(request: Request) -> StepRequest:
    body = await read_small(request, MAX_STEP_BYTES, STEP_SENTENCE)
    try:
        values = parse_json(body) if body else dict(request.query_params)
    except ValueError:
        values = None
    if not isinstance(values, dict) or not values.keys() <= STEP_KEYS:
        raise ChatRequestError(STEP_SENTENCE, status=422)
    return parse_step(values)


async def _release(chats: Chats, chat_id: str, step: StepRequest) -> dict[str, Any]:
    """Send the chunks of a step. Returns the sent chunks, the next chunk, and the number of unsent chunks."""
    if chats.pace != HELD:
        raise ChatRequestError("This server does not wait for steps: start it with --pace held.", status=409)
    playback = await chats.wait_for_response(chat_id, step.wait)
    if playback is None:
        raise ChatRequestError(
            f"Chat {chat_id} has no unsent chunks: no request came within {step.wait:g} seconds.", status=409
        )
    released = playback.release(step.count_chunks(playback.unreleased))
    left = playback.unreleased
    return {"released": released, "next": left[0] if left else None, "left": len(left)}
