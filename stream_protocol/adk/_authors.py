"""Who made an event: the user, or an agent, a tool or a node that acts for one."""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from google.adk.events import Event

USER: Final = "user"
"""The author of the user's events, and of the results that ADK stores in the user's name."""


def is_user_event(event: "Event") -> bool:
    """Whether the user made this event. A task agent's result has the author ``user``, too, but comes from a node."""
    return event.author == USER and not event.node_info.path
