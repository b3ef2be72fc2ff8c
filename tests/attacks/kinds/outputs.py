"""Attacks with long outputs, and with readers that do not read."""

import re
import time
from contextlib import ExitStack
from functools import partial
from typing import Final

from tests.attacks.attacker import Answer, Attacker
from tests.attacks.registry import SHARED, STORES, attack

READERS: Final = 120
ENDLESS_SECONDS: Final = 5.0
HOLD_SECONDS: Final = 2.0

READ: Final = (200, 204, 409, 429, 503)


@attack("A tool that returns 80 MB", STORES, memory=1024)
def long_tool_output(attacker: Attacker) -> None:
    answer = attacker.say("fetch 80", "long", patience=25)
    attacker.note(answer, [200], "the turn")
    attacker.expect(answer.text.endswith("data: [DONE]\n\n"), "its stream did not end")
    attacker.note(attacker.ask("GET", "/api/chat/long"), (200, 413), "its history")


@attack("A reply with 3,000 wrong citations, and scripts in URLs and search suggestions", STORES)
def hostile_grounding(attacker: Attacker) -> None:
    answer = attacker.say("ground 3000", "grounded", patience=25)
    attacker.note(answer, [200], "the turn")
    attacker.expect(answer.text.endswith("data: [DONE]\n\n"), "its stream did not end")
    attacker.expect(len(answer.body) < 5_000_000, "its citations are not bounded")
    history = attacker.ask("GET", "/api/chat/grounded")
    attacker.note(history, [200], "its history")
    for text in (answer.text, history.text):
        links = re.findall(r'"url":"([^"]*)', text)
        attacker.expect(all(link.startswith(("https://", "http://")) for link in links), "an address runs code")
    attacker.note(attacker.say("say hello", "grounded"), [200], "the next turn")


@attack("Five concurrent models that send tiny chunks until they are stopped")
def endless_chunks(attacker: Attacker) -> None:
    def begin(number: int) -> Answer:
        connection = attacker.connect(patience=ENDLESS_SECONDS)
        connection.sendall(attacker.saying("endless x", f"e{number}"))
        until = time.monotonic() + ENDLESS_SECONDS
        status = attacker.read_status(connection)
        while time.monotonic() < until and connection.recv(2**16):
            pass
        connection.close()
        return status

    for answer in attacker.together([partial(begin, number) for number in range(5)]):
        attacker.note(answer, [200, 429], "an endless run")
    for number in range(5):
        attacker.note(attacker.ask("POST", f"/api/chat/e{number}/stop"), [202], "its stop")


@attack("An agent that calls its model without end")
def endless_model_calls(attacker: Attacker) -> None:
    answer = attacker.say("loop x", "loop", patience=25)
    attacker.note(answer, [200], "the turn")
    attacker.expect('"type":"error"' in answer.text and answer.text.endswith("data: [DONE]\n\n"), "its stream goes on")


@attack("120 readers of a response of 9 MB that receive nothing", SHARED, files=300)
def silent_readers(attacker: Attacker) -> None:
    door = f"{attacker.user}-silent"
    with ExitStack() as stack:
        first = stack.enter_context(attacker.connect(receive=4096))
        first.sendall(attacker.saying(f"big 9 {door}", "nine"))
        attacker.note(attacker.read_status(first), [200], "the response")
        server = len(attacker.ports) > 1  # where there is another worker, its readers are others of the same run
        for _ in range(READERS):
            reader = stack.enter_context(attacker.connect(int(server), receive=4096))
            reader.sendall(attacker.head("GET", "/api/chat/nine/stream"))
            attacker.note(attacker.read_status(reader), READ, "a reader")
        time.sleep(HOLD_SECONDS)
        attacker.open_door(door)
    attacker.note(attacker.ask("POST", "/api/chat/nine/stop"), [202], "its stop")


@attack("200 concurrent readers that receive a response of 1 MB", SHARED, files=300)
def many_readers(attacker: Attacker) -> None:
    door = f"{attacker.user}-many"

    def read() -> Answer:
        with attacker.connect() as connection:
            connection.sendall(attacker.head("GET", "/api/chat/one/stream"))
            status = attacker.read_status(connection)
            size = len(status.body)
            while status.status == 200 and size < 2**20 and (piece := connection.recv(2**16)):
                size += len(piece)
            return status

    with attacker.connect() as first:
        first.sendall(attacker.saying(f"big 1 {door}", "one"))
        attacker.note(attacker.read_status(first), [200], "the response")
        for answer in attacker.together([read] * 200, at_once=200):
            attacker.note(answer, READ, "a reader")
        attacker.open_door(door)
    attacker.note(attacker.ask("POST", "/api/chat/one/stop"), [202], "its stop")


@attack("300 requests for 300 chats, whose clients disconnect at once", STORES, files=400)
def leaving(attacker: Attacker) -> None:
    def leave(number: int) -> None:
        with attacker.connect() as connection:
            connection.sendall(attacker.saying("say x", f"l{number}")[: None if number % 3 else 150])

    attacker.together([partial(leave, number) for number in range(300)])
    attacker.note(attacker.say("say hello", "stayed"), (200, 429), "the one who stays")
