import json
import unicodedata

import pytest

from stream_protocol.wire import printable, short_json

CONTROLS = [
    *map(chr, range(0x20)),
    *map(chr, range(0x7F, 0xA0)),
    *("\xad", "\u061c", "\u200b", "\u200e", "\u200f", "\u2028", "\u2029", "\u202a", "\u202e", "\u2066", "\u2069"),
    *("\ufeff", "\U000e0001", "\U000e0041", "\ud83d", "\udfff"),
]


@pytest.mark.parametrize("control", CONTROLS, ids=ascii)
def test_what_controls_a_terminal_is_an_escape_of_json(control: str) -> None:
    assert unicodedata.category(control) in {"Cc", "Cf", "Zl", "Zp", "Cn", "Cs"}
    shown = printable(f"a{control}b")
    assert shown.isascii()
    assert shown.isprintable()
    assert json.loads(f'"{shown}"') == f"a{control}b"


@pytest.mark.parametrize(
    "text", ["", "Hello.", "Zoë", "Zoe\u0308", "山田", "👩\u200d🚀", "नमि\u200cता", "مريم", "✈\ufe0f"]
)
def test_what_people_write_stays(text: str) -> None:
    assert printable(text) == text


def test_json_keeps_its_meaning() -> None:
    value = {"a\u202e": ["\x9b31m", "\\", '"', "\\\u2028"], "b": {"\x7f": "ë"}}
    text = json.dumps(value, ensure_ascii=False)
    assert json.loads(printable(text)) == value


def test_json_in_a_message_controls_nothing() -> None:
    shown = short_json("\x7f\x9b\u202e\x1b")
    assert shown == r'"\u007f\u009b\u202e\u001b"'
