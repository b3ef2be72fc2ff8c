"""Finds the call that a response, an approval or an answer belongs to, live and in stored events.

An id is not enough: it can come again while its first call still waits, in one event or in another agent's. So what is
known of each call is what its complete event says, and how many responses it had. Nothing here depends on fragments or
on what a client was sent, since stored events have neither.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from stream_protocol.adk._adk_requests import confirmed_call
from stream_protocol.adk._call_ids import CallIds
from stream_protocol.adk._call_index import CallRank, CallsUnderId, KnownCall, OpenCalls, SpeakerKey


class Answered(NamedTuple):
    """Meaning of a response."""

    call: KnownCall | None
    """The call that it answers; ``None`` if that is in no event of the message."""
    is_placeholder: bool
    """True if it only says that the call waits."""


class KnownCalls:
    """The calls of a message, and whom each later mention of one means."""

    __slots__ = ("_asked", "_changed", "_event", "_ids", "_mentioned", "_open", "_run", "_same_id")

    def __init__(self, ids: CallIds) -> None:
        self._ids = ids
        self._same_id: dict[str, CallsUnderId] = {}
        """By ADK's ids."""
        self._open = OpenCalls()
        self._asked: dict[str, KnownCall] = {}
        """The calls that a person was asked to approve, by the ids of the requests."""
        self._run = 0
        self._event: object = None
        """The newest event."""
        self._mentioned: list[KnownCall] = []
        """The calls that this event has mentioned so far."""
        self._changed: list[tuple[KnownCall, Sequence[CallsUnderId]]] = []
        """Calls whose rank has changed since the indexes were read, and where."""

    def begin_run(self) -> None:
        """The user has said or answered something. The agent's later calls repeat no earlier one."""
        self._run += 1

    def new(self, adk_id: str | None, speaker: SpeakerKey, name: str = "", *, shown: bool = True) -> KnownCall:
        """Adds a call. ``shown``: whether it needs an id in the client."""
        known = KnownCall(self._ids.new(adk_id) if shown else "", speaker, name)
        self.alias(adk_id or known.id, known)
        known.has_id = bool(adk_id)
        self._open.add(known)
        return known

    def alias(self, adk_id: str, known: KnownCall) -> None:
        """Makes ``adk_id`` an id of the call, besides those that it has."""
        if adk_id != known.id:
            known.has_id = True
        calls = self._same_id.get(adk_id)
        if calls is None:
            calls = self._same_id[adk_id] = CallsUnderId()
        if known not in calls.numbers:
            self._update()
            calls.add(known)
            known.same_id.append(calls)
            self._changed.append((known, (calls,)))

    def by_id(self, adk_id: str) -> list[KnownCall]:
        """The calls for which ADK has used the id, in their order."""
        calls = self._same_id.get(adk_id)
        return [*calls.numbers] if calls is not None else []

    def complete(self, event: object, known: KnownCall, name: str, args: dict[str, Any]) -> None:
        """The event has the whole call; ``None`` for an event that only quotes it."""
        known.name, known.args, known.run = name, args, self._run
        self._open.name(known)
        self._changed.append((known, known.same_id))
        if event is not None:
            self._mention(event, known)

    def add_call(
        self,
        event: object,
        speaker: SpeakerKey,
        adk_id: str | None,
        name: str,
        args: dict[str, Any],
        *,
        shown: bool = True,
    ) -> KnownCall | None:
        """Adds a complete call; ``None`` if it repeats an earlier one. ``shown``: as for ``new``."""
        if self.find_duplicate(event, speaker, adk_id, name, args) is not None:
            return None
        known = self.new(adk_id, speaker, shown=shown)
        self.complete(event, known, name, args)
        return known

    def add_confirmation(
        self, speaker: SpeakerKey, approval_id: str, args: dict[str, Any], *, shown: bool = True
    ) -> KnownCall:
        """Takes ADK's ``adk_request_confirmation``. Returns the call that a person is asked to approve: a new one if no
        event has had it. ``shown``: as for ``new``."""
        original = confirmed_call(args)
        known = self.resolve_confirmation(speaker, original)
        if known is None:
            known = self.new(original.get("id"), speaker, shown=shown)
            self.complete(None, known, original.get("name", ""), original.get("args", {}))
        self.request_approval(approval_id, known)
        return known

    def find_duplicate(
        self, event: object, speaker: SpeakerKey, adk_id: str | None, name: str, args: dict[str, Any]
    ) -> KnownCall | None:
        """The call that a complete one repeats: equal in all, of the same run, in an earlier event, and unanswered."""
        self._begin_event(event)
        calls = self._find(adk_id)
        if calls is None:
            return None

        def key(rank: CallRank) -> tuple[()] | None:
            is_same = (rank.speaker, rank.run) == (speaker, self._run)
            return () if is_same and not rank.mentioned and not rank.responses else None

        known = calls.first_equal(name, args, key)
        if known is not None:
            self._mention(event, known)
        return known

    def resolve_confirmation(self, speaker: SpeakerKey, original: dict[str, Any]) -> KnownCall | None:
        """The call that ADK asks a person to approve. ``original``: what ``confirmed_call`` returns."""
        calls = self._find(original.get("id"))
        if calls is None:
            return None

        def key(rank: CallRank) -> tuple[bool, int, int]:
            return rank.speaker != speaker, rank.responses, rank.approvals

        known = calls.first_equal(original.get("name", ""), original.get("args", {}), key) or calls.first(key)
        assert known is not None
        known.approvals += 1
        self._changed.append((known, known.same_id))
        return known

    def request_approval(self, approval_id: str, known: KnownCall) -> None:
        """A person is asked to approve the call. ``approval_id``: the id of the request."""
        self._asked[approval_id] = known
        known.approval_id, known.decided = approval_id, False
        if known.opened is None:  # the response looked like a result, but the tool has not run yet
            self._open.add(known)
        self._changed.append((known, known.same_id))

    def resolve_approval(self, approval_id: str | None) -> KnownCall | None:
        """The call whose newest request for approval has this id. An answer to an older request is ignored."""
        known = self._asked.get(approval_id or "")
        return known if known is not None and known.approval_id == approval_id else None

    def decide(self, known: KnownCall) -> None:
        """A person has answered whether the call may run. Its response comes next, of all calls under its id."""
        known.decided = True
        self._changed.append((known, known.same_id))

    def resolve_response(
        self, event: object, speaker: SpeakerKey | None, adk_id: str | None, name: str, *, is_placeholder: bool = False
    ) -> Answered:
        """The call of a tool that a response answers. ``speaker``: who gives it; ``None`` for the user.
        ``is_placeholder``: whether the event says so of its id.

        See ``find_answered``.
        """
        if not adk_id:
            self.begin_run()  # later calls repeat none
        known = self.find_answered(event, speaker, adk_id, name, is_placeholder=is_placeholder)
        if known is None:
            return Answered(None, is_placeholder)
        # Of several calls under one id ADK has asked about one: the others have their results.
        if is_placeholder and adk_id and not known.approvals:
            is_placeholder = not self._same_id[adk_id].any(lambda rank: rank.approvals > 0 and not rank.responses)
        known.decided = False
        known.responses += not is_placeholder
        if not is_placeholder:
            self._open.close(known)
        known.placeholders += is_placeholder
        self._mention(event, known)
        return Answered(known, is_placeholder)

    def find_answered(
        self, event: object, speaker: SpeakerKey | None, adk_id: str | None, name: str, *, is_placeholder: bool
    ) -> KnownCall | None:
        """Find the call that a response answers, as ``resolve_response`` does, without counting the response.

        Without an id it is the oldest open call of the tool, the speaker's own first. Of several calls under one id,
        the speaker's own come first. Then come those of the same tool, and then those that a person has just decided
        about. Last come those with the fewest responses, or placeholders, and the oldest. A call that has its response
        takes none of another tool: that is for an earlier message. An unknown id is that of the oldest call of the tool
        that came without one.
        """
        self._begin_event(event)
        if not adk_id:
            return self._open.oldest(speaker, name)
        if adk_id not in self._same_id and (nameless := self._open.oldest(speaker, name, lacks_id=True)) is not None:
            self.alias(adk_id, nameless)
        if (calls := self._find(adk_id)) is None:
            return None

        def key(rank: CallRank) -> tuple[bool, bool, bool, int, int, int]:
            placeholders = rank.placeholders if is_placeholder else 0
            differs = _differ(rank.name, name)
            return rank.mentioned, differs, not rank.decided, rank.responses, placeholders, -rank.approvals

        known = (calls.first(key, speaker) if speaker is not None else None) or calls.first(key)
        return None if known is None or (known.responses and _differ(known.name, name)) else known

    def _find(self, adk_id: str | None) -> "CallsUnderId | None":
        self._update()
        return self._same_id.get(adk_id or "")

    def _update(self) -> None:
        for known, places in self._changed:
            for calls in places:
                calls.update(known)
        self._changed.clear()

    def _begin_event(self, event: object) -> None:
        """Forgets what an earlier event has mentioned."""
        if event is not self._event:
            self._event = event
            for known in self._mentioned:
                known.mentioned = False
                self._changed.append((known, known.same_id))
            self._mentioned.clear()

    def _mention(self, event: object, known: KnownCall) -> None:
        self._begin_event(event)
        if not known.mentioned:
            known.mentioned = True
            self._mentioned.append(known)
        self._changed.append((known, known.same_id))


