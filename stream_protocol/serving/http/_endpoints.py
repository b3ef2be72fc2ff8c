"""Provides ``ChatEndpoints``: the methods of the chat service over HTTP, for apps with their own routes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec

import orjson
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from stream_protocol._origins import check_origins
from stream_protocol.serving._service import ChatService
from stream_protocol.serving.base import NO_OVERRIDES, RunOverrides, unknown_chat_refusal
from stream_protocol.serving.chats import MAX_PAGE_SIZE, PAGE_SIZE, parse_changes, parse_object
from stream_protocol.serving.http._artifact_response import artifact_base, artifact_response
from stream_protocol.serving.http._hooks import SharedUserWarning, is_developer, prepare_run, require_user
from stream_protocol.serving.http._plain_text_errors import json_errors, plain_text_errors
from stream_protocol.serving.http._request_body import (
    MAX_BODY_BYTES,
    MAX_BYTES_IN_FLIGHT,
    RequestBodies,
    dropping_body_if_refused,
)
from stream_protocol.serving.http._sliced_response import JSON_HEADERS, SlicedResponse, history_json, whole_response
from stream_protocol.serving.http._stream_response import KEEP_ALIVE, UIMessageStreamResponse
from stream_protocol.serving.http._trusted_origins import admit
from stream_protocol.serving.run_logs import RunReader
from stream_protocol.serving.telemetry import count_refusal, note_chat
from stream_protocol.session import MAX_STATE_BYTES
from stream_protocol.wire import (
    ChatRequestError,
    check_callable,
    check_instance,
    check_seconds,
    check_text,
    parse_chat_id,
)

if TYPE_CHECKING:
    from stream_protocol.serving.http._hooks import Prepare

MAX_CHANGES_BYTES: Final = 16 * 1024
"""The maximum number of bytes in the body of a ``PATCH`` of a chat."""

MAX_CHOICE_BYTES: Final = 1024
"""The maximum number of bytes in the body of ``choose_version``."""

CHOICE_HINT: Final = "it may say only a version."

STATE_HINT: Final = "it may say only the keys that change."

CHANGES_HINT: Final = "it may say only a title and archived."


P = ParamSpec("P")


def _errors_as_text(
    method: Callable[Concatenate[ChatEndpoints, P], Awaitable[Response]], *, as_json: bool = False
) -> Callable[Concatenate[ChatEndpoints, P], Coroutine[Any, Any, Response]]:
    """Decorate a method of ``ChatEndpoints``. An exception then becomes a response in plain text, or in JSON if
    ``as_json``.
    """
    with_errors = json_errors if as_json else plain_text_errors

    @wraps(method)
    async def respond(self: ChatEndpoints, /, *args: P.args, **kwargs: P.kwargs) -> Response:
        return await with_errors(method, self._service.error_text)(self, *args, **kwargs)

    return respond


_errors_as_json = partial(_errors_as_text, as_json=True)


def unknown_chat_response() -> Response:
    """Returns the 404 response for a chat that this user does not have.

    A new chat, a deleted chat and another user's chat get the same response: ``{"messages": [], "error": …}``.
    """
    refusal = unknown_chat_refusal()
    return JSONResponse({"messages": [], "error": str(refusal)}, refusal.status)


class ChatEndpoints:
    """The methods of a ``ChatService`` over HTTP. Each method takes a Starlette request, and returns the response for
    ``useChat``.

    Use ``ChatEndpoints`` in an app with its own routes, such as FastAPI path operations with ``Depends``, Starlette
    endpoints or Django views. The app passes the user's id: ``await endpoints.respond(request, user_id=user.id)``. The
    app closes the service in its lifespan.

    ``max_body_bytes``, ``max_bytes_in_flight``, ``keep_alive`` and ``allow_origins``: as in ``chat_router``.

    Pages of this server and of ``allow_origins`` may change data. A change by any other page is refused (403).
    ``ChatEndpoints`` does not handle CORS preflights. In FastAPI and Starlette, name the origins in the app's
    ``CORSMiddleware`` instead of ``allow_origins``.

    A refused request gets a 4xx with one short plain sentence, which the client shows. The sentence is plain text, or
    ``{"error": …}`` for methods that return JSON, such as ``history`` and ``chats``. Any other exception is logged, and
    the response is a 500. Its text comes from the service's hook ``on_error``. The default text does not show the
    exception. An empty ``user_id`` is refused (401). Requests above the limits in ``ServiceLimits`` are refused (429).
    The constructor raises ``StreamProtocolError`` for a wrong value.
    """

    def __init__(
        self,
        service: ChatService,
        *,
        max_body_bytes: int = MAX_BODY_BYTES,
        max_bytes_in_flight: int = MAX_BYTES_IN_FLIGHT,
        keep_alive: float | None = KEEP_ALIVE,
        allow_origins: Sequence[str] = (),
    ) -> None:
        check_instance("service", service, ChatService, "a ChatService", hint="ChatService(agent) makes one")
        check_seconds("keep_alive", keep_alive, or_none=True)
        self._service = service
        self._bodies = RequestBodies(max_body_bytes, max_bytes_in_flight)
        self._keep_alive = keep_alive
        self._trusted_origins = check_origins("allow_origins", allow_origins)
        self._shared_user = SharedUserWarning()

    @_errors_as_text
    async def respond(
        self,
        request: Request,
        *,
        user_id: str,
        overrides: RunOverrides | Prepare = NO_OVERRIDES,
        artifact_path: str | None = None,
    ) -> Response:
        """Handles a ``POST`` of ``useChat``. The response is a UI message stream.

        ``overrides``: settings for this request, or a function that returns them, like ``prepare`` of ``chat_router``.
        The function is called after the body was read. If the function raises an ``HTTPException``, ``respond`` raises
        it too. ``artifact_path``: the path of your chat routes, such as ``/api/chat``. Your app then needs the route
        ``{artifact_path}/{chat_id}/artifacts/{name}``, which calls the method ``artifact``. Files of the agent are sent
        as links to this route. With ``None``, they are sent as bytes.
        """
        if not isinstance(overrides, RunOverrides):
            check_callable("overrides", overrides, ("request", "chat_request"), expected="a RunOverrides or a function")
        check_text("artifact_path", artifact_path, or_none=True)
        await self._admit(request, user_id)
        async with self._bodies.read_chat_request(request, user_id) as chat_request:
            note_chat(user_id, chat_request.id)
            prepared = await prepare_run(overrides, request, chat_request)
            if prepared.artifact_base is None:
                prepared = replace(prepared, artifact_base=artifact_base(request, artifact_path))
            if is_developer(request, user_id):
                prepared = replace(prepared, names_missing_key=True)
            return self._stream(await self._service.respond(chat_request, user_id=user_id, overrides=prepared), user_id)

    @_errors_as_text
    async def resume(self, request: Request, chat_id: str, *, user_id: str) -> Response:
        """Returns the stream of the chat's active run, from the first chunk. If no run is active, the status is 204."""
        await self._admit(request, user_id, chat_id)
        events = await self._service.resume(chat_id, user_id=user_id)
        return Response(status_code=204) if events is None else self._stream(events, user_id)

    @_errors_as_text
    async def stop(self, request: Request, chat_id: str, *, user_id: str) -> Response:
        """Stops the active run of a chat. The status is 202, even if no run is active. The status is 404 if this user
        has no such chat.
        """
        await self._admit(request, user_id, chat_id, counted=False)
        await self._service.stop(chat_id, user_id=user_id)
        return Response(status_code=202)

    @_errors_as_json
    async def steer(
        self, request: Request, chat_id: str, *, user_id: str, overrides: RunOverrides | Prepare = NO_OVERRIDES
    ) -> Response:
        """Delivers a user message to the chat's active run.

        The body is an object with the message's ``id`` and ``parts``. The keys ``context`` and ``state`` are optional,
        as in the body of ``respond``.

        The response is ``{"type": "delivered", "id": …}``. If no run accepts messages, the response is ``{"type":
        "not-delivered", "id": …, "reason": …}``. ``overrides``: see ``respond``. If they contain an agent, this agent
        gets the message.
        """
        await self._admit(request, user_id, chat_id)
        async with dropping_body_if_refused(request):
            parse_chat_id(chat_id)
        async with self._bodies.read_chat_request(request, user_id, of_chat=chat_id) as message:
            prepared = await prepare_run(overrides, request, message)
            return JSONResponse(await self._service.steer(message, user_id=user_id, overrides=prepared))

    @_errors_as_json
    async def history(
        self, request: Request, chat_id: str, *, user_id: str, artifact_path: str | None = None
    ) -> Response:
        """Returns the messages and the state of a chat: ``{"messages": […], "versions": […], "stopped": […], "failed":
        […], "state": {…}}``.

        ``versions``: the alternatives of edited or regenerated messages, see ``MessageVersions``. ``stopped``: the ids
        of assistant messages whose run was stopped. ``failed``: the assistant messages whose run ended with an error,
        see ``FailedMessage``. If such a run has no assistant message, ``stopped`` or ``failed`` contains the id of the
        user message. An empty ``versions``, ``stopped`` or ``failed`` is omitted.

        ``state``: the session state that the client shares with the agent. Omitted if the service has no
        ``shared_state``. If this user has no such chat, the response is a 404 with an empty ``messages`` and an
        ``error``. A chat exists only after its first message.

        ``artifact_path``: see ``respond``.
        """
        check_text("artifact_path", artifact_path, or_none=True)
        await self._admit(request, user_id, chat_id)
        return await self._stored_chat(request, chat_id, user_id, artifact_path)

    @_errors_as_json
    async def choose_version(
        self, request: Request, chat_id: str, *, user_id: str, artifact_path: str | None = None
    ) -> Response:
        """Switches a chat to another version of an edited or regenerated message.

        The body is ``{"version": ID}``, with one of the ids in ``versions`` of the method ``history``.

        Returns the chat with the chosen version, in the format of ``history``. The status is 404 if this user has no
        such chat or version, 409 while a response is running, and 422 for a wrong body.
        """
        check_text("artifact_path", artifact_path, or_none=True)
        await self._admit(request, user_id, chat_id)
        body = await self._bodies.read_small_json(request, MAX_CHOICE_BYTES, CHOICE_HINT)
        await self._service.choose_version(chat_id, _parse_choice(body), user_id=user_id)
        return await self._stored_chat(request, chat_id, user_id, artifact_path)

    @_errors_as_json
    async def write_state(self, request: Request, chat_id: str, *, user_id: str) -> Response:
        """Writes session state that the client shares with the agent.

        The body is an object with the keys that change and their new values. The response is the new state: ``{"state":
        {…}}``. The status is 404 if this user has no such chat. The status is 413 or 422 for values that
        ``SharedState`` does not allow.
        """
        await self._admit(request, user_id, chat_id)
        body = await self._bodies.read_small_json(request, MAX_STATE_BYTES, STATE_HINT)
        return JSONResponse({"state": await self._service.write_state(chat_id, parse_object(body), user_id=user_id)})

    @_errors_as_json
    async def chats(self, request: Request, *, user_id: str) -> Response:
        """Returns a page of the user's chats. The chat that changed last is first.

        The response is an object with ``chats``, ``nextCursor`` and ``hasArchived``, see ``ChatListPage``. Each chat is
        a ``ListedChat``: ``id``, ``title``, ``updatedAt``, ``archived``, ``running`` and ``waiting``. The URL's query
        may have the following keys. A wrong value is refused (422).

        * ``limit``, the number of chats in the response
        * ``search``, a text that the title must contain
        * ``archived``, ``true`` for only the archived chats
        * ``cursor``, the ``nextCursor`` of the previous response
        """
        await self._admit(request, user_id)
        query = request.query_params
        page = await self._service.chats(
            user_id=user_id,
            limit=_parse_limit(query.get("limit")),
            cursor=query.get("cursor"),
            search=query.get("search", ""),
            archived=_parse_archived(query.get("archived", "false")),
        )
        content = orjson.dumps({"chats": page.chats, "nextCursor": page.next_cursor, "hasArchived": page.has_archived})
        return whole_response(content, self._service.hold_memory(user_id), JSON_HEADERS)

    @_errors_as_json
    async def update(self, request: Request, chat_id: str, *, user_id: str) -> Response:
        """Changes the title of a chat, or archives the chat, also during a run.

        The body is an object with the optional keys ``title`` and ``archived``. A ``null`` title restores the generated
        title. The response is the chat in the format of ``chats``. The status is 404 if this user has no such chat, and
        422 for a wrong body.
        """
        await self._admit(request, user_id, chat_id)
        body = await self._bodies.read_small_json(request, MAX_CHANGES_BYTES, CHANGES_HINT)
        return JSONResponse(await self._service.update(chat_id, user_id=user_id, changes=parse_changes(body)))

    @_errors_as_text
    async def delete(self, request: Request, chat_id: str, *, user_id: str) -> Response:
        """Stops the active run of a chat, and deletes the chat with its artifacts.

        The status is 204, or 404 if this user has no such chat.
        """
        await self._admit(request, user_id, chat_id)
        await self._service.delete(chat_id, user_id=user_id)
        return Response(status_code=204)

    @_errors_as_text
    async def artifact(self, request: Request, chat_id: str, name: str, *, user_id: str) -> Response:
        """Returns an artifact of a chat, with headers that keep it from running scripts in the page's origin.

        The URL's query may have a ``version``. The default is the artifact's newest version. The status is 404 if this
        user has no such chat or artifact.
        """
        await self._admit(request, user_id, chat_id)
        version = _parse_version(request.query_params.get("version"))
        part = await self._service.artifact(chat_id, name, version, user_id=user_id)
        return artifact_response(part, name, self._service.hold_memory(user_id))

    async def _stored_chat(self, request: Request, chat_id: str, user_id: str, artifact_path: str | None) -> Response:
        base = artifact_base(request, artifact_path)
        with self._service.hold_memory(user_id) as memory:
            chat = await self._service.read_chat(
                chat_id, user_id=user_id, artifact_base=base, memory=memory, encoded=False
            )
            if chat is None:
                count_refusal("not_found")
                return unknown_chat_response()
            others: dict[str, Any] = {
                "versions": chat.versions,
                "stopped": chat.stopped,
                "failed": chat.failed,
            }
            others = {key: value for key, value in others.items() if value}
            if chat.state is not None:
                others["state"] = chat.state
            content = history_json(chat.messages, **others)
            return SlicedResponse(content, memory=memory.handed_over(), headers=JSON_HEADERS)

    async def _admit(self, request: Request, user_id: str, chat_id: str = "", *, counted: bool = True) -> None:
        """Refuse a request if it has no user, or if the user has sent too many requests. Also refuse a change of data
        by a page of an untrusted site.

        The body of a refused request is read and dropped. ``counted``: False if the user's limit does not apply, as for
        a stop.
        """
        check_instance("request", request, Request, "a Request of Starlette or FastAPI")
        async with dropping_body_if_refused(request):
            foreign = admit(request, self._trusted_origins)
            require_user(user_id)
            self._shared_user.look_at(request, user_id)
            note_chat(user_id, chat_id)
            if counted:
                self._service.count_request(user_id, foreign=foreign)

    def _stream(self, events: AsyncIterator[bytes], user_id: str) -> Response:
        if isinstance(events, RunReader):
            events.count_in(self._service.hold_memory(user_id))
        return UIMessageStreamResponse(events, keep_alive=self._keep_alive)


def _parse_choice(body: bytes) -> str:
    match parse_object(body):
        case {"version": str(version), **others} if not others:
            return version
    raise ChatRequestError('The body must be {"version": ID}.', status=422)


def _parse_version(text: str | None) -> int | None:
    if text is None:
        return None
    if text.isascii() and text.isdigit() and len(text) < 10:
        return int(text)
    raise ChatRequestError("There is no such artifact.", status=404)


def _parse_limit(text: str | None) -> int:
    if text is None:
        return PAGE_SIZE
    if text.isascii() and text.isdigit() and len(text) < 5 and 1 <= int(text) <= MAX_PAGE_SIZE:
        return int(text)
    raise ChatRequestError(f"The limit must be a number from 1 to {MAX_PAGE_SIZE}.", status=422)


def _parse_archived(text: str) -> bool:
    if text not in ("true", "false"):
        raise ChatRequestError("archived must be true or false.", status=422)
    return text == "true"
