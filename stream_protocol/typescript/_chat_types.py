"""The file ``chat-types.ts`` of an agent."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, TypeVar

from google.adk.agents import LlmAgent

from stream_protocol.agents import DataPart
from stream_protocol.serving import PageContext, SharedState, Target
from stream_protocol.serving.adk_runner import agent_tree
from stream_protocol.typescript._agent_tools import ToolTypes, root_of, tools_of
from stream_protocol.typescript._nodes import AgentMessage, Field, Node, Object, union
from stream_protocol.typescript._printing import braces, comment, key, schema_text, type_text
from stream_protocol.typescript._schema_reader import SchemaReader
from stream_protocol.typescript._wire_forms import ANYTHING, WireForm, agent_output, schema_of
from stream_protocol.typescript._wire_types import DATA_PARTS, REQUESTS, ChatMetadata

_T = TypeVar("_T")

_HEAD: Final = "// Made by `adk-ui-stream types` from the agent: do not edit it.\n"
_MESSAGE: Final = """\
/** A message of the chat: `useChat<ChatMessage>(…)`. */
export type ChatMessage = UIMessage<ChatMetadata, ChatDataParts, ChatTools>;
"""
_STORED_CHAT: Final = """\
/** A message with several versions. `POST /api/chat/{id}/branch` with `{"version": id}` chooses one of `ids`. */
export type MessageVersions = {
  messageId: string;
  /** The index of the version that the chat shows. */
  current: number;
  ids: string[];
};

/** What `GET /api/chat/{id}` returns. */
export type StoredChat = {
  messages: ChatMessage[];
  /** Absent if no message has several versions. */
  versions?: MessageVersions[];
  /** The ids of the assistant messages whose run was stopped before its end. Absent without any. */
  stopped?: string[];
};
"""
_WITH_STATE: Final = "  stopped?: string[];\n", "  stopped?: string[];\n  state: ChatState;\n"
_AGENT_MESSAGE: Final = """\
/** The output of a tool that is an agent: its message. At its end, `result` is what the calling agent reads. */
export type AgentMessage<Result> = UIMessage<
  ChatMetadata & { result?: Result; omittedEvents?: number },
  ChatDataParts,
  ChatTools
