"""The checks of arguments: the accepted values of each, and the error for all others. Other tests check their
callers.
"""

import asyncio
import math
import re
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, Final, Protocol

import pytest

from stream_protocol import StreamProtocolError
from stream_protocol.wire import (
    argument_error,
    check_callable,
    check_choice,
    check_count,
    check_flag,
    check_header_name,
    check_instance,
    check_interface,
    check_iterable,
    check_mapping,
    check_number,
    check_path,
    check_pattern,
    check_seconds,
    check_text,
    check_texts,
    shown,
)


class Store(Protocol):
    kind: str

    def get(self) -> None: ...

    def put(self) -> None: ...


class Memory:
    kind = "memory"

    def get(self) -> None: ...

    def put(self) -> None: ...


class HalfAStore:
    kind = "half"

    def get(self) -> None: ...


class AsyncCall:
    async def __call__(self, request: object) -> None: ...


async def waits(request: object) -> None: ...


def yields(request: object) -> Iterator[object]:
    yield request


async def yields_later(request: object) -> AsyncIterator[object]:
    yield request


class Yields:
    def __call__(self, request: object) -> Iterator[object]:
        yield request


TAKEN: Final[dict[str, Callable[[], object]]] = {
    "a choice": lambda: check_choice("o", "b", ("a", "b")),
    "a number among choices": lambda: check_choice("o", 6, (6, 7)),
    "a flag": lambda: check_flag("o", value=False),
    "an empty text": lambda: check_text("o", ""),
    "no text": lambda: check_text("o", None, or_none=True),
    "a pattern": lambda: check_pattern("o", "a1", re.compile("[a-z]1"), "a letter and 1"),
    "a header": lambda: check_header_name("o", "X-User"),
    "a count": lambda: check_count("o", 1),
    "the last count": lambda: check_count("o", 9, maximum=9),
    "no count": lambda: check_count("o", None, or_none=True),
    "seconds": lambda: check_seconds("o", 0.5),
    "whole seconds": lambda: check_seconds("o", 5),
    "no seconds at all": lambda: check_seconds("o", 0, zero=True),
    "no limit": lambda: check_seconds("o", None, or_none=True),
    "a number": lambda: check_number("o", math.inf, lambda value: value > 0, "positive"),
    "a function": lambda: check_callable("o", lambda request: None, ("request",)),
    "a function with more that is optional": lambda: check_callable("o", lambda a, b=1, *c: None, ("request",)),
    "an async function": lambda: check_callable("o", waits, ("request",)),
    "a class": lambda: check_callable("o", str, ("error",), plain=True),
    "a generator function": lambda: check_callable("o", yields, ("request",), plain=True, may_yield=True),
    "a function without a signature": lambda: check_callable("o", dict.fromkeys, ("request",), plain=True),
    "no function": lambda: check_callable("o", None, (), or_none=True),
    "a list": lambda: check_texts("o", ["a"]),
    "a set": lambda: check_texts("o", {"a"}),
    "the keys of a dictionary": lambda: check_texts("o", {"a": 1}),
    "a dictionary": lambda: check_mapping("o", {"a": 1}),
    "a dictionary of texts": lambda: check_mapping("o", {"a": "b"}, of_texts=True),
    "no dictionary": lambda: check_mapping("o", None, or_none=True),
    "a path as text": lambda: check_path("o", "a"),
    "a path": lambda: check_path("o", Path("a")),
    "an instance": lambda: check_instance("o", 5, int, "a number"),
    "one of several": lambda: check_instance("o", "a", (int, str), "a number or text"),
    "no instance": lambda: check_instance("o", None, int, "a number", or_none=True),
    "an interface": lambda: check_interface("o", Memory(), Store, "a store"),
    "no interface": lambda: check_interface("o", None, Store, "a store", or_none=True),
    "an iterable": lambda: check_iterable("f", iter([]), "events"),
}


@pytest.mark.parametrize("kind", TAKEN)
def test_what_fits_is_taken(kind: str) -> None:
    TAKEN[kind]()


