"""Read ADK's events. Only this package accesses the fields of an event. If all events are objects, the package does not
import ADK. If an event is JSON, the package imports ADK.

    an event, or its JSON; live speech; an output of a remote agent (A2A)
        |  read
    ``EventFacts``: the author and the run, the parts in order, and reports about other fields
        |                         |
    the stream: chunks        the transcript: requests, planning, input for ADK

``KnownCalls`` finds the call to which an event refers, for example with an approval request or a function response.
``KnownCalls`` also stores the id that each call has in the client.

Where to change what:

- ``_reader``: converts an event to ``EventFacts``.
- ``_facts``: ``EventFacts``, and the types of its parts and reports.
- ``_grounding``: sources, citations, and their positions (Google counts positions in bytes).
- ``_calls``: ``KnownCalls``. Recognizes ids that a model uses again, and requests that ADK repeats.
- ``_running_calls``: finds the call of a running tool, or the call whose tool raised an exception. Gives names to tool
  executions.
- ``_known_call``: a call, and the data with which events refer to a call. ``CallMessages`` finds the message for a late
  tool result.
- ``_call_ids``: the ids that calls have in the client, such as ``<id>.2`` and ``call_0``.
- ``_event_dicts``: events that are dictionaries.
- ``_lenient_events``: JSON of events that a different ADK version has written.
- ``_readable_events``: reads speech and sound of live runs, and events of remote agents (A2A).
- ``_marks``: data that this library adds to events, for example the titles of tools.
- ``_adk_requests``: calls that wait for a user or a client.
- ``_failures``: errors and finish reasons in events; errors and client outputs in function responses.
"""

from stream_protocol.adk._adk_requests import (
    REQUEST_CONFIRMATION,
    REQUEST_CREDENTIAL,
    REQUEST_INPUT,
    CallKind,
    confirmed_call,
    credential_input,
    is_confirmed,
)
from stream_protocol.adk._call_ids import NO_IDS, CallIds, match_client_ids
from stream_protocol.adk._calls import KnownCalls
from stream_protocol.adk._event_dicts import (
    EventOrDict,
    NotAnEventError,
    UnexpectedItemError,
    WarnOnce,
    read_event,
    read_events,
)
from stream_protocol.adk._facts import (
    AgentSpeech,
    Artifacts,
    Blob,
    Call,
    CallPiece,
    Citation,
    Compaction,
    EventFacts,
    Failure,
    File,
    LiveTurnEnd,
    NestedEvent,
    NestedEvents,
    OtherPart,
    Output,
    Part,
    Posted,
    ProviderCall,
    ProviderPart,
    ProviderResult,
    Reference,
    RelayedData,
    Result,
    Rewind,
    SearchSuggestions,
    Source,
    StateChange,
    Steering,
    Text,
    TokenUsage,
    Transfer,
    UserSpeechEnd,
    Waiting,
    Widget,
)
from stream_protocol.adk._failures import (
    ABORTED,
    FINISH_REASONS,
    NO_CONTENT,
    RESULT,
    UNEXPLAINED,
    client_output,
    failure_text,
    is_aborted,
    is_failure,
    unrepresentable_text,
)
from stream_protocol.adk._known_call import (
    USER,
    CallMessages,
    CallReference,
    KnownCall,
    SpeakerKey,
    outer_calls,
    stored_reference,
)
from stream_protocol.adk._marks import (
    ANSWERED_KEY,
    CARDS_KEY,
    CONTEXT_KEY,
    METADATA_KEY,
    NESTED_EVENT,
    NESTED_EVENTS,
    NO_NOTE,
    POSTED_KEY,
    POSTED_NESTED,
    POSTED_WIDGETS,
    STEERING_KEY,
    ApprovalNote,
    carried_event,
    is_posted_data,
    items_by_id,
    noted_approval,
    noted_title,
    steering_id,
    steering_mark,
)
from stream_protocol.adk._readable_events import a2a_markers, is_relayed, readable_event
from stream_protocol.adk._reader import (
    CODE_EXECUTION,
    OpenText,
    acting_for,
    asks_somebody,
    continued_text,
    find_task_agents,
    is_compaction,
    is_fragment,
    is_user_event,
    is_user_message,
    open_text,
    read,
    read_complete,
    read_next,
    with_results,
)
from stream_protocol.adk._running_calls import (
    RunningCall,
    RunningCalls,
    UsedCalls,
    answered_numbers,
    raising_calls,
    running_call,
)
