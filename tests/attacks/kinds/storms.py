"""Attacks with many requests, each of which is valid."""

from contextlib import ExitStack
from functools import partial
from http.client import HTTPConnection
from typing import Final

from tests.attacks.attacker import Answer, Attacker
from tests.attacks.registry import SHARED, STORES, attack

CHATS: Final = 1_000


@attack("60 concurrent runs of one user", files=200)
def runs_of_a_user(attacker: Attacker) -> None:
    door = f"{attacker.user}-held"
    with ExitStack() as stack:
        answers = [attacker.begin(stack, f"hold {door}", f"r{number}") for number in range(60)]
        attacker.open_door(door)
    for answer in answers:
        attacker.note(answer, (200, 429), "a run")
    _refused_with_a_time(attacker, answers, 429)


@attack("330 concurrent runs of 66 users", SHARED, files=1000, memory=512)
def runs_of_all(attacker: Attacker) -> None:
    door = f"{attacker.user}-all"
    with ExitStack() as stack:
        answers = [
            attacker.begin(stack, f"hold {door}", f"r{number}", user=f"{attacker.user}-{number % 66}")
            for number in range(330)
        ]
        attacker.open_door(door)
    for answer in answers:
        attacker.note(answer, (200, 503), "a run")
    _refused_with_a_time(attacker, answers, 503)


def _refused_with_a_time(attacker: Attacker, answers: list[Answer], status: int) -> None:
    refused = [answer for answer in answers if answer.status == status]
    attacker.expect(refused, f"nothing was refused with {status}")
    attacker.expect(all("retry-after" in answer.text.lower() for answer in refused), "a refusal without Retry-After")


def _many(attacker: Attacker, method: str, path: str, count: int, body: bytes | None = None) -> list[Answer]:
    """Send ``count`` equal requests on keep-alive connections. Returns their responses."""

    def some() -> list[Answer]:
        connection = HTTPConnection("127.0.0.1", attacker.ports[0], timeout=15)
        answers = []
        for _ in range(count // 16):
            connection.request(
                method, path, body, {"x-user": attacker.user, **({"content-type": "application/json"} if body else {})}
            )
            response = connection.getresponse()
            read = response.read()
            answers.append(Answer(response.status, read, {k.lower(): v for k, v in response.getheaders()}))
        connection.close()
        return answers

    return [answer for answers in attacker.together([some] * 16) for answer in answers]


@attack("1,600 requests of one user in a few seconds")
def requests_a_minute(attacker: Attacker) -> None:
    answers = _many(attacker, "GET", "/api/chat/none", 1600)
    for answer in answers:
        attacker.note(answer, (404, 429), "a request")
    refused = [answer for answer in answers if answer.status == 429]
    attacker.expect(refused, "nothing was refused with 429")
    attacker.expect(all("retry-after" in answer.headers for answer in refused), "a refusal without Retry-After")


@attack("320 searches in 1,000 chats, on 16 connections", STORES)
def list_storm(attacker: Attacker) -> None:
    attacker.note(attacker.say(f"seed {CHATS}", "seeds", patience=25), [200], "the chats")
    first = attacker.ask("GET", "/api/chats?limit=100")
    attacker.note(first, [200], "the list")
    attacker.expect(first.status != 200 or len(first.json["chats"]) == 100, "the list is not whole")
    for answer in _many(attacker, "GET", "/api/chats?limit=100&search=chat%209", 320):
        attacker.note(answer, (200, 429, 503), "a search")


@attack("320 changes of a chat's title, on 16 connections", STORES)
def patch_storm(attacker: Attacker) -> None:
    attacker.note(attacker.say("say hello", "renamed"), [200], "the chat")
    for answer in _many(attacker, "PATCH", "/api/chat/renamed", 320, b'{"title":"another","archived":false}'):
        attacker.note(answer, (200, 409, 429, 503), "a change")


@attack("320 stops and 320 deletions, of a running chat and of an unknown chat", STORES)
def stop_storm(attacker: Attacker) -> None:
    door = f"{attacker.user}-stopped"
    with ExitStack() as stack:
        attacker.note(attacker.begin(stack, f"hold {door}", "stopped"), [200], "the run")
        for method, path, allowed in (
            ("POST", "/api/chat/stopped/stop", (202, 429)),
            ("POST", "/api/chat/never/stop", (404, 429)),
            ("DELETE", "/api/chat/stopped", (204, 404, 429)),
            ("DELETE", "/api/chat/never", (404, 429)),
        ):
            for answer in _many(attacker, method, path, 160):
                attacker.note(answer, allowed, path)
        attacker.open_door(door)


@attack("40 pages that send different messages to one chat at once", STORES)
def chat_storm(attacker: Attacker) -> None:
    jobs = [partial(attacker.say, f"say {number}", "crowded") for number in range(40)]
    for answer in attacker.together(jobs, at_once=40):
        attacker.note(answer, (200, 409, 429, 503), "one of forty")
