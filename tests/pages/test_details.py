"""Long values, pictures, files and the reader's own messages on the page."""

import json
import re
from pathlib import Path
from typing import Final

import pytest
from google.adk.tools import exit_loop
from playwright.sync_api import Browser, Page, expect

from stream_protocol import SSE_HEADERS, encode_sse
from stream_protocol.serving import create_app
from stream_protocol.wire import AnyChunk
from tests.chromium import opened_tab
from tests.demo_page import answers, expect_status, field, press, say, tool, unfolded
from tests.pages.conftest import Open
from tests.pages.scenes import SHEET, Scenes
from tests.served import served

pytestmark = [pytest.mark.pages, pytest.mark.browser, pytest.mark.node]

LETTER = "\n".join(f"{number}. A line of a long letter." for number in range(1, 31))


def test_arguments_that_grow_are_low_and_their_end_is_in_view(page: Page) -> None:
    chunks: list[AnyChunk] = [
        {"type": "start", "messageId": "m1"},
        {"type": "tool-input-start", "toolCallId": "c1", "toolName": "timetable"},
        {"type": "tool-input-delta", "toolCallId": "c1", "inputTextDelta": json.dumps({"days": [*range(40)]})[:-2]},
    ]
    body = b"".join(map(encode_sse, chunks))
    page.route("**/api/chat", lambda route: route.fulfill(body=body, headers=SSE_HEADERS))
    say(page, "timetable")
    box = tool(page, "timetable", "input-streaming").locator("[data-json=input] dl")
    expect(box).to_contain_text("39")
    low, end = box.evaluate("box => [box.clientHeight, box.scrollTop + box.clientHeight - box.scrollHeight]")
    assert 0 < low < 130
    assert abs(end) <= 1


def test_a_long_value_is_folded_and_unfolded_it_is_json(page: Page, shots: Path) -> None:
    say(page, "timetable")
    box = unfolded(tool(page, "timetable", "output-available")).locator("[data-json=output]")
    expect(box.get_by_role("button", name="stops, 3 entries")).to_have_attribute("aria-expanded", "false")
    expect(box.locator("pre")).to_contain_text('"line": "R1"')
    expect(box.locator("pre")).not_to_contain_text("Kyoto")
    page.screenshot(path=shots / "folded-json.png")
    box.get_by_role("button", name="stops, 3 entries").press("Enter")
    for number in range(3):
        box.get_by_role("button", name=f"{number}, 2 entries").click()
        box.get_by_role("button", name="tracks, 2 entries").nth(number).click()
    box.get_by_role("button", name="prices, 150 entries").click()
    box.get_by_role("button", name="… 50 more").click()
    shown = json.loads(box.locator("pre").inner_text())
    assert shown["stops"][2] == {"city": "Kyoto", "tracks": {"in": 1, "out": 2}}
    assert (shown["prices"], shown["remarks"]) == ([*range(150)], {})
    box.get_by_role("button", name="stops, 3 entries").click()
    expect(box.locator("pre")).not_to_contain_text("Kyoto")


def test_a_picture_opens_in_the_whole_window_and_closes(page: Page, shots: Path) -> None:
    say(page, "draw")
    expect_status(page, "ready")
    small = page.get_by_role("button", name="Enlarge")
    before = small.locator("img").bounding_box()
    small.press("Enter")
    dialog = page.get_by_role("dialog")
    after = dialog.get_by_role("img").bounding_box()
    assert before is not None
    assert after is not None
    assert after["width"] > 1.5 * before["width"]
    page.screenshot(path=shots / "enlarged.png")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(small).to_be_focused()


def test_a_picture_of_a_tool_is_named_by_its_tool_and_argument(page: Page) -> None:
    say(page, "draw")
    expect(answers(page).get_by_role("img")).to_have_accessible_name("Draw")
    say(page, "sketch a boat")
    expect(answers(page).last.get_by_role("img")).to_have_accessible_name("Sketch: a boat")
    say(page, "both")  # two calls: nothing says which of them it was
    expect(answers(page).last.get_by_role("img")).to_have_accessible_name("Image from the conversation")


def test_a_file_has_a_name_a_size_and_a_look_into_it(page: Page) -> None:
    say(page, "sheet")
    expect_status(page, "ready")
    link = answers(page).get_by_role("link", name="file.csv")
    expect(link).to_contain_text(f"{len(SHEET)} B")
    expect(link).to_have_attribute("download", "file.csv")
    press(page, "Preview")
    expect(answers(page).locator("[data-json=beginning] pre")).to_have_text(SHEET)
    with page.expect_download() as download:
        link.click()
    assert download.value.suggested_filename == "file.csv"
    assert Path(download.value.path()).read_text() == SHEET


DROP: Final = """(files) => {
    const data = new DataTransfer();
    for (const [name, size] of files) data.items.add(new File([new Uint8Array(size)], name));
    const event = new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: data });
    document.querySelector("main").dispatchEvent(event);
}"""
"""Drops files with these names and sizes."""


