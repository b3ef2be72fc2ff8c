"""Tool cards and the page's answers: forms by their schema, approvals, the page's own tools."""

import re
from pathlib import Path
from typing import Final, Literal

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.chromium import opened_tab
from tests.demo_page import STREAMING_TEXT, answers, expect_status, field, posts, press, say, texts, tool, unfolded
from tests.pages.conftest import Open
from tests.pages.scenes import FORM, Scenes

pytestmark = [pytest.mark.pages, pytest.mark.browser, pytest.mark.node]

INPUT: Final = "adk_request_input"


RING: Final = """page => {
    const probe = document.body.appendChild(document.createElement("i"));
    probe.style.color = "var(--ring)";
    const { color } = getComputedStyle(probe);
    probe.remove();
    return color;
}"""
"""The color of the focus ring."""

FILL_OUT: Final = re.compile("fill out")


def answered(page: Page) -> dict[str, str]:
    """The user's answer on the card of a question: name -> value."""
    card = unfolded(tool(page, INPUT, "output-available"))
    expect(card.get_by_role("term").first).to_be_visible()
    names, values = (card.get_by_role(role).all_inner_texts() for role in ("term", "definition"))
    return dict(zip(names, values, strict=True))


def output(page: Page, name: str) -> dict[str, str]:
    """The output on the card of a tool that has answered: name -> value."""
    rows = unfolded(tool(page, name, "output-available")).locator("[data-json=output] dl")
    expect(rows).to_be_visible()
    names, values = (rows.get_by_role(role).all_inner_texts() for role in ("term", "definition"))
    return dict(zip(names, values, strict=True))


def test_a_card_is_folded_when_it_is_done_and_opens_by_the_keyboard(page: Page) -> None:
    say(page, "wind")
    card = tool(page, "measure", "output-available")
    summary = card.get_by_role("button", name=re.compile("Measure"))
    expect(summary).to_have_accessible_name(re.compile(r"done( \d+\.\d s)?$"))
    expect(summary).to_have_attribute("aria-expanded", "false")
    expect(card.locator("[data-json]")).to_have_count(0)
    summary.press("Enter")
    expect(card.locator("[data-json=output] pre")).to_have_text("measured")  # ADK's `result` around it is not shown
    expect(card.locator("[data-json=input] dl")).to_have_text("CompleteYes")
    summary.press("Space")
    expect(card.locator("[data-json]")).to_have_count(0)


def test_a_running_call_is_one_line_and_stays_so_when_it_is_done(page: Page, scenes: Scenes, shots: Path) -> None:
    say(page, "dig")
    card = page.get_by_role("group", name="Tool dig")
    expect(card.get_by_role("button")).to_have_accessible_name(re.compile("Dig 3 ?running"))
    expect(card.get_by_role("button")).to_have_attribute("aria-expanded", "false")
    before = card.bounding_box()
    page.screenshot(path=shots / "running.png")
    scenes.go_on()
    expect(card).to_have_attribute("data-state", "output-available")
    after = card.bounding_box()
    assert before is not None
    assert after is not None
    assert (after["y"], after["height"]) == (before["y"], before["height"])


def test_several_running_calls_are_one_line(page: Page, scenes: Scenes, shots: Path) -> None:
    say(page, "dig twice")
    group = page.get_by_role("button", name="Running 2 tool calls")
    expect(group).to_have_attribute("aria-expanded", "false")
    page.screenshot(path=shots / "running-calls.png")
    group.click()
    expect(tool(page, "dig", "input-available")).to_have_count(2)
    expect(tool(page, "dig", "input-available").last).to_be_visible()
    group.click()
    scenes.go_on()
    expect(page.get_by_role("button", name="2 tool calls")).to_have_attribute("aria-expanded", "false")


