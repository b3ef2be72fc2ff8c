"""The states of a tool call. ``TRANSITIONS`` maps each state and event to the next state."""

from collections.abc import Mapping
from enum import IntEnum
from typing import Literal


class CallState(IntEnum):
    """The states of a tool call. A later state has a greater number."""

    UNNAMED = 0
    """The tool's name is unknown, so no chunk was sent."""
    INPUT_STREAMING = 1
    """The client shows the call, and more input follows."""
    RUNNING = 2
    """The input is complete, and the tool runs."""
    APPROVAL_ANNOUNCED = 3
    """The call needs approval, but the approval request has not come yet."""
    APPROVAL_REQUESTED = 4
    """The user must approve or deny the call."""
    AWAITING_CREDENTIAL = 5
    """The call waits for a sign-in, or for the user's answer to a workflow node inside the call."""
    AWAITING_CLIENT = 6
    """The client or another system must send the output."""
    INTERIM = 7
    """The call has a preliminary output. The final output comes in a later response."""
    ANSWERED = 8
    """The call has an output, an error or a denial."""


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
"""Transitions of calls that the client does not show."""

_OPEN: dict[CallEvent, CallState] = {
    "announce approval": APPROVAL_ANNOUNCED,
    "request approval": APPROVAL_REQUESTED,
    "request credential": AWAITING_CREDENTIAL,
    "stop waiting": RUNNING,
    "answer": ANSWERED,
    "fail": ANSWERED,
}
"""Transitions of calls with a complete input and no result."""

_SETTLED: dict[CallEvent, CallState] = {
    "request approval": APPROVAL_REQUESTED,  # the call had a response that looked like a result; its tool has not run
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
