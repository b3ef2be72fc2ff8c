"""Converts UI messages to ADK events, for apps that keep their chats in the browser or in their own database.

ADK silently drops or rewrites events that break these rules:

- A call comes before its response, in a separate event with the same call id.
- The author is an agent of the agent tree.
- Each content has a role.
- Timestamps increase.
- Call ids begin with ``adk-``. ADK removes ids with this prefix from requests to Gemini.

ADK never runs a call of an imported history. Calls without a result, and calls of ADK's own tools such as
``transfer_to_agent``, are left out.
"""

import re
from base64 import b64decode
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import count
from math import inf
from typing import Any, Final, cast

from google.adk.events import Event
from google.genai import types

from stream_protocol.adk import CODE_EXECUTION
from stream_protocol.session._files import FROM_BASE64URL, read_file
from stream_protocol.session._submitted_answers import REJECTED
from stream_protocol.session._user_message import adk_part, texts_and_files
from stream_protocol.session.transcript import EVENT_INTERVAL, EventMetadata, TakenInMessage
from stream_protocol.stream import CALL_NOT_FINISHED_TEXT, CONTROL_TOOLS
from stream_protocol.wire import (
    ChatRequestError,
    FilePart,
    TextPart,
    ToolPart,
    UIMessage,
    UIPart,
    check_iterable,
    check_number,
    check_text,
    check_texts,
    is_tool_part,
    parse_message,
    tool_name,
    tool_result,
)

MAX_INVOCATION_ID: Final = 128
"""The maximum number of characters of a message id that becomes an invocation id. ADK's database holds 256."""

CALL_ID: Final = re.compile(r"adk-[A-Za-z0-9_-]{1,36}")
"""Pattern for call ids that all model providers accept."""

TOOL_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")
"""Pattern for function names that Gemini accepts."""

RESERVED: Final = "adk_"
"""The prefix of names of ADK's own calls."""

NOT_APPROVED_YET: Final = "This tool call requires confirmation, please approve or reject."
"""ADK's response text for a call that waits for approval."""


def messages_to_events(
    messages: Iterable[UIMessage], *, agent: str, agents: Collection[str] = (), start: float = 0.0
) -> list[Event]:
    """Convert UI messages to ADK events. The caller must append the returned events to a session in order.

    ``agent``: the root agent's name, used as the author of assistant messages. ``agents``: the names of other agents
    that may have written a part. A part names its agent in ``providerMetadata.adk.author``. ``start``: the timestamp of
    the first event, in seconds since 1970. The timestamps of later events increase by a millisecond. Equal arguments
    give equal events.

    The invocation id of a turn is the id of its assistant message. System messages, data parts, sources and other parts
    that ADK cannot represent are left out. Raises ``ChatRequestError`` for an invalid message, and for a refused file
    of the user.
    """
    check_iterable("messages_to_events", messages, "messages", otherwise="collect the messages in a list first")
    check_text("agent", agent, empty=False, expected="the name of an agent")
    check_texts("agents", agents, expected="a list of names of agents")
    check_number("start", start, lambda seconds: 0 <= seconds < inf, "a number of seconds since 1970")
    history = _HistoryBuilder({agent, *agents}, agent, start)
    parsed = [parse_message(message) for message in messages]
    for message, following in zip(parsed, [*parsed[1:], None], strict=False):
        if message["role"] == "user":
            history.begin_invocation(
                following["id"] if following is not None and following["role"] == "assistant" else ""
            )
            history.add("user", "user", list(map(adk_part, texts_and_files(message))), message_id=message["id"])
        elif message["role"] == "assistant":
            history.begin_invocation(message["id"], only_first=True)
            history.add_assistant_message(message["parts"])
    return history.events