class ToolUse(NamedTuple):
    """A call that a tool is run for, as its model asked for it."""

    agent: str
    branch: str | None
    call_id: str
    confirmed: bool
    """True if the user has confirmed it: ADK runs a tool again under the same id then."""
    tool: str
    args: Mapping[str, Any]
    """Plain JSON."""


class UsedCalls:
    """Names the calls that tools are run for, so that each has the same name in each execution of its run.

    Some providers number the calls of each answer from 0, so an id alone names several calls of a run. As for
    ``KnownCalls``, a call is another one if its speaker, its tool or its arguments differ. Equal calls are numbered in
    their order. The names are stored. ``names_by_id``: an older release has begun the run, which named the first call
    under an id by the id alone.
    """

    def __init__(self, *, names_by_id: bool = False) -> None:
        self._names_by_id = names_by_id
        self._uses = Counter[str]()

    def name(self, use: ToolUse) -> str:
        """The name of the next call like this one."""
        phase = "confirmed" if use.confirmed else "called"
        if self._names_by_id:
            name = f"tool/{use.call_id}/{phase}"
            self._uses[name] += 1
            if self._uses[name] == 1:
                return name
        asked = json.dumps([use.tool, use.args], sort_keys=True)
        digest = hashlib.sha256(asked.encode()).hexdigest()[:16]
        name = f"tool/{use.agent}/{use.branch or ''}/{use.call_id}/{phase}/{digest}"
        self._uses[name] += 1
        return f"{name}/{self._uses[name]}"


def _differ(one: str, other: str) -> bool:
    """Return True if these names are of two tools; an empty name may be of any tool."""
    return bool(one and other) and one != other
