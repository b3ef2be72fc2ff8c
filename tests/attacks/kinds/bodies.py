"""Attacks with bodies of a legal size that are expensive to parse."""

import gzip
import json
import random
from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from tests.attacks.attacker import Attacker, said
from tests.attacks.registry import MEMORY, SHARED, attack

MEBIBYTE: Final = 2**20
SIZE: Final = 30 * MEBIBYTE
"""Bytes just below the default limit of a body."""

REFUSED: Final = (400, 413, 422, 429, 503)
ANY: Final = (200, *REFUSED)

BODY_MEMORY: Final = 512
"""MiB for one body: its bytes, its parsed values, and the allocator's reserve."""

MANY_MEMORY: Final = 1024
"""MiB for many bodies at once: the server limits all bodies together to 256 MiB."""


def _filled(before: bytes, piece: bytes, after: bytes) -> bytes:
    """Return a body of ``SIZE``, filled with the repeated piece. The piece ends with a comma or nothing."""
    count = (SIZE - len(before) - len(after)) // len(piece)
    return before + (piece * count).removesuffix(b",") + after


def _part(part: bytes, after: bytes = b"") -> bytes:
    """Return a body with one user message, filled with this part."""
    return _filled(b'{"id":"b","messages":[{"id":"u1","role":"user","parts":[', part + b",", after + b"]}]}")


def _text(piece: bytes, end: bytes = b'"}]}]}') -> bytes:
    return _filled(b'{"id":"b","messages":[{"id":"u1","role":"user","parts":[{"type":"text","text":"', piece, end)


def _beside(value: bytes, piece: bytes, end: bytes) -> bytes:
    """Return a valid chat whose body has another key, filled with this piece."""
    begin = json.dumps(said("say hello", "b")).encode()[:-1]
    return _filled(begin + b',"data":' + value, piece, end + b"}")


def _post(attacker: Attacker, body: bytes, allowed: tuple[int, ...] = REFUSED) -> None:
    attacker.note(attacker.ask("POST", "/api/chat", body), allowed, "a body")


@attack("30 MiB of messages without parts", SHARED, memory=BODY_MEMORY)
def empty_messages(attacker: Attacker) -> None:
    _post(attacker, _filled(b'{"id":"b","messages":[', b'{"id":"u","role":"user","parts":[]},', b"]}"))
    _post(attacker, _filled(b'{"id":"b","messages":[', b"{},", b"]}"))


@attack("30 MiB of empty parts in one message", memory=BODY_MEMORY)
def empty_parts(attacker: Attacker) -> None:
    _post(attacker, _part(b'{"type":"text","text":""}'))
    _post(attacker, _part(b"{}"))
    earlier = b'{"id":"b","messages":[{"id":"a1","role":"assistant","parts":['
    last = b']},{"id":"u1","role":"user","parts":[{"type":"text","text":"say hello"}]}]}'
    _post(attacker, _filled(earlier, b'{"type":"step-start"},', last), ANY)


@attack("30 MiB of JSON brackets: 15 million levels, or many lists with 100 levels", memory=BODY_MEMORY)
def brackets(attacker: Attacker) -> None:
    half = SIZE // 2 - 100
    _post(attacker, b'{"id":"b","messages":' + b"[" * half + b"]" * half + b"}")
    _post(attacker, _beside(b"[", b"[" * 100 + b"]" * 100 + b",", b"]"), ANY)
    _post(attacker, _beside(b"[", b'{"a":' * 50 + b"0" + b"}" * 50 + b",", b"]"), ANY)


@attack("30 MiB of data URLs: percent-encoded, Base64 with spaces, or 100,000 short URLs", memory=BODY_MEMORY)
def data_urls(attacker: Attacker) -> None:
    begin = b'{"id":"b","messages":[{"id":"u1","role":"user","parts":[{"type":"file","mediaType":"text/plain","url":"'
    _post(attacker, _filled(begin + b"data:text/plain,", b"%41", b'"}]}]}'), ANY)
    _post(attacker, _filled(begin + b"data:text/plain;base64,", b"QUFB%20\\n", b'"}]}]}'), ANY)
    _post(attacker, _part(b'{"type":"file","mediaType":"text/plain","url":"data:text/plain,%41"}'))


@attack("30 MiB of JSON escapes: incomplete JSON, lone surrogates, or one key", memory=BODY_MEMORY)
def escapes(attacker: Attacker) -> None:
    _post(attacker, _text(b"\\u0041", b""))
    _post(attacker, _text(b"\\ud800", b'"}]}]}'), ANY)
    _post(attacker, _text(b'\\"', b"\\x"))
    _post(attacker, _beside(b'{"', b"\\u0041", b'":0}'), ANY)


@attack("30 MiB of numbers, of numbers with 300 digits, or of keys", memory=BODY_MEMORY)
def numbers(attacker: Attacker) -> None:
    _post(attacker, _beside(b"[", b"0,", b"]"), ANY)
    _post(attacker, _beside(b"[", b"1" * 300 + b".5e-299,", b"]"), ANY)
    keys = b"".join(b'"k%d":0,' % number for number in range(1_000_000))
    _post(attacker, _beside(b"{", keys, b"}"), ANY)


@attack("30 MiB of valid text, or of spaces", memory=BODY_MEMORY)
def long_text(attacker: Attacker) -> None:
    _post(attacker, _text(b"words and "), ANY)
    _post(attacker, _filled(b"", b" ", b"{}"))


