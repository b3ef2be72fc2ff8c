"""What a request asks for, decided from the request and the stored events alone.

Of what a client sends, only its newest words or answers count. If its last message is the user's, that begins a new
exchange; of the answers in the message before it those count that only tell the agent something. Otherwise the request
carries answers to calls of the assistant message that it continues. An answer counts only for a call that is pending in
the *stored* events of the current exchange: neither arguments nor earlier outputs are read from a client.

A request that was answered before is no error: the client may have lost the response. The response then repeats
what followed from it, also if the user has said something else since.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from stream_protocol.adk import NO_IDS, CallIds, CallKind, gated_call, is_user_event
from stream_protocol.session._decisions import Decision, decision
from stream_protocol.session._files import SavedFile
from stream_protocol.session._history_cut import first_cut_off
from stream_protocol.session._idempotency_key import idempotency_key
from stream_protocol.session._response_ends import ended_by_itself
from stream_protocol.session._schema_costs import Budget
from stream_protocol.session._submitted_answers import (
    CONFLICT,
    REJECTED,
    SubmittedAnswer,
    adk_response,
    answered_call,
    answers_with_words,
    approval_payloads,
    calls_by_page_id,
    is_stored_answer,
    submitted_answers,
)
from stream_protocol.session._user_message import (
    artifact_path,
    linked_artifact_path,
    stored_parts,
    stored_texts_and_files,
    texts,
    texts_and_files,
)
from stream_protocol.session.transcript import EventMetadata
from stream_protocol.wire import ChatRequestError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from google.adk.events import Event
    from google.genai import types

    from stream_protocol.session._files import TextOrFile
    from stream_protocol.session._history_cut import HistoryCut
    from stream_protocol.session.transcript import Exchange, StoredCall, Transcript
    from stream_protocol.wire import ChatRequest, UIMessage


@dataclass(frozen=True, kw_only=True)
class CallAnswer:
    """One function response for ADK, by the ids and names of its own stored call."""

    id: str
    name: str
    response: dict[str, Any]
    event: Event | None = field(default=None, compare=False, repr=False)
    """The stored event with the call; ``None`` in a history that the client brings."""
    resumes: str | None = field(default=None, compare=False)
    """The name of the agent that ADK resumes with it; ``None`` in a history that the client brings."""
    decision: Decision | None = field(default=None, compare=False, repr=False)
    """What the user decided with it; ``None`` if it is not the user's."""

    @property
    def is_denial(self) -> bool:
        """Whether it denies an approval."""
        return self.decision is not None and self.decision.kind == "deny"


@dataclass(frozen=True, kw_only=True)
class NewUserTurn:
    """The user said something: start a new assistant message."""

    texts_and_files: tuple[TextOrFile, ...]
    """In the order of the message's parts; never empty."""
    client_message_id: str
    """The id that the client gave the user's message."""
    rewind_before: str | None = None
    """The invocation to rewind first, with everything after it: the message was sent before, and is answered anew; or
    the client has cut its history there."""
    answers: tuple[CallAnswer, ...] = ()
    """Answers that came with the words, from the message before them: denials, and outputs. Nothing runs on them."""
    rejections: tuple[CallAnswer, ...] = ()
    """What the agent says of the calls that were denied."""
    reasons: dict[str, str] = field(default_factory=dict)
    """Approval id -> why the user denied."""
    call_ids: CallIds = field(default=NO_IDS, compare=False, repr=False)
    """The ids under which the page knows the calls of earlier messages."""


@dataclass(frozen=True, kw_only=True)
class AnsweredCalls:
    """Every pending call of a model response is answered: run on, in the same assistant message."""

    answers: tuple[CallAnswer, ...]
    message_id: str
    past: tuple[Event, ...]
    """The events of the message so far, as the page was shown them."""
    reasons: dict[str, str] = field(default_factory=dict)
    """Approval id -> why the user decided so. ADK's own payload has no place for it."""
    call_ids: CallIds = field(default=NO_IDS, compare=False, repr=False)
    """The ids under which the page knows the calls of earlier messages."""


