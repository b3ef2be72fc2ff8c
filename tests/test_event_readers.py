"""Only ``stream_protocol.adk`` looks inside an event: all others read facts, or make events."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import stream_protocol

LIBRARY: Final = Path(stream_protocol.__file__).parent

MODELS: Final = ("Event", "EventActions", "Part", "Content", "FunctionCall", "FunctionResponse")
"""The types of which an event consists, without a package or with that of google-genai."""

FIELDS: Final = frozenset(
    {
        "actions",
        "code_execution_result",
        "custom_metadata",
        "error_code",
        "error_message",
        "executable_code",
        "file_data",
        "function_call",
        "function_response",
        "get_function_calls",
        "get_function_responses",
        "grounding_metadata",
        "inline_data",
        "input_transcription",
        "isolation_scope",
        "long_running_tool_ids",
        "node_info",
        "output_transcription",
        "partial",
        "thought_signature",
        "usage_metadata",
    }
)
"""Names that only an event, its actions and its parts have."""

CREATORS: Final = frozenset(
    {
        "cli/project/my_package/scripted_model.py",
        "durable/_durable_model.py",
        "durable/_durable_tool.py",
        "agents/_sent_data.py",
        "demo/_question.py",
        "server/_gc.py",
        "serving/base/_response_memory.py",
        "serving/base/_off_loop.py",
        "serving/adk_runner/_nested_runs.py",
        "serving/adk_runner/_run_plugin.py",
        "serving/adk_runner/_steering_inbox.py",
        "serving/chats/_artifacts.py",
        "serving/adk_runner/_delegating_sessions.py",
        "serving/engine/_resumed_sessions.py",
        "serving/runs/_job.py",
        "session/_client_history.py",
        "session/_importing.py",
        "session/_interrupted_runs.py",
        "session/_run_input.py",
        "session/_run_output.py",
        "session/_storable_events.py",
        "session/_thought_signatures.py",
        "session/_user_message.py",
        "session/transcript/_awaited_calls.py",
        "session/transcript/_metadata.py",
    }
)
"""Files that create events, change them before they are stored, measure them, or write their JSON."""


def readers() -> Iterator[str]:
    for path in sorted(LIBRARY.rglob("*.py")):
        name = path.relative_to(LIBRARY).as_posix()
        if not name.startswith("adk/") and any(reads_an_event(ast.parse(path.read_text()))):
            yield name


def reads_an_event(tree: ast.Module) -> Iterator[bool]:
    """True if each attribute that is read belongs to an event: by its name, or by the type of its object."""
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    knows_models = any((node.module or "").startswith(("google.adk.events", "google.genai")) for node in imports)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            yield node.attr in FIELDS
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and knows_models:
            events = {arg.arg for arg in ast.walk(node.args) if isinstance(arg, ast.arg) and is_model(arg.annotation)}
            yield any(
                isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name) and inner.value.id in events
                for inner in ast.walk(node)
            )


def is_model(annotation: ast.expr | None) -> bool:
    named = ast.unparse(annotation).strip("'") if annotation is not None else ""
    return any(part.strip().removeprefix("types.") in MODELS for part in named.split("|"))


def test_only_the_reader_of_events_and_those_who_make_them_look_inside() -> None:
    assert {*readers()} == CREATORS