class _HistoryBuilder:
    def __init__(self, agents: Collection[str], root: str, start: float) -> None:
        self.events: list[Event] = []
        self._agents = agents
        self._root = root
        self._start = start
        self._invocations: set[str] = set()
        self._begun = 0
        self._invocation = ""
        self._call_ids: set[str] = set()
        self._numbers = count(1)
        """Numbers for new call ids. Each number is tried only once, so that long histories take linear time."""
        self._author = root
        self._parts: list[types.Part] = []
        self._results: list[types.FunctionResponse] = []

    def begin_invocation(self, name: str, *, only_first: bool = False) -> None:
        """Begin a new invocation of the imported history. ``name``: the preferred invocation id. If ``name`` is empty,
        too long or already used, the invocation gets another id. ``only_first``: True to begin an invocation only if
        the history has none yet.
        """
        if only_first and self._invocations:
            return
        usable = name and len(name) <= MAX_INVOCATION_ID and name not in self._invocations
        self._begun += 1
        self._invocation = name if usable else f"imported.{self._begun}"
        self._invocations.add(self._invocation)

    def add(
        self,
        author: str,
        role: str,
        parts: list[types.Part],
        *,
        message_id: str = "",
        steering: TakenInMessage | None = None,
    ) -> None:
        if not parts:
            return
        self.events.append(
            Event(
                id=f"imported-{len(self.events) + 1}",
                timestamp=self._start + EVENT_INTERVAL * len(self.events),
                invocation_id=self._invocation,
                author=author,
                content=types.Content(role=role, parts=parts),
                custom_metadata=EventMetadata(message_id=message_id, steering=steering).to_custom(),
            )
        )

    def add_assistant_message(self, parts: Sequence[UIPart]) -> None:
        """Add an assistant message. Each step becomes a model response, followed by the results of its tool calls."""
        denials = _denials(parts)
        for part in parts:
            if part["type"] == "step-start":
                self._end_response()
            elif is_tool_part(part):
                self._add_tool(part, denials)
            elif part["type"] == "file":
                self._add_file(cast("FilePart", part))
            elif part["type"] in ("text", "reasoning"):
                self._add_text(cast("TextPart", part), thought=part["type"] == "reasoning")
            elif (steering := _steering_message(part)) is not None:
                self._add_steering(steering)
        self._end_response()

    def _add_text(self, part: TextPart, *, thought: bool) -> None:
        if not part["text"]:
            return
        if self._results:  # text after results belongs to the next model response
            self._end_response()
        provider = part.get("providerMetadata")
        self._add_parts(
            provider, types.Part(text=part["text"], thought=thought or None, thought_signature=_signature(provider))
        )

    def _add_file(self, part: FilePart) -> None:
        """Add a file of the agent. If the file comes directly after a tool result, it is added to the result. A file
        that ``read_file`` refuses is left out.
        """
        with suppress(ChatRequestError):
            file = read_file(part)
            if self._results:
                self._results[-1].parts = [*(self._results[-1].parts or ()), _result_file(adk_part(file))]
            else:
                self._add_parts(part.get("providerMetadata"), adk_part(file))

    def _add_steering(self, message: UIMessage) -> None:
        """Add a message that the user sent while the agent worked. An invalid message is left out."""
        self._end_response()
        with suppress(ChatRequestError):
            parts = [*map(adk_part, texts_and_files(message))]
            self.add("user", "user", parts, steering=TakenInMessage(id=message["id"]))

    def _add_tool(self, part: ToolPart, denials: Mapping[str, Any]) -> None:
        name, provider = tool_name(part), part.get("callProviderMetadata")
        if part.get("providerExecuted"):
            if name == CODE_EXECUTION:
                self._add_parts(provider, *_code_parts(part))
            return
        response = _response(part, denials)
        if response is None or not _is_complete(part) or not _is_tool_name(name):
            return
        call_id = self._call_id(part["toolCallId"])
        call = types.FunctionCall(id=call_id, name=name, args=_object(part["input"], "input"))
        self._add_parts(provider, types.Part(function_call=call, thought_signature=_signature(provider)))
        self._results.append(types.FunctionResponse(id=call_id, name=name, response=response))

    def _add_parts(self, provider: Mapping[str, Any] | None, *parts: types.Part) -> None:
        author = self._author_of(provider)
        if author != self._author:
            self._end_response()
        self._author = author
        self._parts.extend(parts)

    def _author_of(self, provider: Mapping[str, Any] | None) -> str:
        match provider:
            case {"adk": {"author": str(author)}} if author in self._agents:
                return author
        return self._root

    def _call_id(self, client_id: str) -> str:
        wanted = client_id if client_id.startswith("adk-") else f"adk-{client_id}"
        if not CALL_ID.fullmatch(wanted) or wanted in self._call_ids:
            wanted = next(name for n in self._numbers if (name := f"adk-{n}") not in self._call_ids)
        self._call_ids.add(wanted)
        return wanted

    def _end_response(self) -> None:
        # ADK recognises a code execution result only in a separate event, at the end of a response.
        alone = [self._parts.pop()] if self._parts and self._parts[-1].code_execution_result else []
        self.add(self._author, "model", self._parts)
        self.add(self._author, "model", alone)
        self.add(self._author, "user", [types.Part(function_response=result) for result in self._results])
        self._parts, self._results = [], []


