"""The promises of the server, as a specification: what clients may see, whatever happens to workers and stores.

Each promise is a function that yields the sentences about how it was broken. ``PROMISES`` has all of them. None of them
looks at our own objects: they judge by what clients got, what the stores have, and what the agent has really done.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Final

from tests.simulation.clients import LAST_WORDS
from tests.simulation.network import Outage
from tests.simulation.schedule import LEASE, FailOver, Repeat, Send
from tests.simulation.stops import is_forgotten, is_meant, known_at
from tests.simulation.views import (
    STEERING_PART,
    TERMINALS,
    Case,
    View,
    is_input,
    parts_of,
    request_of,
    steering_of,
    texts_in,
    texts_of_user,
    told,
    words_of,
    wrong_words,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.simulation.seen import Seen

OPEN_STATES: Final = frozenset({"input-streaming", "input-available", "approval-responded"})
"""The states of a call that something still works at."""

STATUSES: Final = {
    "words": frozenset({200, 503, 0}),
    "answer": frozenset({200, 409, 503, 0}),
    "resume": frozenset({200, 204, 503, 0}),
}
"""By kind of a request: 0 is a worker that is not there. 409 is an answer that was stopped, or came too late."""

CONFLICT: Final = 409

SHORT: Final = LEASE / 3
"""Seconds for which the store of the run log may be away: the lease of a run may have to be renewed just then."""


def nothing_stays_open(case: Case) -> Iterator[str]:
    """Every request is answered, every response ends, and no run, lease, record or task is left behind."""
    yield from case.seen.problems


def one_owner_at_a_time(case: Case) -> Iterator[str]:
    """A tool starts only while its run holds the lease of the chat.

    A run that has lost it reads one more word of its model at most.

    There are two exceptions. A fail-over that loses the newest writes may give the chat to two runs for a moment. With
    an engine, a tool may wait for the engine's database before it starts, and its worker may lose the lease then.
    """
    if case.forgets:
        return
    for call, words in case.seen.ledger.late_words.items():
        if words > 1:
            yield f"m{call} said {words} words while the run of another worker had the chat"
    if case.seen.schedule.engine:
        return
    for tool in case.seen.ledger.tools:
        if tool.holder_worker != tool.process:
            yield f"{tool.call_id} started on {tool.process} while the lease was of {tool.holder_worker or 'nobody'}"


def only_the_newest_request_stores_events(case: Case) -> Iterator[str]:
    """After a request is stored, no event of an older request is stored.

    A worker that has lost its chat writes nothing more.
    """
    newest = ""
    for stored in case.seen.stored:
        event = stored.event
        if not event.content or not event.content.parts:
            continue
        key = request_of(event)
        if is_input(event):
            newest = key or newest  # a steering message is of no request
        elif key and newest and key != newest:
            yield f"worker {stored.worker} stored {told(event)} at {stored.at:.3f}, of an older request"


def the_list_knows_which_chat_waits(case: Case) -> Iterator[str]:
    """After each event, the list of chats says that the agent waits if, and only if, a call waits for the user."""
    for stored in case.seen.stored:
        if stored.is_marked != stored.waits:
            yield f"worker {stored.worker} stored {told(stored.event)} at {stored.at:.3f}: marked {stored.is_marked}"


def a_tool_runs_once(case: Case) -> Iterator[str]:
    """No call is executed twice, and no call that the user has denied is executed.

    An approved call is executed. After a fault, its card may show an error instead: the worker has reported the start
    to the engine, and nobody knows whether the tool has run.
    """
    starts = Counter(tool.call_id for tool in case.seen.ledger.tools)
    for call_id, count in starts.items():
        if count > 1:
            yield f"{call_id} was executed {count} times"
    denied = {
        view.response.call_id for view in case.views if view.response.kind == "answer" and not view.response.approves
    }
    yield from (f"{call_id} was denied, and executed" for call_id in sorted(denied & starts.keys()))
    for view in case.views:
        response = view.response
        is_approval = response.kind == "answer" and response.approves
        is_told = bool(case.faults) and any(
            chunk["type"] == "tool-output-error" and chunk["toolCallId"] == response.call_id for chunk in view.chunks
        )
        if is_approval and view.is_whole and view.end == "finish" and not starts[response.call_id] and not is_told:
            yield f"{response.call_id} was approved and its message finished, but it was not executed"


def an_accepted_message_is_stored_once(case: Case) -> Iterator[str]:
    """A request with the status 200 is in the session, once, however often it is repeated.

    A repeated message replaces an unfinished answer. From then on, the status of the repeated request counts.
    """
    for words, count in case.said_by_user.items():
        if count > 1:
            yield f"{words} is stored {count} times"
    for words in case.seen.ledger.scripts:
        if case.accepted(words) is not None and not case.said_by_user[words] and not case.is_taken_back(words):
            yield f"{words} was accepted, and is not stored"
    for call_id, count in case.answers_stored.items():
        if count > 1:
            yield f"the answer to {call_id} is stored {count} times"


def an_acknowledged_stop_holds(case: Case) -> Iterator[str]:
    """After a stop was acknowledged, requests that were accepted before the stop start no tool and call no model.

    If there is no fault, another worker learns of the stop at once. After a fault, it learns of the stop within the
    time of a lease.
    """
    ledger = case.seen.ledger
    for stop in case.seen.stops:
        if stop.acknowledged is None or is_forgotten(case, stop):
            continue
        began = [(tool.at, tool.message, tool.worker, tool.call_id) for tool in ledger.tools]
        began += [(call.at, call.message, call.worker, f"call m{call.number} of the model") for call in ledger.calls]
        for at, message, worker, what in began:
            if is_meant(case, stop, message, at) and at > known_at(case, stop, worker):
                yield f"the stop was acknowledged at {stop.acknowledged:.3f}, and {what} began at {at:.3f}"


def each_reader_gets_all_words_in_order(case: Case) -> Iterator[str]:
    """Each response shows the words of the model from the first on: none is missing, none comes twice, none is out of
    order. The calls of the model come in their order."""
    for view in case.views:
        if wrong := wrong_words(view.words, case.seen.ledger.said):
            yield f"{view}: {wrong}"
        if view.chunks and view.chunks[0]["type"] not in {"start", "error", "abort"}:
            yield f"{view}: begins with {view.chunks[0]['type']}"
        outputs = Counter(chunk["toolCallId"] for chunk in view.chunks if chunk["type"].startswith("tool-output"))
        yield from (f"{view}: {call_id} has {count} results" for call_id, count in outputs.items() if count > 1)


def each_response_ends_once(case: Case) -> Iterator[str]:
    """A response that was read to its end has one terminal chunk, and its parts are closed.

    The terminal chunk is the last chunk, and ``[DONE]`` follows it.
    """
    for view in case.views:
        if len(view.terminals) > 1 or (view.terminals and view.end not in TERMINALS):
            yield f"{view}: ends in {view.terminals}"
        if not view.is_whole:
            continue
        if not view.terminals or not view.is_done:
            yield f"{view}: has ended without a terminal"
        counts = Counter(chunk["type"] for chunk in view.chunks)
        if counts["text-start"] != counts["text-end"]:
            yield f"{view}: a text is left open"
        if view.end == "finish" and view.words:
            call, word = view.words[-1]
            if word + 1 != case.seen.ledger.said[call]:
                yield f"{view}: has finished, and m{call} lacks words"


def a_reload_shows_all_promised_messages(case: Case) -> Iterator[str]:
    """Every history has each accepted message once.

    It has the words of the model by the same rule as a stream: none is missing, doubled or out of order. In the last
    history, no call is open. It has all words of each response that ended with ``finish`` on a page.
    """
    final = case.seen.final_history
    for history in (*case.seen.histories, *([final] if final else ())):
        if history.status not in {200, 404, 503, None}:
            yield f"the history at {history.begun:.3f} got {history.status}"
        if history.status not in {200, 404}:
            continue
        texts = texts_of_user(history)
        yield from (f"{text} is {count} times in the history" for text, count in Counter(texts).items() if count > 1)
        for words in case.seen.ledger.scripts:
            accepted = case.accepted(words)
            is_expected = accepted is not None and accepted < history.begun and not case.is_taken_back(words)
            if is_expected and words not in steering_of(history):
                yield f"{words} was accepted at {accepted:.3f}, and is not in the history at {history.begun:.3f}"
        if wrong := wrong_words(words_of(history), case.seen.ledger.said):
            yield f"the history at {history.begun:.3f}: {wrong}"
    if final is None:
        return
    for part in parts_of(final):
        if part.get("state") in OPEN_STATES:
            yield f"{part['toolCallId']} stays {part['state']}"
    shown = {*words_of(final)}
    for view in case.views:
        if view.end == "finish" and view.response.words != LAST_WORDS and not shown >= {*view.words}:
            yield f"{view}: has finished, and {sorted({*view.words} - shown)} are not in the history"


def a_run_of_a_dead_worker_continues(case: Case) -> Iterator[str]:
    """With an engine, the reply to an accepted message is complete after all runs, if the chat has no other message and
    no stop.

    There is one exception: a worker stops its run while it ends, because the engine has not stored the run yet.
    """
    schedule, scripts = case.seen.schedule, case.seen.ledger.scripts
    if not schedule.engine or case.seen.stops or len(scripts.keys() - {LAST_WORDS}) != 1:
        return
    words = next(iter(scripts))
    if case.accepted(words) is None or case.is_begun_at_the_end(words):
        return
    expected, complete = 2 if scripts[words].kind == "work" else 1, case.complete_texts(words)
    if complete < expected:
        yield f"{words} was accepted, and its reply has {complete} of {expected} texts"


def a_steering_message_is_read_once(case: Case) -> Iterator[str]:
    """After all runs, a delivered steering message is in the history, once. Each response shows it once at most.

    The agent reads it once: a model call of the run reads it, or it begins a run. If its run is stopped or broken off,
    the next run of the chat reads it. Without a fault, one call of the model at most has it as a new message. A message
    that was not delivered is stored only if its page sends it again. A repeated message replaces an unfinished reply,
    but not the steering messages of this reply: a model call of the new reply reads them again.
    """
    last = case.seen.last_words
    is_usable = last is not None and last.status == 200 and View(last).end == "finish"
    for words in dict.fromkeys(each.words for each in case.seen.steers):
        delivered = case.delivered(words)
        after = (case.seen.final_history, case.seen.last_history)
        for history in (*case.seen.histories, *after):
            if history is None or history.status not in {200, 404}:
                continue
            count = steering_of(history).count(words)
            is_expected = delivered is not None and history in after  # during a run, it may wait for a model call
            if count > 1 or (is_expected and not count):
                yield f"{words} is {count} times in the history at {history.begun:.3f}"
        if delivered is not None and is_usable and case.said_by_user[words] != 1:
            yield f"{words} was delivered at {delivered:.3f}, and was read {case.said_by_user[words]} times"
        tries = [each for each in case.seen.steers if each.words == words]
        is_refused = all(each.outcome == "not-delivered" for each in tries)
        is_sent = any(each.words == words for each in case.seen.responses)
        if is_refused and not is_sent and case.said_by_user[words]:
            yield f"{words} was not delivered, and is stored"
        reads = case.reads_of(words)
        begins = any(call.message == words for call in case.seen.ledger.calls)
        if case.is_calm and len(reads) + begins > 1:
            yield f"{words} was read by {len(reads)} calls of the model, and {'began' if begins else 'began no'} run"
        if case.is_calm and not case.seen.stops and delivered is not None and not is_read_before_the_end(case, words):
            yield f"{words} was delivered at {delivered:.3f}, and nobody has read it"
    for view in case.views:
        shown = Counter(chunk["data"]["id"] for chunk in view.chunks if chunk["type"] == STEERING_PART)
        yield from (f"{view}: shows {words} {count} times" for words, count in shown.items() if count > 1)


def is_read_before_the_end(case: Case, words: str) -> bool:
    """Return True if a model call before the last message has the steering message in its prompt."""
    stored = (each.at for each in case.seen.stored if words in texts_in(each.event))
    at = min(stored, default=math.inf)
    return any(call.at >= at and call.message != LAST_WORDS for call in case.seen.ledger.calls)


def only_documented_refusals(case: Case) -> Iterator[str]:
    """A request is accepted, or refused as the documentation says.

    A steering message may also get 404, if its chat is not stored yet.

    A message may also get 409, if the user stopped the chat before the message was stored, and the message's worker is
    dead.
    """
    for view in case.views:
        response = view.response
        is_stopped = response.kind == "words" and response.status == CONFLICT and not case.is_stored(response)
        if response.status is not None and response.status not in STATUSES[response.kind] and not is_stopped:
            yield f"{view}: got {response.status} {response.reason}"

    for steer in case.seen.steers:
        if steer.status not in {None, 0, 200, 404, 503}:
            yield f"the steering message {steer.words} at {steer.begun:.3f} got {steer.status} {steer.reason}"


def the_chat_stays_usable(case: Case) -> Iterator[str]:
    """After all actions and faults, the agent replies to a new message."""
    last = case.seen.last_words
    if last is not None and (last.status != 200 or View(last).end != "finish"):
        yield f"the last message got {last.status} {last.reason}, and its response {View(last).end or 'nothing'}"


def nothing_fails_without_a_fault(case: Case) -> Iterator[str]:
    """Without a fault nothing is refused, nothing breaks and nothing fails. A response ends in ``abort`` only if the
    user has stopped the chat, or sent another message."""
    if not case.is_calm:
        return
    others = len(case.seen.ledger.scripts) > 2 or bool(case.seen.stops)
    for view in case.views:
        response = view.response
        if response.status in {0, 503} or response.is_cut:
            yield f"{view}: got {response.status} {response.reason}{' and was cut off' if response.is_cut else ''}"
        if view.end == "error" and response.kind != "answer":
            yield f"{view}: ends in an error"
        if view.end == "abort" and not others:
            yield f"{view}: was stopped by nobody"
    yield from (f"a stop was refused: {stop.reason}" for stop in case.seen.stops if stop.reason[:3] not in {"", "404"})


def a_short_fault_of_the_run_log_is_not_noticed(case: Case) -> Iterator[str]:
    """No open response breaks or ends in an error while the store of the run log is away for less than a third of a
    lease. The same holds if a replica takes over that lacks the newest writes. New requests may be refused.

    A replica that has forgotten who has the chat may give it to a second request, or to a recovery. A page that resumes
    after a fail-over sends a new request: if the replica lacks the end of the run, it gets an error after a lease. A
    page that reads a long response at another worker is cut off if the replica lacks events that are joined.
    """
    if len(case.faults) != 1:
        return
    (fault,) = case.faults
    is_short = isinstance(fault, Outage) and fault.store == "run log" and fault.seconds < SHORT
    sends = [action for action in case.seen.schedule.actions if isinstance(action, (Send, Repeat))]
    requests = {view.response.words for view in case.views if view.response.kind == "words"}
    is_alone = len(sends) == 1 and len(requests - {LAST_WORDS}) == 1 and not case.seen.schedule.engine
    if not is_short and not (isinstance(fault, FailOver) and is_alone):
        return
    for view in case.views:
        may_be_cut = isinstance(fault, FailOver) and view.response.kind == "resume"
        if may_be_cut and view.response.begun >= fault.at:
            continue
        if view.response.is_cut and not (may_be_cut and case.seen.has_joined_events):
            yield f"{view}: was cut off"
        if view.end == "error" and view.response.kind != "answer":
            yield f"{view}: ends in an error"


PROMISES: Final[tuple[Callable[[Case], Iterator[str]], ...]] = (
    nothing_stays_open,
    one_owner_at_a_time,
    only_the_newest_request_stores_events,
    the_list_knows_which_chat_waits,
    a_tool_runs_once,
    an_accepted_message_is_stored_once,
    an_acknowledged_stop_holds,
    each_reader_gets_all_words_in_order,
    each_response_ends_once,
    a_reload_shows_all_promised_messages,
    a_run_of_a_dead_worker_continues,
    a_steering_message_is_read_once,
    only_documented_refusals,
    the_chat_stays_usable,
    nothing_fails_without_a_fault,
    a_short_fault_of_the_run_log_is_not_noticed,
)


def broken(seen: Seen) -> list[tuple[str, str]]:
    """The broken promises: the name of each, and how it was broken."""
    case = Case(seen)
    return [(promise.__name__, how) for promise in PROMISES for how in promise(case)]
