"""Checks of the profile ``durable`` that load a stored chat, like a page after a reload."""

from itertools import zip_longest
from typing import Final

from stream_protocol.backend_check._chat_response import text_of
from stream_protocol.backend_check._results import BrokenError, Check
from stream_protocol.backend_check._steps import PROMISE, TOOLS, first_prompt, reload
from stream_protocol.backend_check._stock_client import Backend, Chat
from stream_protocol.backend_check._tool_checks import pending_approvals, require_ends, with_approval
from stream_protocol.wire import UIMessage

PERSISTENCE: Final = "ai: docs/04-ai-sdk-ui/03-chatbot-message-persistence.mdx"
TURNS: Final = 2


async def _reload(backend: Backend) -> None:
    chat = Chat(backend)
    for _ in range(TURNS):
        await chat.send(first_prompt(backend))
    page = await reload(chat, until=lambda page: _newest(page) == _newest(chat))
    for number, (before, after) in enumerate(zip_longest(_newest(chat), _newest(page)), start=1):
        if before != after:
            raise BrokenError(f"After a reload, message {number} differs.", chunk={"before": before, "after": after})


def _newest(chat: Chat) -> list[tuple[str, str]]:
    """Return the role and the text of the messages of this check. Messages before them, such as a greeting, are left
    out.
    """
    return [(message["role"], text_of(message)) for message in chat.messages[-2 * TURNS :]]


async def _stored_once(backend: Backend) -> None:
    chat = Chat(backend)
    chat.add_user_message(first_prompt(backend))
    again = chat.copy()
    await chat.submit()
    async with again.open() as response:
        await response.read()
    page = await reload(chat, until=lambda page: bool(_of_user(page)))
    if (times := len(_of_user(page))) != 1:
        raise BrokenError(f"The history has the message {times} times.", chunk={"messages": page.messages})


def _of_user(chat: Chat) -> list[UIMessage]:
    return [message for message in chat.messages if message["role"] == "user"]


async def _reloaded_approval(backend: Backend) -> None:
    chat = await with_approval(backend)
    pending = pending_approvals(chat)
    page = await reload(chat, until=lambda page: bool(page.messages) and pending <= pending_approvals(page))
    last = page.messages[-1] if page.messages else None
    if last is None or not pending <= pending_approvals(page):
        raise BrokenError("After a reload, the request for approval is gone.", chunk=last)
    page.answer_approvals(approved=True)
    async with page.open(message_id=last["id"]) as response:
        await response.require_stream()
        await response.read()
    response.require_readable()
    require_ends(response, pending)


RELOAD_CHECKS: Final = (
    Check("reload", "durable", "A reloaded page gets the same messages.", PERSISTENCE, ("text",), _reload),
    Check(
        "repeated POST stored once",
        "durable",
        "A repeated POST stores its message once.",
        PROMISE,
        ("text",),
        _stored_once,
    ),
    Check(
        "reloaded approval",
        "durable",
        "A reloaded page can approve a call.",
        TOOLS,
        ("approval",),
        _reloaded_approval,
    ),
)