def _is_tool_name(name: str) -> bool:
    return bool(TOOL_NAME.fullmatch(name)) and not name.startswith(RESERVED) and name not in CONTROL_TOOLS


def _is_complete(part: ToolPart) -> bool:
    """Return True if the tool call ``part`` has complete input. An unfinished call has no input in AI SDK 6, and
    partial input in AI SDK 7."""
    return "input" in part and part.get("errorText") != CALL_NOT_FINISHED_TEXT


def _steering_message(part: UIPart) -> UIMessage | None:
    """Return the user message in a part for a steering message (sent while the agent works); ``None`` for any other
    part."""
    fields: Any = part
    match fields.get("data") if part["type"] == "data-adk-steering" else fields:
        case {"id": str(message_id), "parts": list(parts)} if part["type"] in ("steering-message", "data-adk-steering"):
            with suppress(ChatRequestError):
                return parse_message({"id": message_id, "role": "user", "parts": parts})
    return None


def _denials(parts: Iterable[UIPart]) -> dict[str, Any]:
    """Return the outputs of tools that ran although the user denied their calls. The result maps a call's id to the
    output.
    """
    data = [cast("Any", part).get("data") for part in parts if part["type"] == "data-adk-denial"]
    return {
        denial["toolCallId"]: denial.get("output")
        for denial in data
        if isinstance(denial, dict) and isinstance(denial.get("toolCallId"), str)
    }


def _response(part: ToolPart, denials: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the function response for the tool call ``part``; ``None`` if the call has no result."""
    match part["state"]:
        case "output-available":
            return _object(tool_result(part), "result")
        case "output-error":
            return {"error": part.get("errorText", "")}
        case "approval-requested":
            return {"error": NOT_APPROVED_YET}
        case "output-denied" if part["toolCallId"] in denials:
            return _object(denials[part["toolCallId"]], "result")
        case "output-denied":
            return {"error": REJECTED}
        case "approval-responded" if part.get("approval", {}).get("approved") is False:
            return {"error": REJECTED}
    return None


def _object(value: Any, key: str) -> dict[str, Any]:
    """Return ``value`` if it is an object, otherwise ``{key: value}``: ADK stores arguments and responses as
    objects."""
    return value if isinstance(value, dict) else {key: value}


def _code_parts(part: ToolPart) -> list[types.Part]:
    """Return two ADK parts: the code that the model's provider has executed, and the code's result. Return an empty
    list if the tool call ``part`` has no code or no result."""
    match (part.get("input"), part.get("output")):
        case ({"code": str(code), **given}, {"output": str() | None as output, "outcome": outcome}):
            language = types.Language.PYTHON if given.get("language") == "PYTHON" else None
            known = types.Outcome.__members__.get(str(outcome), types.Outcome.OUTCOME_UNSPECIFIED)
            return [
                types.Part(executable_code=types.ExecutableCode(code=code, language=language)),
                types.Part(code_execution_result=types.CodeExecutionResult(outcome=known, output=output)),
            ]
    return []


def _result_file(part: types.Part) -> types.FunctionResponsePart:
    blob, link = part.inline_data, part.file_data
    return types.FunctionResponsePart(
        inline_data=None if blob is None else types.FunctionResponseBlob(**dict(blob)),
        file_data=None if link is None else types.FunctionResponseFileData(**dict(link)),
    )


def _signature(provider: Mapping[str, Any] | None) -> bytes | None:
    """Return Gemini's thought signature from the provider metadata of a part; ``None`` if there is none."""
    match provider:
        case {"google": {"thoughtSignature": str(text)}} | {"vertex": {"thoughtSignature": str(text)}}:
            with suppress(ValueError):
                return b64decode(text.encode("ascii").translate(FROM_BASE64URL), validate=True)
    return None
