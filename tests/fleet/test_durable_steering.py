"""The real clients steer a run whose worker dies. The other worker recovers the run, which reads the message once."""

from typing import Any

import pytest

from tests.conformance.fixtures import VERSIONS
from tests.fleet.browser import Shown, browser
from tests.fleet.crash_scenarios import comes_back
from tests.fleet.proxy import Proxy
from tests.fleet.test_steered_pages import delivered, outline, users
from tests.fleet.workers import Fleet
from tests.served import served

pytestmark = [
    pytest.mark.fleet,
    pytest.mark.node,
    pytest.mark.timeout(240),
    pytest.mark.parametrize("durable_house", ["agent:root_agent"], indirect=True),
    pytest.mark.parametrize("ai_sdk", VERSIONS, ids=["v6", "v7"]),
]


async def steered_and_killed(deployment: Fleet, ai_sdk: Any, chat: str, kind: str, until: dict[str, str]) -> Shown:
    """Return the chat on the other worker, after the worker of a steered run has been killed."""
    deployment.mend()
    with served(Proxy(deployment.ports).app) as url:
        async with browser(url, ai_sdk) as pages:
            page = await pages.page(chat, worker=0)
            await page.send(f"{kind} {chat}")
            await page.until(**until)
            await delivered(deployment, chat, f"say {chat}")
            deployment.workers[0].kill()
            deployment.tool_log.open(chat)
            await page.settled()
            _, shown = await comes_back(pages, chat, worker=1)
            await delivered(deployment, chat, f"say {chat}")  # the retry of a client that saw no response
            _, later = await comes_back(pages, chat, worker=1)
            assert later.messages == shown.messages
            return shown


async def test_a_message_during_a_tool_is_read_by_the_recovered_run(
    durable_house: Fleet, ai_sdk: Any, chat: str
) -> None:
    until = {"type": "tool-dig", "state": "input-available"}
    shown = await steered_and_killed(durable_house, ai_sdk, chat, "dig", until)
    assert outline(shown) == ["I dig. ", "tool-dig", f"say {chat}", f"Said {chat}."]
    assert users(shown) == [f"dig {chat}"]
    assert len(durable_house.tool_log.tool_runs(chat)) == 1


async def test_a_message_during_a_text_is_read_by_the_recovered_run(
    durable_house: Fleet, ai_sdk: Any, chat: str
) -> None:
    """The run log has the text of the dead worker or not. If it has, the text stays before the new answer."""
    shown = await steered_and_killed(durable_house, ai_sdk, chat, "later", {"type": "text"})
    *before, text, call, message, answer = outline(shown)
    assert (text, call, message, answer) == ("Soon. ", "tool-note", f"say {chat}", f"Said {chat}.")
    assert before in ([], ["Soon. "])
    assert users(shown) == [f"later {chat}"]
