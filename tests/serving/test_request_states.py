"""The table of a request's states agrees with its code."""

import pytest

from stream_protocol.serving.requests._lifecycle import (
    ADMITTED,
    ANSWERED,
    TRANSITIONS,
    RequestLifecycle,
    RequestState,
)


def reachable(begin: RequestState) -> set[RequestState]:
    found, left = set[RequestState](), [begin]
    while left:
        state = left.pop()
        if state not in found:
            found.add(state)
            left += TRANSITIONS[state]
    return found


def test_each_state_is_reached() -> None:
    assert reachable(ADMITTED) == {*RequestState} == {*TRANSITIONS}


@pytest.mark.parametrize("state", RequestState)
def test_each_state_has_a_step_and_leads_to_the_answer(state: RequestState) -> None:
    assert ANSWERED in reachable(state)
    assert (state in RequestLifecycle._STEPS) == (state is not ANSWERED)  # noqa: SLF001 - the table's other half
