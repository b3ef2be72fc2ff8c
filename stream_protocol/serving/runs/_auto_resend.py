"""Provides ``prevent_auto_resend``, which keeps a client from sending the same answers to tool calls again and again.

A client with ``sendAutomaticallyWhen`` sends its answers as soon as all tool calls of the last message have outputs.
For example, the agent needs two approvals, and the client has sent only one. The server cannot use it yet, so the
client would send it again after each response. So the response ends with an error, because no client sends
automatically after an error. The user's next answer is sent as usual.
"""

import logging
from collections.abc import Iterable
from itertools import chain
from typing import Final

from stream_protocol.wire import UIMessage, encode_sse
from stream_protocol.wire.client import is_sent_again

logger = logging.getLogger(__name__)

NOTHING_NEW_TEXT: Final = "There is nothing new to go on with: answer what is still open, or send a message."
"""Text of the error that keeps the client from sending again."""

_ENDS: Final = (b'data: {"type":"finish"', b'data: {"type":"abort"', b'data: {"type":"error"')


def prevent_auto_resend(
    ending: list[bytes], *, before: Iterable[bytes] = (), continued: UIMessage | None = None
) -> list[bytes]:
    """Returns the last SSE events of a response. If the client would automatically send the same answers again, an
    ``error`` chunk replaces the last chunk.

    ``ending``: the last SSE events of the response, without ``[DONE]``. ``before``: the SSE events before ``ending``.
    ``continued``: the assistant message from the request, if the response continues this message.
    """
    if not is_sent_again(chain(before, ending), continued):
        return ending
    logger.warning("A response ended in an error: the client had sent nothing new, and would have sent it again.")
    return ending_in_error(ending, NOTHING_NEW_TEXT)


def ending_in_error(ending: list[bytes], text: str) -> list[bytes]:
    """Returns the last SSE events of a response, with an ``error`` chunk in place of ``finish``, ``abort`` or
    ``error``.
    """
    kept = [event for event in ending if not event.startswith(_ENDS)]
    return [*kept, encode_sse({"type": "error", "errorText": text})]
