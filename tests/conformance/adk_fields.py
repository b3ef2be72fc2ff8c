"""What becomes of each field of ADK's events: the module that converts it, or the reason why nothing does.

``CONVERTED`` names a module of the library for each field that it reads, ``IGNORED`` the reason for each other one. A
field of the installed ADK that is in neither fails test_adk_field_coverage.py; one that it lacks fails nothing.
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
        "citation_metadata": "convert/conversion.py",
        "content": "convert/conversion.py",
        "error_code": "convert/conversion.py",
        "error_message": "convert/conversion.py",
        "finish_reason": "convert/conversion.py",
        "grounding_metadata": "convert/conversion.py",
        "interrupted": "convert/conversion.py",
        "model_version": "convert/conversion.py",
        "partial": "convert/conversion.py",
        "usage_metadata": "convert/conversion.py",
    },
    Event: {
        "actions": "convert/data.py",
        "author": "convert/conversion.py",
        "branch": "convert/conversion.py",
        "invocation_id": "convert/conversion.py",
        "isolation_scope": "convert/answers.py",
        "long_running_tool_ids": "convert/conversion.py",
        "node_info": "convert/conversion.py",
        "output": "convert/data.py",
    },
    NodeInfo: {"path": "convert/conversion.py"},
    EventActions: {
        "artifact_delta": "convert/data.py",
        "render_ui_widgets": "convert/data.py",
        "requested_auth_configs": "convert/answers.py",
        "requested_tool_confirmations": "convert/answers.py",
        "rewind_before_invocation_id": "conversation/stretches.py",
        "state_delta": "convert/data.py",
        "transfer_to_agent": "convert/data.py",
    },
    Part: {
        "code_execution_result": "convert/whole_parts.py",
        "executable_code": "convert/whole_parts.py",
        "file_data": "convert/media.py",
        "function_call": "convert/conversion.py",
        "function_response": "convert/conversion.py",
        "inline_data": "convert/media.py",
        "text": "convert/conversion.py",
        "thought": "convert/conversion.py",
        "thought_signature": "convert/conversion.py",
        "tool_call": "convert/whole_parts.py",
        "tool_response": "convert/whole_parts.py",
    },
    FunctionCall: {
        "args": "convert/tools.py",
        "id": "convert/tools.py",
        "name": "convert/tools.py",
        "partial_args": "convert/tools.py",
        "will_continue": "convert/tools.py",
    },
    PartialArg: {
        "bool_value": "convert/arguments.py",
        "json_path": "convert/arguments.py",
        "null_value": "convert/arguments.py",
        "number_value": "convert/arguments.py",
        "string_value": "convert/arguments.py",
        "will_continue": "convert/arguments.py",
    },
    FunctionResponse: {
        "id": "convert/answers.py",
        "name": "convert/answers.py",
        "parts": "convert/answers.py",
        "response": "convert/answers.py",
        "will_continue": "convert/answers.py",
    },
    FunctionResponsePart: {
        "file_data": "convert/media.py",
        "inline_data": "convert/media.py",
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
        "compaction": "stored and never streamed; a page goes on showing what was said",
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
