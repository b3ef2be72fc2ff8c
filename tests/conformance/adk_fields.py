"""Table of all fields of ADK's events: the module that converts the field, or the reason to ignore it.

``CONVERTED`` has the module for each field that the library reads. ``IGNORED`` has the reason for each other field. A
field of the installed ADK in neither table fails test_adk_field_coverage.py. A listed field that ADK lacks does not.
"""

from google.adk.events import Event, EventActions
from google.adk.events.event import NodeInfo
from google.adk.models.llm_response import LlmResponse
from google.genai.types import FunctionCall, FunctionResponse, FunctionResponsePart, Part, PartialArg
from pydantic import BaseModel

Fields = dict[type[BaseModel], dict[str, str]]

_LIVE = "of a live session of audio and video, which is no chat stream"
_ADK_ONLY = "ADK steers its own agents by it; what it does shows in the events that follow"
_FOR_THE_MODEL = "tells the model how to read a part, and a page nothing"

CONVERTED: Fields = {
    LlmResponse: {
        "citation_metadata": "adk/_grounding.py",
        "content": "adk/_reader.py",
        "error_code": "adk/_reader.py",
        "error_message": "adk/_reader.py",
        "finish_reason": "adk/_reader.py",
        "grounding_metadata": "adk/_grounding.py",
        "interrupted": "adk/_reader.py",
        "model_version": "adk/_reader.py",
        "partial": "adk/_reader.py",
        "usage_metadata": "adk/_reader.py",
    },
    Event: {
        "actions": "adk/_reader.py",
        "author": "adk/_reader.py",
        "branch": "adk/_reader.py",
        "invocation_id": "adk/_reader.py",
        "isolation_scope": "adk/_reader.py",
        "long_running_tool_ids": "adk/_adk_requests.py",
        "node_info": "adk/_reader.py",
        "output": "adk/_reader.py",
    },
    NodeInfo: {"path": "adk/_reader.py"},
    EventActions: {
        "artifact_delta": "adk/_reader.py",
        "compaction": "adk/_reader.py",
        "render_ui_widgets": "adk/_reader.py",
        "requested_auth_configs": "adk/_reader.py",
        "requested_tool_confirmations": "adk/_reader.py",
        "rewind_before_invocation_id": "adk/_reader.py",
        "state_delta": "adk/_reader.py",
        "transfer_to_agent": "adk/_reader.py",
    },
    Part: {
        "code_execution_result": "adk/_reader.py",
        "executable_code": "adk/_reader.py",
        "file_data": "adk/_reader.py",
        "function_call": "adk/_reader.py",
        "function_response": "adk/_reader.py",
        "inline_data": "adk/_reader.py",
        "text": "adk/_reader.py",
        "thought": "adk/_reader.py",
        "thought_signature": "adk/_reader.py",
        "tool_call": "adk/_reader.py",
        "tool_response": "adk/_reader.py",
    },
    FunctionCall: {
        "args": "adk/_reader.py",
        "id": "adk/_reader.py",
        "name": "adk/_reader.py",
        "partial_args": "adk/_reader.py",
        "will_continue": "adk/_reader.py",
    },
    PartialArg: {
        "bool_value": "stream/calls/_streamed_arguments.py",
        "json_path": "stream/calls/_streamed_arguments.py",
        "null_value": "stream/calls/_streamed_arguments.py",
        "number_value": "stream/calls/_streamed_arguments.py",
        "string_value": "stream/calls/_streamed_arguments.py",
        "will_continue": "stream/calls/_streamed_arguments.py",
    },
    FunctionResponse: {
        "id": "adk/_reader.py",
        "name": "adk/_reader.py",
        "parts": "adk/_reader.py",
        "response": "adk/_reader.py",
        "will_continue": "adk/_reader.py",
    },
    FunctionResponsePart: {
        "file_data": "adk/_reader.py",
        "inline_data": "adk/_reader.py",
    },
}

IGNORED: Fields = {
    LlmResponse: {
        "avg_logprobs": "for evaluation, not for a page",
        "cache_metadata": "how the backend cached the prompt; the tokens saved are in the usage",
        "custom_metadata": "the app's own notes, which may be private; `emit_data` is the way to a page",
        "environment_id": "names the backend's sandbox, which no browser may reach",
        "go_away": _LIVE,
        "input_transcription": _LIVE,
        "interaction_id": "the backend's id of a response; `id` and `invocation_id` tell them apart",
        "interaction_status": _LIVE,
        "live_session_id": _LIVE,
        "live_session_resumption_update": _LIVE,
        "logprobs_result": "for evaluation, not for a page; it is large, too",
        "output_transcription": _LIVE,
        "turn_complete": _LIVE,
        "turn_complete_reason": _LIVE,
        "voice_activity": _LIVE,
    },
    Event: {
        "id": "changes from fragment to fragment before ADK 2.6; author, branch and path tell the speaker",
        "timestamp": "the stream has no times, so that the same events give the same bytes",
    },
    NodeInfo: {
        "message_as_output": "only says that the content is the output as well; content is shown as content",
        "output_for": "which nodes above take the same output over; it is shown once, where it was made",
    },
    EventActions: {
        "agent_state": _ADK_ONLY,
        "end_of_agent": _ADK_ONLY,
        "escalate": _ADK_ONLY,
        "route": _ADK_ONLY,
        "set_model_response": "the structured answer comes again as text, which is shown",
        "skip_summarization": _ADK_ONLY,
        "transfer_reason": "the model's own words to another agent, not to the user",
    },
    Part: {
        "audio_transcription": "a page gets the audio itself",
        "media_processing": _FOR_THE_MODEL,
        "media_resolution": _FOR_THE_MODEL,
        "part_metadata": "the app's own notes, which may be private; `emit_data` is the way to a page",
        "speech_metadata": "how a text is to be spoken; a page shows the text",
        "video_metadata": _FOR_THE_MODEL,
    },
    FunctionResponse: {"scheduling": _LIVE},
    FunctionResponsePart: {"media_processing": _FOR_THE_MODEL},
}
