"""Records the runs that the site shows: ``python -m website.demo_runs`` writes them to website/recorded.

A run is a chat with the scripted demo, or with the agents of ``website.sub_agents``. Its file has the entries of the
Inspector's route, with prompts and times, and the findings of ``check``. As in ``adk-ui-stream demo``, the chunks have
the texts of errors. ``GOOGLE_API_KEY`` must not be set.
"""

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import httpx
from google.adk.agents import BaseAgent

from stream_protocol.demo import demo_agent
from stream_protocol.inspector import Inspector, inspector_routes
from stream_protocol.serving import ChatService, create_app, explain_error
from tests.serving.chat_client import Page
from website.runs import RECORDED, path_of
from website.sub_agents import root_agent as planner

_FOLDER: Final = re.compile(r'(?<=File ")[^"]*/(?=(?:google|stream_protocol)/)')
"""Pattern for the folder before a file's name in a traceback."""

Step = Callable[[Page], None]
"""An answer of the user to the agent's calls."""


@dataclass(frozen=True)
class Chat:
    """A chat to record. ``messages``: the user's messages, each with the answers to the calls after it."""

    messages: Mapping[str, Sequence[Step]]
    agent: Callable[[], BaseAgent] = demo_agent


def approve(page: Page) -> None:
    """Approve the call."""
    page.approve(approved=True)


def deny(page: Page) -> None:
    """Deny the call, with a reason."""
    page.approve(approved=False, reason="Too expensive")


def choose(page: Page) -> None:
    """Choose a city."""
    page.answer("adk_request_input", "Lisbon")


def tell_time_zone(page: Page) -> None:
    """Answer as the page does for the tool ``get_time_zone``."""
    page.answer("get_time_zone", {"timeZone": "Europe/Lisbon"})


CHATS: Final[Mapping[str, Chat]] = {
    "weekend": Chat({"Plan a weekend in Lisbon": [approve]}),
    "weather": Chat({"Compare the weather in Oslo and Lisbon": []}),
    "refusal": Chat({"Book two nights in Kyoto": [deny]}),
    "sights": Chat({"What is worth seeing in Kyoto?": []}),
    "question": Chat({"Help me choose a city": [choose]}),
    "time-zone": Chat({"What is my time zone?": [tell_time_zone]}),
    "dinner": Chat({"Draw the temperatures in Lisbon": [], "And where do we eat there?": []}),
    "day": Chat({"Plan a day in Oslo": []}, lambda: planner),
    "visa": Chat({"Do I need a visa for Japan?": []}),
    "failure": Chat({"Please fail": [], "Fail again, please": []}),
}
"""Name -> chat."""


async def recorded(chat: Chat) -> dict[str, Any]:
    """Have the chat, and return its entries and the findings."""
    inspector = Inspector()
    service = ChatService(chat.agent(), recorder=inspector, ai_sdk=7, on_error=explain_error)
    app = create_app(service)
    app.routes[:0] = inspector_routes(inspector, service)
    page = Page(app, ai_sdk=7)
    for text, steps in chat.messages.items():
        await page.send(text)
        for step in steps:
            step(page)
            await page.submit()
    entries: list[Any] = []
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://app") as http:
        path = f"/api/chat/{page.chat_id}/inspect"
        after = 0
        while more := (answer := (await http.get(path, params={"after": after})).json())["entries"]:
            entries += more
            after = answer["next"]
        findings = (await http.get(f"{path}/findings")).json()["findings"]
    await service.aclose()
    return {"entries": [published(entry) for entry in entries], "findings": findings}


def published(entry: dict[str, Any]) -> dict[str, Any]:
    """Return the entry without the folders of this machine. Of a request, keep only the newest message, because the
    entries before it have the others."""
    if "failure" in entry:
        failure = entry["failure"]
        return {**entry, "failure": {**failure, "traceback": _FOLDER.sub("", failure["traceback"])}}
    if "turn" not in entry:
        return entry
    request = entry["turn"]["request"]
    newest = request.get("message") or request["messages"][-1]
    kept = {key: value for key, value in request.items() if key != "messages"}
    return {**entry, "turn": {**entry["turn"], "request": {**kept, "message": newest}}}


async def main() -> None:
    """Record all runs."""
    RECORDED.mkdir(exist_ok=True)
    for name, chat in CHATS.items():
        made = await recorded(chat)
        path_of(name).write_text(json.dumps(made, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
