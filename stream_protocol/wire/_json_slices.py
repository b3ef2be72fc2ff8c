"""Parse a large JSON text in many short steps (slices), so that other tasks of the event loop can run between two
steps.

For a text of 30 MiB within the limits of this module, ``orjson.loads`` blocks all threads for up to 0.6 s. Parsing in
slices blocks the event loop for at most 0.09 s at a time.

This module finds the commas and brackets, and orjson parses the text between them. A list, object or string of more
than ``PIECE`` bytes is parsed in pieces.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Any, Final

from stream_protocol.wire._forbidden_keys import CONSTRUCTOR, FORBIDDEN, rename_forbidden_keys, safe_key
from stream_protocol.wire._json_parsing import parse_json

PIECE: Final = 64 * 1024
"""The approximate number of bytes that orjson parses in one step of up to 2 ms."""

SLICE: Final = 256 * 1024
"""The maximum work between two pauses (2 to 4 ms): the number of bytes, plus ``VALUE_COST`` for each value."""

VALUE_COST: Final = 64
"""The work for one value. Reading this number of bytes of a long string takes the same time."""

MAX_VALUES: Final = 1_000_000
"""The maximum number of values in a text. A chat of 5,000 messages with four tool calls each has 400,000."""

MAX_CONTAINERS: Final = 400_000
"""The maximum number of lists and objects in a text. A chat of 5,000 messages with four tool calls each has 175,000. At
this limit, one step of Python's garbage collector takes 30 to 50 ms.
"""

MAX_LEVELS: Final = 254
"""The maximum number of nesting levels, as in orjson's writer."""

CONTAINER_BYTES: Final = 200
VALUE_BYTES: Final = 50
"""The approximate memory of one value in bytes, without the text of a string."""

_TO_MARK: Final = re.compile(rb'[^"\[\]{},]*+(?:"(?:[^"\\]++|\\.)*+"[^"\[\]{},]*+)*+([\[\]{},])?+', re.DOTALL)
"""Pattern for the text up to the next comma or bracket outside a string."""

_STRING_END: Final = re.compile(rb'(?:[^"\\]++|\\.)*+"', re.DOTALL)

_STRING_PIECE: Final = re.compile(rb'(?:[^"\\]++|\\(?=.{12})(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|.))*+', re.DOTALL)
"""Pattern for a piece of a string that does not end inside an escape or a surrogate pair."""

_TO_LAST_VALUE: Final = re.compile(rb'(?:[^"]*+("(?:[^"\\]++|\\.)*+"))*+[ \t\n\r]*+:[ \t\n\r]*+', re.DOTALL)
"""Pattern for the members of an object up to the value of the last member. The group is the last key."""

_COMMA, _LIST, _OBJECT = b",[{"
_BLANKS: Final = b" \t\n\r"
_PAIRS: Final = frozenset({b"[]", b"{}"})


_PARTS_OF_FORBIDDEN_KEYS: Final = (FORBIDDEN.encode(), CONSTRUCTOR.encode(), b"\\u00")
"""Byte strings for a fast check. Each JSON text with a forbidden key contains at least one of them."""

MAX_CONTINUATION_BYTES: Final = 3
"""The maximum number of bytes of a UTF-8 character after the first byte."""


class TooManyValuesError(ValueError):
    """Raised for a JSON text with more than ``MAX_VALUES`` values, or more than ``MAX_CONTAINERS`` lists and
    objects.
    """


def parse_json_in_slices(text: bytes | bytearray) -> Generator[int, None, Any]:
    """Generator that parses a JSON text in slices, and returns its value.

    After each slice, the generator yields the approximate memory of the new values in bytes. Characters of texts are
    not counted.

    Keys that clients refuse are renamed, as by ``rename_forbidden_keys``. Lone surrogates become U+FFFD. U+0000 also
    becomes U+FFFD, because PostgreSQL refuses U+0000. Raises ``ValueError`` for:

    - text that ``parse_json`` refuses;
    - more than ``MAX_LEVELS`` nesting levels, or too many values (``TooManyValuesError``);
    - a key, a number, or whitespace of more than ``PIECE`` bytes;
    - a JSON text of more than ``PIECE`` bytes that consists of a single string.
    """
    return (yield from _SlicedParser(text).parse())