def test_a_call_says_that_it_was_approved_also_when_it_is_done(open_page: Open, shots: Path) -> None:
    page = open_page(width=390, colors="dark")
    say(page, "book")
    press(page, "Approve")
    expect(texts(page)).to_have_text("Booked, or not.")
    for _ in ("live", "stored"):
        summary = page.locator("[data-tool=book]").get_by_role("button").first
        expect(summary).to_have_accessible_name(re.compile(r"Approved ?done( ?\d+\.\d s)?$"))
        expect(page.locator("[data-tool=refuse]")).not_to_contain_text("Approved")
        page.reload()
    expect(page.locator("[data-tool=book]")).to_be_visible()
    page.screenshot(path=shots / "approved-done.png")


def test_the_page_shows_that_the_agent_works_while_nothing_else_moves(page: Page, scenes: Scenes, shots: Path) -> None:
    working = page.get_by_role("log").get_by_text("Working…")
    say(page, "pause")
    expect(tool(page, "trains", "output-available")).to_be_visible()
    expect(working).to_have_css("opacity", "1")
    page.screenshot(path=shots / "working.png")
    scenes.go_on()
    expect(texts(page)).to_have_text("I go on.")
    expect_status(page, "ready")
    expect(working).to_have_count(0)
    say(page, "dig")
    expect(tool(page, "dig", "input-available")).to_be_visible()  # a running call moves
    expect(working).to_have_count(0)
    scenes.go_on()
    expect_status(page, "ready")
    say(page, "story")
    expect(page.locator(STREAMING_TEXT)).to_be_visible()
    expect(working).to_have_count(0)


def test_sources_stay_where_they_came_while_the_answer_goes_on(page: Page, shots: Path) -> None:
    say(page, "buy")
    sources, form = page.get_by_role("navigation", name="Sources"), page.get_by_role("form", name="Approval")
    shown = page.locator("nav[aria-label=Sources], [data-tool=pay], [data-text]")

    def order() -> list[str]:
        found: list[str] = shown.evaluate_all("all => all.map((one) => one.ariaLabel ?? 'text')")
        return found

    expect(form).to_be_visible()
    expect_status(page, "ready")
    expect(sources.get_by_role("listitem")).to_have_count(2)
    assert order() == ["text", "Tool Pay", "Sources"]
    page.screenshot(path=shots / "sources-asked.png")
    press(page, "Approve")
    expect(texts(page).last).to_have_text("Bought. More rivers.")
    for _ in ("live", "stored"):
        expect_status(page, "ready")
        expect(sources).to_have_count(2)
        expect(sources.last).to_have_text("Sources3The oceanocean.example")  # the other one is above, as number 2
        assert order() == ["text", "Tool Pay", "Sources", "text", "Sources"]
        page.screenshot(path=shots / "sources-twice.png")
        page.reload()


@pytest.mark.parametrize(("width", "colors"), [(1100, "light"), (390, "dark")])
def test_the_values_of_a_call_are_rows_in_each_of_its_states(
    open_page: Open, shots: Path, width: int, colors: Literal["light", "dark"]
) -> None:
    page = open_page(width=width, colors=colors)
    say(page, "book")
    rows = page.get_by_role("form", name="Approval").locator("dl")
    expected = 'Hotel namePlazaGuestsAna BoBreakfastYesRooms{ "large": [ 2, { "beds": 1 } ] }'
    expect(rows).to_have_text(expected)
    page.screenshot(path=shots / f"rows-asked-{width}.png")
    press(page, "Approve")
    expect(texts(page)).to_have_text("Booked, or not.")
    for name, state in (("book", "output-available"), ("refuse", "output-error")):
        card = unfolded(tool(page, name, state))
        expect(card.locator("[data-json=input] dl")).to_have_text(expected)
    expect(tool(page, "book", "output-available").locator("[data-json=output] dl")).to_have_text("Code7ConfirmedYes")
    expect(tool(page, "refuse", "output-error").get_by_role("alert")).to_be_visible()
    page.screenshot(path=shots / f"rows-done-{width}.png")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_tool_shows_how_far_it_is_while_it_runs(page: Page, scenes: Scenes, shots: Path) -> None:
    say(page, "count")
    card = tool(page, "count_books", "input-available")
    bar = card.get_by_role("progressbar", name="Second shelf")
    expect(bar).to_have_attribute("value", "12")
    expect(bar).to_have_attribute("max", "50")
    expect(card).to_contain_text("12 / 50")
    page.screenshot(path=shots / "progress.png")
    page.reload()
    expect(card.get_by_role("progressbar", name="Second shelf")).to_be_visible()
    scenes.go_on()
    done = tool(page, "count_books", "output-available")
    expect(done).to_be_visible()
    expect(page.get_by_role("progressbar")).to_have_count(0)
    page.reload()
    expect(done).to_be_visible()
    expect(page.get_by_role("progressbar")).to_have_count(0)


