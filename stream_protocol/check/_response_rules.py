"""One response as one client takes it: the client's own reducer, and beside it the rules that no client enforces.

A rule looks at a chunk and at the message before the chunk changes it; the rest are looked at when the response ends.
Where the client dies, the rest of the response is not judged: it is never read.
"""

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, cast

from stream_protocol.check._continued_message import Carried, has_ended, holds_call
from stream_protocol.check._rules import Problem, Rule
from stream_protocol.check._wording import kind_of, schema_problem
from stream_protocol.wire import (
    AiSdkVersion,
    AnyChunk,
    ClientStreamError,
    ToolPart,
    UIMessage,
    is_tool_part,
    short_json,
)
from stream_protocol.wire.client import MessageReducer, auto_send_helper, refusal, step_start, unknown_keys

Fields = Mapping[str, Any]

TERMINALS: Final = ("finish", "error", "abort")

_LIGHT: Final[Fields] = MappingProxyType(
    {"delta": "", "inputTextDelta": "", "url": "", "input": None, "output": None, "data": None}
)
"""Keys whose values no rule looks at, with what the reducer gets for them: a long response then takes no memory."""

_WAITS_FOR_PAGE: Final = (None, "tool-calls", "other", "interrupted")
"""Finish reasons with which an open call may be one that the page itself answers."""

_MAY_START: Final[Mapping[str, Collection[str]]] = MappingProxyType(
    {
        "tool-input-start": ("approval-responded",),
        "tool-input-available": ("input-streaming", "input-available", "approval-responded"),
        "tool-input-error": ("input-streaming", "input-available"),
    }
)
"""The states in which a call takes the chunk without losing anything. A framework may tell an approved call again."""


