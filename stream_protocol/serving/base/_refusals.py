"""Errors for requests that the service cannot serve now. The reason is the state of the chat, of a store or of the
server.
"""

from typing import Final

from stream_protocol.wire import ChatRequestError

RETRY_AFTER: Final = 2
"""Seconds in the ``Retry-After`` header of a 503 response."""

SESSION_STORE, ENGINE, RUN_LOG = "session_store", "engine", "run_log"
"""Names of the stores that a request needs. The ``reason`` of a refusal is the name of the unreachable store."""


def closing_refusal() -> ChatRequestError:
    """Return the error (503) for a request to a worker that shuts down."""
    text = "The server is shutting down. Try again in a moment."
    return ChatRequestError(text, status=503, retry_after=RETRY_AFTER, reason="draining")


def unknown_chat_refusal() -> ChatRequestError:
    """Return the error (404) for a chat that this user does not have."""
    return ChatRequestError("There is no such chat.", status=404)


def busy_refusal() -> ChatRequestError:
    """Return the error (409) for a request that must not interrupt the active run of its chat."""
    return ChatRequestError("This chat is still answering. Wait for the answer, or stop it.", status=409)


def unreachable_refusal(store: str) -> ChatRequestError:
    """Return the error (503) for a request that needs an unreachable store. ``store``: the name of the store."""
    text = "The server cannot reach its chats just now. Try again."
    return ChatRequestError(text, status=503, retry_after=RETRY_AFTER, reason=store)


def changed_refusal() -> ChatRequestError:
    """Return the error (503) for a request to a chat that another worker has changed in the meantime."""
    text = "The chat was changed meanwhile. Try again."
    return ChatRequestError(text, status=503, retry_after=RETRY_AFTER, reason="changed")


def stopped_refusal() -> ChatRequestError:
    """Return the error (409) for a request whose run was stopped before the user's message was stored."""
    return ChatRequestError("The chat was stopped before this was stored. Send it again.", status=409)


def not_ended_refusal() -> ChatRequestError:
    """Return the error (503) for a request that has waited too long for the end of the chat's active run."""
    text = "The last answer of this chat has not stopped yet. Try again."
    return ChatRequestError(text, status=503, retry_after=RETRY_AFTER, reason="still_stopping")
