"""Users' actions in a chat: the tested actions in docs/frontends.md."""

from typing import Final, Literal, TypeAlias, get_args

Action: TypeAlias = Literal[
    "send",
    "stop, then send",
    "edit",
    "regenerate",
    "approve",
    "deny",
    "send a message while an approval is pending",
    "client tool",
    "file",
    "reload in mid-answer",
    "second tab",
    "error and retry",
]

ACTIONS: Final[tuple[Action, ...]] = get_args(Action)