def test_an_approval_says_why_the_tool_asks(page: Page, shots: Path) -> None:
    say(page, "lend")
    form = page.get_by_role("form", name="Approval")
    expect(form).to_contain_text("Guide wants to run Lend a book.")
    expect(form).to_contain_text("Momo leaves the house for a month.")
    page.screenshot(path=shots / "approval-reason.png")
    press(page, "Approve")
    card = unfolded(tool(page, "lend", "output-available"))
    expect(card.get_by_role("term")).to_have_text("Book")
    expect(card.get_by_role("definition")).to_have_text("Momo")


def test_an_approval_names_who_wants_what_and_a_denial_gives_its_reason(page: Page, shots: Path) -> None:
    say(page, "pay")
    form = page.get_by_role("form", name="Approval")
    expect(form).to_contain_text("Guide wants to run Pay.")
    expect(form.get_by_role("term")).to_have_text("Amount")
    expect(form.get_by_role("definition")).to_have_text("5")
    page.screenshot(path=shots / "approval.png")
    expect(form).to_be_focused()
    expect(form).to_have_css("background-color", "rgba(0, 0, 0, 0)")  # its card's, also with the focus
    expect(answers(page).get_by_role("button", name="Regenerate")).to_have_count(0)  # it would ask once more
    page.keyboard.type("no")
    expect(field(page)).to_have_value("no")
    field(page).fill("")
    press(page, "Deny…")
    expect(page.get_by_label("Reason")).to_be_focused()
    press(page, "Back")
    press(page, "Deny…")
    page.get_by_label("Reason").fill("too dear")
    page.get_by_label("Reason").press("Enter")
    expect(tool(page, "pay", "output-denied")).to_contain_text("Your reason: too dear")
    expect(tool(page, "pay", "output-denied").get_by_role("definition")).to_have_text("5")
    expect(field(page)).to_be_focused()


def test_a_form_has_a_control_for_each_kind_of_value_and_sends_what_is_given(page: Page, shots: Path) -> None:
    say(page, "form")
    form = page.get_by_role("form", name="Answer")
    expect(form).to_be_focused()
    expect(form.get_by_label("Nights")).to_have_value("2")
    form.get_by_role("button", name="Answer").click()
    expect(form.get_by_role("alert")).to_have_text([FILL_OUT, re.compile("select"), "Choose at least 1.", FILL_OUT])
    expect(form.get_by_label("Name", exact=True)).to_be_focused()
    name = form.get_by_label("Name", exact=True)
    expect(name).to_have_attribute("aria-invalid", "true")
    assert name.evaluate("box => document.getElementById(box.getAttribute('aria-errormessage')).textContent") == (
        form.get_by_role("alert").first.inner_text()
    )
    red = form.get_by_role("alert").first.evaluate("line => getComputedStyle(line).color")
    expect(form.get_by_label("city")).to_have_css("border-color", red)
    expect(form.get_by_label("Food")).to_have_css("outline-color", red)
    expect(form.get_by_label("budget")).not_to_have_attribute("aria-invalid", "true")
    page.screenshot(path=shots / "form-faults.png")
    name.fill("Ana")
    expect(name).not_to_have_attribute("aria-invalid", "true")
    form.get_by_label("city").select_option("Rome")
    form.get_by_label("Nights").fill("15")
    form.get_by_label("budget").fill("99.5")
    form.get_by_label("E-mail").fill("ana@example.org")
    assert form.get_by_label("Food").evaluate("box => box.validationMessage") == "Choose at least 1."
    form.get_by_label("Food").check()
    assert form.get_by_label("Food").evaluate("box => box.validationMessage") == ""
    form.get_by_label("late").check()
    expect(form.get_by_role("alert")).to_have_count(0)
    page.screenshot(path=shots / "form.png")
    form.get_by_role("button", name="Answer").click()
    expect(form.get_by_label("Nights")).to_be_focused()  # more than fourteen
    form.get_by_label("Nights").fill("14")
    requests = posts(page)
    form.get_by_role("button", name="Answer").click()
    expect(page.get_by_text("Noted.")).to_be_visible()
    expect_status(page, "ready")
    [request] = requests
    [given] = [part["output"] for part in (request.post_data_json or {})["message"]["parts"] if "output" in part]
    assert given == {
        "name": "Ana",
        "city": "Rome",
        "nights": 14,
        "budget": 99.5,
        "interests": ["Food"],
        "late": True,
        "contact": {"email": "ana@example.org"},
    }
    assert set(FORM["properties"]) == set(given)
    assert answered(page) == {
        "Name": "Ana",
        "City": "Rome",
        "Nights": "14",
        "Budget": "99.5",
        "Interests": "Food",
        "Late": "Yes",
        "Contact": "Email: ana@example.org",
    }


