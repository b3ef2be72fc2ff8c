"""A wrong value raises where it is given: each parameter of each public function, with values of all kinds.

Which parameters there are, and which values are wrong, follows from the signatures: see ``tests/arguments.py``.
"""

import inspect
import math
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from enum import Enum
from io import BytesIO
from pathlib import Path
from typing import Any, Final
from unittest.mock import Mock

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.context import Context
from google.adk.agents.run_config import RunConfig
from google.adk.runners import InMemoryRunner
from starlette.responses import Response

from stream_protocol import ChatRequestError, StreamProtocolConverter, StreamProtocolError, parse_chat_request
from stream_protocol.inspector import InspectedChats, Inspector
from stream_protocol.recording import Recording
from stream_protocol.replay_server import Chats, RecordingLibrary
from stream_protocol.serving import ChatService, RunOverrides
from stream_protocol.serving.run_logs import LeaseTimes, RunStore
from stream_protocol.stream import Settings, chunk_conversion
from stream_protocol.testing import ScriptedLlm
from tests.arguments import POOL, Function, Plain, is_wrong, parameters, public_functions

MADE_BY_US: Final = frozenset(
    {
        *("check.Finding", "recording.RecordedTurn", "recording.Recording", "recording.ReplayStep"),
        *("recording.TimedEvent", "serving.AuditRecord", "serving.ChatListPage", "serving.Outcome", "ChatRequest"),
        *("serving.StoredChat", "serving.run_logs.RunInfo", "serving.run_logs.RunReader"),
        # The values that a run log and its store give each other: `RunLogConformance` finds wrong ones.
        *(f"serving.run_logs.{name}" for name in ("Entry", "LeaseView", "LogBatch", "Post", "Renewal")),
        *("serving.run_logs.RunIdentity", "serving.run_logs.Snapshot", "serving.run_logs.run_info"),
        "serving.ChatIdFilter",  # a filter of logging, with the parameter that each has
        *("serving.local_user", "session.repair_thought_signatures"),  # for us, and for ADK, to call
    }
)
"""Names that no app makes or calls."""


async def _stream(*items: Any) -> AsyncIterator[Any]:
    for item in items:
        yield item


async def _app(scope: Any, receive: Any, send: Any) -> None:
    """An ASGI app."""


async def _endpoint() -> Response:
    return Response()


def _agent() -> LlmAgent:
    return LlmAgent(name="root", model=ScriptedLlm(turns=["Hello."]))


def _chats() -> Chats:
    return Chats(RecordingLibrary({}), 1.0, 6)


def _listener() -> socket.socket:
    return socket.socket.__new__(socket.socket)


def _nothing(*_: Any) -> None: ...


def _any_store() -> Any:
    """Return an object with each name of a ``RunStore``."""
    return Mock(spec=RunStore)


