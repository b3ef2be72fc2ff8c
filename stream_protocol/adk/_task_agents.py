"""Calls by which an agent hands over to a task-mode agent.

Such a call looks like any other tool's. Only later events, in which the task agent speaks, show what it is. Its
output comes turns later, in another message than the call. So the call is hidden wherever all events are known.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from google.adk.events import Event


def find_task_agents(events: "Iterable[Event]") -> frozenset[str]:
    """The names of the tools that turn out to be task-mode agents, as far as these events go.

    ADK runs such an agent under the tool's name, and keeps its events together under the id of the call. Both must fit:
    a model may use an id again.
    """
    called: set[tuple[str | None, str | None]] = set()
    spoken: set[tuple[str, str]] = set()
    for event in events:
        fields = event.__dict__  # as `Conversion.feed` reads them: this, too, is done for every event
        if fields["isolation_scope"] is not None:
            spoken.add((fields["isolation_scope"], fields["author"]))
        if not fields["partial"]:  # a complete event repeats what its fragments called
            called.update((call.id, call.name) for call in event.get_function_calls())
    return frozenset(name for _, name in called & spoken if name)