@dataclass(frozen=True, kw_only=True)
class NothingToRun:
    """Nothing to run: the response is what the server has of this message that the client may not have seen."""

    message_id: str
    past: tuple[Event, ...]
    """The events of the message that the client has seen."""
    events: tuple[Event, ...] = ()
    """What followed from what the request repeats; empty while answers are still missing."""
    is_interrupted: bool = False
    """Whether nothing followed from that: its run broke off, or a worker that was cut off still runs it."""
    repeats: Literal["words", "answers"] | None = field(default=None, compare=False)
    """What the request repeats of what was said before; ``None`` while answers are still missing. Says why there is
    nothing to run, not what the response is."""
    is_superseded: bool = field(default=False, compare=False)
    """Whether the user has said something else since."""
    call_ids: CallIds = field(default=NO_IDS, compare=False, repr=False)
    """The ids under which the page knows the calls of earlier messages."""


PlannedTurn: TypeAlias = NewUserTurn | AnsweredCalls | NothingToRun


def plan(
    request: ChatRequest,
    transcript: Transcript,
    *,
    resumed_agent: Callable[[str], str] | None = None,
    chat_was_busy: bool = False,
    history_cut: HistoryCut = "append",
    known_key: str | None = None,
    said: Sequence[TextOrFile] | None = None,
) -> PlannedTurn:
    """What to do about a request in a chat with this transcript (empty for a new chat).

    ``resumed_agent``: by the name of the agent that called, the name of the one that ADK resumes with an answer; by
    default the same.
    ``chat_was_busy``: whether another run of the chat went on when the request came. If an equal one is stored then,
    it is a retry. In a chat where nothing runs it is one if the client says that the words are new, and what is stored
    is worth having: it came to its end, or more was said after it. A client that does not say so may send the same
    bytes because the user wants another answer.
    ``history_cut``: what it means that new words come with a history which ends before the stored one.
    ``known_key``: the idempotency key of the request, if it is known.
    ``said``: the texts and files of a message that is not stored, if an earlier plan has found them: the links in the
    message may lead to files of a message that was taken back since.

    Raises ``ChatRequestError`` for what a client has no right to ask. Nothing has changed then.
    """
    target = request.target
    match target["role"]:
        case "user":
            exchange = transcript.find_user_message(target["id"])
            if exchange is None:
                return _plan_new_words(request, target, transcript, history_cut, said)
            repeated = _repeated_words(known_key or idempotency_key(request), exchange)
            if repeated is None or not (chat_was_busy or _wants_stored_response(request, exchange, transcript)):
                return _plan_again(request, target, transcript, exchange)
            return repeated
        case "assistant" if request.trigger == "regenerate-message":
            raise ChatRequestError("There is no message of yours to answer again.", status=CONFLICT)
        case "assistant":
            superseded = _superseded_answers(request, target, transcript, known_key)
            return superseded or _plan_continuation(request, target, transcript.current, resumed_agent or _caller)
    raise ChatRequestError("The last message must be the user's or the assistant's.", status=422)


def _plan_again(request: ChatRequest, message: UIMessage, transcript: Transcript, exchange: Exchange) -> NewUserTurn:
    """A message that is stored already: it is rewound, and answered anew."""
    parts = _message_parts(exchange)
    if request.trigger == "regenerate-message" and not _is_edited(message, parts):
        said = stored_texts_and_files(parts, exchange.stored[0].id)
    else:
        said = _with_saved_files(request, message, transcript.versions(message["id"]))
    return _new_user_turn(request, said, transcript, taken_back=exchange)


def _plan_new_words(
    request: ChatRequest,
    message: UIMessage,
    transcript: Transcript,
    history_cut: HistoryCut,
    said: Sequence[TextOrFile] | None,
) -> NewUserTurn:
    """A message that is not stored: it is new whatever the trigger says, as a retry of a request that failed is."""
    cut_off = first_cut_off(request, transcript) if history_cut == "rewind" else None
    edited_ids = cut_off.user_message_ids if cut_off is not None else ()
    # The message itself was taken back if the worker ended before its answer began.
    edited = [one for user_id in (*edited_ids, message["id"]) for one in transcript.versions(user_id)]
    found = said if said is not None else _with_saved_files(request, message, edited)
    return _new_user_turn(request, found, transcript, taken_back=cut_off)


def _invocation_to_rewind(exchange: Exchange, transcript: Transcript) -> str:
    """The invocation with which this exchange and all later ones are taken back. Raises ``ChatRequestError`` (409)."""
    if not transcript.begins_invocation(exchange):
        raise ChatRequestError("This message belongs to an answer that began earlier; it stays.", status=CONFLICT)
    return exchange.stored[0].invocation_id


