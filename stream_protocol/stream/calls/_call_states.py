"""The life of a tool call: its states, and which event leads from one to the next.

``TRANSITIONS`` holds all of it: state -> event -> next state.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Literal


class CallState(IntEnum):
    """In the order of a call's life."""

    UNNAMED = 0
    """Nothing was sent: the tool is not known yet."""
    INPUT_STREAMING = 1
    """The client knows the call; its input grows."""
    RUNNING = 2
    """Its input is complete and its tool runs."""
    APPROVAL_ANNOUNCED = 3
    """It needs approval; the request itself is still to come."""
    APPROVAL_REQUESTED = 4
    """The client was asked for approval."""
    AWAITING_CREDENTIAL = 5
    """Its tool waits until somebody has signed in, or has answered the node that acts in its place."""
    AWAITING_CLIENT = 6
    """The client, or a backend, gives the output."""
    INTERIM = 7
    """It has a preliminary output; the final one comes in a later response."""
    ANSWERED = 8
    """It has its output, its error or its denial."""


(
    UNNAMED,
    INPUT_STREAMING,
    RUNNING,
    APPROVAL_ANNOUNCED,
    APPROVAL_REQUESTED,
    AWAITING_CREDENTIAL,
    AWAITING_CLIENT,
    INTERIM,
    ANSWERED,
) = CallState

CallEvent = Literal[
    "announce",
    "complete input",
    "fail input",
    "announce approval",
    "request approval",
    "answer approval",
    "request credential",
    "await client",
    "stop waiting",
    "interim output",
    "answer",
    "fail",
    "reveal",
    "end silently",
]

NOT_SHOWN: dict[CallEvent, CallState] = {"reveal": UNNAMED, "end silently": ANSWERED}
"""Only for a call that was not shown: it is shown after all, from its beginning, or it ends without a chunk."""

_OPEN: dict[CallEvent, CallState] = {
    "announce approval": APPROVAL_ANNOUNCED,
    "request approval": APPROVAL_REQUESTED,
    "request credential": AWAITING_CREDENTIAL,
    "stop waiting": RUNNING,
    "answer": ANSWERED,
    "fail": ANSWERED,
}
"""The events possible for every call whose input is complete and that has no result yet."""

_SETTLED: dict[CallEvent, CallState] = {
    "request approval": APPROVAL_REQUESTED,  # the response looked like a result, but the tool has not run yet
    "answer": ANSWERED,
    "fail": ANSWERED,
}

TRANSITIONS: Mapping[CallState, Mapping[CallEvent, CallState]] = {
    UNNAMED: NOT_SHOWN | {"announce": INPUT_STREAMING, "fail input": ANSWERED},
    INPUT_STREAMING: NOT_SHOWN | {"complete input": RUNNING, "fail input": ANSWERED, "fail": ANSWERED},
    RUNNING: NOT_SHOWN | _OPEN | {"await client": AWAITING_CLIENT, "interim output": INTERIM},
    APPROVAL_ANNOUNCED: NOT_SHOWN | _OPEN,
    APPROVAL_REQUESTED: NOT_SHOWN | _OPEN | {"announce approval": APPROVAL_REQUESTED, "answer approval": RUNNING},
    AWAITING_CREDENTIAL: NOT_SHOWN | _OPEN,
    AWAITING_CLIENT: NOT_SHOWN | _OPEN | {"interim output": INTERIM},
    INTERIM: NOT_SHOWN | _SETTLED,
    ANSWERED: NOT_SHOWN | _SETTLED,
}
