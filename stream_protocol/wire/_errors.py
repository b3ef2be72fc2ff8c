"""Error classes: for the calling program, for a request from a browser, and for a stream that a client reads."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from stream_protocol.wire._ui_messages import UIMessage


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
"""HTTP status of a refused request -> its default reason."""


class StreamProtocolError(Exception):
    """Raised for a bug in the program that calls this library. Neither a client nor a model can cause this error."""


class InvalidArgumentError(StreamProtocolError, ValueError):
    """An argument that a function or constructor of this library refuses. ``str(error)`` is one plain sentence."""


class ChatRequestError(ValueError):
    """A request with content that the server refuses.

    ``str(error)`` is one short sentence that is safe to send: the client shows the body of a failed request unchanged.
    ``status``: the HTTP status of the response. ``retry_after``: seconds after which the same request may succeed;
    ``None`` if unknown. ``reason``: one word for metrics that count refusals. Its default is the word for the status,
    or ``invalid``.
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
        """The headers of the response to the refused request: ``Retry-After``, if known."""
        return {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}


class ClientStreamError(Exception):
    """The error that the client's ``onError`` receives for a stream that it refuses, or for an ``error`` chunk.

    ``error_class``: the JavaScript class (``AI_UIMessageStreamError``, ``AI_TypeValidationError``,
    ``AI_JSONParseError``; ``Error`` for an ``error`` chunk). ``text``: the first line of the error's message. The
    second line comes from a schema or JSON library, and changes in every release. ``chunk_type`` and ``chunk_id``: set
    for ``AI_UIMessageStreamError`` only, as in the client. ``message``: the message received before the error, which
    the client still shows.
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
