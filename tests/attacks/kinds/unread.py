"""Attacks with unread responses: histories with large files, and stored responses that are requested again."""

from base64 import b64encode
from contextlib import ExitStack
from typing import Final

from tests.attacks.attacker import Answer, Attacker, said
from tests.attacks.registry import MEMORY, attack

FILES: Final = 5
FILE_BYTES: Final = 15 * 2**20
READERS: Final = 32
LEAVING: Final = 40

OPENED: Final = (200, 429, 503)


def _attach(attacker: Attacker, user: str) -> None:
    """Make a chat of this user with a large file in each message."""
    url = "data:application/pdf;base64," + b64encode(bytes(FILE_BYTES)).decode()
    file = {"type": "file", "mediaType": "application/pdf", "url": url}
    for number in range(FILES):
        body = said("say thanks", "files")
        body["messages"][0] |= {"id": f"u{number}", "parts": [*body["messages"][0]["parts"], file]}
        attacker.note(attacker.ask("POST", "/api/chat", body, user=user, patience=25), [200], "a large file")


@attack("32 requests for a chat with five files of 15 MiB, whose clients receive nothing", MEMORY, memory=768)
def unread_histories(attacker: Attacker) -> None:
    other_user = f"{attacker.user}-other"
    _attach(attacker, attacker.user)
    _attach(attacker, other_user)
    with ExitStack() as stack:
        readers = [stack.enter_context(attacker.connect(receive=4096, patience=30)) for _ in range(READERS)]
        for reader in readers:
            reader.sendall(attacker.head("GET", "/api/chat/files"))
        for reader in readers:
            attacker.note(attacker.read_status(reader), OPENED, "a reader")
        attacker.note(attacker.say("say hello", "small"), [200], "a small chat of the same user")
        attacker.note(attacker.ask("GET", "/api/chat/small"), [200], "the small chat")
        other = attacker.ask("GET", "/api/chat/files", user=other_user, patience=30)
        attacker.note(other, [200], "the large chat of another user")
        attacker.expect(len(other.body) > FILES * FILE_BYTES, "the large chat of another user was cut")
    after = attacker.ask("GET", "/api/chat/files", patience=30)
    attacker.note(after, [200], "the chat after all have left")
    attacker.expect(len(after.body) > FILES * FILE_BYTES, "the chat was cut")


@attack("40 requests for a stored response of 9 MB, whose clients disconnect at once")
def left_responses(attacker: Attacker) -> None:
    door = f"{attacker.user}-stored"
    attacker.open_door(door)
    words = f"big 9 {door}"
    attacker.note(attacker.say(words, "stored", patience=25), [200], "the response")

    def leave() -> Answer:
        with attacker.connect(receive=4096) as connection:
            connection.sendall(attacker.saying(words, "stored"))
            return attacker.read_status(connection)

    for answer in attacker.together([leave] * LEAVING, at_once=8):
        attacker.note(answer, OPENED, "a repeated request")
    again = attacker.say(words, "stored", patience=25)
    attacker.note(again, [200], "the one who reads it")
    attacker.expect(len(again.body) > 9_000_000, "the stored response was cut")