REFUSED: Final[dict[str, Callable[[], object]]] = {
    '`o` must be "a", "b" or "c", not "A".': lambda: check_choice("o", "A", ("a", "b", "c")),
    '`o` must be "a" or "b", not None.': lambda: check_choice("o", None, ("a", "b")),
    "`o` must be 6 or 7, not True.": lambda: check_choice("o", value=True, choices=(6, 7)),
    "`o` must be True or False, not 1.": lambda: check_flag("o", 1),
    "`o` must be text, not 5.": lambda: check_text("o", 5),
    "`o` must be text, or None, not bytes.": lambda: check_text("o", b"", or_none=True),
    '`o` must be a name, not "".': lambda: check_text("o", "", empty=False, expected="a name"),
    '`o` must be a letter, not "a\\n".': lambda: check_pattern("o", "a\n", re.compile("[a-z]"), "a letter"),
    '`o` must be the name of a header, such as "X-User", not "X User".': lambda: check_header_name("o", "X User"),
    "`o` must be a whole number from 1, not 0.": lambda: check_count("o", 0),
    "`o` must be a whole number from 1, not True.": lambda: check_count("o", value=True),
    "`o` must be a whole number from 0, or None, not 1.0.": lambda: check_count("o", 1.0, minimum=0, or_none=True),
    "`o` must be a whole number from 1 to 9, not 10.": lambda: check_count("o", 10, maximum=9),
    "`o` must be a positive number of seconds, not 0.": lambda: check_seconds("o", 0),
    "`o` must be a positive number of seconds, or None, not nan.": lambda: check_seconds("o", math.nan, or_none=True),
    "`o` must be 0 or more seconds, not inf: use at most 1,000,000,000.": lambda: check_seconds(
        "o", math.inf, zero=True
    ),
    '`o` must be 0 or more seconds, not "5".': lambda: check_seconds("o", "5", zero=True),
    "`o` must be positive, not False.": lambda: check_number("o", False, lambda value: True, "positive"),
    "`o` must be positive, not a number of more than 60 digits.": lambda: check_number(
        "o", 10**400, lambda value: True, "positive"
    ),
    "`o` must be a positive number of seconds, not 1e+20: use at most 1,000,000,000.": lambda: check_seconds("o", 1e20),
    '`o` must be a function, not "me".': lambda: check_callable("o", "me", ()),
    "`o` must be a function, or None, not the coroutine waits: give the function itself, without calling it.": lambda: (
        check_callable("o", waits(1), (), or_none=True)
    ),
    "`o` is called as o(request): the function <lambda> does not take these arguments.": lambda: check_callable(
        "o", lambda: None, ("request",)
    ),
    "`o` is called as o(a, b) and not awaited: it must be a plain def, not an async def.": lambda: check_callable(
        "o", waits, ("a", "b"), plain=True
    ),
    "`o` is called as o(a) and not awaited: it must be a plain def, not an async def.": lambda: check_callable(
        "o", AsyncCall(), ("a",), plain=True
    ),
    "`o` is called as o(a) and not iterated: it must return its result, and not yield.": lambda: check_callable(
        "o", yields, ("a",)
    ),
    "`o` is called as o(b) and not iterated: it must return its result, and not yield.": lambda: check_callable(
        "o", Yields(), ("b",), plain=True
    ),
    "`o` is called as o(c) and not iterated: it must return its result, and not yield.": lambda: check_callable(
        "o", yields_later, ("c",), may_yield=True
    ),
    '`o` must be a list of texts, not "a": write ["a"].': lambda: check_texts("o", "a"),
    "`o` must be a list of texts, not bytes.": lambda: check_texts("o", b"a"),
    "`o` must be a list of texts, not generator.": lambda: check_texts("o", (x for x in "a")),
    "`o` must be a list of names, and 5 in it is not text.": lambda: check_texts("o", [5], expected="a list of names"),
    "`o` must be a dictionary, not list.": lambda: check_mapping("o", []),
    "`o` must be a dictionary, and 5 in it is not text.": lambda: check_mapping("o", {5: "a"}),
    "`o` must be a dictionary of texts, and 5 in it is not text.": lambda: check_mapping("o", {"a": 5}, of_texts=True),
    '`o` must be the path of a file or folder, not "".': lambda: check_path("o", ""),
    "`o` must be the path of a file or folder, not the class Path: give an instance, Path(…).": lambda: check_path(
        "o", Path
    ),
    "`o` must be a number, not Memory: count them.": lambda: check_instance(
        "o", Memory(), int, "a number", hint="count them"
    ),
    "`o` must be a number, not the class Memory: give an instance, Memory(…).": lambda: check_instance(
        "o", Memory, int, "a number"
    ),
    "`o` must be a store, not the class Memory: give an instance, Memory(…).": lambda: check_interface(
        "o", Memory, Store, "a store", hint="give Memory()"
    ),
    "`o` must be a store, not HalfAStore: it has no `put`.": lambda: check_interface(
        "o", HalfAStore(), Store, "a store", hint="give Memory()"
    ),
    "`o` must be a store, not dict: give Memory().": lambda: check_interface(
        "o", {}, _NoGet, "a store", hint="give Memory()"
    ),
    "`o` must be a number, not the coroutine waits: await it first.": lambda: check_instance(
        "o", waits(1), int, "a number"
    ),
}


class _NoGet(Protocol):
    def put(self) -> None: ...


@pytest.mark.parametrize("sentence", REFUSED)
def test_what_does_not_fit_is_told_in_one_sentence(sentence: str) -> None:
    with pytest.raises(StreamProtocolError) as refused:
        REFUSED[sentence]()
    assert str(refused.value) == sentence
    assert isinstance(refused.value, ValueError)  # as a wrong value is in Python


NOT_ITERABLE: Final[dict[str, tuple[object, bool]]] = {
    "`f` takes a list or another synchronous iterable of events, not 5.": (5, False),
    "`f` takes a list or another synchronous iterable of events, not the function waits: call it.": (waits, False),
    "`f` takes an asynchronous iterator of events, not list: use `g`.": ([], True),
    "`f` takes an asynchronous iterator of events, not dict.": ({}, True),
}


@pytest.mark.parametrize("sentence", NOT_ITERABLE)
def test_what_a_function_cannot_iterate_over_is_a_type_error(sentence: str) -> None:
    value, is_async = NOT_ITERABLE[sentence]
    with pytest.raises(TypeError) as refused:
        check_iterable("f", value, "events", is_async=is_async, otherwise="use `g`")
    assert str(refused.value) == sentence


def test_a_long_text_is_cut_and_a_password_left_out() -> None:
    assert shown("x" * 100) == f'"{"x" * 60}…"'
    assert shown("postgresql://ann:s3cret@db/chats") == '"postgresql://…@db/chats"'
    assert shown(10**5000) == shown(-(10**60)) == "a number of more than 60 digits"


def test_a_coroutine_that_is_refused_is_closed() -> None:
    coroutine = waits(1)
    argument_error("o", "text", coroutine)
    with pytest.raises(RuntimeError, match="cannot reuse already awaited coroutine"):
        asyncio.run(_await(coroutine))


async def _await(awaitable: Any) -> None:
    await awaitable