class ResponseRules:
    """``base`` is the message that the response continues. ``candidate`` may be: what is told of its calls decides.

    ``earlier`` are the client's other messages, whose calls are out of this response's reach.
    """

    def __init__(
        self,
        ai_sdk: AiSdkVersion,
        *,
        base: Carried | None = None,
        candidate: Carried | None = None,
        earlier: Collection[UIMessage] = (),
    ) -> None:
        self._ai_sdk: AiSdkVersion = ai_sdk
        self._candidate = candidate
        self._earlier = earlier
        self._message_id: str | None = None
        self._terminal: str | None = None
        self._dead = False
        self._bare_steps = 0
        """Steps at the end that the client has not stored: the next change of the message stores them."""
        self._take_up(base)

    def _take_up(self, base: Carried | None) -> None:
        self._reducer = MessageReducer(ai_sdk=self._ai_sdk, message=base.message if base else None)
        self._answered = base.answered if base else frozenset()
        parts = self._reducer.message["parts"]
        self._ended_before = {part["toolCallId"] for part in parts if is_tool_part(part) and has_ended(part)}
        """Calls that had ended when the response began: an answer may let one end anew, once."""
        if base is not None and base.message["id"]:
            self._message_id = base.message["id"]

    @property
    def message(self) -> UIMessage:
        """What the client stores of it; values and texts are left out."""
        message = self._reducer.message
        parts = message["parts"]
        return {**message, "parts": parts[: len(parts) - self._bare_steps]}

    def die(self, problem: Problem) -> Iterator[Problem]:
        """Ends the client with this response, unless it reads no more."""
        if not self._dead and self._terminal != "error":
            self._dead = True
            yield problem

    def take(self, chunk: Any) -> Iterator[Problem]:
        """Takes the next chunk and yields what is wrong with it."""
        if self._dead:
            return
        if self._terminal == "error":
            yield from self._after_terminal(chunk)
            return
        refused = refusal(chunk, ai_sdk=self._ai_sdk)
        if refused is not None:
            yield from self.die(schema_problem(chunk, refused))
            return
        yield from self._unknown_keys(chunk)
        yield from self._after_terminal(chunk)
        self._decide(chunk)
        yield from self._before(chunk)
        yield from self._apply(chunk)

    def _apply(self, chunk: Fields) -> Iterator[Problem]:
        if self._terminal is None and chunk["type"] in TERMINALS:
            self._terminal = chunk["type"]
        light = {**chunk, **{key: value for key, value in _LIGHT.items() if key in chunk}}
        try:
            write = self._reducer.apply_checked(cast("AnyChunk", light))
        except ClientStreamError as error:
            if chunk["type"] == "error":
                self._terminal = "error"
                return
            yield from self.die(self._fatal(chunk, error))
            return
        if write != "nothing":
            self._bare_steps = 0
        elif chunk["type"] == "start-step":
            self._bare_steps += 1

    def _decide(self, chunk: Fields) -> None:
        """Whether the response continues the candidate: if it tells of one of its calls before all else."""
        if self._candidate is None or chunk["type"] in ("start", "message-metadata") or _is_data(chunk):
            return
        if holds_call(self._candidate.message, chunk.get("toolCallId")):
            self._take_up(self._candidate)
        self._candidate = None

    def _fatal(self, chunk: Fields, error: ClientStreamError) -> Problem:
        kind, part_id = chunk["type"], short_json(error.chunk_id)
        match error.chunk_type:
            case "tool-invocation" if any(holds_call(message, error.chunk_id) for message in self._earlier):
                text = (
                    f"{kind} for call {part_id}, which is in an earlier message: `start` must carry that message's id."
                )
                return Problem(Rule.CONTINUED_UNDER_NEW_ID, text)
            case "tool-invocation":
                return Problem(Rule.UNKNOWN_CALL, f"{kind} for call {part_id}, which is not in the message.")
            case "tool-approval-response":
                return Problem(Rule.UNKNOWN_APPROVAL, f"{kind} for approval {part_id}, which nothing asked for.")
            case "tool-input-delta":
                return Problem(Rule.INPUT_NOT_STARTED, f"{kind} for call {part_id}, whose input has not been started.")
            case None:
                return Problem(Rule.METADATA, f"The metadata of {kind} cannot be merged: {error.text}.")
        return Problem(Rule.TEXT_NOT_STARTED, f"{kind} for id {part_id}, which is not open.")

    # rules about a chunk, before it is applied

    def _unknown_keys(self, chunk: Fields) -> Iterator[Problem]:
        for key in sorted(unknown_keys(chunk, ai_sdk=self._ai_sdk)):
            text = f"The key {short_json(key)} of {kind_of(chunk)} kills clients before 6.0.231 and 7.0.32."
            yield Problem(Rule.UNKNOWN_KEY, text)

    def _after_terminal(self, chunk: Any) -> Iterator[Problem]:
        if self._terminal is None or _is_data(chunk):
            return
        kind = chunk.get("type") if isinstance(chunk, Mapping) else None
        # the official server closes step and message behind an error
        closes = ("finish-step", "finish") if self._terminal == "error" else ()
        if kind in TERMINALS and kind not in closes:
            yield Problem(Rule.SECOND_TERMINAL, f"{kind} comes behind {self._terminal}.")
        elif kind not in (*closes, "message-metadata"):
            yield Problem(Rule.CONTENT_AFTER_TERMINAL, f"{kind_of(chunk)} comes behind {self._terminal}.")

    def _before(self, chunk: Fields) -> Iterator[Problem]:
        match chunk["type"]:
            case "start":
                yield from self._start(chunk)
            case "text-start" | "reasoning-start" as kind:
                if chunk["id"] in self._reducer.open_ids(kind.removesuffix("-start")):
                    yield Problem(Rule.ID_REUSED, f"{kind} for id {short_json(chunk['id'])}, which is still open.")
            case "finish-step" if self._ai_sdk == 6:
                for what in self._open_texts():
                    yield Problem(Rule.OPEN_AT_FINISH_STEP, f"{what} is open at finish-step.")
            case "start-step":
                yield from self._start_step()
            case "tool-input-start" | "tool-input-available" | "tool-input-error":
                yield from self._call(chunk)
            case "tool-output-available" | "tool-output-error" | "tool-output-denied":
                yield from self._output(chunk)

    def _start(self, chunk: Fields) -> Iterator[Problem]:
        message_id = chunk.get("messageId", self._message_id)
        if self._message_id is not None and message_id != self._message_id:
            text = (
                f"start names message {short_json(message_id)}, but the response is of {short_json(self._message_id)}."
            )
            yield Problem(Rule.SECOND_MESSAGE_ID, text)
        self._message_id = message_id

    def _start_step(self) -> Iterator[Problem]:
        parts = self._reducer.message["parts"]
        for part in parts[step_start(parts) :]:
            if is_tool_part(part) and part["state"] == "approval-requested":
                call_id = short_json(part["toolCallId"])
                yield Problem(Rule.STEP_WHILE_PENDING, f"A step starts while call {call_id} waits for approval.")

    def _call(self, chunk: Fields) -> Iterator[Problem]:
        kind, call_id = chunk["type"], chunk["toolCallId"]
        part = self._reducer.tools.find_in_step(call_id)
        if call_id in self._answered:
            return
        if part is None:
            if self._reducer.tools.find(call_id) is not None:
                text = f"{kind} for call {short_json(call_id)}, which is in an earlier step already."
                yield Problem(Rule.CALL_RESTARTED, text)
        elif kind != "tool-input-error" and (part["type"] == "dynamic-tool") != chunk.get("dynamic", False):
            text = f"{kind} for call {short_json(call_id)} and the chunk before it differ in `dynamic`."
            yield Problem(Rule.DYNAMIC_MISMATCH, text)
        elif part["state"] not in _MAY_START[kind]:
            text = f"{kind} for call {short_json(call_id)}, which is {part['state']} already."
            yield Problem(Rule.CALL_RESTARTED, text)

    def _output(self, chunk: Fields) -> Iterator[Problem]:
        kind, call_id = chunk["type"], chunk["toolCallId"]
        part: Any = self._reducer.tools.find(call_id)
        if call_id in self._ended_before:
            self._ended_before.remove(call_id)
        elif part is None:
            return
        elif part["state"] == "input-streaming" and kind == "tool-output-available":
            yield Problem(Rule.INPUT_INCOMPLETE, f"{kind} for call {short_json(call_id)}, whose input is not complete.")
        elif has_ended(part) and not (part["state"] == "output-error" and kind == "tool-output-error"):
            # an invalid call gets tool-input-error and tool-output-error from the official v6 server
            text = f"{kind} for call {short_json(call_id)}, which is {part['state']} already."
            yield Problem(Rule.OUTPUT_TWICE, text)

    def _open_texts(self) -> Iterator[str]:
        for kind in ("text", "reasoning"):
            for part_id in self._reducer.open_ids(kind):
                yield f"{kind.capitalize()} {short_json(part_id)}"

    # rules about the end

    def end(self) -> Iterator[Problem]:
        """Yields what is wrong with a response that ends here."""
        if self._dead:
            return
        if self._terminal is None:
            yield Problem(Rule.TERMINAL_MISSING, "The response ends without finish, error or abort.")
        for problem in self._left_open():
            yield problem if self._terminal == "finish" else Problem(Rule.OPEN_ON_FAILURE, problem.text)
        reason = self._reducer.finish_reason
        if self._terminal == "finish" and reason != "interrupted":
            helper = auto_send_helper(self.message["parts"])
            if helper is not None:
                text = f"All calls of the last step are settled: {helper} sends the message again, without end."
                yield Problem(Rule.AUTO_SEND_LOOP, text)

    def _left_open(self) -> Iterator[Problem]:
        for what in self._open_texts():
            yield Problem(Rule.TEXT_LEFT_OPEN, f"{what} is not ended.")
        parts = self.message["parts"]
        begin = step_start(parts)
        waits = any(is_tool_part(part) and self._waits_for_page(part) for part in parts[begin:])
        for index, part in enumerate(parts):
            if is_tool_part(part):
                yield from self._left_call(part, held_up=waits, in_last_step=index >= begin)

    def _left_call(self, call: ToolPart, *, held_up: bool, in_last_step: bool) -> Iterator[Problem]:
        """``held_up``: something waits for the user, and so may this call for that."""
        name = f"Call {short_json(call['toolCallId'])}"
        match call["state"]:
            case "input-streaming":
                yield Problem(Rule.INPUT_INCOMPLETE, f"{name} never gets its whole input.")
            case "input-available" if not held_up:
                yield Problem(Rule.CALL_WITHOUT_END, f"{name} gets no output, error or denial.")
            case "approval-responded" if not held_up and not in_last_step:
                yield Problem(Rule.CALL_WITHOUT_END, f"{name} was answered by the user and gets no output or denial.")
            case "output-available" if not held_up and call.get("preliminary"):
                yield Problem(Rule.PRELIMINARY_LEFT, f"{name} has only a preliminary output.")

    def _waits_for_page(self, call: ToolPart) -> bool:
        if call["state"] == "input-available" and not call.get("providerExecuted"):
            return self._terminal == "finish" and self._reducer.finish_reason in _WAITS_FOR_PAGE
        return call["state"] == "approval-requested"


def _is_data(chunk: Any) -> bool:
    return isinstance(chunk, Mapping) and str(chunk.get("type")).startswith("data-")