class _Open:
    __slots__ = ("follows_value", "items", "key", "parent", "start", "unparsed")

    def __init__(self, start: int, parent: _Open | None) -> None:
        self.start = start
        self.parent = parent
        self.unparsed: int | None = start + 1
        """The position of the first byte that is not parsed; ``None`` while a large value inside is read."""
        self.items: list[Any] | dict[str, Any] | None = None
        """The parsed items; ``None`` if the list or object is not parsed in pieces."""
        self.key = ""
        """The key of the large value that is being read."""
        self.follows_value = False
        """True if the unparsed text directly follows a large value, so that it must begin with a comma or the end."""

    @property
    def in_constructor(self) -> bool:
        return self.parent is not None and self.parent.key == CONSTRUCTOR

    def add(self, items: list[Any] | dict[str, Any]) -> None:
        if isinstance(self.items, dict):
            self.items.update(items)
        elif self.items is not None:
            self.items.extend(items)
        else:
            self.items = items

    def put(self, value: Any, end: int) -> None:
        """Add a large value that was parsed separately. ``end``: the position after the value."""
        assert self.items is not None  # `add` was called first, even without items before the value
        if isinstance(self.items, dict):
            self.items[safe_key(self.key, in_constructor=self.in_constructor)] = value
        else:
            self.items.append(value)
        self.key, self.unparsed, self.follows_value = "", end, True


