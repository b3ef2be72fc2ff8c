"""Measurement without an attack."""

import time
from functools import partial

from tests.attacks.attacker import Attacker
from tests.attacks.registry import STORES, attack


@attack("No attack: ten other users chat for three seconds", STORES)
def ordinary_chats(attacker: Attacker) -> None:
    for _ in range(3):
        jobs = [partial(attacker.say, "say hello", f"day-{time.monotonic()}-{number}") for number in range(10)]
        for answer in attacker.together(jobs):
            attacker.note(answer, [200], "words")
        time.sleep(1)