@pytest.mark.parametrize("words", ["form", "pay", "where", "trip"])
def test_the_card_of_each_question_stands_out(page: Page, shots: Path, words: str) -> None:
    say(page, words)
    card = page.locator("[data-tool]").filter(has=page.get_by_role("form"))
    ring = page.locator("html").evaluate(RING)
    expect(card).to_have_css("border-color", ring)
    expect(card).to_have_css("outline-style", "solid")
    page.screenshot(path=shots / f"question-{words}.png")
    card.get_by_role("button").last.focus()
    expect(card).to_have_css("border-color", ring)
    expect(card).to_have_css("outline-style", "none")


def refuse(page: Page, how: int | str) -> None:
    """From now on the server refuses each answer, with this status, or cannot be reached."""

    def answer(route: Route) -> None:
        if isinstance(how, int):
            route.fulfill(status=how, content_type="text/plain", body=f"No such city ({how}).")
        elif how == "by a proxy":
            route.fulfill(status=502, content_type="text/html", body="<html>Bad Gateway</html>")
        else:
            route.abort(how)

    page.unroute_all()
    page.route("**/api/chat", answer)


def test_a_form_whose_answer_is_refused_is_there_again_with_what_was_entered(
    browser: Browser, url: str, shots: Path
) -> None:
    with opened_tab(browser) as page:  # whose console says that the request failed
        page.goto(url)
        say(page, "form")
        form = page.get_by_role("form", name="Answer")
        form.get_by_label("Name", exact=True).fill("Ana")
        form.get_by_label("city").select_option("Rome")
        form.get_by_label("Food").check()
        form.get_by_label("E-mail").fill("ana@example.org")
        reasons: dict[int | str, str] = {status: f"No such city ({status})." for status in (413, 422, 429, 503)}
        reasons["by a proxy"] = "The server cannot answer now (status 502). Try again later."
        for how, reason in {
            **reasons,
            "internetdisconnected": "Couldn't reach the server. Check your network connection",
        }.items():
            refuse(page, how)
            form.get_by_role("button", name="Answer").click()
            expect(page.locator("[data-problem]")).to_contain_text(reason)
            expect(form.get_by_label("Name", exact=True)).to_have_value("Ana")
            expect(form.get_by_label("city").locator("option:checked")).to_have_text("Rome")
            expect(form.get_by_label("E-mail")).to_have_value("ana@example.org")
            expect(form.get_by_label("Food")).to_be_checked()
        page.screenshot(path=shots / "refused-form.png")
        form.get_by_label("Name", exact=True).fill("Bo")
        page.unroute_all()
        form.get_by_role("button", name="Answer").click()
        expect(page.get_by_text("Noted.")).to_be_visible()
        expect(page.locator("[data-problem]")).to_have_count(0)
        assert answered(page)["Name"] == "Bo"


