"""What a request asks for, decided from the request and the stored events alone.

The client owns nothing but its last words. If its last message is the user's, those words are a new turn. Otherwise the
request carries answers to calls of the assistant message that it continues, and an answer counts only for a call that
waits in the *stored* events of the current exchange: neither arguments nor earlier outputs are ever read from a client.

An answer that came before is no error: the client may have lost the response. It gets what followed from it once more.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, Final, cast

from stream_protocol.convert.calls import RESULT, is_confirmed
from stream_protocol.session._answer_checks import CREDENTIAL_PROVIDED, check_input, completed_credential
from stream_protocol.session._exchanges import conversation_events, current_exchange, is_user_message, newest_message_id
from stream_protocol.session._files import InlineFile, LinkedFile, SavedFile, TextOrFile, read_file
from stream_protocol.session._metadata import client_message_id
from stream_protocol.session._pending_calls import CallKind, OutsideCall, outside_calls
from stream_protocol.session._saved_files import artifact_path, linked_path, stored_parts
from stream_protocol.wire import ChatRequestError, is_tool_part, tool_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from google.adk.events import Event
    from google.genai import types

    from stream_protocol.wire import ChatRequest, FilePart, TextPart, ToolPart, UIMessage

CONFLICT: Final = 409

_CLIENTS: Final = frozenset({CallKind.CLIENT_TOOL, CallKind.INPUT})


@dataclass(frozen=True, kw_only=True)
class NewUserTurn:
    """The user said something: start a new assistant message."""

    texts_and_files: tuple[TextOrFile, ...]
    """In the order of the message's parts; never empty."""
    client_message_id: str
    """The id that the client gave the user's message."""
    rewind_before: str | None = None
    """The invocation that goes first, with everything behind it: the words were said before, and are answered anew."""


@dataclass(frozen=True, kw_only=True)
class CallAnswer:
    """One function response for ADK, by the ids and names of its own stored call."""

    id: str
    name: str
    response: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class AnsweredCalls:
    """Every open call of a model response is answered: run on, in the same assistant message."""

    answers: tuple[CallAnswer, ...]
    message_id: str
    past: tuple[Event, ...]
    """The stored events of the message so far."""
    reasons: dict[str, str] = field(default_factory=dict)
    """Approval id -> why the user decided so. ADK's own payload has no place for it."""


@dataclass(frozen=True, kw_only=True)
class NothingToRun:
    """Nothing to run: the response is what the server has of this message that the client may not have seen."""

    message_id: str
    past: tuple[Event, ...]
    events: tuple[Event, ...] = ()
    """What followed from an answer that was given before; empty while answers are still missing."""


PlannedTurn = NewUserTurn | AnsweredCalls | NothingToRun


def plan(request: ChatRequest, events: Sequence[Event]) -> PlannedTurn:
    """What to do about a request in a chat whose stored events are ``events`` (empty for a new chat).

    Raises ``ChatRequestError`` for what a client has no right to ask. Nothing has changed then.
    """
    target = _target(request)
    match target["role"]:
        case "user":
            return _user_turn(request, target, events)
        case "assistant" if request.trigger == "regenerate-message":
            raise ChatRequestError("There is no message of yours to answer again.", status=CONFLICT)
        case "assistant":
            return _continuation(request, target, conversation_events(events))
    raise ChatRequestError("The last message must be the user's or the assistant's.", status=422)


def _user_turn(request: ChatRequest, message: UIMessage, stored: Sequence[Event]) -> NewUserTurn:
    """New words, or words that the server knows: then what followed from them goes, and they are answered anew.

    Words that it does not know are new whatever else the request says: a retry after a request that failed looks so.
    """
    events = conversation_events(stored)
    known = next((index for index in reversed(range(len(events))) if _is_message(events[index], message["id"])), None)
    if known is None:
        return _new_text(list(_said(message)), message["id"])
    event = events[known]
    if any(earlier.invocation_id == event.invocation_id for earlier in events[:known]):
        raise ChatRequestError("This message belongs to an answer that began earlier; it stays.", status=CONFLICT)
    if request.trigger == "regenerate-message":
        said = _stored(_parts(events, known))
    else:
        links = _links(request.id, message["id"], stored)
        said = list(_said(message, lambda url: links.pop(linked_path(request.id, url), None)))
    return _new_text(said, message["id"], rewind_before=event.invocation_id)


def _parts(events: Sequence[Event], index: int) -> list[types.Part | SavedFile]:
    """What the user's message with this index consists of."""
    behind = takewhile(lambda later: not is_user_message(later), islice(events, index + 1, None))
    return stored_parts(events[index], [events[index], *behind])


