import json
from collections.abc import Callable
from functools import partial
from typing import Any

import orjson
import pytest
from google.genai.types import PartialArg

from stream_protocol.stream.calls._argument_paths import Path, parse_path
from stream_protocol.stream.calls._streamed_arguments import GrowingText, PathText, RawText, integral
from stream_protocol.wire import json_value
from tests.stream.counting import calls_made


def fragment(path: str, value: Any = ..., *, more: bool | None = None) -> PartialArg:
    """One partial argument as an adapter writes it; without a value it stands for an empty container."""
    match value:
        case str():
            return PartialArg(json_path=path, string_value=value, will_continue=more)
        case bool():
            return PartialArg(json_path=path, bool_value=value, will_continue=more)
        case int() | float():
            return PartialArg(json_path=path, number_value=value, will_continue=more)
        case None:
            return PartialArg(json_path=path, null_value="NULL_VALUE", will_continue=more)
    return PartialArg(json_path=path, will_continue=more)


def part(path: str, text: str) -> PartialArg:
    """A piece of a string of which more is to come."""
    return fragment(path, text, more=True)


def written(fragments: list[PartialArg]) -> tuple[PathText, str]:
    text = PathText()
    return text, "".join(text.write(item) for item in fragments)


@pytest.mark.parametrize(
    ("path", "tokens"),
    [
        ("$.location", ("location",)),
        ("$.a.b.c", ("a", "b", "c")),
        ("location", ("location",)),
        ("$.list[0]", ("list", 0)),
        ("$.list[12].name", ("list", 12, "name")),
        ("$.m[0][1]", ("m", 0, 1)),
        ("$.m[ 3 ]", ("m", 3)),
        ("$['odd key']", ("odd key",)),
        ("$['a.b'].c", ("a.b", "c")),
        ("$['a[0]']", ("a[0]",)),
        ('$["double"]', ("double",)),
        ('$["a\\"b"]', ('a"b',)),
        ("$['it\\'s']", ("it's",)),
        ("$['back\\\\slash']", ("back\\slash",)),
        ("$['line\\nbreak\\ttab']", ("line\nbreak\ttab",)),
        ("$['\\u00e9t\\u00e9']", ("été",)),
        ("$['']", ("",)),
        ("$['$']", ("$",)),
        ("$.straße.数", ("straße", "数")),
        ("$['0']", ("0",)),
        ("$", ()),
        ("", ()),
    ],
)
def test_a_path_is_read_as_adk_reads_it(path: str, tokens: Path) -> None:
    assert parse_path(path) == tokens


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (3.0, "3"),
        (0.5, "0.5"),
        (-0.0, "0"),
        (-7.0, "-7"),
        (1e300, "1e+300"),
        (2.0**52, "4503599627370496"),
        ([1.0, {"a": 2.0}], '[1, {"a": 2}]'),
        (True, "true"),
        ("3.0", '"3.0"'),
        (None, "null"),
    ],
)
def test_integral_numbers_are_shown_as_integers(value: Any, shown: str) -> None:
    assert json.dumps(integral(value)) == shown


