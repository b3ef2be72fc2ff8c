"""No code of the service sets an attribute of an object that other code has made: it calls a method of that object.

A function may complete an object that it has made itself: a copy, or an instance of a class.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeAlias

PACKAGE: Final = Path(__file__).parents[1] / "stream_protocol"

COPIES: Final = {"copy", "clone", "model_copy"}

OF_OTHER_LIBRARIES: Final = {
    "durable/_durable_agents.py": {
        "model",
        "before_model_callback",
        "tools",
    },  # of the agents of a tree that was copied
    "durable/_durable_model.py": {"id"},  # ADK gives an id to a call without one, too
    "durable/_dbos_engine.py": {"propagate"},  # a logger has no method for it
    "serving/adk_runner/_memory_sessions.py": {"events"},  # of sessions that ADK's service has copied
    "serving/adk_runner/_nested_runs.py": {
        *("plugin_manager", "run_config"),  # of the context that an `AgentTool` makes for one call
        "custom_metadata",  # of an event that is not stored yet
    },
    "serving/adk_runner/_run_plugin.py": {
        "custom_metadata",  # of an event that ADK is about to store: its callback is the place to change it
        "plugins",  # of the copied manager of a copied runner
    },
    "serving/adk_runner/_delegating_sessions.py": {"timestamp"},  # of an event that is about to be stored
    "serving/adk_runner/_session_services.py": {"disabled"},  # of a logger, for the time of a block
    "serving/engine/_resumed_sessions.py": {  # a session service completes the events that it stores
        "id",
        "timestamp",
        "content",
        "long_running_tool_ids",
        "artifact_delta",
    },
    "server/_terminal_log.py": {"excepthook", "unraisablehook"},  # Python has no other way
    "serving/telemetry/_log_ids.py": {"chat_id", "run_id", "user_id", "trace_id", "span_id"},  # a log record's filter
}
"""Objects of ADK, of Python's logging and of the interpreter that have no method for it."""

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


def foreign_attributes(tree: ast.AST) -> Iterator[str]:
    """The attributes that code sets on other objects than its own."""
    for function in [node for node in ast.walk(tree) if isinstance(node, Function)]:
        own = {"self", "cls", *_made_in(function)}
        for node in ast.walk(function):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _root(node) not in own:
                yield node.attr


def _made_in(function: Function) -> Iterator[str]:
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _makes(node.value):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def _makes(call: ast.Call) -> bool:
    name = ast.unparse(call.func).rpartition(".")[2]
    return name in COPIES or name.lstrip("_")[:1].isupper()


def _root(node: ast.Attribute) -> str:
    """The variable whose own attribute is set; empty for an attribute of an attribute."""
    return node.value.id if isinstance(node.value, ast.Name) else ""


def test_a_foreign_attribute_is_found() -> None:
    code = """
class Run:
    def start(self, other):
        self.a = other.b = 1
        made = Run()
        made.c, (other.d, [*other.e]) = 1, (2, [])
        self.other.f += 1
        copied = copy(other)
        copied.g: int = 1
        copied.other.h = 2
    """
    assert sorted(foreign_attributes(ast.parse(code))) == ["b", "d", "e", "f", "h"]


def test_the_service_sets_no_foreign_attribute() -> None:
    found: dict[str, set[str]] = {}
    for folder in ("agents", "durable", "server", "serving"):
        for module in (PACKAGE / folder).rglob("*.py"):
            tree = ast.parse(module.read_text(encoding="utf-8"))
            if attributes := {*foreign_attributes(tree)}:
                found[module.relative_to(PACKAGE).as_posix()] = attributes
    assert found == OF_OTHER_LIBRARIES