def test_files_that_the_server_would_refuse_are_not_attached(page: Page, shots: Path) -> None:
    limits = {"maxFileBytes": 3000, "maxMessageBytes": 5000}
    page.route("**/page.json", lambda route: route.fulfill(json={**route.fetch().json(), **limits}))
    page.reload()
    expect(page.get_by_role("region", name="Welcome")).to_contain_text("Chatting with guide")
    page.evaluate(DROP, [["large.bin", 4000], ["one.bin", 3000], ["two.bin", 2500], ["three.bin", 700]])
    attached = page.get_by_role("list", name="Attached files").get_by_role("listitem")
    expect(attached).to_have_text(["one.bin3.0 kB", "three.bin700 B"])
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("large.bin has 4.0 kB. A file can have 3.0 kB at most.")
    expect(alert).to_contain_text("two.bin is too much for one message. All files together can have 3.7 kB at most.")
    page.screenshot(path=shots / "refused-files.png")
    press(page, "Remove one.bin")
    expect(alert).to_have_count(0)


def test_a_message_that_is_too_large_is_explained_and_not_retried(page: Page, expected_errors: list[str]) -> None:
    expected_errors.append("413")
    hint = "The request is larger than 32 MiB: send only the last message (prepareSendMessagesRequest)."
    page.route("**/api/chat", lambda route: route.fulfill(status=413, body=hint, content_type="text/plain"))
    say(page, "hello")
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("This message is too large for the server.")
    expect(alert).not_to_contain_text("prepareSendMessagesRequest")
    expect(alert.get_by_role("button")).to_have_text("Dismiss")


def test_a_message_of_ones_own_has_as_much_room_as_it_needs(page: Page) -> None:
    say(page, "a question that is a little longer than a few words are")
    lines = page.get_by_role("article", name="You").get_by_role("paragraph")
    assert (
        lines.evaluate(
            "p => { const r = document.createRange(); r.selectNodeContents(p); return r.getClientRects().length }"
        )
        == 1
    )


def test_a_long_message_of_ones_own_is_folded(page: Page) -> None:
    say(page, LETTER)
    expect_status(page, "ready")
    mine = page.get_by_role("article", name="You")
    folded = mine.bounding_box()
    mine.get_by_role("button", name="Show all").click()
    whole = mine.bounding_box()
    assert folded is not None
    assert whole is not None
    assert whole["height"] > 2 * folded["height"]
    mine.get_by_role("button", name="Show less").click()
    again = mine.bounding_box()
    assert again is not None
    assert again["height"] == folded["height"]


def test_arrow_up_in_an_empty_field_edits_the_last_message(page: Page) -> None:
    field(page).press("ArrowUp")
    expect(field(page)).to_be_focused()  # there is none
    for text in ("first", "second"):
        say(page, text)
        expect_status(page, "ready")
    field(page).fill("typed")
    field(page).press("ArrowUp")
    expect(field(page)).to_be_focused()
    field(page).fill("")
    field(page).press("ArrowUp")
    edited = page.get_by_role("textbox", name="Edit message")
    expect(edited).to_be_focused()
    expect(edited).to_have_value("second")
    expect(edited).to_have_accessible_description("Sending it makes a new version of the chat from here.")
    edited.fill("third")
    page.get_by_role("article", name="You").get_by_role("button", name="Send").click()
    expect(answers(page).last).to_contain_text("You said: third")
    expect(page.get_by_text("You said: second")).to_have_count(0)
    expect(page.get_by_text("You said: first")).to_have_count(1)


def test_what_must_be_given_has_a_star(page: Page) -> None:
    say(page, "form")
    form = page.get_by_role("form", name="Answer")
    star = "label => getComputedStyle(label.querySelector('span'), '::after').content"
    assert form.locator("label", has_text="name").first.evaluate(star) == '" *"'
    assert form.locator("label", has_text="budget").evaluate(star) == "none"
    expect(form.get_by_role("group", name="interests *")).to_be_visible()


def test_a_wide_table_fades_where_there_is_more(open_page: Open) -> None:
    page = open_page(width=390, height=800)
    say(page, "table")
    expect_status(page, "ready")
    table = answers(page).locator("[data-streamdown=table-wrapper] > div")
    faded = "box => ['--before', '--after'].map((name) => Number(getComputedStyle(box).getPropertyValue(name)))"
    assert table.evaluate("box => box.scrollWidth > box.clientWidth")
    assert table.evaluate(faded) == [1, 0]
    table.evaluate("box => box.scrollTo(1e6, 0)")
    expect(table).to_have_css("--after", "1")
    assert table.evaluate(faded) == [0, 1]