>;
"""
_AGENT_MESSAGE_SCHEMA: Final = """\
function agentMessageSchema<Result>(result: z.ZodType<Result>) {
  const metadata = z.looseObject({ result: result.optional(), omittedEvents: z.number().optional() });
  const parts = z.array(z.looseObject({ type: z.string() }));
  const message = { id: z.string(), role: z.literal("assistant"), parts, metadata: metadata.optional() };
  return z.looseObject(message) as z.ZodType as z.ZodType<AgentMessage<Result>>;
}
"""
_OWN_NAMES: Final = (
    "AgentMessage",
    "ChatContext",
    "ChatDataParts",
    "ChatMessage",
    "ChatOutputs",
    "ChatState",
    "ChatTools",
    "MessageVersions",
    "StoredChat",
    "UIMessage",
    "WritableState",
)


@dataclass(frozen=True)
class _Entry:
    """A name in a table of types. ``text`` describes it."""

    name: str
    type: Node
    text: str


@dataclass(frozen=True)
class _Tool:
    name: str
    input: Node
    output: Node
    text: str


@dataclass(frozen=True)
class PageValues:
    """The types of what a page tells the agent."""

    contexts: tuple[PageContext, ...] = ()
    states: tuple[SharedState, ...] = ()


async def chat_types(
    target: Target,
    parts: Iterable[DataPart[Any]] = (),
    *,
    schemas: bool = False,
    page_values: PageValues = PageValues(),
) -> str:
    """Returns TypeScript for an agent's frontend: ``ChatMessage``, a ``UIMessage`` with the types of its metadata, data
    parts and tools. The same agent gives the same text.

    ``parts``: the app's own data parts, see ``declared_parts``. ``page_values``: see ``declared_page_values``.
    ``schemas``: also zod schemas, for the options of ``useChat`` and ``validateUIMessages``. Raises ``ToolsError`` if
    the tools cannot be read.
    """
    root = root_of(target)
    reader = SchemaReader(_OWN_NAMES)
    metadata = reader.read(schema_of(ChatMetadata))
    own_parts = [_Entry(name, reader.read(schema_of(each)), "") for name, each in DATA_PARTS.items()]
    requests = [_Tool(name, reader.read(schema_of(each)), reader.read(ANYTHING), "") for name, each in REQUESTS.items()]
    app_parts = list(_read_entries(_merged((part.name, schema_of(part.model)) for part in parts), reader))
    found = [] if root is None else [tool for tool in await tools_of(root) if tool.name not in REQUESTS]
    tools = sorted([*requests, *_merged_tools(found, reader)], key=lambda tool: tool.name)
    data = sorted([*own_parts, *app_parts], key=lambda part: part.name)
    of_page = list(_page_sections(page_values, reader))
    outputs = [] if root is None else list(_read_entries(_merged(_agent_schemas(root)), reader))
    sections = [
        _HEAD,
        'import type { UIMessage } from "ai";\n' + ('import { z } from "zod/v4";\n' if schemas else ""),
        _MESSAGE,
        _STORED_CHAT.replace(*_WITH_STATE) if page_values.states else _STORED_CHAT,
        "/** The parts `data-…` of a message. */\n" + _exported("ChatDataParts", _table(data)),
        "/** The tools whose calls the client receives. */\n" + _exported("ChatTools", _tool_table(tools)),
    ]
    sections += of_page
    nested = any(form.nested for tool in found for form in tool.outputs)
    if nested:
        sections.append(_AGENT_MESSAGE)
    if outputs:
        sections.append(
            "/** Agents that answer in JSON: the type of their text. */\n" + _exported("ChatOutputs", _table(outputs))
        )
    sections += [comment(named.text, "") + _exported(name, named.type) for name, named in sorted(reader.named.items())]
    if schemas:
        sections += [_AGENT_MESSAGE_SCHEMA] if nested else []
        sections += _schema_sections(reader, metadata, data, tools)
    return "\n".join(sections)


def declared_parts() -> list[DataPart[Any]]:
    """The data parts that are module-level names of loaded modules. Call it after loading the target."""
    return sorted(_declared(DataPart), key=lambda part: part.name)


def declared_page_values() -> PageValues:
    """Every ``PageContext`` and ``SharedState`` that is a module-level name. Call it after loading the target."""
    return PageValues(contexts=tuple(_declared(PageContext)), states=tuple(_declared(SharedState)))


def _declared(kind: type[_T]) -> list[_T]:
    """The values of this class that are module-level names of loaded modules."""
    found = {
        id(value): value
        for module in [*sys.modules.values()]
        for value in [*getattr(module, "__dict__", {}).values()]
        if isinstance(value, kind)
    }
    return list(found.values())


def _page_sections(values: PageValues, reader: SchemaReader) -> Iterator[str]:
    if values.contexts:
        node = _any_of(reader.read(context.type.schema) for context in values.contexts)
        yield "/** `context` in the body of a request. */\n" + _exported("ChatContext", node)
    if values.states:
        writable = dict(_merged((key, type_.schema) for state in values.states for key, type_ in state.types.items()))
        nodes = {key: _any_of(map(reader.read, schemas)) for key, schemas in writable.items()}
        keys = sorted(frozenset().union(*(state.keys for state in values.states)))
        unread = reader.read(ANYTHING)
        fields = tuple(Field(name, nodes.get(name, unread), optional=True) for name in keys)
        yield "/** The session's state that the page gets. */\n" + _exported("ChatState", Object(fields))
        written = Object(tuple(field for field in fields if field.name in nodes))
        yield "/** `state` in the body of a request, and the body of `PATCH …/state`. */\n" + _exported(
            "WritableState", written
        )


def _merged(entries: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, list[Any]]]:
    """Name -> its schemas, by name."""
    for name, group in groupby(sorted(entries, key=lambda entry: entry[0]), key=lambda entry: entry[0]):
        yield name, [schema for _, schema in group]


def _read_entries(entries: Iterable[tuple[str, list[Any]]], reader: SchemaReader) -> Iterator[_Entry]:
    for name, schemas in entries:
        yield _Entry(name, _any_of(reader.read(schema) for schema in schemas), "")


def _merged_tools(tools: Iterable[ToolTypes], reader: SchemaReader) -> Iterator[_Tool]:
    """Returns one tool for each name. If agents have different tools of one name, a call has the types of any of them.
    Outputs are read first, so that they get the plain name of a type that differs as an input.
    """
    by_name = groupby(sorted(tools, key=lambda tool: tool.name), key=lambda tool: tool.name)
    same_names = [(name, list(group)) for name, group in by_name]
    outputs = [_any_of(_wire_type(form, reader) for tool in same for form in tool.outputs) for _, same in same_names]
    for (name, same), output in zip(same_names, outputs, strict=True):
        text = "\n\n".join(dict.fromkeys(tool.text for tool in same if tool.text))
        yield _Tool(name, _any_of(reader.read(tool.input) for tool in same), output, text)


def _any_of(nodes: Iterable[Node]) -> Node:
    return union(sorted(nodes, key=type_text))


def _wire_type(form: WireForm, reader: SchemaReader) -> Node:
    node = reader.read(form.schema)
    if form.wrapped is None:
        node = union(member if reader.is_object(member) else _wrapped(member) for member in reader.members(node))
    elif form.wrapped:
        node = _wrapped(node)
    return AgentMessage(node) if form.nested else node


def _wrapped(node: Node) -> Node:
    return Object((Field("result", node),))


def _agent_schemas(root: Any) -> Iterator[tuple[str, Any]]:
    for agent in agent_tree(root):
        if isinstance(agent, LlmAgent) and agent.output_schema is not None:
            yield agent.name, agent_output(agent.output_schema).schema


def _table(entries: Iterable[_Entry]) -> Object:
    return Object(tuple(Field(entry.name, entry.type, text=entry.text) for entry in entries))


def _tool_table(tools: Iterable[_Tool]) -> Object:
    return Object(
        tuple(
            Field(tool.name, Object((Field("input", tool.input), Field("output", tool.output))), text=tool.text)
            for tool in tools
        )
    )


def _exported(name: str, node: Node) -> str:
    return f"export type {name} = {type_text(node)};\n"


def _schema_sections(reader: SchemaReader, metadata: Node, data: list[_Entry], tools: list[_Tool]) -> Iterator[str]:
    for name, named in sorted(reader.named.items()):
        yield f"export const {name}Schema: z.ZodType<{name}> = z.lazy(() => {schema_text(named.type)});\n"
    yield (
        "/** An option of `useChat`, and `metadataSchema` of `validateUIMessages`: a user's message has none. */\n"
        f"export const messageMetadataSchema = {schema_text(metadata)}.optional() as z.ZodType as "
        "z.ZodType<ChatMetadata>;\n"
    )
    parts = ((prefix + entry.name, entry.type) for prefix in ("", "data-") for entry in data)
    yield _DATA_SCHEMAS + braces((f"{key(name)}: {schema_text(node, '  ')}," for name, node in parts), "") + ";\n"
    yield (
        _TOOL_SCHEMAS
        + braces(
            (
                f"{key(tool.name)}: "
                + braces(
                    (
                        f"inputSchema: {schema_text(tool.input, '    ')},",
                        f"outputSchema: {schema_text(tool.output, '    ')},",
                    ),
                    "  ",
                )
                + ","
                for tool in tools
            ),
            "",
        )
        + ";\n"
    )


_DATA_SCHEMAS: Final = """\
/**
 * An option of `useChat`, and `dataSchemas` of `validateUIMessages`. Each has two names: the types of the option want
 * the one without `data-`, and `useChat` looks for the other.
 */
export const dataPartSchemas: {
  [Name in keyof ChatDataParts as Name | `data-${Name}`]: z.ZodType<ChatDataParts[Name]>;
} = """

_TOOL_SCHEMAS: Final = """\
/** `tools` of `validateUIMessages`. */
export const toolSchemas: {
  [Name in keyof ChatTools]: {
    inputSchema: z.ZodType<ChatTools[Name]["input"]>;
    outputSchema: z.ZodType<ChatTools[Name]["output"]>;
  };
} = """
