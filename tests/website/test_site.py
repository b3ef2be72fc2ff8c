"""The built site, as a reader opens it. ``make site`` builds it and runs this."""

import re
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from threading import Thread
from typing import Final, Literal

import httpx
import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, expect

from stream_protocol.check import Rule
from tests.chromium import launched, opened_tab
from tests.processes import ROOT
from website.events import ROWS, Row
from website.keywords import KEYWORDS
from website.paths import recording
from website.runs import RUNS
from website.search import EXAMPLES

SITE: Final = ROOT / "build" / "site"
PAGES: Final = [
    "",
    "quick-start/",
    "how-it-works/",
    "events/",
    "options/",
    "reference/agents/",
    "reference/server/",
    "reference/serving/",
    "coming-from/ag-ui-adk/",
    "examples/fastapi_app.py/",
    "CHANGELOG/",
    "authentication/",
    "production/",
]
WIDER_THAN_THE_SCREEN: Final = "document.documentElement.scrollWidth > document.documentElement.clientWidth"

OPEN_TABS: Final = """async () => {
    await document.fonts.ready;
    for (const tab of document.querySelectorAll(".tabbed-block")) tab.style.display = "block";
}"""

WIDER_THAN_THE_COLUMN: Final = """() => {
    return [...document.querySelectorAll("article pre > code, article .md-typeset__scrollwrap")]
        .filter(box => box.scrollWidth > box.clientWidth + 1)
        .map(box => box.innerText.slice(0, 80));
}"""
"""The blocks of code and the tables that are cut at the edge of the text."""

AXE: Final = ROOT / "server/page/node_modules/axe-core/axe.min.js"
VIOLATIONS: Final = "async () => (await axe.run()).violations.map(({ id, nodes }) => [id, nodes[0].html])"

NAMES: Final = "images => images.map(image => new URL(image.src).pathname.split('/').pop())"

COLORS: Final = """button => {
    const numbers = color => color.match(/[\\d.]+/g).map(Number);
    return [button, button.parentElement].map((each, index) =>
        numbers(getComputedStyle(each)[index ? "backgroundColor" : "color"]));
}"""
"""The colors of a button and of the ground below it. A color that is not opaque has a fourth number."""

GAPS: Final = """() => [...document.querySelectorAll("article p > code, article li > code")].flatMap(code => {
    const after = code.nextSibling;
    if (after?.nodeType !== Node.TEXT_NODE || !/^[.,:;]/.test(after.data)) return [];
    const [inside, mark] = [code, after].map(node => {
        const range = document.createRange();
        range.selectNodeContents(node);
        if (node === after) range.setEnd(after, 1);
        return [...range.getClientRects()].at(-1);
    });
    return Math.abs(mark.bottom - inside.bottom) < 12 ? [mark.left - inside.right] : [];
})"""
"""Pixels between the text of inline code and the punctuation mark after it, on one line."""

BROKEN: Final = "images => images.filter(({ naturalWidth }) => !naturalWidth).map(({ src }) => src)"

pytestmark = [pytest.mark.site, pytest.mark.browser]


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its base calls it so
        pass


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    assert (SITE / "index.html").is_file(), "`make site` builds it"
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=SITE)) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as browser:
        yield browser


def complaints(tab: Page, url: str) -> list[str]:
    """Fills with what the tab asks elsewhere than there, and with what its console says of errors."""
    told: list[str] = []

    def note_request(request: Request) -> None:
        if not request.url.startswith((url, "data:")):
            told.append(request.url)

    def note_message(message: ConsoleMessage) -> None:
        if message.type == "error":
            told.append(message.text)

    tab.on("request", note_request)
    tab.on("console", note_message)
    return told


@pytest.mark.parametrize("width", [1280, 390])
def test_the_header_shows_the_version_and_leads_to_the_changelog(browser: Browser, url: str, width: int) -> None:
    with opened_tab(browser, width=width, height=844) as tab:
        tab.goto(f"{url}deploy/nginx/")
        link = tab.get_by_role("banner").get_by_role("link", name=version("adk-ui-stream"), exact=True)
        expect(link).to_be_in_viewport(ratio=1)
        link.click()
        expect(tab.get_by_role("heading", name="Changelog", level=1)).to_be_visible()