IN_ORDER: dict[str, tuple[list[PartialArg], dict[str, Any], str]] = {
    "one string": ([part("$.a", "Bos"), part("$.a", "ton"), fragment("$.a", "")], {"a": "Boston"}, "}"),
    "a string in one piece": ([fragment("$.a", "Boston")], {"a": "Boston"}, "}"),
    "a last piece that closes": ([part("$.a", "Bos"), fragment("$.a", "ton")], {"a": "Boston"}, "}"),
    "an end said twice": ([fragment("$.a", "x"), fragment("$.a", ""), fragment("$.b", "y")], {"a": "x", "b": "y"}, "}"),
    "a string without a word": ([part("$.a", ""), fragment("$.a", ""), fragment("$.b", "")], {"a": "", "b": ""}, "}"),
    "several strings": (
        [part("$.a", "x"), fragment("$.a", "y"), part("$.b", "z"), fragment("$.b", "")],
        {"a": "xy", "b": "z"},
        "}",
    ),
    "a string that the next path closes": ([part("$.a", "x"), fragment("$.b", 1)], {"a": "x", "b": 1}, "}"),
    "a string that a fragment without a value closes": (
        [part("$.a", "x"), fragment("$.a"), fragment("$.b", 1)],
        {"a": "x", "b": 1},
        "}",
    ),
    "scalars": (
        [
            fragment("$.n", 3),
            fragment("$.f", 0.25),
            fragment("$.t", True),
            fragment("$.u", False),
            fragment("$.z", None),
        ],
        {"n": 3, "f": 0.25, "t": True, "u": False, "z": None},
        "}",
    ),
    "numbers at the edges": (
        [fragment("$.a", 1e300), fragment("$.b", -0.0), fragment("$.c", 2.0**53 + 2), fragment("$.d", 5e-324)],
        {"a": 1e300, "b": -0.0, "c": 2**53 + 2, "d": 5e-324},
        "}",
    ),
    "an integer that no float holds": ([fragment("$.a", 2**53 + 1)], {"a": 2**53 + 1}, "}"),
    "nested objects": (
        [fragment("$.a.b.c", "x"), fragment("$.a.b.d", 1), fragment("$.a.e", 2), fragment("$.f", 3)],
        {"a": {"b": {"c": "x", "d": 1}, "e": 2}, "f": 3},
        "}",
    ),
    "arrays by index": (
        [part("$.l[0]", "x"), part("$.l[0]", "y"), fragment("$.l[1]", "z"), fragment("$.l[2]", None)],
        {"l": ["xy", "z", None]},
        "]}",
    ),
    "objects in arrays": (
        [fragment("$.l[0].a", 1), fragment("$.l[0].b", 2), fragment("$.l[1].a", 3), fragment("$.m", "end")],
        {"l": [{"a": 1, "b": 2}, {"a": 3}], "m": "end"},
        "}",
    ),
    "arrays in arrays": (
        [fragment("$.m[0][0]", 1), fragment("$.m[0][1]", 2), fragment("$.m[1][0]", 3)],
        {"m": [[1, 2], [3]]},
        "]]}",
    ),
    "quoted keys": (
        [fragment("$['odd key']", 1), fragment("$['a.b']['it\\'s']", 2), fragment("$['\"']", 3)],
        {"odd key": 1, "a.b": {"it's": 2}, '"': 3},
        "}",
    ),
    "text that JSON escapes": (
        [part("$.a", 'say "'), part("$.a", "hi\\"), part("$.a", "n\n\t\x00"), fragment("$.a", "\u2028é😀")],
        {"a": 'say "hi\\n\n\t\x00\u2028é😀'},
        "}",
    ),
    "an empty container as a member": (
        [fragment("$.a", 1), fragment("$.o"), fragment("$.b", 2)],
        {"a": 1, "o": {}, "b": 2},
        ',"o":{}}',
    ),
    "an empty container as the last item": ([fragment("$.l[0]", 1), fragment("$.l[1]")], {"l": [1, []]}, ",[]]}"),
    "a string whose end never came": ([part("$.a", "Bos")], {"a": "Boston"}, 'ton"}'),
    "keys that kill a page": (
        [fragment("$['__proto__'].a", 1), fragment("$.constructor.prototype", 2), fragment("$.prototype", 3)],
        {"__proto__": {"a": 1}, "constructor": {"prototype": 2}, "prototype": 3},
        "}",
    ),
    "a surrogate without its half": ([part("$.a", "x\ud83d"), fragment("$.a", "y")], {"a": "x\ud83dy"}, "}"),
    "a surrogate at the end": ([part("$.a", "x\ud83d"), fragment("$.a", "")], {"a": "x\ud83d"}, "}"),
    "a pair of surrogates cut in two": ([part("$.a", "x\ud83d"), fragment("$.a", "\ude00")], {"a": "x😀"}, "}"),
    "a pair whose second half never came as a fragment": ([part("$.a", "x\ud83d")], {"a": "x😀y"}, '😀y"}'),
    "a pair cut in two, then the string anew, as ADK's tracker tells it": (
        [part("$.a", "x\ud83d"), part("$.a", "x😀y"), fragment("$.a", "z"), fragment("$.b", 1)],
        {"a": "x😀yz", "b": 1},
        "}",
    ),
    "a surrogate at the end of a string that the next path closes": (
        [part("$.a", "x\ud83d"), fragment("$.b", 1)],
        {"a": "x\ud83d", "b": 1},
        "}",
    ),
}


@pytest.mark.parametrize(("fragments", "arguments", "rest"), IN_ORDER.values(), ids=IN_ORDER)
def test_fragments_in_order_concatenate_to_the_arguments(
    fragments: list[PartialArg], arguments: dict[str, Any], rest: str
) -> None:
    text, sent = written(fragments)
    final = integral(json_value(arguments, lossy=True))
    assert text.complete(final) == rest
    assert json.loads(sent + rest, parse_int=float) == json.loads(json.dumps(final), parse_int=float)