def test_what_was_refused_is_sent_again_by_retry(browser: Browser, url: str) -> None:
    with opened_tab(browser) as page:
        page.goto(url)
        say(page, "nested")
        page.get_by_label("Beds").fill("3")
        press(page, "Add to Guests")
        page.get_by_role("textbox", name="Guests 3").fill("Cy")
        refuse(page, 503)
        press(page, "Approve")
        expect(page.locator("[data-problem]")).to_be_visible()
        expect(page.get_by_label("Beds")).to_have_value("3")
        expect(page.get_by_role("textbox", name="Guests 3")).to_have_value("Cy")
        press(page, "Retry")
        expect_status(page, "error")
        page.unroute_all()
        press(page, "Retry")
        expect(page.get_by_text("3 beds. For Ana, Bo, Cy. Late: None.")).to_be_visible()
        expect(page.locator("[data-problem]")).to_have_count(0)


def test_a_tool_of_the_page_whose_answer_is_refused_answers_again_by_a_click(browser: Browser, url: str) -> None:
    with opened_tab(browser) as page:
        page.goto(url)
        expect(field(page)).to_be_visible()
        seen = posts(page)
        page.route("**/api/chat", lambda route: route.fulfill(status=429) if len(seen) == 2 else route.continue_())
        say(page, "zone")
        expect(page.locator("[data-problem]")).to_be_visible()
        press(page, "Dismiss")
        page.get_by_role("button", name="Answer again").click()
        expect(page.get_by_text("The page has answered.")).to_be_visible()
        assert len(seen) == 3


def test_what_later_messages_passed_over_is_neither_running_nor_waiting(page: Page) -> None:
    for words, name in (("form", INPUT), ("pay", "pay")):
        say(page, words)
        card = page.locator(f'[data-tool="{name}"]')
        expect(card.get_by_role("form")).to_be_visible()
        say(page, "hello")
        expect(card.get_by_role("form")).to_have_count(0)
        expect(card.get_by_role("button").first).to_have_accessible_name(re.compile("not answered$"))  # and no time


def test_a_call_without_an_answer_is_no_failure_after_a_reload_either(page: Page) -> None:
    for words, name in (("form", INPUT), ("pay", "pay")):
        say(page, words)
        expect(page.locator(f'[data-tool="{name}"]').get_by_role("form")).to_be_visible()
        say(page, "hello")
        expect(page.locator(f'[data-tool="{name}"]').get_by_role("form")).to_have_count(0)
    expect_status(page, "ready")
    for _ in ("live", "stored"):
        for name in (INPUT, "pay"):
            summary = page.locator(f'[data-tool="{name}"]').get_by_role("button").first
            expect(summary).to_have_accessible_name(re.compile("not answered$"))
            expect(summary).to_have_attribute("aria-expanded", "false")
            unfolded(page.locator(f'[data-tool="{name}"]'))
        expect(page.get_by_text("went on without")).to_have_count(0)
        page.reload()


