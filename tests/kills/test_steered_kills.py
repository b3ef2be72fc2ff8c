"""Workers are killed at random moments while users steer: no steering message is lost, stored twice or left unread.

With and without an engine, on Redis and PostgreSQL, and in files. ``KILLS_SEEDS="7 8"`` draws other schedules.
"""

import asyncio
import json
import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, Final

import httpx
import pytest

from tests.conformance.test_resume_against_client import without_approvals
from tests.kills.checker import errors_logged
from tests.kills.deployment import Deployment, deployed
from tests.kills.schedule import LEASE, WORLDS, Fault, Schedule, World
from tests.kills.steered_agent import PROMPTS
from tests.kills.steering_user import SteeringUser
from tests.postgres import Postgres
from tests.processes import HANG

pytestmark = [pytest.mark.kills, pytest.mark.timeout(400)]

CHATS: Final = 6

LOOK_SECONDS: Final = 0.25

FIXED: Final = (0, 1, 2, 3, 4, 5)
"""Seeds that together have every kind of store, with and without an engine."""

PENDING: Final = frozenset({"input-streaming", "input-available", "approval-requested", "approval-responded"})

STEERING: Final = frozenset({"data-adk-steering", "steering-message"})


@dataclass(frozen=True)
class SteeringSchedule:
    """Drawn deployment of a test. ``kills``: (seconds after the start, worker, seconds until its restart)."""

    world: World
    durable: bool
    workers: int
    ai_sdk: str
    kills: tuple[tuple[float, int, float], ...]


def drawn(seed: int) -> SteeringSchedule:
    rng = Random(f"steered kills {seed}")
    world, durable = WORLDS[seed % 3], seed // 3 % 2 == 0
    workers = 1 if world == "files" else rng.choice([2, 2, 3])
    kills = tuple(
        (rng.uniform(0.2, 5.0), rng.randrange(workers), rng.uniform(0, 1.0)) for _ in range(rng.choice([1, 2, 2, 3]))
    )
    return SteeringSchedule(world, durable, workers, rng.choice(["6", "7", "7.0.120"]), kills)


def seeds() -> list[int]:
    return [int(seed) for seed in os.environ.get("KILLS_SEEDS", "").split()] or [*FIXED]


def test_the_fixed_seeds_have_every_store_with_and_without_an_engine() -> None:
    schedules = [drawn(seed) for seed in FIXED]
    assert {(each.world, each.durable) for each in schedules} == {(world, one) for world in WORLDS for one in (0, 1)}


@pytest.mark.parametrize("seed", seeds())
async def test_no_steering_message_is_lost_or_read_twice(seed: int, tmp_path: Path, postgres: Postgres) -> None:
    schedule = drawn(seed)
    options = ("--ai-sdk", schedule.ai_sdk, "--on-busy", "steer")
    world = Schedule(seed, schedule.world, "steered", schedule.workers, (), ())
    async with (
        deployed(world, tmp_path, postgres, *options, durable=schedule.durable) as deployment,
        httpx.AsyncClient(timeout=HANG, trust_env=False) as http,
    ):
        users = [
            SteeringUser(
                f"chat{number}",
                deployment.ports,
                http,
                Random(f"{seed} {number}"),
                6 if schedule.ai_sdk == "6" else 7,
            )
            for number in range(CHATS)
        ]
        harms = [asyncio.create_task(kill(deployment, *each)) for each in schedule.kills]
        await asyncio.gather(*(user.live() for user in users))
        await asyncio.gather(*harms)
        await deployment.mend()
        found = await at_rest(deployment, users, http)
        read_before = {user.chat: prompts(tmp_path, user.chat) for user in users}
        for user in users:
            await user.say("say")
        found += await at_rest(deployment, users, http)
        for user in users:
            histories = [await history(http, port, user.chat) for port in deployment.ports]
            if any(each != histories[0] for each in histories):
                found.append(f"{user.chat}: two histories: {histories}")
            late = {} if not schedule.durable or user.has_stopped else read_before
            wrong = [*violations(deployment, user, histories[0], prompts(tmp_path, user.chat), late.get(user.chat))]
            if wrong:
                found += [f"{user.chat}: {each}" for each in wrong] + user.log + [json.dumps(histories[0])]
        found += errors_logged(deployment)
    kills = [f"{each.begun % 1000:.3f} killed {each.worker}" for each in deployment.fault_records]
    assert not found, "\n".join([*found, *kills, f"{schedule}", str(tmp_path)])


