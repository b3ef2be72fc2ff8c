"""Takes the pictures of the docs from the running demo: ``python -m website.pictures`` writes them to docs/images.

It needs Chromium, but no key: without ``GOOGLE_API_KEY`` the demo's agent always gives the same replies.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import httpx
from playwright.sync_api import Browser, Locator, Page, expect

from tests.chromium import Screen, launched, opened_tab
from tests.processes import ROOT, started
from website.terminal import take_terminal

FOLDER: Final = ROOT / "docs" / "images"
DESKTOP: Final[Screen] = {"width": 1120, "height": 760}
TALL: Final[Screen] = {"width": 1120, "height": 852}
WIDE: Final[Screen] = {"width": 1360, "height": 820}
LOW: Final[Screen] = {"width": 1200, "height": 690}
SMALL: Final[Screen] = {"width": 900, "height": 700}
PHONE: Final[Screen] = {"width": 390, "height": 760, "scale": 2}
APPROVE: Final = "Approve"
TO_TOP: Final = """(row) => {
  for (let box = row.parentElement; box; box = box.parentElement) box.scrollTop = 0;
}"""
"""Scrolls all boxes around a row to their beginning."""


@dataclass(frozen=True)
class Picture:
    """Screenshot of a chat.

    ``words``: the user's message. ``waits_for``: the button at the end of the reply. ``part``: the part of the page to
    take, by default the whole window. ``while_it_runs``: content that the page shows before the reply has ended.
    """

    screen: Screen
    words: str = ""
    waits_for: str = ""
    dark: bool = False
    part: Callable[[Page], Locator] | None = None
    while_it_runs: Callable[[Page], Locator] | None = None
    before: Callable[[Page], None] = field(default=lambda _: None)


def last_card(tab: Page) -> Locator:
    """Return the last card of the reply."""
    return tab.get_by_role("group", name=re.compile("^Tool ")).last


def first_card(tab: Page) -> Locator:
    """Return the first card of the reply."""
    return tab.get_by_role("group", name=re.compile("^Tool ")).first


def unfold_card(tab: Page) -> None:
    """Open the first card."""
    first_card(tab).get_by_role("button").first.click()


def progress_bar(tab: Page) -> Locator:
    """Return the progress bar of a tool that has asked two of four agencies."""
    return tab.get_by_role("progressbar", name="Asking Sleepwell")


def open_inspector(tab: Page) -> None:
    """Open the Inspector beside the chat."""
    tab.get_by_role("button", name="Inspector", exact=True).click()
    expect(tab.get_by_role("tab", name="Events")).to_be_visible()
    tab.get_by_role("heading", name="Inspector").hover()  # the header moves another button below the pointer


def widen_inspector(tab: Page) -> None:
    """Open the Inspector as wide as possible."""
    open_inspector(tab)
    edge = tab.get_by_role("separator", name="Width of the Inspector")
    edge.press("End")
    edge.blur()  # the picture shows no focus


def show_first_events(tab: Page) -> None:
    """Open the Inspector as wide as possible, at the first event of the turn."""
    widen_inspector(tab)
    inspector(tab).locator("li[data-row]").first.evaluate(TO_TOP)


def inspector(tab: Page) -> Locator:
    """Return the Inspector."""
    return tab.get_by_role("complementary", name="Inspector")


def point_at_citation(tab: Page) -> None:
    """Show the title of a source."""
    expect(tab.locator("iframe")).to_be_visible()
    tab.locator("[data-citation]").first.hover()
    expect(tab.get_by_role("tooltip")).to_be_visible()


def queue_message(tab: Page) -> None:
    """Send a message during the reply."""
    message = tab.get_by_role("textbox", name="Message")
    message.fill("Only hotels with a view, please")
    message.press("Enter")
    expect(tab.get_by_role("list", name="Queued messages")).to_be_visible()


def edit_message(tab: Page) -> None:
    """Edit the user's message, so that it has two versions."""
    mine = tab.get_by_role("article", name="You")
    mine.get_by_role("button", name="Edit").click()
    tab.get_by_label("Edit message").fill("What is worth seeing in Lisbon?")
    tab.get_by_label("Edit message").press("Enter")
    expect(mine.get_by_role("group", name="Versions")).to_have_text("2/2")