def test_the_page_tells_its_time_zone_and_changes_its_theme_without_a_click(page: Page) -> None:
    say(page, "zone")
    expect(page.get_by_text("The page has answered.")).to_be_visible()
    assert output(page, "get_time_zone")["Time zone"] == page.evaluate(
        "Intl.DateTimeFormat().resolvedOptions().timeZone"
    )
    say(page, "dark")
    expect(tool(page, "set_theme", "output-available")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_the_location_is_shared_after_a_click_or_not(open_page: Open, shots: Path) -> None:
    page = open_page()
    page.context.grant_permissions(["geolocation"])
    page.context.set_geolocation({"latitude": 41.9, "longitude": 12.5})
    say(page, "where")
    page.screenshot(path=shots / "location.png")
    press(page, "Share location")
    expect(tool(page, "get_location", "output-available")).to_be_visible()
    assert output(page, "get_location")["Latitude"] == "41.9"
    expect_status(page, "ready")
    say(page, "where")
    press(page, "Do not share")
    expect(tool(page, "get_location", "output-error")).to_contain_text("does not share")
    expect_status(page, "ready")


def test_several_calls_are_one_line_when_all_are_done(page: Page) -> None:
    say(page, "both")
    expect(page.get_by_text("Both are there.")).to_be_visible()
    group = page.get_by_role("button", name="2 tool calls")
    expect(group).to_have_attribute("aria-expanded", "false")
    expect(page.locator("[data-tool]").first).to_be_hidden()
    group.press("Enter")
    expect(tool(page, "trains", "output-available")).to_be_visible()
    expect(tool(page, "draw", "output-available")).to_be_visible()
    expect(group).to_have_attribute("aria-expanded", "true")


def test_a_list_of_flat_objects_is_a_table(page: Page, shots: Path) -> None:
    say(page, "list")
    table = unfolded(tool(page, "trains", "output-available")).get_by_role("table")
    expect(table.get_by_role("columnheader")).to_have_text(["City", "Leaves at"])
    expect(table.get_by_role("row")).to_have_count(3)
    expect(table).to_have_css("overflow-wrap", "break-word")  # `anywhere` would make columns narrower than a word
    page.screenshot(path=shots / "table.png")


@pytest.mark.filterwarnings("ignore:The .plugins. argument is deprecated:DeprecationWarning")  # ADK's own AgentTool
def test_the_card_of_an_agent_shows_its_work_and_its_result_once(page: Page, scenes: Scenes, shots: Path) -> None:
    say(page, "research")
    card = page.get_by_role("group", name="Tool researcher")
    work = card.get_by_role("group", name="Work of researcher")
    expect(work).to_contain_text("I look it up.")
    expect(work.get_by_role("group", name="Tool wait")).to_have_attribute("data-state", "input-available")
    page.screenshot(path=shots / "nested-running.png")
    scenes.go_on()
    expect(card).to_have_attribute("data-state", "output-available")
    expect(texts(page).last).to_have_text("Found.")
    expect(work).to_have_count(0)  # it is folded
    unfolded(card)
    expect(work.get_by_text("Two trains leave: one to Oslo, and one to Rome.")).to_have_count(1)
    page.screenshot(path=shots / "nested-done.png")
    page.reload()
    unfolded(page.get_by_role("group", name="Tool researcher"))
    expect(page.get_by_role("group", name="Work of researcher")).to_contain_text("Two trains leave")


def test_an_approval_inside_an_agent_is_answered_in_its_card(page: Page, shots: Path) -> None:
    say(page, "charge")
    work = page.get_by_role("group", name="Work of cashier")
    form = page.get_by_role("form", name="Approval")
    expect(form).to_have_count(1)
    expect(work.get_by_role("form", name="Approval")).to_contain_text("Cashier wants to run Pay.")
    page.screenshot(path=shots / "nested-approval.png")
    press(page, "Approve")
    expect(texts(page).last).to_have_text("Charged.")
    expect(page.locator('[data-tool="pay"]')).to_have_count(0)  # only in the card, which is folded
    unfolded(page.get_by_role("group", name="Tool cashier"))
    expect(work.locator('[data-tool="pay"]')).to_have_attribute("data-state", "output-available")


def test_the_time_of_a_call_has_one_decimal_or_none(page: Page, scenes: Scenes) -> None:
    say(page, "dig")
    card = page.locator("[data-tool=dig]").get_by_role("button").first
    expect(card).to_have_accessible_name(re.compile(r"running… ?\d+ s$"))
    scenes.go_on()
    expect(card).to_have_accessible_name(re.compile(r"done ?\d\.\d s$"))
    say(page, "zone")
    expect(page.get_by_text("The page has answered.")).to_be_visible()
    say(page, "form")
    expect(page.locator(f'[data-tool="{INPUT}"]').get_by_role("button").first).to_have_accessible_name(
        re.compile("needs your input$")
    )
