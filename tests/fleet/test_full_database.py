"""Three durable workers and many runs at once, at a PostgreSQL with few connections for all their stores."""

import asyncio
from collections import Counter
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import asyncpg
import httpx
import pytest

from tests.postgres import postgres_server
from tests.processes import HANG, serving
from tests.tools import missing

pytestmark = pytest.mark.fleet

AGENT: Final = """
from google.adk.agents import LlmAgent
from stream_protocol.testing import Call, ScriptedLlm
def look() -> str:
    "Looks."
    return "seen"
def respond(request):
    seen = any(part.function_response for content in request.contents for part in content.parts)
    return ["Bye."] if seen else ["Hello. ", Call("look", {})]
root_agent = LlmAgent(name="mine", model=ScriptedLlm(respond=respond), tools=[look])
"""

WORKERS: Final = 3
RUNS: Final = 60

DOCUMENTED: Final = 25
"""The connections of one worker that docs/postgresql.md names."""

RESERVED: Final = 3 + 2
"""Connections that PostgreSQL reserves for a superuser, and those of this test."""


@pytest.fixture(autouse=True)
def _engine() -> None:
    if find_spec("dbos") is None:
        missing("DBOS is not installed: pip install 'adk-ui-stream[durable]'")


def body(chat: str) -> dict[str, object]:
    said = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}
    return {"id": chat, "messages": [said], "trigger": "submit-message"}


async def ask(http: httpx.AsyncClient, url: str, chat: str) -> str:
    """Returns the end of a new chat's run: the status, or the last chunk. Repeats a request that is refused or cut off,
    as a client does.
    """
    while True:
        try:
            answer = await http.post(f"{url}/api/chat", json=body(chat))
        except httpx.RemoteProtocolError:
            continue
        if answer.status_code != 503:
            return f"{answer.status_code} {answer.text.split(chr(10) * 2)[-3]}"
        await asyncio.sleep(float(answer.headers["retry-after"]))


@pytest.mark.parametrize("connections", [WORKERS * DOCUMENTED + RESERVED, 2 * DOCUMENTED + RESERVED])
async def test_no_run_that_began_ends_in_an_error_because_of_connections(connections: int, tmp_path: Path) -> None:
    """With the documented number of connections nothing is refused; with fewer the workers share them."""
    (tmp_path / "agent.py").write_text(AGENT)
    with postgres_server(f"max_connections={connections}") as database, ExitStack() as stack:
        url = database.new_database()
        stores = ("--session-service-uri", url, "--run-log", url, "--durable", url)
        options = ("agent:root_agent", "--no-page", *stores)
        urls = [stack.enter_context(serving(*options, cwd=tmp_path))[1] for _ in range(WORKERS)]
        async with httpx.AsyncClient(timeout=HANG, limits=httpx.Limits(max_connections=None)) as http:
            asked = [ask(http, urls[n % WORKERS], f"c{n}") for n in range(RUNS)]
            ends = Counter(await asyncio.gather(*asked))
            assert [*ends.values()] == [RUNS], ends
            assert "finish" in next(iter(ends))
        if connections >= WORKERS * DOCUMENTED:
            admin = await asyncpg.connect(url)
            used = await admin.fetchval("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'")
            await admin.close()
            assert used - 1 <= WORKERS * DOCUMENTED