def test_code_in_a_table_has_no_backslash_before_a_bar(browser: Browser, url: str) -> None:
    with opened_tab(browser, width=1280) as tab:
        tab.goto(f"{url}cli/")
        expect(tab.get_by_text("--page [next|none]", exact=True)).to_be_visible()
        expect(tab.locator("td code").filter(has_text="\\|")).to_have_count(0)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(("width", "colors"), [(1280, "light"), (390, "dark")])
def test_a_page_fits_its_screen_is_accessible_and_asks_nobody_else(
    browser: Browser, url: str, page: str, width: int, colors: Literal["light", "dark"]
) -> None:
    with opened_tab(browser, width=width, height=844, colors=colors) as tab:
        told = complaints(tab, url)
        tab.goto(url + page, wait_until="networkidle")
        assert told == []
        assert tab.locator("h1").count() == 1
        assert not tab.evaluate(WIDER_THAN_THE_SCREEN)
        assert tab.locator("img:visible").evaluate_all(BROKEN) == []
        tab.evaluate(AXE.read_text(encoding="utf-8"))
        assert tab.evaluate(VIOLATIONS) == []


def test_no_page_scrolls_sideways_and_code_is_as_wide_as_the_text(browser: Browser, url: str) -> None:
    places = [page.parent.relative_to(SITE).as_posix() for page in sorted(SITE.rglob("index.html"))]
    wide, cut = [], {}
    with opened_tab(browser, width=390, height=844) as tab:
        for place in places:  # each page is loaded once, which takes most of the time
            tab.set_viewport_size({"width": 390, "height": 844})
            tab.goto(f"{url}{place}/", wait_until="domcontentloaded")
            tab.evaluate(OPEN_TABS)
            if tab.evaluate(WIDER_THAN_THE_SCREEN):
                wide.append(place)
            tab.set_viewport_size({"width": 1440, "height": 844})
            if place != "runs" and (found := tab.evaluate(WIDER_THAN_THE_COLUMN)):
                cut[place] = found
    assert len(places) > 100
    assert (wide, cut) == ([], {})


def test_code_of_the_front_page_is_as_wide_as_the_text_on_a_tablet(browser: Browser, url: str) -> None:
    with opened_tab(browser, width=768) as tab:
        tab.goto(url)
        assert tab.evaluate(WIDER_THAN_THE_COLUMN) == []


def test_code_and_tables_show_that_they_scroll(browser: Browser, url: str) -> None:
    with opened_tab(browser, width=390) as tab:
        tab.goto(f"{url}backends/")
        assert tab.evaluate(WIDER_THAN_THE_COLUMN) != []
        for box in tab.locator("article :is(pre > code, .md-typeset__scrollwrap)").all():
            expect(box).to_have_css("background-attachment", re.compile("^local, local, scroll, scroll"))
        tab.goto(f"{url}install/")
        ground = tab.locator("body").evaluate("page => getComputedStyle(page).backgroundColor")
        expect(tab.locator("article pre > code").first).not_to_have_css("background-color", ground)
        expect(tab.locator("article pre > code").first).not_to_have_css("background-color", "rgba(0, 0, 0, 0)")


@pytest.mark.parametrize("colors", ["light", "dark"])
def test_a_phone_gets_pictures_of_a_phone(browser: Browser, url: str, colors: Literal["light", "dark"]) -> None:
    suffix = "-dark" if colors == "dark" else ""
    pages = {"": "page", "approvals/": "approval", "client-tools/": "form", "sub-agents/": "sub-agents"}
    for width, form in ((1280, ""), (390, "-phone")):
        with opened_tab(browser, width=width, height=844, colors=colors) as tab:
            for page, name in pages.items():
                tab.goto(url + page)
                shown = tab.locator(f"article img[src*='images/{name}']:visible").evaluate_all(NAMES)
                assert shown == [f"{name}{form}{suffix}.png"]