def test_an_agent_without_suggestions_tells_its_tools(browser: Browser, scenes: Scenes, shots: Path) -> None:
    agent = scenes.agent()
    agent.description = "Knows rivers and trains."
    agent.tools.insert(0, exit_loop)
    with served(create_app(agent)) as address, opened_tab(browser) as page:
        page.goto(address)
        welcome = page.get_by_role("region", name="Welcome")
        expect(welcome).to_contain_text("Knows rivers and trains.")
        expect(welcome.get_by_role("term")).to_have_count(4)
        page.screenshot(path=shots / "welcome-few-tools.png")
        page.set_viewport_size({"width": 390, "height": 800})
        more = welcome.get_by_role("button", name=re.compile(r"^and \d+ more$"))
        expect(more).to_be_in_viewport(ratio=1)
        page.screenshot(path=shots / "welcome-few-tools-phone.png")
        more.click()
        expect(more).to_have_count(0)
        page.set_viewport_size({"width": 1100, "height": 900})
        expect(welcome.get_by_role("term").filter(has_text="trains")).to_be_visible()
        expect(welcome).to_contain_text("Lists trains.")
        named = welcome.get_by_role("term").all_inner_texts()
        assert not {"Exit loop", "Transfer to agent", "ADK request input", "Adk request input"} & {*named}
        expect(welcome).to_contain_text("Asks for approval with a payload that has a list in it.")
        page.screenshot(path=shots / "welcome-tools.png")


def test_of_many_suggestions_six_are_shown_at_first(browser: Browser, scenes: Scenes) -> None:
    app = create_app(scenes.agent(), suggestions=[f"Question {number}" for number in range(20)])
    with served(app) as address, opened_tab(browser) as page:
        page.goto(address)
        listed = page.get_by_role("list", name="Suggestions").get_by_role("button")
        expect(listed).to_have_count(6)
        press(page, "Show all 20")
        expect(listed).to_have_count(20)


def test_calls_of_one_step_are_rows_in_one_frame_and_a_failure_is_counted(page: Page, shots: Path) -> None:
    calls = [f"c{number}" for number in range(12)]
    asked: list[AnyChunk] = [
        {"type": "tool-input-available", "toolCallId": call, "toolName": "grep", "input": {"pattern": call}}
        for call in calls
    ]
    ended: list[AnyChunk] = [
        {"type": "tool-output-error", "toolCallId": call, "errorText": "It took too long."}
        if call == "c3"
        else {"type": "tool-output-available", "toolCallId": call, "output": {"matches": 1}}
        for call in calls
    ]
    chunks: list[AnyChunk] = [{"type": "start", "messageId": "m1"}, *asked, *ended, {"type": "finish"}]
    body = b"".join(map(encode_sse, chunks))
    page.route("**/api/chat", lambda route: route.fulfill(body=body, headers=SSE_HEADERS))
    say(page, "search")
    group = page.get_by_role("button", name="12 tool calls")
    expect(group).to_have_accessible_name("12 tool calls · 1 failed")
    expect(group).to_have_attribute("aria-expanded", "true")
    expect(page.get_by_text("It took too long.")).to_be_visible()
    page.screenshot(path=shots / "twelve-calls.png")
    group.click()
    expect(group).to_have_accessible_name("12 tool calls · 1 failed · Grep")
    group.click()
    height = page.locator("[data-calls]").evaluate("box => box.offsetHeight")
    assert height < 660, height  # of a window of 900


def test_calls_that_run_are_named_and_those_that_are_done_are_counted(page: Page, shots: Path) -> None:
    asked: list[AnyChunk] = [
        {"type": "tool-input-available", "toolCallId": f"c{number}", "toolName": tool, "input": {"pattern": "stream"}}
        for number, tool in enumerate(("grep", "read_file", "grep"))
    ]
    ended: list[AnyChunk] = [{"type": "tool-output-available", "toolCallId": "c1", "output": {"matches": 1}}]
    chunks: list[AnyChunk] = [{"type": "start", "messageId": "m1"}, *asked, *ended]
    body = b"".join(map(encode_sse, chunks))
    page.route("**/api/chat", lambda route: route.fulfill(body=body, headers=SSE_HEADERS))
    say(page, "search")
    group = page.get_by_role("button", name="3 tool calls · 1 done")
    group.click()
    expect(group).to_have_accessible_name("3 tool calls · 1 done · Grep, Read file")
    page.screenshot(path=shots / "calls-done.png")


SCROLLED: Final = """() => {
    document.querySelector("[role=log]").lastElementChild.scrollIntoView({ block: "start" });
    return document.querySelector("header").getBoundingClientRect().top;
}"""


def test_only_the_conversation_scrolls_and_the_header_stays(page: Page) -> None:
    for _ in range(4):
        say(page, "both")
        expect_status(page, "ready")
        press(page, "2 tool calls · Trains, Draw")
        unfolded(tool(page, "trains", "output-available").last)
    assert page.evaluate(SCROLLED) == 0