class _SlicedParser:
    def __init__(self, text: bytes | bytearray) -> None:
        self._text = text
        self._stack: list[_Open] = []
        self._unparsed = 0
        """The position of the first byte that is not parsed."""
        self._read = 0
        """The work since the last pause."""
        self._commas = self._containers = self._counted = 0
        self._results: list[Any] = []
        """A list with the value of the whole text; empty until the end."""

    def parse(self) -> Generator[int, None, Any]:
        position = last_mark = 0
        text, match = self._text, _TO_MARK.match
        while position < len(text):
            found = match(text, position, position + PIECE)
            assert found is not None  # it also matches the empty text
            before, position = position, found.end()
            self._read += position - before + VALUE_COST
            if self._read >= SLICE:
                yield self._end_slice()
            if found.lastindex is not None:
                last_mark = position
                self._pass_mark(position - 1)
            elif position == before:  # a string that is longer than a piece begins here
                position = last_mark = yield from self._read_long_string(position)
            elif position - last_mark > 4 * PIECE:  # two strings and the text around them may have this length
                raise ValueError("a number or blanks without an end")
        if self._stack:
            raise ValueError("unexpected end")
        if not self._results:
            return _parse(self._between(0, len(text)))
        self._require_blanks(self._unparsed, len(text))
        return self._results[0]

    def _end_slice(self) -> int:
        """Begin a new slice. Returns the approximate memory of the values in the previous slice, in bytes."""
        before = self._counted
        self._counted = self._containers * CONTAINER_BYTES + self._commas * VALUE_BYTES
        self._read = 0
        return self._counted - before

    def _pass_mark(self, position: int) -> None:
        mark = self._text[position]
        if mark == _COMMA:
            self._commas += 1
            self._pass_comma(position)
        elif mark in (_LIST, _OBJECT):
            self._containers += 1
            self._open(position)
        else:
            self._close(position)
        if self._containers > MAX_CONTAINERS or self._commas + self._containers > MAX_VALUES:
            raise TooManyValuesError("too many values")

    def _pass_comma(self, position: int) -> None:
        top = self._top()
        if top.follows_value:
            assert top.unparsed is not None
            self._require_blanks(top.unparsed, position)
            top.follows_value = False
        elif position - self._unparsed < PIECE:
            return
        else:
            self._parse_outer(len(self._stack) - 1)
            self._parse_rest(top, position)
        top.unparsed = self._unparsed = position + 1

    def _open(self, position: int) -> None:
        if not self._stack:
            self._require_blanks(self._unparsed, position)
            if self._results:
                raise ValueError("a second value")
        elif self._top().follows_value:
            raise ValueError("a comma is missing")
        elif position - self._unparsed >= PIECE:
            self._begin_large_value(position)
        self._stack.append(_Open(position, self._stack[-1] if self._stack else None))
        if len(self._stack) > MAX_LEVELS:
            raise ValueError("nested too deeply")

    def _close(self, position: int) -> None:
        top = self._top()
        if len(self._stack) > 1 and top.items is None and position - self._unparsed < PIECE:
            self._stack.pop()
            return
        if bytes((self._text[top.start], self._text[position])) not in _PAIRS:
            raise ValueError("the wrong bracket")
        self._parse_outer(len(self._stack) - 1)
        self._stack.pop()
        if top.items is None:
            value = _parse(self._between(top.start, position + 1), in_constructor=top.in_constructor)
        else:
            assert top.unparsed is not None
            if top.follows_value:
                self._require_blanks(top.unparsed, position)
            else:
                self._parse_rest(top, position)
            value = top.items
        self._unparsed = position + 1
        if self._stack:
            self._stack[-1].put(value, position + 1)
        else:
            self._results.append(value)

    def _read_long_string(self, start: int) -> Generator[int, None, int]:
        """Read the long string that begins at ``start``. Returns the position after the string."""
        top = self._top()
        if top.follows_value:
            raise ValueError("a comma is missing")
        self._begin_large_value(start)
        pieces: list[str] = []
        position, text = start + 1, self._text
        while (rest := _STRING_END.match(text, position, position + PIECE)) is None:
            end = self._cut_string(position)
            pieces.append(parse_json(b'"%b"' % self._between(position, end)))
            position = end
            self._read += 2 * PIECE
            if self._read >= SLICE:
                yield self._end_slice()
        pieces.append(parse_json(b'"%b' % self._between(position, rest.end())))
        self._unparsed = rest.end()
        top.put("".join(pieces), rest.end())
        return rest.end()

    def _top(self) -> _Open:
        if not self._stack:
            raise ValueError("no list or object")
        return self._stack[-1]

    def _begin_large_value(self, position: int) -> None:
        """Parse all items before the large value at ``position``, in all lists and objects that contain this value."""
        self._parse_outer(len(self._stack) - 1)
        self._parse_before_value(self._stack[-1], position)

    def _parse_outer(self, count: int) -> None:
        """The ``count`` outermost lists and objects are unfinished. In each of them, parse the items before the
        unfinished item.
        """
        for outer, inner in zip(self._stack[:count], self._stack[1:], strict=False):
            if outer.unparsed is not None:
                self._parse_before_value(outer, inner.start)

    def _parse_before_value(self, container: _Open, position: int) -> None:
        """Parse the items of ``container`` before the large value that begins at ``position``."""
        assert container.unparsed is not None
        piece = self._between(container.unparsed, position)
        container.unparsed = None
        if self._text[container.start] == _LIST:
            container.add(_parse(b"[%bnull]" % piece)[:-1])
            return
        before = _TO_LAST_VALUE.fullmatch(piece)
        if before is None:
            raise ValueError("a key is missing")
        container.add(_parse(b"{%bnull}" % piece, in_constructor=container.in_constructor))
        container.key = parse_json(before[1])

    def _parse_rest(self, container: _Open, position: int) -> None:
        """Parse the items of ``container`` from its first unparsed byte to the comma or bracket at ``position``.

        Raises ``ValueError`` if there is no item.
        """
        assert container.unparsed is not None
        piece = self._between(container.unparsed, position)
        wrapped = b"[%b]" % piece if self._text[container.start] == _LIST else b"{%b}" % piece
        items = _parse(wrapped, in_constructor=container.in_constructor)
        if not items:
            raise ValueError("a value is missing")
        container.add(items)

    def _cut_string(self, position: int) -> int:
        """Return the end of a piece of a long string. The piece begins at ``position``, and never ends inside a
        character.
        """
        found = _STRING_PIECE.match(self._text, position, position + PIECE)
        assert found is not None  # it also matches the empty text
        end = found.end()
        for _ in range(MAX_CONTINUATION_BYTES):
            if end < len(self._text) and 0x80 <= self._text[end] < 0xC0:
                end -= 1
        if end <= position:
            raise ValueError("a string without an end")
        return end

    def _between(self, start: int, end: int) -> bytes:
        return _without_nul(bytes(self._text[start:end]))

    def _require_blanks(self, start: int, end: int) -> None:
        if self._between(start, end).strip(_BLANKS):
            raise ValueError("a comma or a bracket is missing")


def _without_nul(piece: bytes) -> bytes:
    """Return a piece of JSON text with U+FFFD in place of each escaped U+0000."""
    if b"\\u0000" not in piece or b"\0" in piece:
        return piece
    # Escaped backslashes are replaced before and restored after: `\\u0000` is a backslash and the text `u0000`.
    return piece.replace(rb"\\", b"\0\0").replace(rb"\u0000", rb"\ufffd").replace(b"\0\0", rb"\\")


def _parse(piece: bytes, *, in_constructor: bool = False) -> Any:
    value = parse_json(piece)
    if in_constructor or any(name in piece for name in _PARTS_OF_FORBIDDEN_KEYS):
        return rename_forbidden_keys(value, in_constructor=in_constructor)
    return value
