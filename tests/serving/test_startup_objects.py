import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from starlette.testclient import TestClient

from stream_protocol.server import tune_gc
from stream_protocol.testing import ScriptedLlm
from tests.documents import install_my_package
from tests.processes import started

FIRST_RUN = """
import asyncio, gc, sys
from stream_protocol import parse_chat_request
from stream_protocol.server import tune_gc
from stream_protocol.serving import ChatService
from stream_protocol.testing import Call, ScriptedLlm
from google.adk.agents import LlmAgent

def note(text: str) -> str:
    return text

async def main() -> None:
    model = ScriptedLlm(turns=[["I ", "note ", Call("note", {"text": "it"})], ["It is ", "noted."]])
    service = ChatService(LlmAgent(name="root", model=model, tools=[note]))
    before = set(sys.modules)
    await tune_gc()
    loaded, frozen = set(sys.modules), gc.get_freeze_count()
    assert loaded > before, "ADK loads nothing late"
    said = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}
    events = await service.respond(parse_chat_request({"id": "c1", "messages": [said]}), user_id="ann")
    stream = b"".join([event async for event in events])
    assert b"noted." in stream and b"error" not in stream, stream
    print(gc.isenabled(), frozen > 100_000, sorted(set(sys.modules) - loaded))

asyncio.run(main())
"""

APP = """
from contextlib import asynccontextmanager
from fastapi import FastAPI
from my_package.agent import root_agent
from stream_protocol.server import tune_gc
from stream_protocol.serving import chat_router

@asynccontextmanager
async def lifespan(app):
    await tune_gc()
    yield

app = FastAPI(lifespan=lifespan)
app.include_router(chat_router(root_agent))
"""


@pytest.fixture
def own_collector() -> Iterator[None]:
    """Restores the settings of the garbage collector after a test. All that was frozen stays frozen.

    Else each later collection in this process would look at everything that the tests have imported.
    """
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)


def test_what_a_first_run_loads_is_loaded_and_is_never_looked_at_by_the_garbage_collector(tmp_path: Path) -> None:
    (tmp_path / "first_run.py").write_text(FIRST_RUN)
    with started("first_run", cwd=tmp_path) as process:
        said = process.read()
        assert (process.wait(), said) == (0, "True True []\n"), process.log.read_text()
        assert "startup" not in process.log.read_text()


@pytest.mark.usefixtures("own_collector")
def test_an_app_does_it_in_its_lifespan(monkeypatch: pytest.MonkeyPatch) -> None:
    install_my_package(monkeypatch, LlmAgent(name="assistant", model=ScriptedLlm(turns=["Hi."])))
    names: dict[str, Any] = {}
    exec(compile(APP, "app", "exec"), names)  # ours
    before = gc.get_freeze_count()
    with TestClient(names["app"]) as http:
        assert gc.get_freeze_count() > before
        assert http.get("/healthz").status_code == 200


@pytest.mark.usefixtures("own_collector")
@pytest.mark.parametrize(
    ("own", "then"),
    [((700, 10, 10), (10_000, 3, 10)), ((50_000, 20, 20), (50_000, 20, 20)), ((0, 10, 10), (0, 10, 10))],
    ids=["Python's", "higher", "none"],
)
async def test_new_objects_are_collected_in_larger_pieces_unless_the_process_says_how(
    own: tuple[int, int, int], then: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gc, "collect", int)  # the heap of all tests takes long
    gc.set_threshold(*own)
    await tune_gc()
    assert gc.get_threshold() == then
    assert gc.isenabled()
