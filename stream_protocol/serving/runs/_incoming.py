"""``Incoming``: a request for a response, with all that its sender and the app say of it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stream_protocol.serving.base import Attempt, RunOverrides
    from stream_protocol.serving.chats import ChatKey
    from stream_protocol.wire import ChatRequest


@dataclass(frozen=True, kw_only=True)
class Incoming:
    """A request for a response."""

    request: ChatRequest
    user_id: str
    overrides: RunOverrides
    attempt: Attempt
    """For the audit trail."""
    idempotency_key: str
    """Equal requests have the same: see ``stream_protocol.session.idempotency_key``."""
    requested_at: float = field(default_factory=time.perf_counter)
    """When the request came."""

    @property
    def chat(self) -> ChatKey:
        """The key of its chat."""
        return self.user_id, self.request.id
