"""No response ends so that a client sends again by itself without having been given something new.

A client that does asks for ever. The converter ends each response so that no helper sends it again. But a page may hold
answers that the server has no use for. Examples: one of two approvals that the agent waits for together, an answer that
it got before, an answer to a call that it does not know. Then the response ends in an error. After that no client sends
by itself, and the next answer that the user gives is sent as ever.
"""

import logging
from collections.abc import Iterable
from itertools import chain
from typing import Final

from stream_protocol.wire import UIMessage, encode_sse
from stream_protocol.wire.client import is_sent_again

logger = logging.getLogger(__name__)

NOTHING_NEW_TEXT: Final = "There is nothing new to go on with: answer what is still open, or send a message."
"""The text that the page shows for a response that would make it send again."""

_ERROR: Final = b'data: {"type":"error"'
"""After such an event no client sends by itself. So the earlier ones, which may be large, need not be parsed."""

_ENDS: Final = (b'data: {"type":"finish"', b'data: {"type":"abort"')


def prevent_auto_resend(
    ending: list[bytes], *, before: Iterable[bytes] = (), continued: UIMessage | None = None
) -> list[bytes]:
    """Returns ``ending``, with an ``error`` in place of its last chunk if a client would send again after it.

    ``ending``: the last SSE events of a response, without ``[DONE]``. ``before``: those before them. ``continued``: the
    message that the response continues, as the client sent it.
    """
    if any(event.startswith(_ERROR) for event in ending) or not is_sent_again(chain(before, ending), continued):
        return ending
    logger.warning("A response ended in an error: the client had sent nothing new, and would have sent it again.")
    return ending_in_error(ending, NOTHING_NEW_TEXT)


def ending_in_error(ending: list[bytes], text: str) -> list[bytes]:
    """Returns ``ending`` with an ``error`` in place of its last chunk."""
    kept = [event for event in ending if not event.startswith(_ENDS)]
    return [*kept, encode_sse({"type": "error", "errorText": text})]
