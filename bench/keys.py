"""Measures the time from a key to the next frame of the built-in chat in Chromium, while a reply streams."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from itertools import cycle, islice
from statistics import median
from time import monotonic
from typing import Final, NamedTuple

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.genai.types import Content, Part
from playwright.sync_api import expect

from stream_protocol.serving import ChatService, create_app
from tests.chromium import launched, opened_tab
from tests.demo_page import expect_status, field, say
from tests.served import served

PER_SECOND: Final = 200
"""Tokens per second. A token has four characters."""
TOKENS: Final = 2400
EVERY_MS: Final = 130
"""Milliseconds between two keys."""

WORDS: Final = (
    "The **river** runs from the mountains to [the sea](https://rivers.example/a), and its `delta` is wide. "
    "It carries *sand*, salt and many words that wrap over the lines of a screen.\n\n"
)
TABLE: Final = "| Station | Departure | Remark |\n|---|---|---|\n"
CODE: Final = 'def function(name: str, count: int = 1) -> str:\n    return f"Hello {name} {count}"\n\n'
ROW: Final = "| Central station | 07:45 | on **time** |\n"
REPLIES: Final = {"paragraphs": WORDS * 60, "a table": TABLE + ROW * 300, "code": f"```python\n{CODE * 120}"}

OBSERVE: Final = """() => {
    window.delays = [];
    const note = ({ name, duration }) => name === "keydown" && delays.push(duration);
    const observer = new PerformanceObserver((list) => list.getEntries().forEach(note));
    observer.observe({ type: "event", durationThreshold: 16 });
}"""


class KeyDelays(NamedTuple):
    """Milliseconds until the frame after a key, in steps of 8. Keys below 16 ms count as 8. ``keys``: their number."""

    reply: str
    keys: int
    p50: float
    worst: float


class _Paced(BaseLlm):
    """Model that sends one of ``REPLIES``, token by token."""

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: FBT001, FBT002 - as ADK calls it
    ) -> AsyncGenerator[LlmResponse]:
        (asked,) = llm_request.contents[-1].parts or []
        text = "".join(islice(cycle(REPLIES[asked.text or ""]), TOKENS * 4))
        begun = monotonic()
        for number in range(TOKENS):
            await asyncio.sleep(begun + number / PER_SECOND - monotonic())
            yield LlmResponse(content=_says(text[number * 4 : number * 4 + 4]), partial=True)
        yield LlmResponse(content=_says(text))


def _says(text: str) -> Content:
    return Content(role="model", parts=[Part(text=text)])


def key_delays() -> Iterator[KeyDelays]:
    """Yield the delays for each kind of reply."""
    service = ChatService(LlmAgent(name="paced", model=_Paced(model="paced")), ai_sdk=7)
    with served(create_app(service)) as url, launched() as browser:
        for reply in REPLIES:
            with opened_tab(browser) as page:
                page.goto(url)
                say(page, reply)
                expect_status(page, "streaming")
                page.evaluate(OBSERVE)
                pressed, until = 0, monotonic() + TOKENS / PER_SECOND
                while monotonic() < until:
                    page.keyboard.press("a")
                    pressed += 1
                    page.wait_for_timeout(EVERY_MS)
                expect_status(page, "ready")
                expect(field(page)).to_have_value("a" * pressed)
                seen: list[float] = page.evaluate("delays")
            delays = [*seen, *([8.0] * (pressed - len(seen)))]
            yield KeyDelays(reply, pressed, median(delays), max(delays))
