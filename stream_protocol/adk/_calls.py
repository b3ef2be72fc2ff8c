"""Find the call to which a function response, an approval or a user's answer belongs, live and in stored events.

An id is not enough. An id can come again while its first call still waits: in the same event, or in an event of another
agent. So the search also uses the call's complete event, and the number of the call's responses. It uses neither
fragments nor sent chunks, because stored events have neither.
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
    """The call of a function response."""

    call: KnownCall | None
    """The call that the response answers; ``None`` if no event of the message has the call."""
    is_placeholder: bool
    """True if the response is only a placeholder, because the call waits."""


class KnownCalls:
    """The calls of a message. Finds the call that a later event means."""

    __slots__ = ("_asked", "_changed", "_event", "_ids", "_mentioned", "_open", "_run", "_same_id")

    def __init__(self, ids: CallIds) -> None:
        self._ids = ids
        self._same_id: dict[str, CallsUnderId] = {}
        """ADK's id -> the calls with that id."""
        self._open = OpenCalls()
        self._asked: dict[str, KnownCall] = {}
        """Id of an approval request -> the call that needs approval."""
        self._run = 0
        self._event: object = None
        """The newest event."""
        self._mentioned: list[KnownCall] = []
        """The calls that the newest event has mentioned so far."""
        self._changed: list[tuple[KnownCall, Sequence[CallsUnderId]]] = []
        """Calls whose rank has changed, with the indexes that must be updated before the next lookup."""

    def begin_run(self) -> None:
        """Begin a new run, after a message or an answer of the user.

        The agent's calls after it are not repetitions of calls before it.
        """
        self._run += 1

    def new(self, adk_id: str | None, speaker: SpeakerKey, name: str = "", *, shown: bool = True) -> KnownCall:
        """Add a call. ``shown``: give the call an id in the client."""
        known = KnownCall(self._ids.new(adk_id) if shown else "", speaker, name)
        self.alias(adk_id or known.id, known)
        known.has_id = bool(adk_id)
        self._open.add(known)
        return known

    def alias(self, adk_id: str, known: KnownCall) -> None:
        """Add ``adk_id`` to the ids of the call."""
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
        """Return the calls for which ADK has used the id, in their order."""
        calls = self._same_id.get(adk_id)
        return [*calls.numbers] if calls is not None else []

    def complete(self, event: object, known: KnownCall, name: str, args: dict[str, Any]) -> None:
        """Store the name and the arguments of a call.

        ``event``: the event with the complete call; ``None`` if an event only quotes the call.
        """
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
        """Add a complete call and return it; ``None`` if it repeats an earlier call. ``shown``: as for ``new``."""
        if self.find_duplicate(event, speaker, adk_id, name, args) is not None:
            return None
        known = self.new(adk_id, speaker, shown=shown)
        self.complete(event, known, name, args)
        return known

    def add_confirmation(
        self, speaker: SpeakerKey, approval_id: str, args: dict[str, Any], *, shown: bool = True
    ) -> KnownCall:
        """Process ADK's ``adk_request_confirmation``, and return the call that needs approval.

        Adds the call if no event has had it. ``shown``: as for ``new``.
        """
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
        """Return the call that a complete call repeats; ``None`` if there is none.

        That is a call without a response, from an earlier event of the same run, with the same speaker, tool and
        arguments.
        """
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
        """Return the call of a confirmation request. ``original``: the result of ``confirmed_call``."""
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
        """Store that the user was asked to approve the call. ``approval_id``: the id of the request."""
        self._asked[approval_id] = known
        known.approval_id, known.decided = approval_id, False
        if known.opened is None:  # the call had a response that looked like a result, but its tool has not run
            self._open.add(known)
        self._changed.append((known, known.same_id))

    def resolve_approval(self, approval_id: str | None) -> KnownCall | None:
        """Return the call whose newest approval request has this id. Ids of older requests are ignored."""
        known = self._asked.get(approval_id or "")
        return known if known is not None and known.approval_id == approval_id else None

    def decide(self, known: KnownCall) -> None:
        """Store that the user has answered the approval request. The next response to the call's id is for this
        call."""
        known.decided = True
        self._changed.append((known, known.same_id))

    def resolve_response(
        self, event: object, speaker: SpeakerKey | None, adk_id: str | None, name: str, *, is_placeholder: bool = False
    ) -> Answered:
        """Find the call that a function response answers, and count the response. See ``find_answered`` for the rules.

        ``speaker``: the author of the response; ``None`` for the user. ``is_placeholder``: the event marks the
        response's id as waiting.
        """
        if not adk_id:
            self.begin_run()  # so that later calls are not taken for repetitions
        known = self.find_answered(event, speaker, adk_id, name, is_placeholder=is_placeholder)
        if known is None:
            return Answered(None, is_placeholder)
        # ADK asks for approval of only one of several calls with one id. The others have results.
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
        """Find the call that a function response answers, as ``resolve_response`` does, without counting the response.

        A response without an id answers the oldest open call of the tool, and preferably a call of the same speaker. If
        several calls have the id, calls of the same speaker come first, and then calls of the same tool. Next come
        calls that the user has just approved or denied. Next come calls with the fewest responses, or with the fewest
        placeholders if the response is a placeholder. The oldest call comes first among equal calls. If a call has its
        response, it takes no response of another tool: such a response belongs to an earlier message. An unknown id
        belongs to the oldest call of the tool that came without an id.
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
        """Forget which calls earlier events have mentioned."""
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
    """A tool execution: the call as the model made it."""

    agent: str
    branch: str | None
    call_id: str
    confirmed: bool
    """True if the user has confirmed the call. ADK then runs the tool again under the same id."""
    tool: str
    args: Mapping[str, Any]
    """The arguments as plain JSON."""


class UsedCalls:
    """Names for tool executions. If a run is executed again, its calls get the same names again.

    Some providers number the calls of each response from 0, so an id can belong to several calls of a run. As in
    ``KnownCalls``, calls differ if their speakers, tools or arguments differ. Equal calls are numbered in their order.

    The names are stored. ``names_by_id``: True if an older release began the run. That release named the first call
    with an id by the id alone.
    """

    def __init__(self, *, names_by_id: bool = False) -> None:
        self._names_by_id = names_by_id
        self._uses = Counter[str]()

    def name(self, use: ToolUse) -> str:
        """Return the name of the next execution with these values."""
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


def _differ(first: str, second: str) -> bool:
    """Return True if the names belong to different tools. An empty name may belong to any tool."""
    return bool(first and second) and first != second
