"""The real clients steer a run whose worker dies. The other worker recovers the run, with the message."""

from typing import Any

import pytest

from tests.conformance.fixtures import VERSIONS
from tests.fleet.browser import browser
from tests.fleet.proxy import Proxy
from tests.fleet.test_steered_pages import delivered, outline, users
from tests.fleet.workers import Fleet
from tests.served import served

pytestmark = [
    pytest.mark.fleet,
    pytest.mark.node,
    pytest.mark.timeout(240),
    pytest.mark.parametrize("durable_house", ["agent:root_agent"], indirect=True),
]


@pytest.mark.parametrize("ai_sdk", VERSIONS)
async def test_a_message_whose_worker_dies_is_read_by_the_recovered_run(
    durable_house: Fleet, ai_sdk: Any, chat: str
) -> None:
    durable_house.mend()
    with served(Proxy(durable_house.ports).app) as url:
        async with browser(url, ai_sdk) as pages:
            page = await pages.page(chat, worker=0)
            await page.send(f"dig {chat}")
            await page.until(type="tool-dig", state="input-available")
            reader = await pages.reloaded(chat, worker=1)
            await delivered(durable_house, chat, f"say {chat}")
            durable_house.workers[0].kill()
            durable_house.tool_log.open(chat)
            shown = await reader.at_rest()
            assert outline(shown) == ["I dig. ", "tool-dig", f"say {chat}", f"Said {chat}."]
            assert users(shown) == [f"dig {chat}"]
            await delivered(durable_house, chat, f"say {chat}")
    assert len(durable_house.tool_log.tool_runs(chat)) == 1