STOPPED: dict[str, tuple[list[PartialArg], dict[str, Any], str]] = {
    "a string that goes on after another": (
        [part("$.a", "x"), part("$.b", "y"), part("$.a", "z"), fragment("$.b", "!")],
        {"a": "xz", "b": "y!"},
        '{"a":"x","b":"y',
    ),
    "an object that was closed": (
        [fragment("$.a.x", 1), fragment("$.b", 2), fragment("$.a.y", 3), fragment("$.c", 4)],
        {"a": {"x": 1, "y": 3}, "b": 2, "c": 4},
        '{"a":{"x":1},"b":2',
    ),
    "an array from the middle": (
        [fragment("$.l[0]", 1), fragment("$.l[2]", 3), fragment("$.l[1]", 2), fragment("$.m", 0)],
        {"l": [7, 2, 3], "m": 0},
        '{"l":[1',
    ),
    "an empty container in front of an item": (
        [fragment("$.a", "x"), fragment("$.l[0]"), fragment("$.l[1]", 1)],
        {"a": "y", "l": [[], 1]},
        '{"a":"x"',
    ),
    "an object that turns out an array": (
        [fragment("$.a.b", 1), fragment("$.a[0]", 2)],
        {"a": [2]},
        '{"a":{"b":1',
    ),
    "a string that turns out an object": ([part("$.a", "x"), fragment("$.a.b", 2)], {"a": {"b": 2}}, '{"a":"x'),
    "an object that turns out a number": ([fragment("$.a.b", 1), fragment("$.a", 2)], {"a": 2}, '{"a":{"b":1'),
    "a number that is corrected": ([fragment("$.a", 1), fragment("$.a", 2)], {"a": 2}, '{"a":1'),
    "a string that is taken back": ([fragment("$.a", "x"), fragment("$.b", "y")], {"b": "y"}, '{"a":"x","b":"y"'),
    "an array that is shorter in the end": ([fragment("$.l[0]", 1), fragment("$.l[1]", 2)], {"l": [1]}, '{"l":[1,2'),
    "a string of which less is left": ([part("$.a", "Boston")], {"a": "Bos"}, '{"a":"Boston'),
    "an integer beyond 64 bits, whose digits are text": (
        [fragment("$.a", 2.0**64)],
        {"a": "18446744073709551616"},
        f'{{"a":{orjson.dumps(2.0**64).decode()}',
    ),
    "a fragment for the whole": ([fragment("$.a", 1), fragment("$", "x"), fragment("$.b", 2)], {"a": 2}, '{"a":1'),
}


@pytest.mark.parametrize(("fragments", "arguments", "sent"), STOPPED.values(), ids=STOPPED)
def test_what_cannot_be_said_in_order_stops_the_deltas(
    fragments: list[PartialArg], arguments: dict[str, Any], sent: str
) -> None:
    text, actual = written(fragments)
    assert actual == sent
    assert text.complete(arguments) is None


MENDED: dict[str, tuple[list[PartialArg], dict[str, Any], str]] = {
    "an end that comes late": (
        [part("$.a", "x"), part("$.b", "y"), fragment("$.a", ""), fragment("$.c", 1)],
        {"a": "x", "b": "y", "c": 1},
        '","c":1}',
    ),
    "an array item out of order": (
        [fragment("$.l[0]", 1), fragment("$.l[2]", 3), fragment("$.l[1]", 2)],
        {"l": [1, 2, 3]},
        ",2,3]}",
    ),
    "members that were lost": ([fragment("$.a", 1)], {"a": 1, "b": {"c": [True]}}, ',"b":{"c":[true]}}'),
}


@pytest.mark.parametrize(("fragments", "arguments", "rest"), MENDED.values(), ids=MENDED)
def test_the_finished_call_fills_what_fragments_left_out(
    fragments: list[PartialArg], arguments: dict[str, Any], rest: str
) -> None:
    text, sent = written(fragments)
    assert text.complete(arguments) == rest
    assert json.loads(sent + rest) == arguments


NUMBERS: list[tuple[float, float]] = [
    (3.0, 3),
    (3, 3.0),
    (-0.0, 0),
    (0, -0.0),
    (2.0**53 - 1, 2**53 - 1),
    (2.0**53, 2**53),
    (2.0**53, 2**53 + 1),
    (-(2.0**53), -(2**53) - 1),
    (2.0**63, 2**63 - 1),
    (2**64 - 1, 2.0**64),
    (1.0421180106917754e16, 10421180106917754),
    (1.0421180106917754e16, 1.0421180106917754e16),
    (1e22, 1e22),
    (1.7976931348623157e308, 1.7976931348623157e308),
    (5e-324, 5e-324),
    (0.1 + 0.2, 0.30000000000000004),
]
"""As fragments tell it, and as the finished call has it."""