def _wants_stored_response(request: ChatRequest, exchange: Exchange, transcript: Transcript) -> bool:
    """Whether a retry gets the stored response. Else nobody has more than the beginning of one: it is answered anew."""
    if not request.says_new_words:
        return False
    goes_on = exchange is not transcript.exchanges[-1] or len(exchange.response_starts) > 1
    return goes_on or ended_by_itself(exchange)


def _repeated_words(key: str, exchange: Exchange) -> NothingToRun | None:
    """The stored response to an equal request; ``None`` if no equal one is stored. ``key``: its idempotency key."""
    if EventMetadata.of(exchange.stored[0]).idempotency_key != key:
        return None
    return NothingToRun(
        message_id=exchange.message_id,
        past=(),
        events=exchange.first_response,
        is_interrupted=all(map(is_user_event, exchange.first_response)),
        repeats="words",
        call_ids=exchange.call_ids,
    )


def _new_user_turn(
    request: ChatRequest, said: Iterable[TextOrFile], transcript: Transcript, *, taken_back: Exchange | None
) -> NewUserTurn:
    """The turn of these words. ``taken_back``: the exchange that is rewound first, with all later ones."""
    rewind_before = _invocation_to_rewind(taken_back, transcript) if taken_back is not None else None
    parts = tuple(said)
    if not parts:
        raise ChatRequestError("The message is empty.", status=422)
    exchange = transcript.current_before(taken_back)
    before = request.message_before_words
    given = list(answers_with_words(before, exchange)) if before is not None and exchange is not None else []
    denied = [call for answer, call in given if answer.is_approval]
    return NewUserTurn(
        texts_and_files=parts,
        client_message_id=request.target["id"],
        rewind_before=rewind_before,
        answers=tuple(_call_answer(call, answer.response) for answer, call in given),
        rejections=tuple(_rejection(call, exchange) for call in denied if exchange is not None),
        reasons={call.answer_id: answer.reason for answer, call in given if answer.reason},
        call_ids=transcript.call_ids if taken_back is None else taken_back.call_ids,
    )


def _rejection(approval: StoredCall, exchange: Exchange) -> CallAnswer:
    """What the agent says of a call that was denied, as ADK says it."""
    call = gated_call(approval.args)
    event = exchange.stored[approval.response_index]
    return CallAnswer(id=call.get("id", ""), name=call.get("name", ""), response={"error": REJECTED}, event=event)


def _message_parts(exchange: Exchange) -> list[types.Part | SavedFile]:
    """What the user's message of the exchange consists of."""
    return stored_parts(exchange.stored[0], exchange.stored)


def _is_edited(message: UIMessage, stored: list[types.Part | SavedFile]) -> bool:
    """Whether the client's text of a stored message differs: some clients edit so, and ask for another answer then.

    Its files do not count: a page that was reloaded may lack them. A saved file is a link there, or a line of text.
    """
    sent = texts(message)
    said = list(stored_texts_and_files(stored))
    as_links = [each for each in said if isinstance(each, str)]
    as_lines = [
        each.line if isinstance(each, SavedFile) else each for each in said if isinstance(each, str | SavedFile)
    ]
    return bool(sent) and sent not in (as_links, as_lines)


def _with_saved_files(request: ChatRequest, message: UIMessage, versions: Iterable[Exchange]) -> Iterator[TextOrFile]:
    """What an edited message says. A link in it stands for a file that the message has, or had."""
    files = _saved_files(request.id, versions)
    return texts_and_files(message, lambda url: files.pop(linked_artifact_path(request.id, url), None))


def _saved_files(chat_id: str, versions: Iterable[Exchange]) -> dict[str, SavedFile]:
    """Artifact path -> file, of all files that the message has, or had before it was edited.

    A page may still show a file that an edit removed. The caller takes each file out once: a small request could
    otherwise repeat a link a thousand times, and each stands for a whole file.
    """
    files = [part for exchange in versions for part in _message_parts(exchange) if isinstance(part, SavedFile)]
    return {artifact_path(chat_id, file.artifact, file.version): file for file in files}


def _caller(author: str) -> str:
    return author


