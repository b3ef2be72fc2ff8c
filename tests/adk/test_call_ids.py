from hypothesis import given, strategies as st

from stream_protocol.adk import CallIds

GIVEN = st.lists(st.sampled_from(["A", "A.2", "A.2.2", "A.3", "call_1", "B", None, ""]), max_size=12)
"""Ids that ADK gives to successive calls."""


def named(ids: CallIds, given_ids: list[str | None]) -> list[str]:
    return [ids.new(adk_id) for adk_id in given_ids]


def test_an_id_of_adk_is_the_clients_id_until_it_comes_again() -> None:
    assert named(CallIds(), ["A", "B", "A", "A"]) == ["A", "B", "A.2", "A.3"]


def test_a_numbered_id_evades_those_that_are_taken() -> None:
    assert named(CallIds(["A", "A.3"]), ["A", "A", "A.2"]) == ["A.2", "A.4", "A.2.2"]


def test_calls_without_an_id_are_numbered_over_the_chat() -> None:
    assert named(CallIds(["call_1"]), [None, "", "call_3", None]) == ["call_0", "call_2", "call_3", "call_4"]


@given(earlier=GIVEN, between=GIVEN, later=GIVEN)
def test_a_copy_goes_on_from_where_it_was_taken(
    earlier: list[str | None], between: list[str | None], later: list[str | None]
) -> None:
    ids = CallIds()
    taken = named(ids, earlier)
    copy = ids.copy()
    others = named(ids, between)
    again = copy.copy()
    assert named(copy, later) == named(again, later) == named(CallIds(taken), later)
    assert named(ids.copy(), later) == named(CallIds([*taken, *others]), later)
    assert len({*taken, *others, *named(ids.copy().copy(), later)}) == len([*earlier, *between, *later])


@given(earlier=GIVEN, later=GIVEN, last=GIVEN)
def test_a_copy_of_a_copy_has_what_both_have_given(
    earlier: list[str | None], later: list[str | None], last: list[str | None]
) -> None:
    ids = CallIds()
    one = named(ids, earlier)
    copy = ids.copy()
    other = named(copy, later)
    assert named(copy.copy(), last) == named(CallIds([*one, *other]), last)