def by_path(number: float) -> tuple[PathText, str]:
    return written([fragment("$.a[0]", number), fragment("$.b", "x")])


def as_raw(number: float) -> tuple[RawText, str]:
    text = RawText()
    return text, text.write(PartialArg(string_value=json.dumps({"a": [number], "b": "x"})))


def by_growth(number: float) -> tuple[GrowingText, str]:
    text = GrowingText()
    return text, "".join(text.write(state, streaming=True) for state in ({"a": [number]}, {"a": [number], "b": "x"}))


def test_raw_text_that_breaks_off_within_a_character_can_be_encoded() -> None:
    text = RawText()
    text.write(PartialArg(string_value="\ud83d"))
    assert text.so_far() == "\ufffd"


@pytest.mark.parametrize("streamed", [by_path, as_raw, by_growth])
@pytest.mark.parametrize(("told", "final"), NUMBERS)
def test_a_number_is_the_one_that_a_client_reads(
    streamed: Callable[[float], tuple[PathText | RawText | GrowingText, str]], told: float, final: float
) -> None:
    text, sent = streamed(told)
    rest = text.complete(integral({"a": [final], "b": "x"}))
    assert rest is not None
    assert json.loads(sent + rest, parse_int=float) == {"a": [float(final)], "b": "x"}


@pytest.mark.parametrize("fragments", [[], [fragment("$.o")], [fragment("$.l[1]", 2)]], ids=["none", "empty", "late"])
def test_where_nothing_was_written_nothing_is_missing(fragments: list[PartialArg]) -> None:
    text, sent = written(fragments)
    assert (sent, text.complete({"l": [1, 2], "o": {}}), text.so_far()) == ("", "", {})


@pytest.mark.parametrize(
    ("fragments", "so_far"),
    [
        ([part("$.a", "Bos")], {"a": "Bos"}),
        ([part("$.a", "Bos\ud83d")], {"a": "Bos"}),
        ([fragment("$.a", "Boston"), fragment("$.l[0].b", 3)], {"a": "Boston", "l": [{"b": 3}]}),
        ([fragment("$.a", 1), fragment("$.a", 2), fragment("$.b", 3)], {"a": 1}),
    ],
)
def test_a_call_that_ends_early_has_what_was_written(fragments: list[PartialArg], so_far: dict[str, Any]) -> None:
    assert written(fragments)[0].so_far() == so_far


def test_a_path_is_accepted_where_it_can_be_appended() -> None:
    text, _ = written([fragment("$.a.b", 1), part("$.l[0]", "x")])
    accepted = {
        path: text.accepts(path) for path in ("$.l[0]", "$.l[1]", "$.c", "$.l[2]", "$.a.c", "$.l", "$.c[1]", "$")
    }
    assert accepted == {
        "$.l[0]": True,
        "$.l[1]": True,
        "$.c": True,
        "$.l[2]": False,
        "$.a.c": False,
        "$.l": False,
        "$.c[1]": False,
        "$": False,
    }


@pytest.mark.slow
def test_a_megabyte_in_many_fragments_goes_out_piece_by_piece() -> None:
    text = PathText()
    piece = 'Boston "x" é, \n' * 2
    sizes = [len(text.write(part("$.a.b[0]", piece))) for _ in range(40_000)]
    assert len(set(sizes[1:])) == 1
    arguments = {"a": {"b": [piece * 40_000]}}
    assert text.complete(arguments) == '"]}}'
    assert sum(sizes) + 4 == len(json.dumps(arguments, ensure_ascii=False, separators=(",", ":")))


@pytest.mark.parametrize("path", ["$.a.b[0]", "$.a.b[{}].c", "$['key {}']"])
def test_a_fragment_costs_the_same_however_much_was_written(path: str) -> None:
    text = PathText()
    costs = [calls_made(partial(text.write, part(path.format(n), "x"))) for n in range(3_000)]
    assert costs[10] == costs[-1]


@pytest.mark.parametrize(
    ("pieces", "arguments", "rest"),
    [
        (['{"a', '": "Bos', 'ton"}'], {"a": "Boston"}, ""),
        (['{"n": 3.0, "l": [1e', "2]}"], {"n": 3, "l": [100]}, ""),
        (['{"n": 9007199254740993}'], {"n": 9007199254740993}, ""),
        ([], {}, ""),
        (['{"a": "Bos'], {"a": "Boston"}, None),
        (['{"a": 1}'], {"a": 2}, None),
        (['{"a": 1}', "garbage"], {"a": 1}, None),
    ],
)
def test_raw_text_is_passed_on_as_it_is(pieces: list[str], arguments: dict[str, Any], rest: str | None) -> None:
    text = RawText()
    assert [text.write(PartialArg(string_value=piece)) for piece in pieces] == pieces
    assert text.complete(arguments) == rest
    assert text.so_far() == "".join(pieces)