def contrast(colors: list[list[float]]) -> float:
    """Return the contrast of two colors, each with red, green and blue from 0 to 255, as WCAG 2 defines it."""

    def luminance(color: list[float]) -> float:
        linear = [each / 3294.6 if each <= 10 else ((each / 255 + 0.055) / 1.055) ** 2.4 for each in color[:3]]
        return sum(part * weight for part, weight in zip(linear, (0.2126, 0.7152, 0.0722), strict=True))

    darker, lighter = sorted(map(luminance, colors))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("colors", ["light", "dark"])
def test_the_button_that_copies_code_can_be_seen(browser: Browser, url: str, colors: Literal["light", "dark"]) -> None:
    with opened_tab(browser, colors=colors) as tab:
        tab.goto(f"{url}install/")
        button = tab.locator(".md-code__button").first
        for act in (tab.bring_to_front, button.hover, button.focus, button.click):
            act()
            shown = button.evaluate(COLORS)
            assert len(shown[1]) == 3, "its ground hides the code below"
            assert contrast(shown) >= 3


def test_punctuation_stands_close_to_code(browser: Browser, url: str) -> None:
    with opened_tab(browser) as tab:
        tab.goto(f"{url}quick-start/")
        gaps = tab.evaluate(GAPS)
        assert len(gaps) > 10
        assert max(gaps) <= 2.5


def test_the_headings_of_a_page_are_called_on_this_page(url: str) -> None:
    text = httpx.get(f"{url}quick-start/").text
    assert "On this page" in text
    assert "Table of contents" not in text


def test_a_hit_of_the_search_shows_no_keywords(browser: Browser, url: str) -> None:
    with opened_tab(browser, width=1440) as tab:
        tab.goto(f"{url}?q=approval")
        tab.locator(".md-search-result__item").first.wait_for()
        assert tab.locator(".md-search-result .md-tag:visible").count() == 0


def test_the_second_hit_of_a_search_is_in_view(browser: Browser, url: str) -> None:
    with opened_tab(browser, width=1440) as tab:
        tab.goto(url)
        field = tab.get_by_role("textbox", name="Search")
        field.click()
        expect(tab.locator(".md-search-result__meta")).to_have_text("Type to start searching")
        field.press_sequentially("authentication")
        expect(tab.locator(".md-search-result__item").nth(1)).to_be_in_viewport()


def test_a_search_finds_a_page_without_a_server(browser: Browser, url: str) -> None:
    with opened_tab(browser) as tab:
        tab.goto(url)
        field = tab.get_by_role("textbox", name="Search")
        field.click()
        expect(tab.locator(".md-search-result__meta")).to_have_text("Type to start searching")  # its index is there
        field.press_sequentially("sticky sessions")
        tab.locator(".md-search-result__item").first.wait_for()


FOUND: Final = {
    "authentication": "Authentication",
    "production": "Production checklist",
    "monitoring": "Monitoring",
    "troubleshooting": "Troubleshooting",
    "approval": "Approvals",
    "approve": "Approvals",
    "docker": "Deploy",
    "deny an approval with a reason": "Approvals",
    "How do I deploy?": "Deploy",
    "the inspector": "The Inspector",
    "jwt": "Authentication",
    "bearer": "Authentication",
    "login": "Authentication",
    "sign in": "Authentication",
    "cookie": "Authentication",
    "nextjs": "A Next.js app",
    "next.js": "A Next.js app",
    "svelte": "Svelte",
    "error": "Troubleshooting",
    "an install": "Install",
    "rate limit": "Security for operators",
    "cors": "Routes",
    "redis": "Redis",
    "upload": "Attachments",
    "cancel": "Durable runs",
    "resume": "Durable runs",
    "v7": "Compatibility",
    "sub-agents": "Sub-agents",
    "steering": "Talk to a running agent",
    "branches": "Versions",
    "citations": "Citations and sources",
    "progress": "Tool progress",
    "mcp": "Tool progress",
    "durable": "Durable runs",
    "tests": "Testing",
    "pytest": "Testing",
    "fixtures": "Recordings",
    "django": "Add it to your app",
    "flask": "Add it to your app",
    "human in the loop": "Approvals",
    "frontend tools": "Client tools",
    "images": "Attachments",
    "reasoning": "FAQ",
    "typescript": "Types",
    "regenerate": "Versions",
    "load balancer": "Deploy",
    "graceful shutdown": "Operations",
    "health check": "Operations",
    "prompt injection": "OWASP lists",
    "csrf": "Security for developers",
    "history": "Persistence",
    "database": "Persistence",
    "delete chat": "Routes",
    "mock": "The replay server",
    "playwright": "Frontend tests with recordings",
    "cli": "The command line",
    "environment variables": "The command line",
    "getting started": "Quick start",
    "benchmark": "Performance",
    "timeout": "Security for operators",
    "buffering": "nginx",
    "openai": "FAQ",
    "google search": "Citations and sources",
    "copilotkit": "Coming from ag-ui-adk",
    "adk web": "Add it to your app",
    "api key": "Troubleshooting",
    "gemini": "FAQ",
    "charts": "Custom data",
    "handoff": "Sub-agents",
    "gdpr": "Security for auditors",
    "uninstall": "Install",
}
"""A search -> the title of the page that is found first."""