VALID: Final[Mapping[str, Callable[[], dict[str, Any]]]] = {
    "StreamProtocolConverter": dict,
    "check.check_file": lambda: {"path": "a.sse"},
    "check.check_stream": lambda: {"stream": BytesIO()},
    "durable.DbosEngine": lambda: {"url": None},
    "encode_sse": lambda: {"chunk": {"type": "finish"}},
    "inspector.Inspector": dict,
    "inspector.inspector_routes": lambda: {"inspector": Inspector(), "service": ChatService(_agent())},
    "iter_chunks": lambda: {"events": []},
    "iter_sse": lambda: {"events": []},
    "message_to_chunks": lambda: {"message": {"id": "a", "role": "assistant", "parts": []}},
    "parse_chat_request": lambda: {"body": b"{}"},
    "parse_sse": lambda: {"body": b""},
    "recording.ChatRecorder": lambda: {"folder": "/proc/none"},  # where nothing can be made
    "recording.FileRecorder": lambda: {"path": "a.jsonl"},
    "recording.check_has_times": lambda: {"turns": []},
    "recording.end_as_recorded": lambda: {
        "conversion": chunk_conversion((), None, Settings()),
        "end": None,
        "failure": "",
    },
    "recording.load_recording": lambda: {"path": "a.jsonl"},
    "recording.pace_turns": lambda: {"turns": [], "speed": 1.0},
    "recording.record": lambda: {"events": _stream(), "path": "a.jsonl"},
    "recording.redact_texts": lambda: {"texts": "Ada"},
    "recording.replay": lambda: {"recording": Recording(Path("a.jsonl"))},
    "recording.replay_messages": lambda: {"turns": []},
    "recording.replay_sse": lambda: {"turns": []},
    "recording.replay_steps": lambda: {"recording": Recording(Path("a.jsonl"))},
    "recording.select_turn": lambda: {"turns": [], "turn": None},
    "reduce_chunks": lambda: {"chunks": []},
    "inspector.InspectedChats": lambda: {"library": RecordingLibrary({}), "pace": 1.0, "ai_sdk": 6},
    "inspector.replay_inspector_routes": lambda: {"chats": InspectedChats(RecordingLibrary({}), 1.0, 6)},
    "replay_server.Chats": lambda: {"library": RecordingLibrary({}), "pace": 1.0, "ai_sdk": 6},
    "replay_server.RecordingLibrary": lambda: {"entries": {}},
    "replay_server.create_replay_app": lambda: {"chats": _chats()},
    "replay_server.load_library": lambda: {"path": "none"},
    "serving.AuditFile": lambda: {"path": "/proc/none"},
    "serving.ChatEndpoints": lambda: {"service": ChatService(_agent())},
    "serving.ChatService": lambda: {"target": _agent()},
    "agents.ClientTool": lambda: {"name": "f", "description": "", "schema": None, "output_schema": None},
    "agents.DataPart": lambda: {"name": "a", "model": dict},
    "serving.FilePolicy": dict,
    "serving.LogBounds": dict,
    "serving.MemoryRunLog": dict,
    "serving.PageContext": lambda: {"declared": dict},
    "serving.PostgresRunLog": lambda: {"url": "postgresql://db/a"},
    "serving.RedisRunLog": lambda: {"server": "redis://db"},
    "serving.RunOverrides": dict,
    "server.ServerLimits": dict,
    "serving.ServiceLimits": dict,
    "serving.ServiceTimes": dict,
    "serving.SharedState": dict,
    "serving.SyncChatService": lambda: {"make": lambda: None},
    "serving.UIMessageStreamResponse": lambda: {"content": _stream()},
    "server.bind_socket": lambda: {"host": "127.0.0.1", "port": 0},
    "serving.chat_router": lambda: {"target": _agent()},
    "agents.client_tool": lambda: {"name": "f", "description": ""},
    "serving.create_app": lambda: {"target": _agent()},
    "agents.data_part": lambda: {"name": "a", "model": dict},
    "serving.default_run_config": dict,
    "serving.task_agent_tools": lambda: {"root": _agent()},
    "agents.emit_data": lambda: {"context": Context.__new__(Context), "name": "a", "data": 1},
    "agents.for_users": dict,
    "agents.mcp_progress": lambda: {"tool_name": "a", "callback_context": Context.__new__(Context)},
    "agents.report_progress": lambda: {"tool_context": Context.__new__(Context), "progress": 1},
    "serving.run_events": lambda: {"runner": InMemoryRunner(_agent()), "session_id": "c"},
    "serving.explain_error": lambda: {"error": ValueError()},
    "server.exposure_warning": lambda: {"listener": _listener()},
    "server.tune_gc": dict,
    "serving.header_user": lambda: {"name": "X-User"},
    "server.log_to_terminal": dict,
    "server.only_allowed_hosts": lambda: {"app": _app, "listener": _listener()},
    "serving.plain_text_errors": lambda: {"endpoint": _endpoint},
    "serving.response_body": lambda: {"response": _app},
    "serving.run_logs.EventBuffer": dict,
    "serving.run_logs.LeaseTimes": lambda: {"lease": 1.0, "log_retention": 1.0},
    "serving.run_logs.LogBounds": dict,
    "serving.run_logs.MemoryRunLog": dict,
    "serving.run_logs.SharedRunLog": lambda: {"store": _any_store(), "times": LeaseTimes(lease=1.0, log_retention=1.0)},
    "serving.run_logs.load_run_log": lambda: {"url": "mysql://none", "prefix": None, "lease": 1.0},
    "server.run_server": lambda: {
        "app": _app,
        "service": ChatService(_agent()),
        "listener": _listener(),
        "announce": _nothing,
    },
    "session.messages_to_events": lambda: {"messages": [], "agent": "root"},
    "session.session_to_messages": lambda: {"session": {"events": []}},
    "stream_chunks": lambda: {"events": _stream()},
    "stream_sse": lambda: {"events": _stream()},
    "testing.Call": lambda: {"name": "f"},
    "testing.RecordingFinder": lambda: {"folders": ()},
    "testing.ScriptedLlm": lambda: {"turns": ["Hello."]},
    "testing.StreamMatcher": lambda: {"update": False, "on_write": _nothing},
    "testing.Thought": lambda: {"text": ""},
    "testing.Wait": lambda: {"until": 0.0},
    "testing.token_usage": lambda: {"prompt": 1, "answer": 1},
    "testing.web_sources": lambda: {"titles_by_url": {}},
    "testing.words": lambda: {"text": ""},
}
"""Public functions and valid arguments, which are made for each call."""

