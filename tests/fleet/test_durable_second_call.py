"""The worker of a steered run dies around the model call that reads the message. The other worker continues the run."""

from typing import Any

import pytest

from tests.conformance.fixtures import VERSIONS
from tests.fleet.browser import Browser, Page, browser
from tests.fleet.crash_scenarios import comes_back
from tests.fleet.guarantees import STEERING
from tests.fleet.proxy import Proxy
from tests.fleet.test_steered_pages import delivered, outline, users
from tests.fleet.tool_log import door_before_call
from tests.fleet.workers import Fleet
from tests.served import served

pytestmark = [
    pytest.mark.fleet,
    pytest.mark.node,
    pytest.mark.timeout(240),
    pytest.mark.parametrize("durable_house", ["steered_agent:root_agent"], indirect=True),
    pytest.mark.parametrize("ai_sdk", VERSIONS, ids=["v6", "v7"]),
]


class SteeredChat:
    """Chat whose agent has used a tool, and then gets a steering message: ``KIND KEY``."""

    def __init__(self, deployment: Fleet, pages: Browser, chat: str, kind: str) -> None:
        self.chat = f"{chat}-{kind}"
        self.key = f"{self.chat}.s"
        self.message = f"{kind} {self.key}"
        self._house = deployment
        self._pages = pages

    async def steer(self) -> Page:
        """Steer between the result of the tool and the next model call. Return the page."""
        self._house.tool_log.open(self.chat)
        page = await self._pages.page(self.chat, worker=0)
        await page.send(f"dig {self.chat}")
        await page.until(type="tool-dig", state="output-available")
        await delivered(self._house, self.chat, self.message)
        return page

    def call_model(self) -> None:
        """Let the model call begin that reads the message."""
        self._house.tool_log.open(door_before_call(self.chat))

    async def has_ended(self, page: Page, *parts: str) -> None:
        """Check the end of the chat on the other worker. ``parts``: the parts after the tool.

        ``page``: the page whose worker has died. Each part that it has shown stays at its place.
        """
        before = outline(await page.settled())
        self.call_model()
        self._house.tool_log.open(self.key)
        _, shown = await comes_back(self._pages, self.chat, worker=1)
        assert outline(shown) == ["I dig. ", "tool-dig", *parts]
        assert outline(shown)[: len(before)] == before
        assert users(shown) == [f"dig {self.chat}"]
        await delivered(self._house, self.chat, self.message)  # the retry of a client that saw no response
        later = await self._pages.page(self.chat, worker=1, stored=True)
        assert (await later.at_rest()).messages == shown.messages
        await later.send(f"say {self.chat}.t")
        assert (await later.at_rest()).text() == f"Said {self.chat}.t."
        first, *steered, last = self._house.tool_log.prompts(self.chat)
        texts = [f"dig {self.chat}", self.message, f"say {self.chat}.t"]
        assert (first, last) == (texts[:1], texts)
        assert steered
        assert all(prompt == texts[:2] for prompt in steered)


async def test_a_run_whose_worker_dies_around_the_second_model_call_reads_the_message_once(
    durable_house: Fleet, ai_sdk: Any, chat: str
) -> None:
    """One worker has three runs: before the model call, before its first token, and after its first token."""
    deployment = durable_house
    deployment.mend()
    with served(Proxy(deployment.ports).app) as url:
        async with browser(url, ai_sdk) as pages:
            before_call, before_token, after_token = (
                SteeredChat(deployment, pages, chat, kind) for kind in ("say", "hush", "slow")
            )
            first = await before_call.steer()
            second = await before_token.steer()
            before_token.call_model()
            await second.until(type=STEERING)
            third = await after_token.steer()
            after_token.call_model()
            other = await pages.reloaded(after_token.chat, worker=1)
            await other.until(type="text", text="One ")  # so the run log has the text
            deployment.workers[0].kill()
            await other.settled()
            said = [f"Said {each.key}." for each in (before_call, before_token)]
            await before_call.has_ended(first, before_call.message, said[0])
            await before_token.has_ended(second, before_token.message, said[1])
            await after_token.has_ended(third, after_token.message, "One ", f"One two {after_token.key}.")
