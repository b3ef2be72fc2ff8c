"""The refusals of requests that find their chat, a store or the server in a state in which nothing can begin."""

from typing import Final

from stream_protocol.wire import ChatRequestError

RETRY_AFTER: Final = 2
"""Seconds after which a request may be sent again that this worker cannot take just now."""

SESSION_STORE, ENGINE, RUN_LOG = "session_store", "engine", "run_log"
"""The stores that a request needs, as operators see them: the reason of the refusal if one does not answer."""


def closing_refusal() -> ChatRequestError:
    """The refusal of a request that comes when the worker is about to end. Another worker may take it."""
    text = "The server is shutting down. Try again in a moment."
    return ChatRequestError(text, status=503, retry_after=RETRY_AFTER, reason="draining")


def busy_refusal() -> ChatRequestError:
    """The refusal of a request that may neither interrupt the run of its chat nor wait for it."""
    return ChatRequestError("This chat is still answering. Wait for the answer, or stop it.", status=409)


def unreachable_refusal(store: str) -> ChatRequestError:
    """The refusal of a request that needs a store which does not answer. ``store``: the reason, as it is counted."""
    text = "The server cannot reach its chats just now. Try again."
    return ChatRequestError(text, status=503, retry_after=RETRY_AFTER, reason=store)


def changed_refusal() -> ChatRequestError:
    """The refusal of a request whose chat another worker has changed meanwhile, after its lease had ended."""
    text = "The chat was changed meanwhile. Try again."
    return ChatRequestError(text, status=503, retry_after=RETRY_AFTER, reason="changed")


def stopped_refusal() -> ChatRequestError:
    """The refusal of a request whose run was stopped before it had stored what the request says."""
    return ChatRequestError("The chat was stopped before this was stored. Send it again.", status=409)


def not_ended_refusal() -> ChatRequestError:
    """The refusal of a request that has waited too long for the end of another run of its chat."""
    text = "The last answer of this chat has not stopped yet. Try again."
    return ChatRequestError(text, status=503, retry_after=RETRY_AFTER, reason="still_stopping")
