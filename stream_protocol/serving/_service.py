"""The public methods of the chat service. The package ``requests`` implements them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from stream_protocol.serving.base import NO_OVERRIDES, ByteShare, InProgress, RunOverrides
from stream_protocol.serving.chats import PAGE_SIZE, ChatChanges, ChatListPage, ListedChat, chat_key
from stream_protocol.serving.errors import quiet_unconfigured_log
from stream_protocol.serving.requests import (
    ChatReads,
    RequestLifecycle,
    ServiceOptions,
    SteeringOutcome,
    StoredChat,
    assemble,
    check_request,
    checked_options,
    choose_version,
    chunks_of,
    delete_chat,
    steer,
    stop_chat,
    write_state,
)
from stream_protocol.wire import check_count, check_flag, check_instance, check_text

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from google.genai import types

    from stream_protocol.serving.adk_runner import Target
    from stream_protocol.wire import AnyChunk, ChatRequest, UIMessage


class ChatService:
    """The chats of an app's users with one ADK agent. This class knows nothing about HTTP.

    Each chat of a user is one ADK session with the id of the chat. The first message creates the session. All methods
    raise ``ChatRequestError`` (400) for an invalid ``chat_id``.

    ``target``: an agent, an ``App`` or a ``Runner``. ``options``: see ``ServiceOptions``, which include the options of
    the converter. If ``nested_agents`` is ``"flat"`` for a task-mode sub-agent, the tool calls that start this
    sub-agent are hidden. Raises ``StreamProtocolError`` for an invalid value.
    """

    def __init__(self, target: Target, **options: Unpack[ServiceOptions]) -> None:
        self._context = context = assemble(target, *checked_options(options))
        quiet_unconfigured_log()
        self.runner = context.runner
        self._reads = ChatReads(context)
        self.in_progress = InProgress()
        """Counts the unfinished method calls that use the stores, for which ``aclose`` waits."""
        self._draining = False

    @property
    def accepts_runs(self) -> bool:
        """True until ``drain`` or ``aclose`` is called. After that, requests cannot begin runs."""
        return not self._draining

    @property
    def max_file_bytes(self) -> int:
        """The size limit of one attached file, in decoded bytes."""
        return self._context.max_file_bytes

    async def unready(self) -> tuple[str, ...]:
        """Returns the names of the unreachable stores, for readiness probes. The names are ``run log``, ``session
        store`` and ``engine``.

        A run needs all stores. The call takes at most a second, and its result is cached for a second.
        """
        return await self._context.readiness.missing()

    async def start(self) -> None:
        """With an ``engine``, starts to recover the runs of dead workers. Later calls do nothing.

        ``create_app`` and ``chat_router`` call ``start`` when the server starts. Otherwise, the first request that
        needs the engine starts the recovery.
        """
        await self._context.executor.start()

    def count_request(self, user_id: str, *, foreign: bool = False) -> None:
        """Counts a request of the user. Raises ``ChatRequestError`` (429) if the user has sent too many requests.

        ``foreign``: True if a page of another site has sent the request. These requests have a separate limit, so that
        other sites cannot use up the user's limit.

        ``ChatEndpoints`` and ``SyncChatService.respond`` call this method. In your own routes, call it before you read
        the body, unless the request is a stop.
        """
        check_text("user_id", user_id)
        check_flag("foreign", foreign)
        (self._context.foreign_rates if foreign else self._context.rates).count(user_id)

    def hold_memory(self, user_id: str) -> ByteShare:
        """Returns a new counter for the bytes of one response to the user.

        ``ServiceLimits.max_response_bytes`` limits the bytes of all responses together. Use a counter in your own
        routes that send histories or artifacts.
        """
        check_text("user_id", user_id)
        return self._context.memory.share(user_id)

    async def respond(
        self, request: ChatRequest, *, user_id: str, overrides: RunOverrides = NO_OVERRIDES
    ) -> AsyncIterator[bytes]:
        """Starts a run for the request, and returns the SSE events of the response.

        The run does not wait for a slow caller. If the response to an equal request is still running, returns that
        response. A new message interrupts the active run of the chat (see ``on_busy``). An approval, or the output of a
        client tool, waits until the active run has ended.

        If this wait takes longer than ``stop_timeout``, the response begins, but sends no chunks yet. So no client or
        proxy times out. If the request is then refused, the response contains only an ``error`` chunk.

        Raises ``ChatRequestError`` for a refused request. A refused request stores nothing, and neither starts nor
        interrupts a run.
        """
        check_text("user_id", user_id)
        check_request(request, overrides)
        with self.in_progress:
            begins_run = self.accepts_runs  # decided now: a request that waits for its chat may still begin a run
            lifecycle = RequestLifecycle(
                self._context, request, user_id=user_id, overrides=overrides, begins_run=begins_run
            )
            return await lifecycle.respond()

    async def respond_chunks(
        self, request: ChatRequest, *, user_id: str, overrides: RunOverrides = NO_OVERRIDES
    ) -> AsyncIterator[AnyChunk]:
        """Returns the response of ``respond`` as parsed chunks, for servers that do not use SSE."""
        return chunks_of(await self.respond(request, user_id=user_id, overrides=overrides))

    async def resume(self, chat_id: str, *, user_id: str) -> AsyncIterator[bytes] | None:
        """Returns the running response of a chat as SSE events, from the ``start`` chunk on; ``None`` if no response is
        running.

        If the response continues a message, the events also contain the content from earlier responses to this message.
        Returns ``None`` for chats of other users.
        """
        with self.in_progress:
            key = chat_key(user_id, chat_id)
            runs = self._context.runs
            reader = await runs.resume(key)
            if reader is None and await self._context.executor.wait_until_recovered(key):
                reader = await runs.resume(key)
            return reader

    async def history(
        self,
        chat_id: str,
        *,
        user_id: str,
        artifact_base: str | None = None,
        memory: ByteShare | None = None,
        encoded: bool = True,
    ) -> list[UIMessage] | None:
        """Returns the messages of a chat; ``None`` if this user has no such chat. For the parameters, see
        ``read_chat``.
        """
        chat = await self.read_chat(
            chat_id, user_id=user_id, artifact_base=artifact_base, memory=memory, encoded=encoded
        )
        return None if chat is None else chat.messages

    async def read_chat(
        self,
        chat_id: str,
        *,
        user_id: str,
        artifact_base: str | None = None,
        memory: ByteShare | None = None,
        encoded: bool = True,
    ) -> StoredChat | None:
        """Returns a stored chat with the versions of its messages; ``None`` if this user has no such chat.

        During a run, the messages include the stored part of the run's message. Tool calls without a result are shown
        as unfinished.

        ``artifact_base``: see ``RunOverrides``. ``encoded``: True to get the URLs of files as text. The chat routes
        pass False, and encode each file only when they send the file.

        ``memory``: a counter from ``hold_memory``. The estimated size of the messages is added to this counter. If the
        messages do not fit into the memory limit within some seconds, raises ``ChatRequestError`` (429, 503).
        """
        check_text("artifact_base", artifact_base, or_none=True)
        check_flag("encoded", encoded)
        check_instance("memory", memory, ByteShare, "what hold_memory() returns", or_none=True)
        with self.in_progress:
            return await self._reads.chat(chat_key(user_id, chat_id), artifact_base, memory, encoded=encoded)

    async def has_chat(self, chat_id: str, *, user_id: str) -> bool:
        """Returns True if this user has the chat. If the client keeps the history, always returns True."""
        with self.in_progress:
            return await self._context.history.has_chat(chat_key(user_id, chat_id))

    async def artifact(self, chat_id: str, name: str, version: int | None = None, *, user_id: str) -> types.Part:
        """Returns an artifact of a chat, by default its newest version. Raises ``ChatRequestError`` (404) if this user
        has no such chat or artifact.
        """
        check_text("name", name)
        check_count("version", version, minimum=0, or_none=True)
        return await self._reads.artifact(chat_key(user_id, chat_id), name, version)

    async def chats(
        self,
        *,
        user_id: str,
        limit: int = PAGE_SIZE,
        cursor: str | None = None,
        search: str = "",
        archived: bool = False,
    ) -> ChatListPage:
        """Returns a page of the list of the user's chats, newest first.

        ``cursor``: the ``next_cursor`` of the previous page. All pages of one list need equal ``search`` and
        ``archived``. ``search``: a text of up to 200 characters. Returns only chats whose title contains this text, in
        upper or lower case. ``archived``: True for the archived chats, False for all other chats.

        Each chat is on exactly one page, even if chats change while the pages are read. Raises ``ChatRequestError``
        (422) for a search that is too long, or a cursor of a different list.
        """
        check_text("user_id", user_id)
        check_count("limit", limit)
        check_text("cursor", cursor, or_none=True)
        check_text("search", search)
        check_flag("archived", archived)
        with self.in_progress:
            return await self._reads.page(user_id, limit=limit, cursor=cursor, search=search, archived=archived)

    async def update(self, chat_id: str, *, user_id: str, changes: ChatChanges) -> ListedChat:
        """Changes the title of a chat, or archives the chat: ``changes={"title": "Rome", "archived": True}``.

        The change does not affect an active run. Returns the chat's new entry in the list of chats. Raises
        ``ChatRequestError``: 404 if this user has no such chat, 422 for invalid changes.
        """
        with self.in_progress:
            return await self._reads.change(chat_key(user_id, chat_id), changes)

    async def choose_version(self, chat_id: str, version_id: str, *, user_id: str) -> None:
        """Makes a chat continue from a chosen version of a message.

        The chat then shows this version, and the messages that came after this version when the chat last showed it.
        New messages are added at the end. Session state and artifacts get the values that they had at this version, as
        after an edit.

        ``version_id``: one of ``MessageVersions.ids``; may also be the version that the chat shows now. Raises
        ``ChatRequestError``: 404 if this user has no such chat or version, 409 while a response is running.
        """
        check_text("version_id", version_id)
        with self.in_progress:
            await choose_version(self._context, user_id, chat_id, version_id)

    async def write_state(self, chat_id: str, changes: dict[str, Any], *, user_id: str) -> dict[str, Any]:
        """Changes session state that the client shares with the agent: see ``SharedState``. Returns the whole new
        shared state.

        An active run on any worker applies the change at its next step. Without an active run, the next run applies the
        change. Raises ``ChatRequestError``: 404 if this user has no such chat, 413 and 422 for refused values.
        """
        with self.in_progress:
            return await write_state(self._context, user_id, chat_id, changes)

    async def stop(self, chat_id: str, *, user_id: str) -> None:
        """Stops the active run of a chat, if the chat has one. The response of the run immediately ends with ``abort``.

        A disconnect does not stop a run, because the client may be reloading the page. Raises ``ChatRequestError``
        (404) if this user has no such chat.
        """
        check_text("chat_id", chat_id)
        with self.in_progress:
            await stop_chat(self._context, user_id, chat_id)

    async def steer(
        self, request: ChatRequest, *, user_id: str, overrides: RunOverrides = NO_OVERRIDES
    ) -> SteeringOutcome:
        """Sends a message of the user to the active run of the chat, on any worker.

        The agent reads the message before its next model call. If the run makes no more model calls, a new run begins
        with the message. If a message is sent twice, the agent reads it once. ``request``: a request with only this
        message.

        Raises ``ChatRequestError`` for an invalid message. The status is 404 if this user has no such chat, and 429 if
        too many messages wait. It is 409 for an edit, and for a service without ``history="server"``.
        """
        check_text("user_id", user_id)
        check_request(request, overrides)
        with self.in_progress:
            return await steer(self._context, request, user_id, overrides)

    async def delete(self, chat_id: str, *, user_id: str) -> None:
        """Stops the active run of a chat, then deletes the chat and its artifacts. Raises ``ChatRequestError``: 404 if
        this user has no such chat, 503 if the run does not end in time.
        """
        check_text("chat_id", chat_id)
        with self.in_progress:
            await delete_chat(self._context, user_id, chat_id)

    def error_text(self, error: BaseException) -> str:
        """Returns the error text that a client gets for an exception. The option ``on_error`` creates this text. The
        default text does not contain the exception.
        """
        check_instance("error", error, BaseException, "an exception")
        return self._context.settings.error_text(error)

    async def drain(self) -> None:
        """Refuses new runs, and waits until the ends of all active runs are stored.

        A request that would begin a run gets 503 with ``Retry-After``. All other requests are served. At the shutdown
        of the server, call ``drain`` before ``aclose``, with a timeout: ``asyncio.wait_for(service.drain(), 30)``.
        """
        self._draining = True
        await self._context.drain()

    async def aclose(self) -> None:
        """Stops all runs, and waits up to ten seconds until they have ended. Later requests are refused (503).

        Unfinished requests without a run, such as those for histories, can finish before the run log is closed.

        If the service was created with an agent or an ``App``, its toolsets and plugins are closed, too. A toolset or
        plugin that another service still uses stays open. A toolset that only the ``agent`` of a
        ``RunOverrides`` uses also stays open. If the service was created with a ``Runner``, the ``Runner`` stays open.
        """
        self._draining = True
        await self._context.aclose(self.in_progress)