def test_a_search_finds_the_right_page_first(browser: Browser, url: str) -> None:
    with opened_tab(browser) as tab:
        tab.goto(url)
        field = tab.get_by_role("textbox", name="Search")
        field.click()
        expect(tab.locator(".md-search-result__meta")).to_have_text("Type to start searching")
        for words, title in FOUND.items():
            field.fill(words[:-1])
            field.press(words[-1])  # the search reads the field after a key
            expect(tab.locator(".md-search-result__item").first.locator("h1"), words).to_have_text(title)


def test_keywords_lead_to_pages_that_exist() -> None:
    assert [page for page in KEYWORDS if not (ROOT / "docs" / page).is_file()] == []


def test_a_search_finds_no_decision_and_no_source_of_an_example(url: str) -> None:
    index = httpx.get(f"{url}search/search_index.json").json()
    pages = {entry["location"].partition("#")[0] for entry in index["docs"]}
    places = {page.partition("/")[0] for page in pages}
    assert {"approvals", "production", "reference"} <= places
    assert places & {"decisions", "tests", "CHANGELOG"} == set()
    assert {page for page in pages if page.startswith("examples/")} == {
        file.removesuffix("README.md") for file in EXAMPLES
    }


def test_a_missing_page_leads_to_the_search_and_to_pages_that_exist(browser: Browser, url: str) -> None:
    with opened_tab(browser, width=400) as tab:
        tab.goto(f"{url}404.html")
        article = tab.get_by_role("article")
        links = article.get_by_role("link").evaluate_all("links => links.map(link => link.href)")
        assert len(links) > 5
        assert {httpx.get(link).status_code for link in links} == {200}
        article.get_by_role("searchbox").fill("authentication")
        article.get_by_role("button", name="Search").click()
        expect(tab.locator(".md-search-result__item").first.locator("h1")).to_have_text("Authentication")


GROUPS: Final = ({"React", "Vue", "Svelte"}, {"FastAPI", "Starlette", "Django", "Flask"})
"""The titles of the tabs on all pages: a choice on one page holds on the others that have the same titles."""


def test_a_picture_is_that_of_the_theme(url: str) -> None:
    page = httpx.get(f"{url}quick-start/").text
    assert re.findall(r'src="\.\./images/(start[^"]*)"', page) == [
        *("start.png#only-light", "start-dark.png#only-dark"),
        *("start-phone.png#only-light", "start-phone-dark.png#only-dark"),
    ]


def test_each_page_shows_its_files_also_in_tabs() -> None:
    pages = {page: page.read_text(encoding="utf-8") for page in SITE.rglob("index.html")}
    assert [page for page, text in pages.items() if "<!-- file:" in text] == []


def test_tabs_have_the_same_titles_on_all_pages(url: str) -> None:
    groups = [
        {*re.findall(r"<label for=[^>]*>(.*?)</label>", labels)}
        for page in sorted(SITE.rglob("index.html"))
        for labels in re.findall('<div class="tabbed-labels">(.*?)</div>', page.read_text(encoding="utf-8"))
    ]
    assert len(groups) > 4
    assert [group for group in groups if group not in GROUPS] == []


