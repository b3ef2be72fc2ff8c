"""Find the tool call to which an event refers. The event may have a function response, an approval or an answer, or
come from a running tool.

Several calls can have the same id, even in one event. So the search also uses the complete event with the call, and the
number of responses to the call. It must find the same call in a live response and in the stored chat. So it uses no
partial events, because ADK does not store them.
"""

from collections.abc import Callable, Mapping
from heapq import nsmallest
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from stream_protocol.adk._adk_requests import CallKind, confirmed_call
from stream_protocol.adk._call_ids import CallIds
from stream_protocol.adk._failures import ABORTED
from stream_protocol.adk._known_call import CallReference, KnownCall, SpeakerKey

if TYPE_CHECKING:
    from stream_protocol.adk._facts import Call, EventFacts, Result

IsSettled: TypeAlias = Callable[[KnownCall], bool]

_MAX_ANSWERED: Final = 8
"""The number of newest calls with the same id that stay after their response."""

_MAX_SAME_ID: Final = 1000
"""The number of newest calls with the same id that can get a response. The limit keeps each search short."""

_RESPONSES: Final = attrgetter("responses")
_RESPONSES_AND_PLACEHOLDERS: Final = attrgetter("responses", "placeholders")
_RESPONSES_AND_APPROVALS: Final = attrgetter("responses", "approvals")
_APPROVALS: Final = attrgetter("approvals")


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

    __slots__ = ("_asked", "_counts", "_event", "_ids", "_mentioned", "_open", "_run", "_same_id")

    def __init__(self, ids: CallIds) -> None:
        self._ids = ids
        self._same_id: dict[str, list[KnownCall]] = {}
        """Id in ADK -> the calls with this id, in order."""
        self._open: dict[KnownCall, None] = {}
        """The calls that wait for a function response, in order."""
        self._asked: dict[str, KnownCall] | None = None
        """Id of an approval request -> the call that needs approval."""
        self._run = 0
        self._event: object = None
        self._mentioned: dict[KnownCall, None] = {}
        """The calls of the newest event so far. A second call with the same id in this event is a different call."""
        self._counts: dict[str, int] | None = None
        """Id in ADK -> the number of calls with this id in the newest event."""

    def read_event(self, facts: "EventFacts") -> None:
        """Prepare for the next event. Call this method before you read the event's calls and results. An event of the
        user begins a new run, unless it is a steering message (sent while the agent works).
        """
        if facts.by_user:
            self.begin_run()

    def begin_run(self) -> None:
        """Begin a new run. A call in the new run never counts as a repetition of a call in an older run."""
        self._run += 1

    def new(self, adk_id: str | None, speaker: SpeakerKey, name: str = "", *, shown: bool = True) -> KnownCall:
        """Add a tool call, and return it. ``shown``: True if the client gets the call."""
        known = KnownCall(self._ids.new(adk_id) if shown else "", speaker, name)
        self.alias(adk_id or known.id, known)
        known.has_id = bool(adk_id)
        self.reopen(known)
        return known

    def alias(self, adk_id: str, known: KnownCall) -> None:
        """Add ``adk_id`` to the ids that this call has in ADK."""
        if adk_id != known.id:
            known.has_id = True
        calls = self._same_id.setdefault(adk_id, [])
        if known not in calls:
            if len(calls) > _MAX_ANSWERED:
                older, newest = calls[-_MAX_SAME_ID:-_MAX_ANSWERED], calls[-_MAX_ANSWERED:]
                calls[:] = [*(other for other in older if not other.responses), *newest]
            calls.append(known)
            known.adk_ids += (adk_id,)

    def newest(self, adk_id: str, speaker: SpeakerKey) -> KnownCall | None:
        """Return the newest call of the agent ``speaker`` with the id ``adk_id``; ``None`` if there is none."""
        return next((known for known in reversed(self._same_id.get(adk_id, ())) if known.speaker == speaker), None)

    def read_call(
        self, facts: "EventFacts", call: "Call", *, streamed: KnownCall | None = None, shown: bool = True
    ) -> KnownCall | None:
        """Add a complete function call if it is new, and return its ``KnownCall``. Returns ``None`` for a repetition of
        a call that was read before.

        For ADK's ``adk_request_confirmation``, the result is the call that needs approval. ``streamed``: the
        ``KnownCall`` that already exists if pieces of the call were streamed before; otherwise ``None``. ``shown``:
        True if the client gets the call.
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
        same_run = (
            known
            for known in self._same_id.get(call.id or "", ())
            if known.run == self._run and known not in self._mentioned and not known.responses
        )
        same = (known for known in same_run if (known.speaker, known.name) == (speaker, call.name))
        return next((known for known in same if known.args == call.args), None)

    def complete(self, event: object, known: KnownCall, name: str, args: dict[str, Any]) -> None:
        """Store the tool's name and the arguments of a call. ``event``: the event with the call; ``None`` if name and
        arguments come from an approval request."""
        known.name, known.args, known.run = name, args, self._run
        if event is not None:
            self._begin_event(event)
            known.number = self._count(known)
            self._mention(event, known)

    def request_approval(
        self, speaker: SpeakerKey, approval_id: str, args: dict[str, Any], *, shown: bool = True
    ) -> KnownCall | None:
        """Read a call of ``adk_request_confirmation`` with these arguments. Return the call that needs approval, and
        add it if it is new.

        Return ``None`` if the request only repeats a request that the user has not answered yet. Otherwise, it replaces
        the previous request for this call. ``shown``: True if the client gets the call.
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
        return known

    def reopen(self, known: KnownCall) -> None:
        """Record that the call waits for a response again, because its tool has not run yet or runs again."""
        known.is_open = True
        self._open.setdefault(known)

    def _count(self, known: KnownCall) -> int:
        """Count a call of the current event. Return the number of earlier calls with the same id in the event."""
        counts = self._counts = self._counts or {}
        number = max((counts.get(adk_id, 0) for adk_id in known.adk_ids), default=0)
        for adk_id in known.adk_ids:
            counts[adk_id] = counts.get(adk_id, 0) + 1
        return number

    def find_requester(self, speaker: SpeakerKey, original: dict[str, Any]) -> KnownCall | None:
        """Return the call for which ADK requests an approval; ``None`` if it is unknown. ``original``: the result of
        the function ``confirmed_call``."""
        calls = self._same_id.get(original.get("id") or "")
        if not calls:
            return None
        quoted = original.get("name", ""), original.get("args", {})
        calls = [known for known in calls if (known.name, known.args) == quoted] or calls
        calls = [known for known in calls if known.speaker == speaker] or calls
        known = min(calls, key=_RESPONSES_AND_APPROVALS)
        known.approvals += 1
        return known

    def read_result(self, facts: "EventFacts", result: "Result") -> Answered:
        waits = result.waits_for is not None
        return self.resolve_response(
            facts.event, _responder(facts), result.answered, is_placeholder=waits, by_user=facts.by_user
        )

    def find_undecided(self, facts: "EventFacts", result: "Result") -> KnownCall | None:
        """Find the call that this function response answers. Return it if the user has not answered its approval
        request; otherwise ``None``.

        The response is not recorded: call ``read_result`` next.
        """
        waits = result.waits_for is not None
        known = self.find_answered(facts.event, _responder(facts), result.answered, is_placeholder=waits)
        return known if known is not None and known.is_undecided else None

    def shows_approval(self, facts: "EventFacts") -> bool:
        """Return True if the event has the result of a call that needs approval, but no earlier event has the approval.
        Because there is a result, the user must have approved the call.

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
        """Find the call that a function response answers (see ``find_answered``), and record the response for this
        call.

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
            return Answered(asked, is_approval=True)
        if not adk_id:
            self.begin_run()  # so that later calls do not count as repetitions
        known = self.find_answered(event, speaker, reference, is_placeholder=is_placeholder)
        if known is None:
            return Answered(None, is_placeholder)
        # ADK asks for approval of only one of several calls with one id. The others have results.
        if is_placeholder and adk_id and not known.approvals:
            is_placeholder = not any(other.approvals and not other.responses for other in self._same_id[adk_id])
        self.add_response(event, known, is_placeholder=is_placeholder)
        return Answered(known, is_placeholder)

    def add_response(self, event: object, known: KnownCall, *, is_placeholder: bool = False) -> None:
        known.decided = False
        known.responses += not is_placeholder
        if not is_placeholder:
            self._close(known)
            known.is_undecided = False
        known.placeholders += is_placeholder
        self._mention(event, known)

    def find_answered(
        self, event: object, speaker: SpeakerKey | None, reference: CallReference, *, is_placeholder: bool
    ) -> KnownCall | None:
        """Find the call that a function response answers. Do not record the response.

        A response without an id answers the oldest unanswered call of its tool. If several agents have such a call, the
        author of the response comes first. A response with an unknown id answers the oldest unanswered call of its tool
        that has no id.

        If several calls have the response's id, the search prefers, in this order:

        1. calls by the author of the response,
        2. calls from other events to which ``event`` has no earlier response,
        3. calls of the response's tool,
        4. calls that the user has just approved or denied,
        5. calls with the fewest responses and, for a placeholder, the fewest placeholders,
        6. calls with the most approval requests,
        7. the oldest call.

        If a call already has a response, a response of a different tool does not match the call.
        """
        adk_id, name, _, _, number = reference
        self._begin_event(event)
        if not adk_id:
            return self._oldest_open(speaker, name)
        if adk_id not in self._same_id and (nameless := self._oldest_open(speaker, name, lacks_id=True)) is not None:
            self.alias(adk_id, nameless)
        if number is not None and speaker is not None:
            return self.find(CallReference(adk_id, name, *speaker[:2], number))
        if not (calls := self._same_id.get(adk_id)):
            return None
        calls = [known for known in calls if known.speaker == speaker] or calls
        calls = [known for known in calls if known not in self._mentioned] or calls
        calls = [known for known in calls if not name or known.name in ("", name)] or calls
        calls = [known for known in calls if known.decided] or calls
        calls = sorted(calls, key=_APPROVALS, reverse=True)
        known = min(calls, key=_RESPONSES_AND_PLACEHOLDERS if is_placeholder else _RESPONSES)
        return None if known.responses and _differ(known.name, name) else known

    def _oldest_open(self, speaker: SpeakerKey | None, name: str, *, lacks_id: bool = False) -> KnownCall | None:
        """Return the oldest unanswered call of this tool, preferably by the agent ``speaker``.

        ``lacks_id``: True to search only calls to which ADK has given no id.
        """
        oldest: KnownCall | None = None
        for known in self._open:
            # A streamed call has no name yet, and a session does not store it.
            if known.name != name or (not name and known.run < 0) or (lacks_id and known.has_id):
                continue
            if known.speaker == speaker:
                return known
            oldest = oldest or known
        return oldest

    def find(
        self,
        reference: CallReference,
        is_settled: IsSettled = lambda known: not known.is_open,
        *,
        event: object = None,
        args: Mapping[str, Any] | None = None,
    ) -> KnownCall | None:
        """Find the call of a running tool. ``reference``: the id of the call, and its other known properties.

        If several calls have the id of the reference, the search prefers, in this order:

        1. calls with the tool, author, branch and number of the reference,
        2. calls in the event ``event``,
        3. calls for which ``is_settled`` returns False (if there is no such call, the newest call),
        4. calls that the user has approved,
        5. calls of the newest run,
        6. calls with the arguments ``args``,
        7. the oldest call.
        """
        return next(iter(self.find_several(1, reference, is_settled, event=event, args=args)), None)

    def find_several(
        self, count: int, reference: CallReference, is_settled: IsSettled, *, event: object = None, args: Any = None
    ) -> list[KnownCall]:
        """Return up to ``count`` calls with the id of ``reference``. For the order of the calls, see ``find``."""
        adk_id, name, author, branch, number = reference

        def order(numbered: tuple[int, KnownCall]) -> tuple[bool | int, ...]:
            place, known = numbered
            settled = is_settled(known)
            return (
                _differ(known.name, name),
                author not in ("", known.speaker[0]),
                branch not in ("", known.speaker[1]),
                number not in (None, known.number),
                event is None or event is not self._event or known not in self._mentioned,
                settled,
                not settled and not known.decided,
                0 if settled else -known.run,
                not settled and args is not None and known.args != args,
                -place if settled else place,
            )

        calls = self._same_id.get(adk_id or "", ())
        return [call for _, call in nsmallest(count, enumerate(calls), key=order)]

    def _close(self, known: KnownCall) -> None:
        known.is_open = False
        self._open.pop(known, None)
        if not self._open:
            self._open = {}  # an emptied dictionary keeps its memory

    def _begin_event(self, event: object) -> None:
        """Make ``event`` the current event. If it is a new event, clear the data about the previous event."""
        if event is not self._event:
            self._event = event
            self._counts = None
            self._mentioned = {}

    def _mention(self, event: object, known: KnownCall) -> None:
        self._begin_event(event)
        self._mentioned[known] = None


def _responder(facts: "EventFacts") -> SpeakerKey | None:
    """Return the author of an event's function responses; ``None`` if ADK stores the user as the author."""
    return None if facts.in_users_name else facts.speaker


def _differ(first: str, second: str) -> bool:
    """Return True if two tool names are different. An empty name is unknown, and does not differ from any name."""
    return bool(first and second) and first != second
