"""Find the tool call that a function response, an approval, an answer, or an event of a running tool belongs to.

Several calls can have the same id, even in one event. So the search also uses the complete event with the call, and the
number of responses to the call. The search uses no partial events, because they are not stored. So it finds the same
call in a live response and in the stored chat.
"""

from collections.abc import Callable, Mapping, Sequence
from heapq import nsmallest
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from stream_protocol.adk._adk_requests import CallKind, confirmed_call
from stream_protocol.adk._call_ids import CallIds
from stream_protocol.adk._call_index import CallRank, CallReference, CallsUnderId, KnownCall, OpenCalls, SpeakerKey
from stream_protocol.adk._failures import ABORTED

if TYPE_CHECKING:
    from stream_protocol.adk._facts import Call, EventFacts, Result

IsSettled: TypeAlias = Callable[[KnownCall], bool]


class Answered(NamedTuple):
    """The result of a search for the call that a function response answers."""

    call: KnownCall | None
    """The call that the response answers; ``None`` if no event of the message has the call.

    For the answer to an approval request, this is the call that needs approval; ``None`` if a newer request has
    replaced the request.
    """
    is_placeholder: bool = False
    """True if the call still waits for an approval or a credential."""
    is_approval: bool = False


class KnownCalls:
    """The tool calls of one assistant message."""

    __slots__ = ("_asked", "_changed", "_counts", "_event", "_ids", "_mentioned", "_open", "_run", "_same_id")

    def __init__(self, ids: CallIds) -> None:
        self._ids = ids
        self._same_id: dict[str, CallsUnderId] = {}
        self._open = OpenCalls()
        self._asked: dict[str, KnownCall] | None = None
        """Id of an approval request -> the call that needs approval."""
        self._run = 0
        self._event: object = None
        self._mentioned: list[KnownCall] = []
        """The calls that were read from the newest event so far."""
        self._counts: dict[CallsUnderId, int] | None = None
        """Calls with the same id -> how many of them are in the newest event."""
        self._changed: list[tuple[KnownCall, Sequence[CallsUnderId]]] | None = None
        """Calls whose ``rank`` has changed since the last lookup, each with the ``CallsUnderId`` to update before the
        next lookup."""

    def read_event(self, facts: "EventFacts") -> None:
        """Prepare for the next event. Call this method before you read the event's calls and results. An event of the
        user begins a new run, but a steering message (sent while the agent works) does not."""
        if facts.by_user:
            self.begin_run()

    def begin_run(self) -> None:
        """Begin a new run. A call in the new run never counts as a repetition of a call in an older run."""
        self._run += 1

    def new(self, adk_id: str | None, speaker: SpeakerKey, name: str = "", *, shown: bool = True) -> KnownCall:
        """Add a tool call, and return it. ``shown``: True if the client gets the call, which then needs a
        ``toolCallId``."""
        known = KnownCall(self._ids.new(adk_id) if shown else "", speaker, name)
        self.alias(adk_id or known.id, known)
        known.has_id = bool(adk_id)
        self._open.add(known)
        return known

    def alias(self, adk_id: str, known: KnownCall) -> None:
        """Add ``adk_id`` to the ids of this call in ADK."""
        if adk_id != known.id:
            known.has_id = True
        calls = self._same_id.get(adk_id)
        if calls is None:
            calls = self._same_id[adk_id] = CallsUnderId()
        if known not in calls.numbers:
            self._update()
            calls.add(known)
            if known.same_id:
                known.same_id.append(calls)
            else:
                known.same_id = [calls]
            self._note_changed(known, (calls,))

    def newest(self, adk_id: str, speaker: SpeakerKey) -> KnownCall | None:
        calls = self._same_id.get(adk_id)
        return None if calls is None else calls.newest(speaker)

    def read_call(
        self, facts: "EventFacts", call: "Call", *, streamed: KnownCall | None = None, shown: bool = True
    ) -> KnownCall | None:
        """Add a complete function call if it is new, and return its ``KnownCall``. Returns ``None`` for a repetition of
        a call that was read before.

        For ADK's ``adk_request_confirmation``, the result is the call that needs approval. ``streamed``: the
        ``KnownCall`` that was created when pieces of the call were streamed. ``shown``: True if the client gets the
        call.
        """
        if call.kind is CallKind.APPROVAL:
            return self.request_approval(facts.speaker, call.id or "", call.args, shown=shown)
        known = streamed
        if known is None:
            self._begin_event(facts.event)
            if (repeated := self._find_repeated(facts.speaker, call)) is not None:
                self._count(repeated)
                self._mention(facts.event, repeated)
                return None
            known = self.new(call.id, facts.speaker, shown=shown)
        elif call.id:
            self.alias(call.id, known)
        self.complete(facts.event, known, call.name, call.args)
        return known

    def _find_repeated(self, speaker: SpeakerKey, call: "Call") -> KnownCall | None:
        """Return the call that this complete call repeats; ``None`` if there is none. The two calls have the same run,
        agent, tool and arguments, and the returned call is unanswered."""

        def key(rank: CallRank) -> tuple[()] | None:
            is_same = (rank.speaker, rank.run) == (speaker, self._run)
            return () if is_same and not rank.mentioned and not rank.responses else None

        calls = self._find(call.id)
        return None if calls is None else calls.first_equal(call.name, call.args, key)

    def complete(self, event: object, known: KnownCall, name: str, args: dict[str, Any]) -> None:
        """Store the tool's name and the arguments of a call. ``event``: the event with the call; ``None`` if name and
        arguments come from an approval request."""
        known.name, known.args, known.run = name, args, self._run
        self._open.name(known)
        self._note_changed(known, known.same_id)
        if event is not None:
            self._begin_event(event)
            known.number = self._count(known)
            self._mention(event, known)

    def request_approval(
        self, speaker: SpeakerKey, approval_id: str, args: dict[str, Any], *, shown: bool = True
    ) -> KnownCall | None:
        """Read a call of ``adk_request_confirmation`` with these arguments. Return the call that needs approval, and
        add it if it is new.

        If the request repeats a request that the user has not answered yet, return ``None``. Otherwise, the request
        replaces the call's previous request. ``shown``: True if the client gets the call.
        """
        original = confirmed_call(args)
        quoted = original.get("name", ""), original.get("args", {})
        asked = self._asked.get(approval_id) if approval_id and self._asked else None
        if asked is not None and asked.is_undecided and (asked.name, asked.args) == quoted:
            return None
        known = self.find_requester(speaker, original) or self.new(original.get("id"), speaker, shown=shown)
        if known.args is None:
            self.complete(None, known, *quoted)
        self._asked = self._asked or {}
        self._asked[approval_id] = known
        known.approval_id, known.is_undecided, known.decided = approval_id, True, False
        self.reopen(known)  # the call may have a response that looked like a result, but its tool has not run
        self._note_changed(known, known.same_id)
        return known

    def reopen(self, known: KnownCall) -> None:
        """Record that the call waits for a response again, because its tool has not run yet or runs again."""
        if known.opened is None:
            self._open.add(known)

    def _count(self, known: KnownCall) -> int:
        """Count a call of the current event. Return the number of calls with the same id that come before this call in
        the event."""
        counts = self._counts = self._counts or {}
        number = max((counts.get(calls, 0) for calls in known.same_id), default=0)
        for calls in known.same_id:
            counts[calls] = counts.get(calls, 0) + 1
        return number

    def find_requester(self, speaker: SpeakerKey, original: dict[str, Any]) -> KnownCall | None:
        """Return the call for which ADK requests an approval; ``None`` if it is unknown. ``original``: the result of
        the function ``confirmed_call``."""
        calls = self._find(original.get("id"))
        if calls is None:
            return None

        def key(rank: CallRank) -> tuple[bool, int, int]:
            return rank.speaker != speaker, rank.responses, rank.approvals

        known = calls.first_equal(original.get("name", ""), original.get("args", {}), key) or calls.first(key)
        assert known is not None
        known.approvals += 1
        self._note_changed(known, known.same_id)
        return known

    def read_result(self, facts: "EventFacts", result: "Result") -> Answered:
        waits = result.waits_for is not None
        return self.resolve_response(
            facts.event, _responder(facts), result.answered, is_placeholder=waits, by_user=facts.by_user
        )

    def find_undecided(self, facts: "EventFacts", result: "Result") -> KnownCall | None:
        """Return the call that this function response answers, if the user has not answered the call's approval
        request; otherwise ``None``.

        The response is not counted: call ``read_result`` next.
        """
        waits = result.waits_for is not None
        known = self.find_answered(facts.event, _responder(facts), result.answered, is_placeholder=waits)
        return known if known is not None and known.is_undecided else None

    def shows_approval(self, facts: "EventFacts") -> bool:
        """Return True if the event has the result of a call that needs approval, but the session lacks the approval.
        The result shows that the user has approved the call.

        Call this method before the event's calls and results are read.
        """
        is_abort = facts.failure is not None and facts.failure.code == ABORTED  # ADK closes the calls of a stopped run
        if self._asked is None or facts.by_user or is_abort:
            return False
        answering = (result for result in facts.results if result.id and result.waits_for is not CallKind.APPROVAL)
        return any(self.find_undecided(facts, result) is not None for result in answering)

    def resolve_response(
        self,
        event: object,
        speaker: SpeakerKey | None,
        reference: CallReference,
        *,
        is_placeholder: bool = False,
        by_user: bool = False,
    ) -> Answered:
        """Find the call that a function response answers (see ``find_answered``), and count the response.

        The user's answer to an approval request does not count as a response to the call. The next response with the
        call's id is the call's result. An answer to a request that a newer request has replaced is ignored.

        ``speaker``: the author of the response; ``None`` if ADK stores the user as the author. ``reference``: the id,
        the tool and, if known, the number of the answered call. ``is_placeholder``: True if a real result will follow.
        ``by_user``: True if the user has sent the response.
        """
        adk_id = reference.id
        if adk_id and self._asked and (asked := self._asked.get(adk_id)) is not None:
            if asked.approval_id != adk_id:
                return Answered(None, is_approval=True)
            if by_user:
                asked.is_undecided, asked.decided = False, True
                self._note_changed(asked, asked.same_id)
            return Answered(asked, is_approval=True)
        if not adk_id:
            self.begin_run()  # so that later calls do not count as repetitions
        known = self.find_answered(event, speaker, reference, is_placeholder=is_placeholder)
        if known is None:
            return Answered(None, is_placeholder)
        # ADK asks for approval of only one of several calls with one id. The others have results.
        if is_placeholder and adk_id and not known.approvals:
            is_placeholder = not self._same_id[adk_id].any(lambda rank: rank.approvals > 0 and not rank.responses)
        self.add_response(event, known, is_placeholder=is_placeholder)
        return Answered(known, is_placeholder)

    def add_response(self, event: object, known: KnownCall, *, is_placeholder: bool = False) -> None:
        known.decided = False
        known.responses += not is_placeholder
        if not is_placeholder:
            self._open.close(known)
            known.is_undecided = False
        known.placeholders += is_placeholder
        self._mention(event, known)

    def find_answered(
        self, event: object, speaker: SpeakerKey | None, reference: CallReference, *, is_placeholder: bool
    ) -> KnownCall | None:
        """Find the call that a function response answers, but do not count the response.

        A response without an id answers the oldest unanswered call of its tool. Calls by the response's author come
        first. A response with an unknown id answers the oldest unanswered call of its tool that has no id.

        If several calls have the response's id, the search prefers, in this order:

        1. calls by the author of the response,
        2. calls of the response's tool,
        3. calls that the user has just approved or denied,
        4. calls with the fewest responses and, for a placeholder, the fewest placeholders,
        5. the oldest call.

        A call that already has a response does not match a response of a different tool.
        """
        adk_id, name, _, _, number = reference
        self._begin_event(event)
        if not adk_id:
            return self._open.oldest(speaker, name)
        if adk_id not in self._same_id and (nameless := self._open.oldest(speaker, name, lacks_id=True)) is not None:
            self.alias(adk_id, nameless)
        if number is not None and speaker is not None:
            return self.find(CallReference(adk_id, name, *speaker[:2], number))
        if (calls := self._find(adk_id)) is None:
            return None

        def key(rank: CallRank) -> tuple[bool, bool, bool, int, int, int]:
            placeholders = rank.placeholders if is_placeholder else 0
            differs = _differ(rank.name, name)
            return rank.mentioned, differs, not rank.decided, rank.responses, placeholders, -rank.approvals

        known = (calls.first(key, speaker) if speaker is not None else None) or calls.first(key)
        return None if known is None or (known.responses and _differ(known.name, name)) else known

    def find(
        self,
        reference: CallReference,
        is_settled: IsSettled = lambda known: known.opened is None,
        *,
        event: object = None,
        args: Mapping[str, Any] | None = None,
    ) -> KnownCall | None:
        """Find the call of a running tool. ``reference``: the id of the call, and its other known properties.

        If several calls have the id of the reference, the search prefers, in this order:

        1. calls with the tool, author, branch and number of the reference,
        2. calls in the event ``event``,
        3. calls for which ``is_settled`` returns False; if it returns True for all calls, the newest call,
        4. calls that the user has approved,
        5. calls of the newest run,
        6. calls with the arguments ``args``,
        7. the oldest call.
        """
        return next(iter(self.find_several(1, reference, is_settled, event=event, args=args)), None)

    def find_several(
        self, count: int, reference: CallReference, is_settled: IsSettled, *, event: object = None, args: Any = None
    ) -> list[KnownCall]:
        """Return up to ``count`` calls with the id of ``reference``. The order of the calls is described in
        ``find``."""
        adk_id, name, author, branch, number = reference

        def order(numbered: tuple[int, KnownCall]) -> tuple[bool | int, ...]:
            place, known = numbered
            settled = is_settled(known)
            return (
                _differ(known.name, name),
                author not in ("", known.speaker[0]),
                branch not in ("", known.speaker[1]),
                number not in (None, known.number),
                event is None or event is not self._event or not known.mentioned,
                settled,
                not settled and not known.decided,
                0 if settled else -known.run,
                not settled and args is not None and known.args != args,
                -place if settled else place,
            )

        calls = self._same_id.get(adk_id or "")
        return [] if calls is None else [call for _, call in nsmallest(count, enumerate(calls.numbers), key=order)]

    def _find(self, adk_id: str | None) -> "CallsUnderId | None":
        self._update()
        return self._same_id.get(adk_id or "")

    def _note_changed(self, known: KnownCall, places: Sequence[CallsUnderId]) -> None:
        """Record that ``known.rank`` has changed. ``places``: the ``CallsUnderId`` objects that contain the call."""
        if any(calls.has_several for calls in places):
            self._changed = self._changed or []
            self._changed.append((known, places))

    def _update(self) -> None:
        for known, places in self._changed or ():
            for calls in places:
                calls.update(known)
        self._changed = None

    def _begin_event(self, event: object) -> None:
        """Make ``event`` the current event. If the current event changes, clear the data about the calls of the
        previous one."""
        if event is not self._event:
            self._event = event
            self._counts = None
            for known in self._mentioned:
                known.mentioned = False
                self._note_changed(known, known.same_id)
            self._mentioned = []

    def _mention(self, event: object, known: KnownCall) -> None:
        self._begin_event(event)
        if not known.mentioned:
            known.mentioned = True
            if self._mentioned:
                self._mentioned.append(known)
            else:
                self._mentioned = [known]
        self._note_changed(known, known.same_id)


def _responder(facts: "EventFacts") -> SpeakerKey | None:
    """Return the author of an event's function responses; ``None`` if ADK stores the user as the author."""
    return None if facts.in_users_name else facts.speaker


def _differ(first: str, second: str) -> bool:
    """Return True if two tool names are different. An empty name is unknown, and does not differ from any name."""
    return bool(first and second) and first != second
