"""``ChatService``: answers the requests of chats. The work for each request is in ``requests``."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import TYPE_CHECKING, Unpack

from stream_protocol.serving.base import (
    NO_OVERRIDES,
    ByteShare,
    InProgress,
    RunOverrides,
)
from stream_protocol.serving.chats import (
    PAGE_SIZE,
    ChatChanges,
    ChatListPage,
    ListedChat,
    chat_key,
)
from stream_protocol.serving.requests import (
    ChatReads,
    RequestLifecycle,
    ServiceOptions,
    SteeringOutcome,
    assemble,
    check_request,
    checked_options,
    delete_chat,
    steer,
    stop_chat,
)
from stream_protocol.wire import check_count, check_flag, check_instance, check_text
from stream_protocol.wire.client import parse_sse

if TYPE_CHECKING:
    from google.genai import types

    from stream_protocol.serving.adk_runner import Target
    from stream_protocol.wire import AnyChunk, ChatRequest, UIMessage


class ChatService:
    """The chats of an app's users with one ADK agent. Knows nothing of HTTP.

    Each chat of a user is one ADK session, whose id is the chat's. It is created with the first message. A ``chat_id``
    that no chat can have is refused by every method: ``ChatRequestError`` (400).

    ``target``: an agent, an ``App`` or a ``Runner``. ``options``: see ``ServiceOptions``, and those of the converter;
    ``hidden_tools`` are hidden besides the calls of task-mode sub-agents. Raises ``StreamProtocolError`` for a value
    that is not allowed.
    """

    def __init__(self, target: Target, **options: Unpack[ServiceOptions]) -> None:
        self._context = context = assemble(target, *checked_options(options))
        self.runner = context.runner
        self._reads = ChatReads(context)
        self.in_progress = InProgress()
        """The calls that ask the stores now. ``aclose`` waits for them."""
        self._draining = False

    @property
    def accepts_runs(self) -> bool:
        """True until ``drain`` or ``aclose`` is called: requests may begin runs."""
        return not self._draining

    async def unready(self) -> tuple[str, ...]:
        """The stores that do not answer now, of those that each run needs: ``run log``, ``session store``, ``engine``.

        For a probe, at most a second: they are asked once a second, however many ask here.
        """
        return await self._context.readiness.missing()

    async def start(self) -> None:
        """Takes up the runs of workers that are dead, from now on, if there is an ``engine``. ``create_app`` calls it
        when its server starts; else the first request does that needs it. Later calls do nothing."""
        await self._context.executor.start()

    def count_request(self, user_id: str, *, foreign: bool = False) -> None:
        """Counts a request of this user, of any kind but a stop. Raises ``ChatRequestError`` (429) if there were too
        many.

        ``foreign``: a page of another site has sent it. Such requests have an allowance of their own, so that no page
        of a stranger uses up that of the user.
        ``ChatEndpoints`` and ``SyncChatService.respond`` call it; callers that have requests and use other methods
        call it themselves, before they read a body.
        """
        check_text("user_id", user_id)
        check_flag("foreign", foreign)
        (self._context.foreign_rates if foreign else self._context.rates).count(user_id)

    def hold_memory(self, user_id: str) -> ByteShare:
        """Returns an empty share of ``ServiceLimits.max_response_bytes``, for a response to this user.

        ``ChatEndpoints`` takes one for each; an app that sends histories or artifacts in responses of its own can, too.
        """
        check_text("user_id", user_id)
        return self._context.memory.share(user_id)

    async def respond(
        self, request: ChatRequest, *, user_id: str, overrides: RunOverrides = NO_OVERRIDES
    ) -> AsyncIterator[bytes]:
        """Starts the run that the request asks for, and returns the SSE events of the response.

        Read them at any pace. An equal request that is being answered gives the same response. While another run of the
        chat goes on, a new turn of the user interrupts that run. An answer to one of the agent's calls waits for the
        end of that run. See ``on_busy``. Raises ``ChatRequestError`` for a request that is refused: nothing is stored,
        started or interrupted then.

        An answer may have to wait for longer than a client or a proxy waits for a response. So after ``stop_timeout``
        its response begins, silent; if the answer is refused then, the response is one ``error`` chunk.
        """
        check_text("user_id", user_id)
        check_request(request, overrides)
        with self.in_progress:
            begins_run = self.accepts_runs  # requests that were admitted before wait for a chat, and get it then
            lifecycle = RequestLifecycle(
                self._context, request, user_id=user_id, overrides=overrides, begins_run=begins_run
            )
            return await lifecycle.respond()

    async def respond_chunks(
        self, request: ChatRequest, *, user_id: str, overrides: RunOverrides = NO_OVERRIDES
    ) -> AsyncIterator[AnyChunk]:
        """``respond`` as chunks, for a server that sends them in another form."""
        return _parse(await self.respond(request, user_id=user_id, overrides=overrides))

    async def resume(self, chat_id: str, *, user_id: str) -> AsyncIterator[bytes] | None:
        """Returns the running response of a chat, as SSE events from ``start`` to its end; ``None`` if there is none.

        For a page that has nothing of the message: the earlier content of the message comes after ``start``. ``None``
        also for a chat of another user.
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
        """Returns the messages of a chat as its client has them; ``None`` if this user has no such chat.

        ``artifact_base`` as in ``RunOverrides``. While a run goes on, the stored part of its message is included, and
        its calls without a result are left open.
        ``memory``: counts the messages before they exist: see ``hold_memory``. Raises ``ChatRequestError`` (429, 503)
        if there is no room for them, after some seconds.
        ``encoded``: the URLs of files are texts. The chat routes, which send a history in pieces, encode each file when
        its turn comes.
        """
        check_text("artifact_base", artifact_base, or_none=True)
        check_flag("encoded", encoded)
        check_instance("memory", memory, ByteShare, "what hold_memory() returns", or_none=True)
        with self.in_progress:
            return await self._reads.history(chat_key(user_id, chat_id), artifact_base, memory, encoded=encoded)

    async def has_chat(self, chat_id: str, *, user_id: str) -> bool:
        """Return True if this user has the chat. Always True where the client has the history: nothing is stored."""
        with self.in_progress:
            return await self._context.history.has_chat(chat_key(user_id, chat_id))

    async def artifact(self, chat_id: str, name: str, version: int | None = None, *, user_id: str) -> types.Part:
        """Returns an artifact of a chat; the newest version by default.

        Raises ``ChatRequestError`` (404) if there is no such artifact, or no such chat of this user.
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
        """Returns a page of the user's chats, newest first.

        ``cursor``: ``next_cursor`` of the page before, with the same ``search`` and ``archived``. Read like this, the
        list has each chat once, whatever happens in the chats meanwhile.
        ``search``: only chats with this text in their title, whatever its case. Up to 200 characters.
        ``archived``: the archived chats; else all others.

        Raises ``ChatRequestError`` (422) for a search that is too long, or a cursor of another list.
        """
        check_text("user_id", user_id)
        check_count("limit", limit)
        check_text("cursor", cursor, or_none=True)
        check_text("search", search)
        check_flag("archived", archived)
        with self.in_progress:
            return await self._reads.page(user_id, limit=limit, cursor=cursor, search=search, archived=archived)

    async def update(self, chat_id: str, *, user_id: str, changes: ChatChanges) -> ListedChat:
        """Changes the title of a chat, or archives it: ``changes={"title": "Rome", "archived": True}``.

        Also while a run goes on, which takes no notice. Returns the chat as it is in the list. Raises
        ``ChatRequestError``: 404 if this user has no such chat, 422 for wrong changes.
        """
        with self.in_progress:
            return await self._reads.change(chat_key(user_id, chat_id), changes)

    async def stop(self, chat_id: str, *, user_id: str) -> None:
        """Stops the run of a chat, if there is one: its response ends with ``abort`` at once.

        A client that only disconnects does not stop a run: it may be reloading the page. Raises ``ChatRequestError``
        (404) if this user has no such chat.
        """
        check_text("chat_id", chat_id)
        with self.in_progress:
            await stop_chat(self._context, user_id, chat_id)

    async def steer(
        self, request: ChatRequest, *, user_id: str, overrides: RunOverrides = NO_OVERRIDES
    ) -> SteeringOutcome:
        """Gives a message of the user to the run that goes on in its chat, on whichever worker. The run reads it before
        its next model call; a message that comes too late for that begins the next turn by itself.

        ``request``: with the one message. The message is planned as a new one, and refused like it:
        ``ChatRequestError``. Also 404 if this user has no such chat, 409 for a message that is stored already or
        without ``history="server"``, and 429 if too many messages wait. An equal message is delivered once.
        """
        check_text("user_id", user_id)
        check_request(request, overrides)
        with self.in_progress:
            return await steer(self._context, request, user_id, overrides)

    async def delete(self, chat_id: str, *, user_id: str) -> None:
        """Stops the run of a chat, then deletes the chat and its artifacts.

        Raises ``ChatRequestError``: 404 if this user has no such chat, 503 if the run does not end in time.
        """
        check_text("chat_id", chat_id)
        with self.in_progress:
            await delete_chat(self._context, user_id, chat_id)

    def error_text(self, error: BaseException) -> str:
        """Returns what a client sees of an error: the text of ``on_error``, by default a masked one."""
        check_instance("error", error, BaseException, "an exception")
        return self._context.settings.error_text(error)

    async def drain(self) -> None:
        """Refuses new runs from now on, and returns when those that go on have ended and are stored.

        A request that would begin a run gets 503 with ``Retry-After``; all else is answered as before: readers, stops,
        histories. Call it when the server is told to end; then ``aclose``. The caller sets the time that runs may still
        take: ``asyncio.wait_for(service.drain(), 30)``.
        """
        self._draining = True
        await self._context.drain()

    async def aclose(self) -> None:
        """Stops all runs and waits for them, up to ten seconds. Later requests are refused (503).

        Requests that are being answered, such as histories, get their answer before the run log is closed.
        """
        self._draining = True
        await self._context.aclose(self.in_progress)


async def _parse(events: AsyncIterator[bytes]) -> AsyncIterator[AnyChunk]:
    """The chunks of SSE events. Closes the events, if they are a generator, when this is closed."""
    try:
        async for piece in events:
            for chunk in parse_sse(piece):
                yield chunk
    finally:
        if isinstance(events, AsyncGenerator):
            await events.aclose()
