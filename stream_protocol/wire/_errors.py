"""The error classes: for the calling program, for a request from a browser, and for a stream that a client reads."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from stream_protocol.wire._messages import UIMessage


_REASONS: Final[Mapping[int, str]] = MappingProxyType(
    {
        401: "no_user",
        403: "foreign_origin",
        404: "not_found",
        409: "conflict",
        413: "too_large",
        415: "unsupported_type",
    }
)
"""The status of a refusal -> its default reason."""


class StreamProtocolError(Exception):
    """A bug in the program that calls this library. No client and no model can cause it."""


class InvalidArgumentError(StreamProtocolError, ValueError):
    """A value that a function or constructor of this library does not take. ``str(error)`` is one plain sentence."""


class ChatRequestError(ValueError):
    """A request that is refused because of its content.

    ``str(error)`` is one short plain sentence, safe to send back: the client shows the body of a failed request
    unchanged. ``status``: the HTTP status of the response. ``retry_after``: seconds after which the same request may
    succeed; ``None`` if unknown. ``reason``: one word for metrics that count refusals; by default the word for the
    status, otherwise ``invalid``.
    """

    def __init__(
        self, text: str, *, status: int = 400, retry_after: int | None = None, reason: str | None = None
    ) -> None:
        super().__init__(text)
        self.status = status
        self.reason = reason or _REASONS.get(status, "invalid")
        self.retry_after = retry_after

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the response that refuses the request: ``Retry-After``, if known."""
        return {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}


class ClientStreamError(Exception):
    """The error that the client's ``onError`` would receive: the stream was refused, or it carried an ``error`` chunk.

    ``error_class`` is the JavaScript class (``AI_UIMessageStreamError``, ``AI_TypeValidationError``,
    ``AI_JSONParseError``; ``Error`` for an ``error`` chunk). ``text`` is the error's message, without the second line:
    the schema or JSON library writes that line, and changes it in every release. ``chunk_type`` and ``chunk_id`` are
    set where the client sets them: on ``AI_UIMessageStreamError``. ``message`` is the message as received so far; the
    client keeps showing it.
    """

    def __init__(
        self, text: str, *, error_class: str, chunk_type: str | None = None, chunk_id: str | None = None
    ) -> None:
        super().__init__(text)
        self.text = text
        self.error_class = error_class
        self.chunk_type = chunk_type
        self.chunk_id = chunk_id
        self.message: UIMessage | None = None
