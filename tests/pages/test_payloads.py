"""Lists in forms: in the payload of an approval, which the user may change, and in the answer to a question."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.demo_page import press, say
from tests.pages.conftest import Open

pytestmark = [pytest.mark.pages, pytest.mark.browser, pytest.mark.node]


def test_lists_of_a_payload_have_rows_to_add_and_to_remove(open_page: Open, shots: Path) -> None:
    page = open_page(width=390, height=900)
    say(page, "nested")
    rooms, guests = (page.get_by_role("group", name=name, exact=True) for name in ("Rooms", "Guests"))
    press(page, "Add to Rooms")
    added = rooms.get_by_role("group", name="Rooms 2").get_by_label("Beds")
    expect(added).to_be_focused()
    added.fill("4")
    press(page, "Remove Guests 1")
    expect(guests.get_by_role("textbox")).to_have_count(1)
    expect(guests.get_by_role("textbox", name="Guests 1")).to_have_value("Bo")
    expect(guests.get_by_role("button", name="Add")).to_be_focused()
    page.keyboard.press("Enter")
    expect(guests.get_by_role("textbox", name="Guests 2")).to_be_focused()
    page.screenshot(path=shots / "payload-lists.png")
    press(page, "Approve")  # an added row is filled or removed
    expect(guests.get_by_role("textbox", name="Guests 2")).to_be_focused()
    expect(guests.get_by_role("alert")).to_be_visible()
    guests.get_by_role("textbox", name="Guests 2").fill("Cy")
    press(page, "Approve")
    expect(page.get_by_text("6 beds. For Bo, Cy. Late: None.")).to_be_visible()


def test_a_value_without_a_form_is_json_among_the_fields_of_a_payload(page: Page) -> None:
    say(page, "nested")
    box = page.get_by_label("Remarks")
    box.fill("{")
    press(page, "Approve")
    expect(box).to_be_focused()
    box.fill('{"a": 1}')
    press(page, "Approve")
    expect(page.get_by_text("2 beds. For Ana, Bo. Late: None.")).to_be_visible()


def test_lists_in_the_schema_of_a_question_have_as_many_rows_as_it_allows(page: Page) -> None:
    say(page, "trip")
    guests, stops = (page.get_by_role("group", name=name, exact=True) for name in ("Guests", "Stops"))
    expect(guests.get_by_role("textbox")).to_have_count(1)
    expect(guests.get_by_role("button", name="Remove")).to_have_count(0)
    guests.get_by_role("textbox", name="Guests 1").fill("Ana")
    press(page, "Add to Guests")
    guests.get_by_role("textbox", name="Guests 2").fill("Bo")
    expect(guests.get_by_role("button", name="Add")).to_have_count(0)
    expect(stops.get_by_role("textbox")).to_have_count(0)
    press(page, "Add to Stops")
    press(page, "Answer")
    expect(stops.get_by_label("City")).to_be_focused()
    stops.get_by_label("City").fill("Oslo")
    press(page, "Answer")
    expect(page.get_by_text("'guests': ['Ana', 'Bo'], 'stops': [{'city': 'Oslo'}]")).to_be_visible()