FUNCTIONS: Final = {
    short: function
    for name, function in public_functions()
    if (short := name.removeprefix("stream_protocol.")) not in MADE_BY_US
    and not (isinstance(function, type) and issubclass(function, BaseException | Enum))
    and not getattr(function, "_is_protocol", False)
}

OF_ITERATORS: Final = frozenset({"events", "past", "chunks", "body", "turns", "content", "messages", "chunk"})
"""Parameters over which a function iterates: its ``TypeError`` names the function."""


OF_ITEMS: Final = OF_ITERATORS - {"events", "past"}
"""Of these a function sees the items only while it iterates, or refuses them as it does what a client sends."""


def test_each_public_function_is_tried() -> None:
    assert FUNCTIONS.keys() == VALID.keys()


def call(function: Function, arguments: Mapping[str, Any]) -> None:
    signature = inspect.signature(function).parameters
    several = [name for name in arguments if signature.get(name, Any) is not Any and _is_several(signature[name])]
    function(*(arguments[name] for name in several), **{k: v for k, v in arguments.items() if k not in several})


def _is_several(parameter: inspect.Parameter) -> bool:
    return parameter.kind is inspect.Parameter.VAR_POSITIONAL


def fault_of(name: str, parameter: str, value: Any) -> str:
    """Returns a description of how the function fails to report the value; "" if it reports it as it should."""
    try:
        call(FUNCTIONS[name], {**VALID[name](), parameter: value})
    except (StreamProtocolError, TypeError) as error:
        told = str(error)
    except ChatRequestError as refusal:  # what is wrong with a body may be a client's fault
        return "" if parameter == "body" else f"raises {refusal!r}"
    except Exception as error:  # noqa: BLE001 - the fault itself
        return f"raises {error!r}"
    else:
        return "is taken"
    finally:
        if inspect.iscoroutine(value):
            value.close()
    if told.startswith(("This is not an ADK event", "The URL of ", "The prefix in ")):
        return ""
    names = {parameter, name.rpartition(".")[2]} if parameter in OF_ITERATORS else {parameter}
    if not any(f"`{each}" in told for each in names):
        return f"does not say that it is {parameter}: {told}"
    if "\n" in told or not told.endswith(".") or len(told.split()) > 30:
        return f"is not told in one sentence: {told}"
    return ""


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_wrong_value_is_told_where_it_is_given(name: str) -> None:
    faults = {}
    for parameter, annotation in parameters(FUNCTIONS[name]).items():
        for kind, make in POOL.items():
            if kind.startswith("a list") and parameter in OF_ITEMS:
                continue
            value = make()
            if is_wrong(value, annotation) and (fault := fault_of(name, parameter, value)):
                faults[parameter, kind] = fault
            if inspect.iscoroutine(value):
                value.close()
    assert faults == {}


