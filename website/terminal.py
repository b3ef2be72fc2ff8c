"""Takes the picture of a terminal with ``adk-ui-stream demo``, while three users chat."""

import os
import re
import subprocess
import sys
from html import escape
from pathlib import Path
from typing import Final

import httpx
from playwright.sync_api import Browser

from tests.chromium import opened_tab
from tests.processes import ROOT

MESSAGES: Final = (
    "Plan a weekend in Lisbon",
    "Compare the weather in Oslo and Rome",
    "Write a long itinerary for Kyoto",
)
COMMAND: Final = "<b>$ adk-ui-stream demo</b>\n"
STYLES: Final = {"0": "", "1": "bold", "2": "dim", "31": "red", "32": "green", "33": "yellow", "36": "cyan"}
"""Codes of ANSI -> classes of ``PAGE``."""

PAGE: Final = """
<style>
  body {{ margin: 0; background: {paper}; }}
  pre {{ margin: 0; padding: 18px 22px; width: 756px; color: {ink}; font: 14px/1.5 "Liberation Mono", monospace; }}
  .bold, b {{ font-weight: bold; }} .dim {{ opacity: .6; }} .red {{ color: {red}; }} .green {{ color: {green}; }}
  .yellow {{ color: {yellow}; }} .cyan {{ color: {cyan}; }}
</style>
<pre>{text}</pre>
"""
LIGHT: Final = {
    "paper": "#fdfdfb",
    "ink": "#1b2421",
    "red": "#b3261e",
    "green": "#0b7a4b",
    "yellow": "#8a6100",
    "cyan": "#0f6f8e",
}
DARK: Final = {
    "paper": "#171d1a",
    "ink": "#e3e8e4",
    "red": "#ff8a80",
    "green": "#6fd39b",
    "yellow": "#e8c268",
    "cyan": "#74cfe8",
}
_CODE: Final = re.compile(r"\x1b\[(\d+)m")


def take_terminal(browser: Browser, folder: Path) -> None:
    """Write the picture ``terminal.png`` and its dark form."""
    text = as_html("".join(lines_of_the_demo()))
    for name, colors in (("terminal.png", LIGHT), ("terminal-dark.png", DARK)):
        with opened_tab(browser) as tab:
            tab.set_content(PAGE.format(text=COMMAND + text, **colors))
            tab.locator("pre").screenshot(path=folder / name)


def lines_of_the_demo() -> list[str]:
    """Return what the terminal shows of the demo, up to the end of the last answer, with the port 8000."""
    ours, its = os.openpty()
    command = [sys.executable, "-m", "stream_protocol", "demo", "--port", "0"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=its, stderr=subprocess.DEVNULL)  # noqa: S603 - our command
    os.close(its)
    try:
        with os.fdopen(ours, encoding="utf-8") as output:
            lines = [next(output)]
            while "Ctrl+C" not in lines[-1]:
                lines.append(next(output))
            (address,) = set(re.findall(r"http://127\.0\.0\.1:\d+", "".join(lines)))
            for number, message in enumerate(MESSAGES):
                parts = [{"type": "text", "text": message}]
                body = {"id": f"chat{number}", "messages": [{"id": "m1", "role": "user", "parts": parts}]}
                httpx.post(f"{address}/api/chat", json=body, timeout=60)
                lines.append(next(output))
    finally:
        process.kill()
        process.wait()
    return [line.replace(address.rpartition(":")[2], "8000") for line in lines]


def as_html(text: str) -> str:
    """Return text with ANSI codes as HTML."""
    pieces = _CODE.split(text)
    html, classes = [escape(pieces[0])], list[str]()
    for code, piece in zip(pieces[1::2], pieces[2::2], strict=True):
        classes = [*classes, STYLES[code]] if STYLES[code] else []
        html.append(f'<span class="{" ".join(classes)}">{escape(piece)}</span>')
    return "".join(html)
