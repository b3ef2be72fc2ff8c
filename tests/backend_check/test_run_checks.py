"""Each check against a server that obeys its rule, and against one that breaks only this rule."""

import asyncio
import socket
from collections.abc import AsyncIterator, Collection
from dataclasses import replace

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from stream_protocol.backend_check import PROFILES, Outcome, Result, Settings, _run as run_module, run_checks
from stream_protocol.server import bind_socket
from tests.backend_check.fake_backend import NO_IDS, SETTINGS, FakeBackend
from tests.served import served, serving

pytestmark = pytest.mark.servers

SMALL_BUFFER = 4096


@pytest.fixture(autouse=True)
def _all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "AT_A_TIME", 50)


def broken(results: list[Result]) -> list[str]:
    return [each.check.name for each in results if each.outcome is Outcome.BROKEN]


async def test_a_server_that_obeys_all_rules_holds_all() -> None:
    with served(FakeBackend().app()) as address:
        results = await run_checks(f"{address}/api/chat", SETTINGS)
    assert [each for each in results if each.outcome is not Outcome.HOLDS] == []
    assert len({each.check.name for each in results}) == len(results) == len(run_module.CHECKS)


async def test_the_chats_of_a_run_are_deleted_and_each_result_is_told_at_once() -> None:
    backend = FakeBackend()
    told: list[Result] = []
    with served(backend.app()) as address:
        results = await run_checks(f"{address}/api/chat", SETTINGS, on_result=told.append)
    assert backend.runs
    assert {*backend.runs} <= backend.deleted
    assert sorted(each.check.name for each in told) == sorted(each.check.name for each in results)


async def test_the_chats_of_a_run_that_is_broken_off_are_deleted() -> None:
    backend = FakeBackend()
    with served(backend.app()) as address:
        run = asyncio.create_task(
            run_checks(f"{address}/api/chat", SETTINGS, profiles=["chat"], on_result=lambda _: run.cancel())
        )
        with pytest.raises(asyncio.CancelledError):
            await run
    assert backend.runs
    assert {*backend.runs} <= backend.deleted


async def test_a_setting_keeps_the_chats() -> None:
    backend = FakeBackend()
    with served(backend.app()) as address:
        await run_checks(f"{address}/api/chat", replace(SETTINGS, delete=""), profiles=["stream"])
    assert backend.runs
    assert backend.deleted == set()


async def test_a_server_may_leave_the_ids_of_messages_to_the_client() -> None:
    with served(FakeBackend(NO_IDS).app()) as address:
        results = await run_checks(f"{address}/api/chat", SETTINGS)
    assert [each for each in results if each.outcome is not Outcome.HOLDS] == []


async def test_a_server_that_never_answers_and_one_that_cuts_the_connection_are_found() -> None:
    async def silence() -> AsyncIterator[str]:
        await asyncio.Event().wait()
        yield ""

    async def broken_off() -> AsyncIterator[str]:
        yield 'data: {"type":"start"}\n\n'
        raise ConnectionAbortedError("cut")

    async def silent(request: Request) -> Response:
        return StreamingResponse(silence()) if await request.body() != b"{}" else Response(status_code=400)

    async def cut(request: Request) -> Response:
        return StreamingResponse(broken_off()) if await request.body() != b"{}" else Response(status_code=400)

    routes = [Route("/silent", silent, methods=["POST"]), Route("/cut", cut, methods=["POST"])]
    with served(Starlette(routes=routes)) as address:
        hung = await run_checks(f"{address}/silent", Settings(timeout=1.0), profiles=["stream"])
        dead = await run_checks(f"{address}/cut", profiles=["stream"])
    assert hung[0].outcome is dead[0].outcome is Outcome.BROKEN
    assert hung[0].reason == "The response sent nothing until the timeout."
    assert dead[0].reason.startswith("The connection is cut: ")
    assert dead[0].chunk == {"type": "start"}


def faults(profile: str) -> list[str]:
    return [each.name for each in run_module.CHECKS if each.profile == profile and each.name != "slow reader"]


async def found(profile: str, *, by: Collection[str]) -> dict[str, list[str]]:
    """Each fault of a profile, and the checks of these profiles that find it."""
    paths = {f"/{number}": fault for number, fault in enumerate(faults(profile))}
    routes = [route for path, fault in paths.items() for route in FakeBackend(fault).routes(path)]
    with served(Starlette(routes=routes)) as address:
        results = {
            fault: await run_checks(f"{address}{path}/api/chat", SETTINGS, profiles=by) for path, fault in paths.items()
        }
    assert all(each.source for found in results.values() for each in found if each.outcome is Outcome.BROKEN)
    return {fault: broken(found) for fault, found in results.items()}


@pytest.mark.parametrize("profile", PROFILES)
async def test_a_broken_rule_is_found_by_its_check_alone(profile: str) -> None:
    assert await found(profile, by=[profile]) == {fault: [fault] for fault in faults(profile)}


@pytest.mark.samples
@pytest.mark.parametrize("profile", PROFILES)
async def test_no_check_of_another_profile_finds_it(profile: str) -> None:
    assert await found(profile, by=PROFILES) == {fault: [fault] for fault in faults(profile)}


async def test_a_server_that_cuts_slow_readers_off_is_found() -> None:
    with bind_socket("127.0.0.1", 0) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SMALL_BUFFER)
        with serving(FakeBackend("slow reader").app(), listener):
            port = listener.getsockname()[1]
            results = await run_checks(f"http://127.0.0.1:{port}/api/chat", SETTINGS)
    assert broken(results) == ["slow reader"]
