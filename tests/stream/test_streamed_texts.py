"""The memory of a stream: all of a short text; of a long text the end, and a hash of its beginning."""

import tracemalloc
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

import pytest
from google.adk.events import Event
from google.genai.types import Part
from hypothesis import given, strategies as st

from stream_protocol import iter_chunks, iter_sse
from stream_protocol.stream import PartKind, _aggregates
from stream_protocol.stream._aggregates import END, GATHERED, MAX_KNOWN, PrefixHash, StreamedResponse
from tests.batch import batch
from tests.examples import examples
from tests.stream.building import event, fragment, text, thought
from tests.stream.running import joined, texts

LONG = "".join(f"{number} and so on. " for number in range(MAX_KNOWN // 8))
"""Twice as long as the stored text."""


def streamed(told: str, size: int = 100) -> Iterator[Event]:
    return (fragment(text(told[begin : begin + size])) for begin in range(0, len(told), size))


def shown(events: Iterable[Event], kind: str = "text") -> list[str]:
    return texts(joined(iter_chunks(events)), kind)


@batch(
    size=[100, 3 * MAX_KNOWN],
    said={
        "all of it": LONG,
        "more": f"{LONG}The end.",
        "less": LONG[:-END],
        "without the white space at its end": LONG.rstrip(),
        "its end": LONG[-END:],
    },
)
def test_what_a_long_stream_has_told_is_not_shown_again(size: int, said: str) -> None:
    assert shown([*streamed(LONG, size), event(text(said))]) == [LONG + said.partition(LONG)[2]]


def test_what_a_planner_makes_of_a_long_stream_is_not_shown_again() -> None:
    events = [*streamed(f"<plan>{LONG}</plan>It is 42."), event(thought(LONG), text("It is 42."), finish_reason="STOP")]
    assert len(shown(events)) == 1
    assert shown(events, "reasoning") == []


def test_another_long_answer_is_shown() -> None:
    other = f"No. {LONG}"
    assert shown([*streamed(LONG), event(text(other))]) == [LONG, other]


@pytest.mark.parametrize("before", range(GATHERED - 3, GATHERED + 2))
def test_a_text_is_not_shown_again_if_two_pieces_split_an_emoji(before: int) -> None:
    """The pieces are joined after any number of pieces, also between the two halves."""
    pieces = [*["x"] * before, "\ud83d", "\ude00", " ok"]
    told = "x" * before + "\U0001f600 ok"
    assert len(shown([*(fragment(text(piece)) for piece in pieces), event(text(told))])) == 1


@pytest.mark.parametrize("whole", ["a\0b", "a\ufffdb"])
def test_a_streamed_text_with_a_character_that_stores_refuse_is_not_shown_again(whole: str) -> None:
    """A server replaces U+0000 in complete events."""
    assert shown([fragment(text("a\0")), fragment(text("b")), event(text(whole))]) == ["a\0b"]
    assert shown([event(text(whole))]) == [whole]


def test_half_an_emoji_at_the_end_of_a_part_is_a_part_of_it() -> None:
    pieces = [*(fragment(text("x")) for _ in range(GATHERED - 1)), fragment(text("\ud83d")), fragment(thought("Hm"))]
    whole = event(text("x" * (GATHERED - 1) + "\ufffd"), thought("Hm"))
    assert [len(shown([*pieces, whole], kind)) for kind in ("text", "reasoning")] == [1, 1]


@batch(kinds={"text": [text], "text and thoughts in turn": [text, thought]})
def test_an_open_stream_holds_no_more_after_many_deltas(
    kinds: list[Callable[[str], Part]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, count in {"BLOCK": 64, "END": 128, "MAX_KNOWN": 256, "MAX_RECENT": 64}.items():
        monkeypatch.setattr(_aggregates, name, count)
    stream = iter_sse(fragment(kinds[number % len(kinds)](f" {number} and so on")) for number in range(600))
    held = []
    tracemalloc.start()
    for _ in range(10):
        deque(islice(stream, 60), 0)
        held.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    parts = 300 if len(kinds) > 1 else 1  # in the second half: the id and the length of each are kept, for citations
    assert max(held[5:]) < max(held[:5]) + 4096 + 32 * parts


pieces = st.builds(lambda begin, size: LONG[begin : begin + size], st.integers(0, END), st.integers(1, 2 * END))


@examples(40)
@given(
    st.lists(st.tuples(st.sampled_from(PartKind), pieces), max_size=20), st.integers(0, 4), st.text(" .", max_size=3)
)
def test_it_is_compared_as_if_all_of_it_were_known(told: list[tuple[PartKind, str]], less: int, more: str) -> None:
    remembered = StreamedResponse()
    for kind, piece in told:
        remembered.begin(kind)
        remembered.add(piece)
    for kind in PartKind:
        known, whole = remembered.of(kind), "".join(piece for one, piece in told if one is kind)
        other = whole[: len(whole) - less] + more
        assert known.length == len(whole)
        assert known.begins(other) == other.startswith(whole)
        assert known.holds(other) or other not in whole
    assert remembered.all_known in ((*told,), None)
    assert bool(remembered) == bool(told)


def test_a_text_begins_with_itself_and_with_nothing_else() -> None:
    told = PrefixHash()
    for begin in range(0, len(LONG), 1000):
        told.add(LONG[begin : begin + 1000])
    assert told.begins(LONG)
    assert not told.begins(LONG[:-1])
    assert not told.begins(f"x{LONG[1:]}")
    assert not told.holds(f"x{LONG[1:]}")
