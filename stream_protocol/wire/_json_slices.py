"""Parsing a large JSON text in slices, so that other work of the same thread can go on between them.

A parser in C blocks the interpreter in every thread until it has read the whole text: seconds for 30 MiB of brackets.
So this module only finds commas and brackets, and orjson parses the text between them. A list or an object larger than
``PIECE`` is assembled from pieces, and so is a long string.

Counting the values first and parsing all at once would be simpler, and was measured with texts of 30 MiB within the
bounds below. ``orjson.loads`` stops the event loop for 0.6 s (400,000 objects under different keys), 0.3 s (such a
list) or 0.2 s (a million strings). In slices the longest stops are 90, 75 and 57 ms, mostly Python's garbage collector.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Any, Final

from stream_protocol.wire._forbidden_keys import CONSTRUCTOR, FORBIDDEN, rename_forbidden_keys, safe_key
from stream_protocol.wire._json_parsing import parse_json

PIECE: Final = 64 * 1024
"""Approximate bytes that are parsed at once. 64 KiB of empty objects, the slowest case, take 2 ms."""

SLICE: Final = 256 * 1024
"""Work between two pauses: bytes, and ``VALUE_COST`` for each value. It takes 2 to 4 ms."""

VALUE_COST: Final = 64
"""Bytes of a long string that take as long to read as one value."""

MAX_VALUES: Final = 1_000_000
"""The most values in a text: texts, numbers, lists, objects. 5,000 messages with four tool calls each have 400,000."""

MAX_CONTAINERS: Final = 400_000
"""The most lists and objects among the values; those 5,000 messages have 175,000. Each takes up to 240 bytes. Python's
garbage collector visits all of them at once: 30 to 50 ms.
"""

MAX_LEVELS: Final = 254
"""The most levels of lists and objects: the limit of orjson's writer."""

CONTAINER_BYTES: Final = 200
VALUE_BYTES: Final = 50
"""Approximate bytes of memory of a list or an object, and of any other value, without its text."""

_TO_MARK: Final = re.compile(rb'[^"\[\]{},]*+(?:"(?:[^"\\]++|\\.)*+"[^"\[\]{},]*+)*+([\[\]{},])?+', re.DOTALL)
"""Whole strings, numbers and blanks, and the comma or bracket behind them."""

_STRING_END: Final = re.compile(rb'(?:[^"\\]++|\\.)*+"', re.DOTALL)

_STRING_PIECE: Final = re.compile(rb'(?:[^"\\]++|\\(?=.{12})(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|.))*+', re.DOTALL)
"""A part of a string that does not end within an escape. An escape is taken only if there is room behind it for the
other half of a surrogate pair.
"""

_TO_LAST_VALUE: Final = re.compile(rb'(?:[^"]*+("(?:[^"\\]++|\\.)*+"))*+[ \t\n\r]*+:[ \t\n\r]*+', re.DOTALL)
"""Members of an object up to the value of the last; the group is the last key."""

_COMMA, _LIST, _OBJECT = b",[{"
_BLANKS: Final = b" \t\n\r"
_PAIRS: Final = frozenset({b"[]", b"{}"})


_PARTS_OF_FORBIDDEN_KEYS: Final = (FORBIDDEN.encode(), CONSTRUCTOR.encode(), b"\\u00")
"""Each text with a forbidden key contains one of these: literally, or with escapes."""

MAX_CONTINUATION_BYTES: Final = 3
"""Bytes of a UTF-8 character after its first."""


class TooManyValuesError(ValueError):
    """The text has more than ``MAX_VALUES`` values, or more than ``MAX_CONTAINERS`` lists and objects."""


def parse_json_in_slices(text: bytes | bytearray) -> Generator[int, None, Any]:
    """``parse_json``, but pauses after each slice of its work. The generator returns the value. It yields the
    approximate bytes of memory that the lists, objects and other values of the slice take, without their texts.

    Forbidden keys are renamed, as ``rename_forbidden_keys`` does. U+0000 becomes U+FFFD, as lone surrogates do:
    PostgreSQL refuses JSON that has it. Raises ``ValueError`` for text that ``parse_json`` refuses, for more than
    ``MAX_LEVELS`` levels, and for too many values (``TooManyValuesError``). In a text of more than ``PIECE`` bytes it
    also raises for keys, numbers and blanks of that size, and for a string alone.
    """
    return (yield from _SlicedParser(text).parse())