@attack("A valid request with 5,000 messages, which must get a reply")
def real_chat(attacker: Attacker) -> None:
    parts = [{"type": "step-start"}, {"type": "text", "text": "words " * 50, "state": "done"}]
    earlier = [
        {"id": f"m{number}", "role": ("assistant", "user")[number % 2], "parts": parts[1 - number % 2 * -1 - 1 :]}
        for number in range(5000)
    ]
    body = {"id": "real", "messages": [*earlier, said("say hello")["messages"][0]]}
    attacker.note(attacker.ask("POST", "/api/chat", body), [200], "a chat of 5,000 messages")


@attack("16 concurrent bodies of 30 MiB, from one user or from four users", SHARED, memory=MANY_MEMORY)
def many_bodies(attacker: Attacker) -> None:
    shapes = [
        _filled(b'{"id":"b","messages":[', b'{"id":"u","role":"user","parts":[]},', b"]}"),
        _part(b'{"type":"text","text":""}'),
        _text(b"\\u0041", b""),
        _beside(b"[", b"0,", b"]"),
    ]
    for users in (1, 4):
        jobs = [
            partial(attacker.ask, "POST", "/api/chat", shapes[number % 4], user=f"{attacker.user}-{number % users}")
            for number in range(8)
        ]
        for answer in attacker.together(jobs):
            attacker.note(answer, (*ANY, 0), "one of many")


@attack("Bodies of 30 MiB for the replay server", ["replay"], memory=BODY_MEMORY)
def bodies_to_recordings(attacker: Attacker) -> None:
    _post(attacker, _filled(b'{"id":"b","messages":[', b'{"id":"u","role":"user","parts":[]},', b"]}"))
    _post(attacker, _text(b"\\u0041", b""))
    _post(attacker, _beside(b"[", b"[" * 100 + b"]" * 100 + b",", b"]"), (*ANY, 404, 409))


@attack("12 MiB of URL parameters, keys and JSON, which the recorder searches for secrets", ["recording"])
def searched_bodies(attacker: Attacker) -> None:
    size = 12 * MEBIBYTE
    shapes: list[Any] = [
        ["http://a?" + "a=b&" * 32_000] * (size // 128_000),
        ["".join(f"a{number}=b&" for number in range(first, first + 15_000)) for first in range(0, 1_200_000, 15_000)],
        {f"name{number}": "v" for number in range(180_000)},
        [json.dumps({f"a{number}": "b: c" for number in range(8_000)})] * 80,
        [f'"a{number}": "b"' * 3 for number in range(200_000)],
    ]
    for number, shape in enumerate(shapes):
        body = said("say hello", f"searched-{number}")
        body["messages"][0]["metadata"] = {"k": shape}
        answer = attacker.ask("POST", "/api/chat", body, patience=25)
        attacker.note(answer, ANY, "a body that is searched for secrets")
    for megabytes in (1, 7):
        answer = attacker.say(f"parameters {megabytes}", f"result-{megabytes}", patience=25)
        attacker.note(answer, [200], "a result that is searched for secrets")


WRONG: Final[list[Any]] = [None, True, 0, -1, 1.5, 10**30, "", "x" * 5000, "\x00", "\ud800", [], [None], {}, {"a": []}]


def _paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in items:
        yield from _paths(child, (*path, key))


def _with(body: Any, path: tuple[str | int, ...], value: Any) -> Any:
    if not path:
        return value
    copy = json.loads(json.dumps(body))
    place = copy
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return copy


@attack("300 bodies with one value of a wrong type", MEMORY)
def wrong_types(attacker: Attacker) -> None:
    call = {
        "type": "tool-pay",
        "toolCallId": "call-1",
        "state": "approval-responded",
        "input": {"key": "k"},
        "approval": {"id": "approval-1", "approved": True, "reason": "so"},
    }
    file = {"type": "file", "mediaType": "text/plain", "url": "data:text/plain,a", "filename": "a.txt"}
    words = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "say hello"}, file]}
    answers = {"id": "a1", "role": "assistant", "metadata": {"a": 1}, "parts": [{"type": "step-start"}, call]}
    common = {"id": "fuzz", "trigger": "submit-message", "messageId": "a1", "approvalPayloads": {"approval-1": {}}}
    bodies = [
        _with(body, path, wrong)
        for body in ({**common, "messages": [words]}, {**common, "messages": [words, answers]})
        for path in _paths(body)
        for wrong in WRONG
    ]
    chosen = random.Random(1).sample(bodies, 300)
    for body in chosen:
        answer = attacker.ask("POST", "/api/chat", json.dumps(body).encode())
        attacker.note(answer, (200, 400, 404, 409, 413, 422), json.dumps(body)[:300])
        if answer.status != 200:
            attacker.expect(answer.text and "\n" not in answer.text and len(answer.text) < 300, answer.text[:400])


@attack("Bodies that are compressed, in another encoding, or not JSON")
def other_encodings(attacker: Attacker) -> None:
    plain = json.dumps(said("say hello", "encoded")).encode()
    bomb = gzip.compress(b" " * 200 * MEBIBYTE + plain, 9)
    for body, headers in (
        (bomb, {"content-encoding": "gzip"}),
        (bomb, {}),
        (plain.decode().encode("utf-16"), {}),
        (plain.decode().encode("utf-32"), {"content-type": "application/json; charset=utf-32"}),
        (b"\xff\xfe" + plain, {}),
        (plain, {"content-type": "text/plain"}),
        (plain, {"content-type": "application/x-www-form-urlencoded"}),
        (plain, {"content-type": "multipart/form-data; boundary=" + "a" * 5000}),
    ):
        answer = attacker.ask("POST", "/api/chat", body, headers=headers)
        attacker.note(answer, (400, 415), f"a body with {headers}")
