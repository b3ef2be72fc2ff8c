"""What ADK's events mean: the one package that looks inside an event. It reads ADK's objects and imports none of ADK.

an ADK event, its JSON, an event of an agent behind A2A, live speech
    -> what it says
a call, a request, a response or an answer
    -> ``KnownCalls``: the call that is meant, and the id under which the client knows it
"""

from stream_protocol.adk._adk_requests import (
    REQUEST_CONFIRMATION,
    REQUEST_CREDENTIAL,
    REQUEST_INPUT,
    CallKind,
    credential_input,
    external_kind,
    gated_call,
    is_confirmed,
    is_placeholder,
)
from stream_protocol.adk._authors import USER, is_user_event
from stream_protocol.adk._call_ids import NO_IDS, CallIds
from stream_protocol.adk._call_index import KnownCall, SpeakerKey
from stream_protocol.adk._calls import KnownCalls
from stream_protocol.adk._event_dicts import (
    EventOrDict,
    NotAnEventError,
    UnexpectedItemError,
    read_event,
    read_events,
)
from stream_protocol.adk._facts import (
    Call,
    Compaction,
    EventFacts,
    File,
    LiveTurnEnd,
    Result,
    Rewind,
    Text,
    UserSpeechEnd,
    Waiting,
)
from stream_protocol.adk._failures import ABORTED, FINISH_REASONS, NO_CONTENT, UNEXPLAINED, reports_error, told_reason
from stream_protocol.adk._live_events import is_live_sound, without_sound
from stream_protocol.adk._provider_tools import CODE_EXECUTION, ProviderCall, ProviderResult, provider_part
from stream_protocol.adk._raising_calls import raising_calls
from stream_protocol.adk._reader import is_user_message, read
from stream_protocol.adk._relayed_events import DATA_TAGS, as_said, is_relayed, relay_marks
from stream_protocol.adk._response_values import RESULT, client_output, failure_text, unrepresentable_text
from stream_protocol.adk._task_agents import find_task_agents
from stream_protocol.adk._user_speech import readable_event
from stream_protocol.adk._warnings import WarnOnce

__all__ = [
    "ABORTED",
    "CODE_EXECUTION",
    "DATA_TAGS",
    "FINISH_REASONS",
    "NO_CONTENT",
    "NO_IDS",
    "REQUEST_CONFIRMATION",
    "REQUEST_CREDENTIAL",
    "REQUEST_INPUT",
    "RESULT",
    "UNEXPLAINED",
    "USER",
    "Call",
    "CallIds",
    "CallKind",
    "Compaction",
    "EventFacts",
    "EventOrDict",
    "File",
    "KnownCall",
    "KnownCalls",
    "LiveTurnEnd",
    "NotAnEventError",
    "ProviderCall",
    "ProviderResult",
    "Result",
    "Rewind",
    "SpeakerKey",
    "Text",
    "UnexpectedItemError",
    "UserSpeechEnd",
    "Waiting",
    "WarnOnce",
    "as_said",
    "client_output",
    "credential_input",
    "external_kind",
    "failure_text",
    "find_task_agents",
    "gated_call",
    "is_confirmed",
    "is_live_sound",
    "is_placeholder",
    "is_relayed",
    "is_user_event",
    "is_user_message",
    "provider_part",
    "raising_calls",
    "read",
    "read_event",
    "read_events",
    "readable_event",
    "relay_marks",
    "reports_error",
    "told_reason",
    "unrepresentable_text",
    "without_sound",
]