class _Open:
    """A list or an object that has begun."""

    __slots__ = ("follows_value", "items", "key", "parent", "start", "unparsed")

    def __init__(self, start: int, parent: _Open | None) -> None:
        self.start = start
        self.parent = parent
        self.unparsed: int | None = start + 1
        """Position of the first unparsed byte; ``None`` while a large value inside is read."""
        self.items: list[Any] | dict[str, Any] | None = None
        """The items parsed so far, if it is parsed in pieces."""
        self.key = ""
        """In an object, the key of the large value that is being read."""
        self.follows_value = False
        """True if the unparsed text follows a large value: blanks, then a comma or the end."""

    @property
    def in_constructor(self) -> bool:
        return self.parent is not None and self.parent.key == CONSTRUCTOR

    def add(self, items: list[Any] | dict[str, Any]) -> None:
        """Adds parsed items."""
        if isinstance(self.items, dict):
            self.items.update(items)
        elif self.items is not None:
            self.items.extend(items)
        else:
            self.items = items

    def put(self, value: Any, end: int) -> None:
        """Adds the large value, which ends before ``end``."""
        assert self.items is not None  # the items before the value were added, even if there were none
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
        """Position of the unparsed rest of the text."""
        self._read = 0
        """Bytes read since the last pause, and ``VALUE_COST`` for each value."""
        self._commas = self._containers = self._counted = 0
        self._results: list[Any] = []
        """The value of the whole text, once it has been read."""

    def parse(self) -> Generator[int, None, Any]:
        position = last_mark = 0
        text, match = self._text, _TO_MARK.match
        while position < len(text):
            found = match(text, position, position + PIECE)
            assert found is not None  # it matches the empty text, too
            before, position = position, found.end()
            self._read += position - before + VALUE_COST
            if self._read >= SLICE:
                yield self._end_slice()
            if found.lastindex is not None:
                last_mark = position
                self._pass_mark(position - 1)
            elif position == before:  # at a string that does not end within a piece
                position = last_mark = yield from self._read_long_string(position)
            elif position - last_mark > 4 * PIECE:  # two strings and the text around them may be as long
                raise ValueError("a number or blanks without an end")
        if self._stack:
            raise ValueError("unexpected end")
        if not self._results:
            return _parse(self._between(0, len(text)))
        self._require_blanks(self._unparsed, len(text))
        return self._results[0]

    def _end_slice(self) -> int:
        """Returns the approximate bytes of memory that the values of the slice take."""
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
        """Reads the string value at this position. Returns the position of its end."""
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
        """Parses the text before the value at this position, in all lists and objects around it."""
        self._parse_outer(len(self._stack) - 1)
        self._parse_before_value(self._stack[-1], position)

    def _parse_outer(self, count: int) -> None:
        """Parses the items of the ``count`` outermost lists and objects that come before the open one in each."""
        for outer, inner in zip(self._stack[:count], self._stack[1:], strict=False):
            if outer.unparsed is not None:
                self._parse_before_value(outer, inner.start)

    def _parse_before_value(self, one: _Open, position: int) -> None:
        """Parses the rest of ``one`` up to its large value at this position."""
        assert one.unparsed is not None
        piece = self._between(one.unparsed, position)
        one.unparsed = None
        if self._text[one.start] == _LIST:
            one.add(_parse(b"[%bnull]" % piece)[:-1])
            return
        before = _TO_LAST_VALUE.fullmatch(piece)
        if before is None:
            raise ValueError("a key is missing")
        one.add(_parse(b"{%bnull}" % piece, in_constructor=one.in_constructor))
        one.key = parse_json(before[1])

    def _parse_rest(self, one: _Open, position: int) -> None:
        """Parses the rest of ``one``, one item or more, up to the comma or the end at this position."""
        assert one.unparsed is not None
        piece = self._between(one.unparsed, position)
        wrapped = b"[%b]" % piece if self._text[one.start] == _LIST else b"{%b}" % piece
        items = _parse(wrapped, in_constructor=one.in_constructor)
        if not items:
            raise ValueError("a value is missing")
        one.add(items)

    def _cut_string(self, position: int) -> int:
        """Returns the position between two characters where a piece of the string ends that begins at ``position``."""
        found = _STRING_PIECE.match(self._text, position, position + PIECE)
        assert found is not None  # it matches the empty text, too
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
    """Returns the piece with U+FFFD for U+0000, which JSON can only escape. A piece with an unescaped U+0000 is not
    JSON.
    """
    if b"\\u0000" not in piece or b"\0" in piece:
        return piece
    # Escaped backslashes are removed meanwhile: the characters after one are text.
    return piece.replace(rb"\\", b"\0\0").replace(rb"\u0000", rb"\ufffd").replace(b"\0\0", rb"\\")


def _parse(piece: bytes, *, in_constructor: bool = False) -> Any:
    value = parse_json(piece)
    if in_constructor or any(name in piece for name in _PARTS_OF_FORBIDDEN_KEYS):
        return rename_forbidden_keys(value, in_constructor=in_constructor)
    return value