WRONG: Final[Mapping[str, Mapping[str, tuple[Any, ...]]]] = {
    "StreamProtocolConverter": {
        "ai_sdk": (5, 8, "6", True, 6.0),
        "hidden_tools": ("pay", _endpoint, [b"pay"]),
        "on_error": (_endpoint, "An error."),
        "transform": (_endpoint,),
        "message_metadata": (_endpoint, {}),
        "artifact_url": (_endpoint, "https://app.example"),
        "tool_titles": ({"pay": 5}, ["pay"]),
    },
    "check.check_file": {"path": ("",), "versions": ((5,), ("6",), "67", 6)},
    "check.check_stream": {"stream": ("a.sse", b"data: {}", Path("a.sse")), "versions": ((5,),)},
    "inspector.Inspector": {"max_bytes": (0,), "max_entries": (0,), "max_users": (0,)},
    "message_to_chunks": {"ai_sdk": (5,)},
    "reduce_chunks": {"ai_sdk": (5,), "message_id": (None,)},
    "recording.ChatRecorder": {"folder": ("",), "redact": (_endpoint, "Ada", lambda value: value)},
    "recording.FileRecorder": {"path": ("",)},
    "recording.load_recording": {"path": ("",)},
    "recording.end_as_recorded": {"end": ("Finish", "stop")},
    "recording.pace_turns": {"speed": (0,)},
    "recording.record": {"path": ("",)},
    "recording.replay": {"recording": ("a.jsonl", Path("a.jsonl")), "turn": (0,)},
    "recording.replay_messages": {"turn": (0,)},
    "recording.select_turn": {"turn": (0,)},
    "replay_server.Chats": {"ai_sdk": (5, None)},
    "replay_server.create_replay_app": {"allow_origins": ("http://localhost:3000", ["localhost:3000"])},
    "replay_server.load_library": {"path": ("",)},
    "serving.AuditFile": {"path": ("",)},
    "serving.ChatEndpoints": {
        "service": (_agent(),),
        "max_body_bytes": (0,),
        "max_bytes_in_flight": (0,),
        "keep_alive": (0, math.inf),
        "allow_origins": ("http://localhost:3000", ["localhost:3000"], ["http://localhost:3000/"], [""]),
    },
    "serving.ChatService": {
        "target": (LlmAgent, "agent", _agent, math, None),
        "session_service": ("sqlite:///chat.db", "postgresql://ann@db/chats", "memory://", "chat.db"),
        "history": ("Server", "clients", "", None, ("server",)),
        "on_busy": ("Interrupt", "wait", None),
        "truncated_history": ("Append", None),
        "run_config": ({}, "sse"),
        "run_log": ("redis://db", {}, ChatService),
        "limits": ({"max_runs": 5}, 5),
        "files": ({"max_bytes": 5},),
        "on_finish": ("notify", lambda: None, lambda messages: None),
        "on_audit": ("audit.jsonl", lambda: None),
        "recorder": ("recordings", Path("recordings"), Inspector),
        "engine": ("postgresql://db", object()),
    },
    "serving.FilePolicy": {
        "schemes": ("https", {"ftp"}, {"HTTPS"}),
        "media_types": ("image/*", ("image",), ("",)),
        "max_bytes": (20 * 2**20 + 1,),
    },
    "serving.LogBounds": {"max_readers": (0,)},
    "serving.PostgresRunLog": {
        "url": ("mysql://db", "", "db"),
        "prefix": ("", "A", "1a", "a-b", "a" * 25),
        "lease": (0, math.inf),
        "expiry": (0, math.inf),
    },
    "serving.RedisRunLog": {
        "server": ("http://db", "", "db"),
        "prefix": ("", "a b", "a{b}"),
        "lease": (0, math.inf),
        "expiry": (0, math.inf),
    },
    "server.ServerLimits": {
        "connections": (0,),
        "head_seconds": (0, math.inf),
        "body_seconds": (0,),
        "body_bytes_per_second": (0,),
    },
    "serving.ServiceLimits": {
        **dict.fromkeys(("max_runs", "max_runs_per_user", "max_chunks"), (0, 1.0, math.inf)),
        "disconnect_grace": (math.inf,),
        "run_timeout": (0, math.inf),
        "stop_timeout": (math.inf, None),
        "hook_timeout": (0, math.inf),
    },
    "serving.SyncChatService": {"make": (ChatService, _endpoint), "keep_alive": (0, math.inf)},
    "serving.UIMessageStreamResponse": {
        "content": ([], (b"data: {}",), _stream, _agent(), {}),
        "keep_alive": (0, math.inf),
        "headers": ({"x-a": 1}, [("x-a", "b")]),
    },
    "server.bind_socket": {"host": ("",), "port": (65536, "8000")},
    "serving.chat_router": {
        "target": (LlmAgent, "agent", math),
        "path": (
            "api/chat",
            "/api/chat/",
            "",
            "/",
            "/api chat",
            "/api//chat",
            "/api?chat",
            "http://localhost/api/chat",
            *("/api/../chat", "/api/.", "/api\0", "/\ud83d", "/{chat_id}/chat", "/{name}", "/{tenant:uid}"),
        ),
        "identify": ("me", lambda: "me", lambda request, user: user, None),
        "prepare": (RunOverrides(), {}, lambda request: RunOverrides()),
        "allow_origins": ("http://localhost:3000", ["localhost:3000"], ["http://localhost:3000/"], None),
        "max_body_bytes": (0,),
        "keep_alive": (0,),
    },
    "agents.client_tool": {
        "name": ("lo cate", "", "1st", "ort-für", "a.b", "adk_request_input", "exit_loop", "a" * 65, "locate\n"),
        "schema": (
            *([], ["precise"], "object", {}, {"type": "string"}, {"type": ["object"]}, Plain),
            *({"type": "object", "properties": ["precise"]}, {"type": "object", "properties": {1: {}}}),
            *({"type": "object", "required": "precise"}, {"type": "object", "default": Plain()}, RunConfig),
        ),
        "output_schema": ([], "string", True, RunConfig),
    },
    "serving.create_app": {
        "identify": ("me",),
        "allow_origins": ("http://localhost:3000", ["*.example"]),
        "suggestions": (
            "Hello.",
            ["Hello.", 5],
            [{"titel": "Hi", "prompt": "Hello."}],
            [{"title": "Hi"}],
            [{"prompt": 5}],
        ),
    },
    "agents.data_part": {"name": ("", "a b", "adk-a", "ü"), "model": ("Weather", None, Plain(), Plain)},
    "agents.emit_data": {"name": ("", "a b", "adk-a")},
    "agents.for_users": {"title": (1,), "approval_reason": (1,), "approval_descriptor": (Plain(),)},
    "agents.report_progress": {"progress": (math.nan, True), "total": (math.inf, False)},
    "serving.header_user": {"name": ("", "X User", "X-User:", "X-User\n", "Nutzer-ü")},
    "server.log_to_terminal": {"log_format": ("JSON", ""), "whole": ("my_package",)},
    "server.only_allowed_hosts": {"allowed_hosts": ("chat.example",)},
    "serving.plain_text_errors": {"error_text": (_endpoint, "An error.")},
    "server.run_server": {"drain": (math.inf,), "limits": ({},), "announce": (_endpoint, "http://localhost")},
    "session.messages_to_events": {"agent": ("",), "agents": ("root",), "start": (math.inf,)},
    "session.session_to_messages": {"session": ({}, {"events": 5}, {"events": None}, [])},
    "testing.Call": {"name": ("",)},
    "testing.ScriptedLlm": {
        "turns": ("Hello.", [5], [["Hello.", None]], [[{"text": "Hello."}]], [Plain], {}),
        "respond": ("Hello.", ["Hello."], _endpoint, lambda: "Hello."),
        "delay": (math.inf, "1"),
        "cut": (2,),
    },
    "testing.Wait": {"until": (math.inf, "1", None)},
    "testing.web_sources": {"titles_by_url": ({"https://a.example": None}, ["https://a.example"])},
}
"""Wrong values that no signature shows, and typical ones."""