def _links(chat_id: str, message_id: str, stored: Sequence[Event]) -> dict[str, SavedFile]:
    """The path of each file that the message has, or had before it was edited: a page may not know of that yet.

    Each stands for its file once: links are small, and files are not.
    """
    versions = [index for index, event in enumerate(stored) if _is_message(event, message_id)]
    files = [part for index in versions for part in _parts(stored, index) if isinstance(part, SavedFile)]
    return {artifact_path(chat_id, file.artifact, file.version): file for file in files}


def _is_message(event: Event, message_id: str) -> bool:
    return is_user_message(event) and bool(message_id) and message_id in (client_message_id(event), event.id)


def _new_text(said: list[TextOrFile], message_id: str, *, rewind_before: str | None = None) -> NewUserTurn:
    said = [text_or_file for text_or_file in said if text_or_file]
    if not said:
        raise ChatRequestError("The message is empty.", status=422)
    return NewUserTurn(texts_and_files=tuple(said), client_message_id=message_id, rewind_before=rewind_before)


def _stored(parts: list[types.Part | SavedFile]) -> list[TextOrFile]:
    """What the user said, as it is stored: a page that was reloaded may have only links to its files."""
    said: list[TextOrFile] = []
    for part in parts:
        if isinstance(part, SavedFile):
            said.append(part)
        elif part.text:
            said.append(part.text)
        elif (blob := part.inline_data) is not None:
            said.append(InlineFile(media_type=blob.mime_type or "", data=blob.data or b"", name=blob.display_name))
        elif (link := part.file_data) is not None:
            said.append(LinkedFile(media_type=link.mime_type or "", url=link.file_uri or "", name=link.display_name))
    return said


def _said(message: UIMessage, linked: Callable[[str], SavedFile | None] = lambda _: None) -> Iterator[TextOrFile]:
    """What the message says. ``linked``: the file of its own that a URL stands for, if it does."""
    for part in message["parts"]:
        match part["type"]:
            case "text":
                yield cast("TextPart", part)["text"]
            case "file":
                file = cast("FilePart", part)
                yield linked(file["url"]) or read_file(file)


def _target(request: ChatRequest) -> UIMessage:
    """The assistant message that the client names, as it does when the answered one is not its last; else its last."""
    for message in request.messages if request.trigger == "submit-message" else ():
        if message["id"] and message["id"] == request.message_id and message["role"] == "assistant":
            return message
    return request.messages[-1]


def _continuation(request: ChatRequest, message: UIMessage, events: list[Event]) -> PlannedTurn:
    exchange = current_exchange(events)
    target_id = message["id"] or (newest_message_id(events, exchange[0].invocation_id) if exchange else "")
    calls = {call.answer_id: call for call in outside_calls(exchange)}
    payloads = _payloads(request)
    matched = [(claim, _called(claim, calls)) for claim in _claims(message, calls, _made_ids(exchange))]
    new = {call.answer_id: (claim, call) for claim, call in matched if call.waits}
    if not new:
        return _answered_before(target_id, matched, exchange)
    responses = {answer_id: _response(claim, call, payloads) for answer_id, (claim, call) in new.items()}
    touched = {call.response_index for _, call in new.values()}
    if any(call.response_index in touched and call.answer_id not in new for call in calls.values() if _is_owed(call)):
        return NothingToRun(message_id=target_id, past=tuple(exchange))
    return AnsweredCalls(
        answers=tuple(
            CallAnswer(id=call.answer_id, name=call.answer_name, response=responses[call.answer_id])
            for _, call in new.values()
        ),
        message_id=target_id,
        past=tuple(exchange),
        reasons={call.answer_id: claim.reason for claim, call in new.values() if claim.reason},
    )


def _payloads(request: ChatRequest) -> Mapping[str, Any]:
    """Approval id -> the payload that goes with it. A message has no place for it, so it rides in the body."""
    payloads = request.body.get("approvalPayloads") or {}
    if not isinstance(payloads, dict):
        raise ChatRequestError("approvalPayloads must be an object: approval id to payload.", status=422)
    return payloads


def _response(claim: _Claim, call: OutsideCall, payloads: Mapping[str, Any]) -> dict[str, Any]:
    """What ADK is given. Raises ``ChatRequestError`` for what it could not use; the call waits on then."""
    match call.kind:
        case CallKind.APPROVAL if call.answer_id in payloads:
            return {**claim.response, "payload": payloads[call.answer_id]}
        case CallKind.INPUT if "error" not in claim.response:
            check_input(call.args, claim.output)
        case CallKind.CREDENTIAL:
            return completed_credential(call.args, claim.output)
    return claim.response


def _is_owed(call: OutsideCall) -> bool:
    """Whether the agent waits for this call's siblings too. A credential may come by another way than the chat."""
    return call.waits and call.kind is not CallKind.CREDENTIAL


