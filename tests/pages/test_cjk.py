"""Chinese, Japanese and Korean texts: syntax of Markdown beside their letters and full-width punctuation is no text."""

# ruff: noqa: RUF001  # full-width punctuation is the subject

from typing import Final

import pytest
from playwright.sync_api import Page, expect

from tests.batch import batch
from tests.pages.test_markdown import write

pytestmark = [pytest.mark.pages, pytest.mark.browser, pytest.mark.node]

STRONG: Final = "[data-streamdown=strong]"
CODE: Final = "[data-streamdown=inline-code]"

WRITTEN: Final = {
    "a unit and a particle": ("気温は**25℃**の予想です。", STRONG, ["25℃"]),
    "a corner bracket": ("これは**「重要」**です。", STRONG, ["「重要」"]),
    "a full stop": ("**結論です。**次に進みます。", STRONG, ["結論です。"]),
    "parentheses": ("**東京（とうきょう）**は首都です。", STRONG, ["東京（とうきょう）"]),
    "narrow parentheses": ("**東京 (Tokyo)**は首都です。", STRONG, ["東京 (Tokyo)"]),
    "per cent": ("前年より**20%**増えました。", STRONG, ["20%"]),
    "a price": ("料金は**¥1,200（税込）**から。", STRONG, ["¥1,200（税込）"]),
    "in an item": ("- **名前：**太郎\n- **年齢：**20歳", STRONG, ["名前：", "年齢："]),
    "in a cell": ("|項目|値|\n|-|-|\n|**気温（最高）**は|25|", STRONG, ["気温（最高）"]),
    "a colon": ("**注意：**请先备份。", STRONG, ["注意："]),
    "quotation marks": ("他说**“你好”**然后走了。", STRONG, ["“你好”"]),
    "a book": ("我喜欢**《红楼梦》**这本书。", STRONG, ["《红楼梦》"]),
    "several": ("**苹果，**和**香蕉。**都好吃。", STRONG, ["苹果，", "香蕉。"]),
    "a Korean particle": ("**서울(Seoul)**은 수도입니다.", STRONG, ["서울(Seoul)"]),
    "a Korean quotation": ("**'안녕'**이라고 말했다.", STRONG, ["'안녕'"]),
    "a Korean percentage": ("전체의 **30%**가 찬성했다.", STRONG, ["30%"]),
    "emphasis": ("これは*「強調」*です。", "em", ["「強調」"]),
    "struck out": ("定価は~~1,000円（税込）~~800円です。", "del", ["1,000円（税込）"]),
    "struck out in Chinese": ("原价~~（100元）~~现价80元", "del", ["（100元）"]),
    "code": ("コマンド`npm i`を実行し、**`x = 1`**を消す。", CODE, ["npm i", "x = 1"]),
    "bold code": ("**`npm install`**を実行します。", STRONG, ["npm install"]),
    "a bold link": ("**[公式サイト](https://x.example/)**をご覧ください。", STRONG, ["公式サイト"]),
    "a link": ("詳しくは[こちら（英語）](https://x.example/)をご覧ください。", "a", ["こちら（英語）"]),
    "a footnote": ("出典です[^1]。\n\n[^1]: **注（1）**です。", STRONG, ["注（1）"]),
    "an equation": ("答えは**$x = 1$（一意）**です。", STRONG, None),
    "a bare URL and a full stop": ("https://x.example/a。次です。", "a", ["https://x.example/a"]),
    "a bare URL and a comma": ("见https://x.example/a，然后继续。", "a", ["https://x.example/a"]),
    "a bare URL in parentheses": ("公式（https://x.example/a）です。", "a", ["https://x.example/a"]),
    "a bare URL in corner brackets": ("「https://x.example/a?b=1」から。", "a", ["https://x.example/a?b=1"]),
    "a bare URL in Korean": ("https://x.example/a 에서 보세요.", "a", ["https://x.example/a"]),
}
"""Sentences as models write them, a selector, and the texts that it finds."""


@batch(written=WRITTEN)
def test_markdown_is_drawn_beside_letters_without_spaces(
    page: Page, written: tuple[str, str, list[str] | None]
) -> None:
    markdown, selector, found = written
    text = write(page, markdown)
    if found is None:
        expect(text.locator(selector)).to_have_count(1)
    else:
        expect(text.locator(selector)).to_have_text(found)
    expect(text.locator("p, td, li, th").filter(has_text="*")).to_have_count(0)
    expect(text.locator("p, td, li, th").filter(has_text="~")).to_have_count(0)


@batch(text=["2**3は8です。", "変数**nはポインタです。", "5~10日かかります。", "約~5分。"])
def test_operators_beside_letters_without_spaces_stay_text(page: Page, text: str) -> None:
    assert write(page, text).locator("p").all_text_contents() == [text]