def test_a_link_opens_its_tab_and_a_choice_holds_on_other_pages(browser: Browser, url: str) -> None:
    with opened_tab(browser) as tab:
        vue, svelte = (tab.locator("pre").filter(has_text=f"@ai-sdk/{name}") for name in ("vue", "svelte"))
        tab.goto(f"{url}quick-start/#vue")
        expect(vue).to_be_visible()
        expect(svelte).to_be_hidden()
        tab.locator(".tabbed-labels").get_by_text("Svelte", exact=True).click()
        expect(svelte).to_be_visible()
        expect(tab).to_have_url(re.compile("#svelte$"))
        tab.goto(f"{url}approvals/")
        expect(svelte).to_be_visible()
        expect(vue).to_be_hidden()


def test_a_search_leads_to_a_tab(browser: Browser, url: str) -> None:
    with opened_tab(browser) as tab:
        tab.goto(f"{url}?q=flask")
        found = tab.locator(".md-search-result__item").first
        expect(found.locator("h1")).to_have_text("Add it to your app")
        found.locator("a[href*='#flask']").click()
        expect(tab.locator("pre").filter(has_text="SyncChatService(")).to_be_visible()


def test_the_footer_has_the_version(url: str) -> None:
    assert re.sub("<[^>]*>", "", httpx.get(url).text.partition("<footer")[2]).count("adk-ui-stream 0.") == 1


def test_a_signature_names_its_options(url: str) -> None:
    text = httpx.get(f"{url}reference/serving/").text
    assert "Unpack" not in text
    assert "allow_origins" in text.partition('id="stream_protocol.serving.chat_router"')[2].partition("</pre>")[0]


def test_a_table_of_parameters_has_the_default_of_each_option(url: str) -> None:
    tables = {name: httpx.get(f"{url}reference/{name}/").text for name in ("serving", "stream_protocol", "recording")}
    for text in tables.values():
        assert re.findall(r"<code>\s*\.\.\.\s*</code>", text) == []
    row = tables["stream_protocol"].partition("<code>ai_sdk</code>")[2].partition("</tr>")[0]
    assert re.search(r"<code>6</code>\s*</td>\s*$", row)


def test_a_search_ignores_common_words(browser: Browser, url: str) -> None:
    counts = set()
    for words in ("troubleshooting", "how+to+do+a+troubleshooting"):
        with opened_tab(browser) as tab:
            tab.goto(f"{url}?q={words}")
            results = tab.locator(".md-search-result__meta")
            expect(results).to_have_text(re.compile(r"^\s*\d+ matching documents\s*$"))
            counts.add(results.text_content())
    assert len(counts) == 1


def test_a_recorded_run_shows_its_page_beside_its_events(browser: Browser, url: str) -> None:
    with opened_tab(browser, width=1280) as tab:
        told = complaints(tab, url)
        tab.goto(f"{url}runs/index.html")
        inspector = tab.get_by_role("complementary", name="Inspector")
        expect(tab.get_by_role("article", name="Agent")).to_be_visible()
        for name, title in RUNS.items():
            tab.get_by_role("combobox", name="Run").select_option(title)
            expect(tab).to_have_url(re.compile(f"#{name}$"))
            expect(tab.get_by_role("article", name="You").first).to_be_visible()
            expect(inspector.get_by_role("tab", name="Events")).to_be_visible()
        tab.get_by_role("combobox", name="Run").select_option(RUNS["refusal"])
        expect(tab.get_by_role("group", name=re.compile("^Tool "))).to_be_visible()
        assert told == []


def test_a_finding_can_lead_to_its_rule(url: str) -> None:
    page = httpx.get(f"{url}check/").text.replace("<wbr>", "")
    assert [rule for rule in Rule if page.count(f'<code id="{rule}">{rule}</code>') != 1] == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.shown)
def test_the_recording_of_a_row_can_be_loaded(url: str, row: Row) -> None:
    assert httpx.get(f"{url}recordings/{row.shown}.jsonl").text == recording(row.shown)


def test_no_file_of_the_site_names_a_place_of_this_machine() -> None:
    pages = [page.read_text(encoding="utf-8") for page in SITE.rglob("*.html")]
    assert not any(str(ROOT) in page for page in pages)