GROWTH: dict[str, tuple[list[dict[str, Any]], list[str], str | None]] = {
    "a string": ([{"a": "B"}, {"a": "Bos"}, {"a": "Boston"}], ['{"a":"B', "os", "ton"], '"}'),
    "a string with quotes": ([{"a": '"'}, {"a": '"\\'}, {"a": '"\\"'}], ['{"a":"\\"', "\\\\", '\\"'], '"}'),
    "a string of brackets": ([{"a": "]}"}, {"a": "]}]"}], ['{"a":"]}', "]"], '"}'),
    "a number": ([{"a": 1}, {"a": 12}, {"a": 12, "b": 0}], ['{"a":', "", '12,"b":'], "0}"),
    "a negative fraction": ([{"a": -1}, {"a": -1.5}, {"a": -1.5e-9}], ['{"a":', "", ""], "-1.5e-9}"),
    "members": ([{}, {"a": True}, {"a": True, "b": None}], ["{", '"a":true', ',"b":null'], "}"),
    "arrays": ([{"l": []}, {"l": ["x"]}, {"l": ["x", "y"]}], ['{"l":[', '"x', '","y'], '"]}'),
    "objects": ([{"o": {}}, {"o": {"a": 1}}, {"o": {"a": 1}, "p": 2}], ['{"o":{', '"a":', '1},"p":'], "2}"),
    "no growth": ([{"a": "x"}, {"a": "x"}], ['{"a":"x', ""], '"}'),
    "shrinking and growing again": ([{"a": "Boston"}, {"a": "Bos"}, {"a": "Boston!"}], ['{"a":"Boston', "", "!"], '"}'),
    "another order of keys": ([{"a": 1, "b": "x"}, {"b": "x", "a": 1}], ['{"a":1,"b":"x', ""], None),
    "a value that changes": ([{"a": "x"}, {"a": "y"}, {"a": "x!"}], ['{"a":"x', "", ""], None),
    "a null that becomes a string": ([{"a": None}, {"a": "x"}], ['{"a":null', ""], None),
}


@pytest.mark.parametrize(("states", "sent", "rest"), GROWTH.values(), ids=GROWTH)
def test_arguments_that_grow_give_what_is_new_and_certain(
    states: list[dict[str, Any]], sent: list[str], rest: str | None
) -> None:
    text = GrowingText()
    assert [text.write(state, streaming=True) for state in states] == sent
    assert text.complete({"other": 1} if rest is None else states[-1]) == rest
    if rest is not None:
        assert json.loads("".join(sent) + rest) == states[-1]
    assert text.so_far() == states[-1]


def test_a_first_state_waits_for_a_second_one_unless_it_says_that_more_comes() -> None:
    text = GrowingText()
    assert text.write({"a": "Bos"}, streaming=False) == ""
    assert text.write({"a": "Boston"}, streaming=False) == '{"a":"Boston'


def test_a_frozen_growth_still_ends_well_if_the_final_arguments_agree() -> None:
    text = GrowingText()
    sent = text.write({"a": "x"}, streaming=True) + text.write({"a": "oops"}, streaming=True)
    assert sent + str(text.complete({"a": "xyz"})) == '{"a":"xyz"}'


@pytest.mark.parametrize(
    ("earlier", "later", "grows"),
    [
        ({"a": "B"}, {"a": "Boston"}, True),
        ({"a": 1}, {"a": 12}, True),
        ({"a": 1}, {"a": 1}, True),
        ({"a": 1}, {"a": 2}, False),
        ({}, {"a": 1}, True),
        ({"a": "B"}, {"a": "Paris"}, False),
        ({"a": "Boston"}, {"a": "B"}, False),
        ({"a": "x", "b": 1}, {"b": 1, "a": "x"}, False),
    ],
)
def test_one_state_can_be_the_growth_of_another(earlier: dict[str, Any], later: dict[str, Any], grows: bool) -> None:
    text = GrowingText()
    assert text.grows_to(later)
    text.write(earlier, streaming=False)
    assert text.grows_to(later) is grows


def test_a_growth_where_nothing_was_written_misses_nothing() -> None:
    text = GrowingText()
    text.write({"a": 1}, streaming=False)
    assert (text.complete({"a": 1}), GrowingText().so_far()) == ("", None)
