"""Data and progress of a tool in a durable run are shown while the tool runs, and stored once."""

import threading
from pathlib import Path

from google.adk.agents import LlmAgent
from google.adk.tools import ToolContext

from stream_protocol.agents import emit_data, report_progress
from stream_protocol.serving import ChatService, create_app
from stream_protocol.testing import Call, ScriptedLlm
from tests.durable.shared_state import SharedState
from tests.serving.chat_client import Page
from tests.serving.support import HANG, begin, chat, said


async def test_a_tool_that_an_engine_runs_is_seen_while_it_runs(tmp_path: Path, engine_url: str) -> None:
    seen = threading.Event()

    def work(tool_context: ToolContext) -> str:
        """Works."""
        report_progress(tool_context, 1, 2)
        emit_data(tool_context, "step", 1)
        assert seen.wait(HANG)
        return "worked"

    model = ScriptedLlm(turns=[Call("work", {}), "Done."])
    engine = SharedState(tmp_path, engine_url).engine()
    service = ChatService(LlmAgent(name="root", model=model, tools=[work]), engine=engine)
    page = Page(create_app(service))
    page.messages.append(said("hi"))
    await service.start()
    try:
        async with begin(page.app, chat(said("hi"))) as answer:
            assert await answer.status() == 200
            read = [await answer.chunk()]
            while read[-1]["type"] != "data-step":
                read.append(await answer.chunk())
            assert "data-adk-progress" in [chunk["type"] for chunk in read]
            seen.set()
            while read[-1]["type"] != "finish":
                read.append(await answer.chunk())
        page.take(read)
        assert await page.stored() == page.messages
    finally:
        await service.aclose()
