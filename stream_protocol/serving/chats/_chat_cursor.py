"""Provides ``ChatCursor``, which marks where the next page of the list of chats begins.

A changed chat moves to the top of the list. If the cursor were only a position, the next page could repeat or omit
chats. So a cursor also names each chat on the previous pages. See ``docs/decisions/the-list-of-chats.md``.
"""

from __future__ import annotations

import base64
import binascii
import json
import struct
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, Self, TypeAlias

from stream_protocol.wire import ChatRequestError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from google.adk.sessions import Session

MAX_NAMED: Final = 500
"""The maximum number of chats that a cursor names. A cursor is part of a URL, and some proxies accept only 8 KiB."""

NAME_BYTES: Final = 6
"""The number of bytes of a chat's hash in a cursor. Of a billion lists with ``MAX_NAMED`` chats, about one has a
collision."""

_HEAD: Final = struct.Struct(f">8sd{NAME_BYTES}s")
"""Binary format of a cursor's beginning: the hash of the list, and ``from_top_to``."""

Position: TypeAlias = tuple[float, bytes]
"""The position of a chat: the time of its last change (seconds), and the hash of its id. Newer chats have greater
positions."""


@dataclass(frozen=True, kw_only=True)
class ChatCursor:
    """A cursor in a list of chats. The list has the chats of one user that match a search text. It has either the
    archived chats or all other chats.

    ``chat_list``: a hash that identifies the list. ``named``: the hashes of chats on previous pages. ``from_top_to``: a
    position in the list. All chats above this position were on previous pages, too.
    """

    chat_list: bytes
    named: tuple[bytes, ...] = ()
    from_top_to: Position = (float("inf"), b"")

    @classmethod
    def first(cls, *of_list: str | bool) -> Self:
        """Return the cursor of the first page. ``of_list``: the values that identify the list, such as the user's id
        and the search text.
        """
        return cls(chat_list=blake2b(json.dumps(of_list).encode(), digest_size=8).digest())

    def parse(self, text: str) -> ChatCursor:
        """Parses the text of a cursor of this list. Raises ``ChatRequestError`` (422) for any other text."""
        try:
            packed = base64.b64decode(text, altchars=b"-_", validate=True)
            chat_list, *position = _HEAD.unpack_from(packed)
        except (binascii.Error, ValueError, struct.error):
            chat_list = b""
        if chat_list != self.chat_list or (len(packed) - _HEAD.size) % NAME_BYTES:
            raise ChatRequestError("The cursor is not one that this list gave.", status=422)
        names = range(_HEAD.size, len(packed), NAME_BYTES)
        return ChatCursor(
            chat_list=chat_list,
            named=tuple(packed[start : start + NAME_BYTES] for start in names),
            from_top_to=(position[0], position[1]),
        )

    def unread(self, chats: Sequence[Session]) -> list[Session]:
        """Returns the chats in ``chats`` that were on no previous page, newest first."""
        named = set(self.named)
        newest_first = sorted(((position(chat), chat) for chat in chats), key=lambda placed: placed[0], reverse=True)
        return [chat for place, chat in newest_first if place[1] not in named and place < self.from_top_to]

    def after(self, page: Sequence[Session]) -> ChatCursor:
        named = (*self.named, *(position(chat)[1] for chat in page))
        if len(named) <= MAX_NAMED:
            return ChatCursor(chat_list=self.chat_list, named=named, from_top_to=self.from_top_to)
        return ChatCursor(chat_list=self.chat_list, from_top_to=position(page[-1]))

    def __str__(self) -> str:
        return base64.urlsafe_b64encode(_HEAD.pack(self.chat_list, *self.from_top_to) + b"".join(self.named)).decode()


def position(chat: Session) -> Position:
    return chat.last_update_time, blake2b(chat.id.encode(errors="surrogatepass"), digest_size=NAME_BYTES).digest()
