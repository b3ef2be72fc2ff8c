"""Which call of a message ADK means by an id: the one rule, for the converter and for the reading of stored events.

An id is not enough: it can come again while its first call still waits, in one event or in another agent's. So what is
known of each call is what its complete event says, and how many responses it had. Nothing here depends on fragments or
on what a client was sent, since stored events have neither.
"""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from stream_protocol.adk._call_ids import CallIds

SpeakerKey = tuple[str, str | None, str]
"""Author, branch, node path."""

MAX_ANSWERED: Final = 8
"""How many calls are remembered under one id although they have a response: the newest."""


@dataclass(slots=True, eq=False)
class KnownCall:
    """A call, under every id that ADK has used for it."""

    id: str
    """The ``toolCallId`` by which the client knows it; empty if the client was not shown it."""
    speaker: SpeakerKey
    name: str = ""
    """The tool; empty until that is known."""
    args: dict[str, Any] | None = None
    """The arguments; ``None`` until they are complete."""
    run: int = -1
    """The run whose complete event has it."""
    responses: int = 0
    """How many it had; a placeholder is none."""
    approvals: int = 0
    """How often a person was asked to approve it."""
    placeholders: int = 0
    """How many it had."""


class Answered(NamedTuple):
    """What a response means."""

    call: KnownCall | None
    """The call that it answers; ``None`` if that is in no event of the message."""
    is_placeholder: bool
    """Whether it only says that the call waits."""


class KnownCalls:
    """The calls of a message, and whom each later mention of one means."""

    def __init__(self, ids: CallIds) -> None:
        self._ids = ids
        self._calls: dict[str, list[KnownCall]] = {}
        """By ADK's ids."""
        self._without_id: list[KnownCall] = []
        """The calls for which ADK has given no id."""
        self._run = 0
        self._event: object = None
        """The newest event that has mentioned a call."""
        self._mentioned: set[KnownCall] = set()
        """The calls that this event has mentioned so far: the next one under the same id is another."""

    def begin_run(self) -> None:
        """The user has said or answered something. What the agent calls from now on repeats nothing."""
        self._run += 1

    def new(self, adk_id: str | None, speaker: SpeakerKey, name: str = "", *, shown: bool = True) -> KnownCall:
        """Adds a call. ``shown``: whether it needs an id in the client."""
        known = KnownCall(self._ids.new(adk_id) if shown else "", speaker, name)
        self.alias(adk_id or known.id, known)
        if not adk_id:
            self._without_id.append(known)
        return known

    def alias(self, adk_id: str, known: KnownCall) -> None:
        """Makes ``adk_id`` an id of the call, besides those that it has."""
        if adk_id != known.id and known in self._without_id:
            self._without_id.remove(known)
        calls = self._calls.setdefault(adk_id, [])
        if known not in calls:
            calls[:-MAX_ANSWERED] = [one for one in calls[:-MAX_ANSWERED] if not one.responses]
            calls.append(known)

    def under(self, adk_id: str) -> list[KnownCall]:
        """The calls for which ADK has used the id, in their order."""
        return self._calls.get(adk_id, [])

    def complete(self, event: object, known: KnownCall, name: str, args: dict[str, Any]) -> None:
        """The event has the whole call; ``None`` for an event that only quotes it."""
        if event is not None:
            self._mention(event, known)
        known.name, known.args, known.run = name, args, self._run

    def repeated(
        self, event: object, speaker: SpeakerKey, adk_id: str | None, name: str, args: dict[str, Any]
    ) -> KnownCall | None:
        """The call that a complete one repeats: equal in all, of the same run, in an earlier event, and unanswered."""
        for known in reversed(self.under(adk_id or "")):
            if (
                (known.speaker, known.name, known.args) == (speaker, name, args)
                and (known.run, known.responses) == (self._run, 0)
                and not self._is_mentioned(event, known)
            ):
                self._mention(event, known)
                return known
        return None

    def gated(self, speaker: SpeakerKey, original: dict[str, Any]) -> KnownCall | None:
        """The call that ADK asks a person to approve. ``original``: what ``gated_call`` returns."""
        same = (original.get("name", ""), original.get("args", {}))
        found = min(
            self.under(original.get("id", "")),
            key=lambda one: ((one.name, one.args) != same, one.speaker != speaker, one.responses, one.approvals),
            default=None,
        )
        if found is not None:
            found.approvals += 1
        return found

    def answered(
        self, event: object, speaker: SpeakerKey | None, adk_id: str | None, name: str, *, is_placeholder: bool = False
    ) -> Answered:
        """The call of a tool that a response answers. ``speaker``: who gives it; ``None`` for the user.
        ``is_placeholder``: whether the event says so of its id.

        Of several calls under one id it is the speaker's own, else that of the same tool, else the one with the fewest
        responses, or placeholders, and the oldest of these: so they come in the order of their calls. A call that has
        its response takes none of another tool: that is for an earlier message. An unknown id is that of the oldest
        call of the tool that came without one.
        """
        if not adk_id:
            self.begin_run()  # it answers some call, so what comes later repeats none; which one, the converter finds
            return Answered(None, is_placeholder)
        if adk_id not in self._calls and (nameless := self._oldest_without_id(speaker, name)) is not None:
            self.alias(adk_id, nameless)
        calls = self.under(adk_id)
        known = min(
            [one for one in calls if one.speaker == speaker] or calls,
            key=lambda one: (
                self._is_mentioned(event, one),
                _differ(one.name, name),
                one.responses,
                one.placeholders if is_placeholder else 0,
                -one.approvals,
            ),
            default=None,
        )
        if known is None or (known.responses and _differ(known.name, name)):
            return Answered(None, is_placeholder)
        self._mention(event, known)
        # Of several calls under one id ADK has asked about one: the others have their results.
        if is_placeholder and not known.approvals:
            is_placeholder = not any(one.approvals and not one.responses for one in calls)
        known.responses += not is_placeholder
        known.placeholders += is_placeholder
        return Answered(known, is_placeholder)

    def _oldest_without_id(self, speaker: SpeakerKey | None, name: str) -> KnownCall | None:
        waiting = (one for one in self._without_id if one.name == name and one.args is not None and not one.responses)
        return min(waiting, key=lambda one: one.speaker != speaker, default=None)

    def _mention(self, event: object, known: KnownCall) -> None:
        if event is not self._event:
            self._event = event
            self._mentioned.clear()
        self._mentioned.add(known)

    def _is_mentioned(self, event: object, known: KnownCall) -> bool:
        return event is self._event and known in self._mentioned


def _differ(one: str, other: str) -> bool:
    """Whether these names are of two tools; an empty one may be of any."""
    return bool(one and other) and one != other