WEEKEND: Final = "Plan a weekend in Lisbon"
KYOTO: Final = "Book two nights in Kyoto"
SIGHTS: Final = "What is worth seeing in Kyoto?"
_OF_DEMO: Final[Mapping[str, Picture]] = {
    "start.png": Picture(DESKTOP),
    "start-dark.png": Picture(DESKTOP, dark=True),
    "page.png": Picture(TALL, WEEKEND, APPROVE),
    "page-dark.png": Picture(TALL, WEEKEND, APPROVE, dark=True),
    "approval.png": Picture(DESKTOP, KYOTO, APPROVE, part=last_card),
    "approval-dark.png": Picture(DESKTOP, KYOTO, APPROVE, dark=True, part=last_card),
    "progress.png": Picture(DESKTOP, WEEKEND, part=last_card, while_it_runs=progress_bar),
    "progress-dark.png": Picture(DESKTOP, WEEKEND, dark=True, part=last_card, while_it_runs=progress_bar),
    "form.png": Picture(DESKTOP, "Ask me what my trip needs", "Answer", part=last_card),
    "form-dark.png": Picture(DESKTOP, "Ask me what my trip needs", "Answer", dark=True, part=last_card),
    "citations.png": Picture(SMALL, SIGHTS, "Regenerate", before=point_at_citation),
    "citations-dark.png": Picture(SMALL, SIGHTS, "Regenerate", dark=True, before=point_at_citation),
    "steering.png": Picture(SMALL, WEEKEND, while_it_runs=progress_bar, before=queue_message),
    "steering-dark.png": Picture(SMALL, WEEKEND, dark=True, while_it_runs=progress_bar, before=queue_message),
    "versions.png": Picture(SMALL, SIGHTS, "Regenerate", before=edit_message),
    "versions-dark.png": Picture(SMALL, SIGHTS, "Regenerate", dark=True, before=edit_message),
}


def with_phones(pictures: Mapping[str, Picture]) -> dict[str, Picture]:
    """Return the pictures, and each of them on a phone: ``page-phone.png`` for ``page.png``."""
    phones = {
        re.sub(r"(-dark)?\.png", r"-phone\g<0>", name): replace(picture, screen=PHONE)
        for name, picture in pictures.items()
    }
    return {**pictures, **phones}


PICTURES: Final[Mapping[str, Picture]] = {
    **with_phones(_OF_DEMO),
    "inspector.png": Picture(WIDE, WEEKEND, APPROVE, before=open_inspector),
    "inspector-dark.png": Picture(WIDE, WEEKEND, APPROVE, dark=True, before=open_inspector),
    "events.png": Picture(LOW, WEEKEND, APPROVE, part=inspector, before=show_first_events),
    "events-dark.png": Picture(LOW, WEEKEND, APPROVE, dark=True, part=inspector, before=show_first_events),
}
"""Name -> picture of the demo."""

DAY: Final = "Plan a day in Oslo"
SUB_AGENTS: Final[Mapping[str, Picture]] = with_phones(
    {
        "sub-agents.png": Picture(DESKTOP, DAY, "Regenerate", part=first_card, before=unfold_card),
        "sub-agents-dark.png": Picture(DESKTOP, DAY, "Regenerate", dark=True, part=first_card, before=unfold_card),
    }
)
"""Name -> picture for the page about sub-agents, which needs a different agent."""


def main() -> None:
    """Take all pictures."""
    with serving("demo") as url, launched() as browser:
        take_terminal(browser, FOLDER)
        for name, picture in PICTURES.items():
            take(browser, url, FOLDER / name, picture)
        with serving("serve", "website.sub_agents:root_agent") as address:
            for name, picture in SUB_AGENTS.items():
                take(browser, address, FOLDER / name, picture)


def take(browser: Browser, url: str, path: Path, picture: Picture) -> None:
    """Take a picture of the page after its reply."""
    delete_chats(url)  # earlier pictures would be in the list of chats
    screen: Screen = {**picture.screen, "colors": "dark" if picture.dark else "light"}
    with opened_tab(browser, **screen) as tab:
        tab.emulate_media(reduced_motion="reduce")
        tab.goto(url)
        message = tab.get_by_role("textbox", name="Message")
        expect(message).to_be_visible()
        if picture.words:
            message.fill(picture.words)
            message.press("Enter")
        if picture.while_it_runs is not None:
            picture.while_it_runs(tab).wait_for()  # `expect` looks too seldom for what the page shows for a moment
        elif picture.words:
            expect(tab.get_by_role("button", name=picture.waits_for, exact=True).first).to_be_visible()
            expect(tab.get_by_role("button", name="Stop")).to_have_count(0)
        picture.before(tab)
        if picture.while_it_runs is None:
            tab.wait_for_load_state("networkidle")
        taken = tab if picture.part is None else picture.part(tab)
        taken.screenshot(path=path, animations="disabled", caret="hide")


def delete_chats(url: str) -> None:
    """Delete all chats of the server."""
    for chat in httpx.get(f"{url}/api/chats").json()["chats"]:
        httpx.delete(f"{url}/api/chat/{chat['id']}").raise_for_status()


@contextmanager
def serving(*command: str) -> Iterator[str]:
    """Start a command that serves, on a free port. Yields its address."""
    with started("stream_protocol", *command, "--port", "0", cwd=ROOT) as process:
        yield process.read_line().split()[-1]


if __name__ == "__main__":
    main()
