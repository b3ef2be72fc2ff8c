"""Error classes for bugs in the calling program, refused requests, and streams that a client refuses."""

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
"""HTTP status of a refused request -> default of ``ChatRequestError.reason``."""


class StreamProtocolError(Exception):
    """Raised for a bug in the program that calls this library. Clients and models cannot cause this error."""


class InvalidArgumentError(StreamProtocolError, ValueError):
    """Raised for an invalid argument of a function or constructor. ``str(error)`` is one plain sentence."""


class ChatRequestError(ValueError):
    """Raised for a request that the server refuses.

    ``str(error)`` is one short sentence that may be sent to the client. ``status``: the HTTP status of the response.
    ``retry_after``: the number of seconds after which the client may repeat the request; ``None`` if unknown.
    ``reason``: one word for metrics that count refused requests. The default reason depends on the status.
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
        """HTTP headers for the response: ``Retry-After``, if ``retry_after`` is set; otherwise empty."""
        return {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}


class ClientStreamError(Exception):
    """The error that a client passes to its ``onError`` after an invalid chunk or an ``error`` chunk.

    ``error_class``: the name of the JavaScript error class. Values: ``AI_UIMessageStreamError``,
    ``AI_TypeValidationError``, ``AI_JSONParseError``, or ``Error`` for an ``error`` chunk. ``text``: the first line of
    the client's error message. ``chunk_type`` and ``chunk_id``: set only for ``AI_UIMessageStreamError``. ``message``:
    the UI message that the client has built before the error.
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