@pytest.mark.parametrize("name", sorted(WRONG))
def test_what_a_signature_does_not_show_is_told_as_well(name: str) -> None:
    assert WRONG[name].keys() <= parameters(FUNCTIONS[name]).keys()
    faults = {
        (parameter, repr(value)): fault
        for parameter, values in WRONG[name].items()
        for value in values
        if (fault := fault_of(name, parameter, value))
    }
    assert faults == {}


REQUEST: Final = parse_chat_request({"id": "c1", "messages": [{"role": "user", "parts": []}]})

METHODS: Final[Mapping[str, Mapping[str, Any]]] = {
    "respond": {
        "request": parse_chat_request({"id": "c1", "messages": [{"role": "user", "parts": []}]}),
        "user_id": "a",
    },
    "resume": {"chat_id": "c1", "user_id": "ann"},
    "stop": {"chat_id": "c1", "user_id": "ann"},
    "steer": {"request": REQUEST, "user_id": "ann"},
    "history": {"chat_id": "c1", "user_id": "ann"},
    "read_chat": {"chat_id": "c1", "user_id": "ann"},
    "choose_version": {"chat_id": "c1", "version_id": "v", "user_id": "ann"},
    "write_state": {"chat_id": "c1", "changes": {}, "user_id": "ann"},
    "has_chat": {"chat_id": "c1", "user_id": "ann"},
    "chats": {"user_id": "ann"},
    "update": {"chat_id": "c1", "user_id": "ann", "changes": {}},
    "delete": {"chat_id": "c1", "user_id": "ann"},
    "artifact": {"chat_id": "c1", "name": "a.txt", "user_id": "ann"},
    "count_request": {"user_id": "ann"},
    "hold_memory": {"user_id": "ann"},
    "error_text": {"error": ValueError()},
    "respond_chunks": {"request": REQUEST, "user_id": "ann"},
}
"""Methods of ``ChatService``, and arguments that they take."""