def _plan_continuation(
    request: ChatRequest, message: UIMessage, exchange: Exchange | None, resumed_agent: Callable[[str], str]
) -> PlannedTurn:
    calls = calls_by_page_id(exchange)
    payloads = approval_payloads(request)
    matched = [(answer, answered_call(answer, calls)) for answer in submitted_answers(message, exchange)]
    if not matched or exchange is None:
        raise ChatRequestError("There is nothing to answer: the last message is the assistant's.", status=CONFLICT)
    target_id = message["id"] or exchange.message_id
    answers = {call.page_id: answer for answer, call in matched if call.is_pending}
    if not answers:
        return _answered_before(target_id, matched, exchange)
    new = [call for page_id, call in calls.items() if page_id in answers]  # ADK takes them in the order of the calls
    budget = Budget()
    responses = [adk_response(answers[call.page_id], call, payloads, budget) for call in new]
    resumed = {call.page_id: resumed_agent(call.event.author) for call in calls.values()}
    if any(_agent_waits_for(call, new, resumed) for page_id, call in calls.items() if page_id not in answers):
        return NothingToRun(message_id=target_id, past=exchange.events, call_ids=exchange.call_ids)
    return AnsweredCalls(
        answers=tuple(
            _call_answer(call, response, resumes=resumed[call.page_id])
            for call, response in zip(new, responses, strict=True)
        ),
        message_id=target_id,
        past=exchange.events,
        reasons={call.answer_id: reason for call in new if (reason := answers[call.page_id].reason)},
        call_ids=exchange.call_ids,
    )


def _call_answer(call: StoredCall, response: dict[str, Any], *, resumes: str | None = None) -> CallAnswer:
    return CallAnswer(
        id=call.answer_id,
        name=call.name,
        response=response,
        event=call.event,
        resumes=resumes,
        decision=decision(call, response),
    )


def _agent_waits_for(call: StoredCall, answered: Iterable[StoredCall], resumed: Mapping[str, str]) -> bool:
    """Whether the agent goes on from these answers only when this call is answered, too.

    It does so for all calls of one model response, but a credential may come by another way. Two calls under one id ADK
    cannot tell apart: they are answered together. So are those of agents that ADK resumes through another one: that one
    goes on as if all had their answers. ``resumed``: by ``page_id``, the agent that ADK resumes.
    """
    if not call.is_pending or call.kind is CallKind.CREDENTIAL:
        return False
    through = resumed[call.page_id]
    return any(
        call.response_index == other.response_index
        or call.answer_id == other.answer_id
        or (through != call.event.author and through == resumed[other.page_id])
        for other in answered
    )


def _superseded_answers(
    request: ChatRequest, message: UIMessage, transcript: Transcript, known_key: str | None
) -> NothingToRun | None:
    """The stored response to an equal request whose message other words of the user follow; ``None`` if there is none.

    A page that lost its connection repeats a request that was accepted, whatever the user has said elsewhere since.
    """
    key = known_key or idempotency_key(request)
    for exchange in transcript.exchanges:
        is_equal = any(
            EventMetadata.of(event).idempotency_key == key for event in exchange.stored if is_user_event(event)
        )
        if exchange is transcript.current or not is_equal:
            continue
        calls = calls_by_page_id(exchange)
        matched = [(answer, answered_call(answer, calls)) for answer in submitted_answers(message, exchange)]
        if matched:
            stored = _answered_before(message["id"] or exchange.message_id, matched, exchange)
            return replace(stored, is_superseded=True)
    return None


def _answered_before(
    target_id: str, matched: list[tuple[SubmittedAnswer, StoredCall]], exchange: Exchange
) -> NothingToRun:
    """What followed from answers that are stored already. Raises ``ChatRequestError`` unless they are the same."""
    if any(not is_stored_answer(answer, call) for answer, call in matched):
        raise ChatRequestError("That request was answered differently before.", status=CONFLICT)
    awaited = [
        call.answered_index for answer, call in matched if answer.awaits_response and call.answered_index is not None
    ]
    end = len(exchange.stored)
    seen = max(awaited, default=end)
    events = exchange.shown(seen, end)
    return NothingToRun(
        message_id=target_id,
        past=exchange.shown(0, seen),
        events=events,
        is_interrupted=bool(events) and all(map(is_user_event, events)),
        repeats="answers",
        call_ids=exchange.call_ids,
    )