async def kill(deployment: Deployment, after: float, worker: int, seconds: float) -> None:
    await asyncio.sleep(after)
    await deployment.harm(Fault("kill", 0, 0, "sent", 0, worker, seconds), worker)


def violations(
    deployment: Deployment,
    user: SteeringUser,
    stored: Sequence[Any],
    asked: Sequence[Sequence[str]],
    asked_before: Sequence[Sequence[str]] | None,
) -> Iterator[str]:
    """Yield the broken promises of a chat.

    ``asked``: the user's texts in each prompt. ``asked_before``: the prompts before the user's last message, if all
    steering messages must be in them; else ``None``.
    """
    places = Counter(message["id"] for message in stored if message["role"] == "user")
    for message in stored:
        for part in message["parts"]:
            if part["type"] in STEERING:
                data = part["data"] if part["type"] == "data-adk-steering" else part["message"]
                places[data["id"]] += 1
            if part.get("state") in PENDING and message is not stored[-1] and part["state"] != "approval-requested":
                yield f"open: {part}"
    for steered in (*user.sent, *user.steered):
        expected = 0 if steered.outcome == "refused" else 1
        if places[steered.id] != expected:
            yield f"{steered.text!r} ({steered.outcome}) is {places[steered.id]} times in the history"
        times = [*asked[-1]].count(steered.text)
        if times != expected:
            yield f"{steered.text!r} ({steered.outcome}) is {times} times in the last prompt"
        is_last = steered is user.sent[-1]
        if (
            asked_before is not None
            and expected
            and not is_last
            and not any(steered.text in texts for texts in asked_before)
        ):
            yield f"{steered.text!r} was not read before the next message"
    for earlier, later in pairwise(asked):
        if [*later[: len(earlier)]] != [*earlier]:
            yield f"a prompt has lost its beginning: {earlier} {later}"
    begun = Counter((each["tool"], each["call"]) for each in deployment.begun() if each["chat"] == user.chat)
    for (tool, call), times in begun.items():
        if tool != "note" and times > 1:
            yield f"{tool} of call {call} began {times} times"
    kept = {message["id"]: message for message in stored}
    for shown in user.shown:
        is_whole = shown.ends_in == "finish" and not any(
            each.get("state") in PENDING for each in shown.message["parts"]
        )
        stored_message = kept.get(shown.message["id"], {"parts": []})
        if is_whole and without_approvals([shown.message]) != without_approvals([stored_message]):
            yield f"shown {shown.message}\n  stored {stored_message}"


def prompts(folder: Path, chat: str) -> list[list[str]]:
    """Return the user's texts in each prompt of the chat."""
    lines = [json.loads(line) for line in (folder / PROMPTS).read_text().splitlines()]
    return [line["texts"] for line in lines if line["chat"] == chat]


async def at_rest(deployment: Deployment, users: Sequence[SteeringUser], http: httpx.AsyncClient) -> list[str]:
    """Wait until no run is active. Return the runs that do not end."""
    found: list[str] = []
    deadline = time.monotonic() + HANG + LEASE
    for user in users:
        quiet = 0
        while quiet < len(deployment.ports):  # the next turn may begin on another worker
            port = deployment.ports[quiet]
            answer = await http.get(f"http://127.0.0.1:{port}/api/chat/{user.chat}/stream")
            quiet = quiet + 1 if answer.status_code == 204 else 0
            if time.monotonic() > deadline:
                return [*found, f"{user.chat}: still runs: {answer.status_code} {answer.text[-200:]}"]
    while left := await asyncio.to_thread(deployment.left_over):
        if time.monotonic() > deadline:
            return [*found, f"left in the engine: {left}"]
        await asyncio.sleep(LOOK_SECONDS)
    return found


async def history(http: httpx.AsyncClient, port: int, chat: str) -> list[Any]:
    answer = await http.get(f"http://127.0.0.1:{port}/api/chat/{chat}")
    assert answer.status_code == 200, answer.text
    messages: list[Any] = answer.json()["messages"]
    return messages