WITHOUT_ARGUMENTS: Final = frozenset({"aclose", "accepts_runs", "drain", "max_file_bytes", "start", "unready"})


def test_each_method_of_the_service_is_tried() -> None:
    public = {name for name in vars(ChatService) if not name.startswith("_")}
    assert public == {*METHODS, *WITHOUT_ARGUMENTS}


@pytest.mark.parametrize("name", sorted(METHODS))
async def test_the_methods_of_the_service_tell_of_wrong_values_too(name: str) -> None:
    """A chat id and changes come from a client: their refusal is a ``ChatRequestError``."""
    service = ChatService(_agent())
    method = getattr(service, name)
    taken = []
    for parameter, annotation in parameters(getattr(ChatService, name)).items():
        for kind, make in POOL.items():
            value = make()
            if is_wrong(value, annotation):
                try:
                    result = method(**{**METHODS[name], parameter: value})
                    await result if inspect.isawaitable(result) else result
                    taken.append((parameter, kind))
                except (StreamProtocolError, ChatRequestError) as error:
                    is_clients = parameter in ("chat_id", "changes")
                    if (isinstance(error, ChatRequestError) and not is_clients) or "\n" in str(error):
                        taken.append((parameter, str(error)))
            if inspect.iscoroutine(value):
                value.close()
    await service.aclose()
    assert taken == []


@pytest.mark.parametrize("method", ["fail", "abort"])
def test_the_end_of_a_response_is_given_what_it_takes(method: str) -> None:
    converter = StreamProtocolConverter()
    with pytest.raises(StreamProtocolError, match=r"^`(error|reason)` must be "):
        getattr(converter, method)(5)
    assert converter.finish()[0] == {"type": "start"}
