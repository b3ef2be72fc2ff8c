"""Converts a stored session to the messages that a client shows.

Each stored response goes through the converter and the client's reducer, like the live response: see
``_folded_responses``. The converter gets the earlier events of the message as its past.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack, cast

from stream_protocol.adk import WarnOnce, find_task_agents, read_events
from stream_protocol.session._folded_responses import HistorySettings, PageMessages
from stream_protocol.session.transcript import Transcript
from stream_protocol.stream import ConverterOptions, Settings
from stream_protocol.wire import argument_error, check_flag

if TYPE_CHECKING:
    from google.adk.sessions import Session

    from stream_protocol.wire import UIMessage


def session_to_messages(
    session: Session | dict[str, Any], *, running: bool = False, **options: Unpack[ConverterOptions]
) -> list[UIMessage]:
    """Return the messages of a chat, with the same ids and parts that a live client received.

    ``session``: an ADK session, or a dictionary with ``events`` from Agent Engine or ADK's API server. ``options``: the
    converter's options with which the chat is served. Flat delegations to task-mode agents are hidden, as
    in ``ChatService``. ``running``: True while the newest response is still running; its calls then stay open.

    User messages have their client's ids, or else the ids of their events.
    """
    check_flag("running", running)
    Settings(**options)
    stored = session.get("events") if isinstance(session, dict) else getattr(session, "events", None)
    if not isinstance(stored, Sequence):
        raise argument_error("session", "a Session of ADK, or its JSON with `events`", session)
    events = read_events(stored, WarnOnce())
    return transcript_to_messages(Transcript(events), running=running, **options)


def transcript_to_messages(
    transcript: Transcript,
    *,
    running: bool = False,
    encoded: bool = True,
    **options: Unpack[ConverterOptions],
) -> list[UIMessage]:
    """Return the messages of a transcript, like ``session_to_messages``. ``encoded``: if False, the URL of a file is a
    ``DataUrl``, for ``history_json``."""
    options.pop("on_error", None)  # a message has no place for an error's text
    task_agents = find_task_agents(transcript.stored)
    settings = HistorySettings(task_agents, encoded=encoded, **options)
    page = PageMessages()
    shown = [turn for turn in transcript.turns if turn.events]
    for turn in shown:
        page.begin_turn(turn.message_id, settings, turn.call_ids)
        for number, response in enumerate(turn.responses, 1):
            grows = running and turn is shown[-1] and number == len(turn.responses)
            page.add_events(response, ends=not grows)
    return [*page.messages(), *(_without_answer(transcript) if not running else ())]


def _without_answer(transcript: Transcript) -> list[UIMessage]:
    """Return the steering messages that no run will read, because their worker has died."""
    return [cast("UIMessage", {"role": "user", **accepted.message}) for accepted in transcript.waiting]