def _made_ids(exchange: list[Event]) -> set[str | None]:
    return {call.id for event in exchange for call in event.get_function_calls()}


@dataclass(frozen=True, kw_only=True)
class _Claim:
    """What a part of the client's message says about a call."""

    answer_id: str
    response: dict[str, Any]
    output: Any = None
    """The output of a part, as it came."""
    is_approval: bool = False
    reason: str | None = None
    unseen: bool
    """Whether the client has nothing yet of what followed from it."""


def _claims(message: UIMessage, calls: dict[str, OutsideCall], made_ids: set[str | None]) -> Iterator[_Claim]:
    """The answers among the parts. Outputs that no client can have given are our own, come back with the history."""
    parts = message["parts"]
    last_step = max((index for index, part in enumerate(parts) if part["type"] == "step-start"), default=-1)
    tool_parts = [(index, part) for index, part in enumerate(parts) if is_tool_part(part)]
    renamed = _renamed([part for _, part in tool_parts], calls, made_ids)
    for index, part in tool_parts:
        answer_id = renamed.get(part["toolCallId"], part["toolCallId"])
        approval = part.get("approval")
        if part["state"] == "approval-responded" and approval is not None and "approved" in approval:
            yield _Claim(
                answer_id=approval["id"],
                response={"confirmed": approval["approved"]},
                is_approval=True,
                reason=approval.get("reason"),
                unseen=True,
            )
        elif part["state"] in ("output-available", "output-error") and _takes_output(calls.get(answer_id)):
            output = part.get("output")
            yield _Claim(answer_id=answer_id, response=_output(part), output=output, unseen=index > last_step)


def _renamed(parts: list[ToolPart], calls: dict[str, OutsideCall], made_ids: set[str | None]) -> dict[str, str]:
    """Ids that only the client knows -> ids that ADK stored.

    A model adapter without call ids of its own has ADK make one up for the fragment, which the client saw, and another
    for the complete call, which was stored. Such parts and calls of one tool go together in their order.
    """
    shown = {part["toolCallId"] for part in parts}
    strays = [call for call in calls.values() if call.kind in _CLIENTS and call.answer_id not in shown]
    renamed: dict[str, str] = {}
    for part in parts:
        stray = next((call for call in strays if call.answer_name == tool_name(part)), None)
        if part["toolCallId"] not in made_ids and stray is not None:
            renamed[part["toolCallId"]] = stray.answer_id
            strays.remove(stray)
    return renamed


def _output(part: ToolPart) -> dict[str, Any]:
    """A client tool's outcome as ADK stores a function response: an object."""
    if part["state"] == "output-error":
        return {"error": part.get("errorText", "")}
    output = part.get("output")
    return output if isinstance(output, dict) and output.keys() != {RESULT} else {RESULT: output}


def _takes_output(call: OutsideCall | None) -> bool:
    return call is not None and call.kind is not CallKind.APPROVAL and (call.waits or call.answer is not None)


def _called(claim: _Claim, calls: dict[str, OutsideCall]) -> OutsideCall:
    """The stored call that a claim is about. Raises ``ChatRequestError`` unless it is one that may be answered so."""
    call = calls.get(claim.answer_id)
    if call is None or claim.is_approval is not (call.kind is CallKind.APPROVAL):
        raise ChatRequestError("There is no such request to answer any more.", status=CONFLICT)
    if not call.waits and call.answer is None:
        raise ChatRequestError("That request was closed before it was answered.", status=CONFLICT)
    return call


def _answered_before(target_id: str, matched: list[tuple[_Claim, OutsideCall]], exchange: list[Event]) -> NothingToRun:
    """What followed from answers that are stored already. Raises ``ChatRequestError`` unless they are the same."""
    if not matched:
        raise ChatRequestError("There is nothing to answer: the last message is the assistant's.", status=CONFLICT)
    if any(not _same(claim, call) for claim, call in matched):
        raise ChatRequestError("That request was answered differently before.", status=CONFLICT)
    rounds = [call.answered_index for claim, call in matched if claim.unseen and call.answered_index is not None]
    seen = max(rounds, default=len(exchange))
    return NothingToRun(message_id=target_id, past=tuple(exchange[:seen]), events=tuple(exchange[seen:]))


def _same(claim: _Claim, call: OutsideCall) -> bool:
    answer = call.answer or {}
    if call.kind is CallKind.APPROVAL:  # the stored payload may hold more than a page can say
        return claim.response["confirmed"] is is_confirmed(answer)
    if call.kind is CallKind.CREDENTIAL:  # the page was never given back what it gave
        return claim.output == CREDENTIAL_PROVIDED or completed_credential(call.args, claim.output) == answer
    return claim.response == answer
