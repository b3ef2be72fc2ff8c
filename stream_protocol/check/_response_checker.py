"""Check one response for one client version: the order of its chunks, and its end.

A copy of the client's reducer finds chunks on which the client fails. The client then stops reading, so the rest of the
response is not checked. The other rules find chunks that the client accepts but shows wrongly. Most of these rules
compare a chunk with the message as it was before the chunk.
"""

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final, cast

from stream_protocol.check._continued_message import ContinuedMessage, call_of_approval, has_call, has_ended
from stream_protocol.check._input_text import InputTexts
from stream_protocol.check._problem_texts import chunk_type, schema_problem
from stream_protocol.check._rules import Problem, Rule
from stream_protocol.wire import (
    DELTA_KEYS,
    AiSdkVersion,
    AnyChunk,
    ClientStreamError,
    ToolPart,
    UIMessage,
    is_tool_part,
    short_json,
)
from stream_protocol.wire.client import MessageReducer, auto_send_helper, may_resend, refusal, step_start, unknown_keys

ChunkFields = Mapping[str, Any]

TERMINALS: Final = ("finish", "error", "abort")
"""The types of chunks that end a response."""

_WITHOUT_VALUES: Final[ChunkFields] = MappingProxyType(
    {
        **dict.fromkeys((text for _, text in DELTA_KEYS.values()), ""),
        "url": "",
        "input": None,
        "output": None,
        "data": None,
    }
)
"""Key of a chunk -> a placeholder for its value, which no rule needs. The placeholders save memory."""

_WAITS_FOR_PAGE: Final = (None, "tool-calls", "other", "interrupted")
"""Finish reasons after which a call without an output may wait for the client."""

_MAY_START: Final[Mapping[str, Collection[str]]] = MappingProxyType(
    {
        "tool-input-start": ("approval-responded",),
        "tool-input-available": ("input-streaming", "input-available", "approval-responded"),
        "tool-input-error": ("input-streaming", "input-available"),
    }
)
"""Chunk type -> states of a call in which such a chunk overwrites nothing. A server may send an approved call again."""


class ResponseChecker:
    """Checks the chunks of one response in order.

    ``continued``: the message that the response continues, because its id is in the response's ``start`` chunk.
    ``last``: the client's last message. The response may also continue this message: then the first content of the
    response belongs to a call or an approval in it. ``earlier``: the client's other messages. The response cannot
    change their calls.
    """

    def __init__(
        self,
        ai_sdk: AiSdkVersion,
        *,
        continued: ContinuedMessage | None = None,
        last: ContinuedMessage | None = None,
        earlier: Collection[UIMessage] = (),
    ) -> None:
        self._ai_sdk: AiSdkVersion = ai_sdk
        self._last = last
        self._first_steps = 0
        """The number of steps before the first content, while the response may continue the last message."""
        self._earlier = earlier
        self._message_id: str | None = None
        self._terminal: str | None = None
        self._failed = False
        self.is_shown = False
        """True if the client shows the message. An empty message without an id is not shown."""
        self._inputs = InputTexts()
        self._empty_steps = 0
        """The number of empty steps at the end of the message. The client stores them only with the next change."""
        self._continue(continued)

    def _continue(self, continued: ContinuedMessage | None) -> None:
        """Begin a response. ``continued``: the message that the response continues; ``None`` for a new message."""
        self._reducer = MessageReducer(ai_sdk=self._ai_sdk, message=continued.message if continued else None)
        self._continued = continued
        self._answered = continued.answered if continued else frozenset()
        self._used: set[str] = set()
        parts = self._reducer.message["parts"]
        self._ended_before = {part["toolCallId"] for part in parts if is_tool_part(part) and has_ended(part)}
        """The ids of calls that had ended before the response. They may end once more, because the user may have
        answered them."""
        if continued is not None and continued.message["id"]:
            self._message_id = continued.message["id"]

    @property
    def message(self) -> UIMessage:
        """The message that the client stores. Placeholders replace values and texts."""
        message = self._reducer.message
        parts = message["parts"]
        return {**message, "parts": parts[: len(parts) - self._empty_steps]}

    @property
    def next_message(self) -> UIMessage:
        """The message that the next response may continue. Calls that this response does not mention may still wait for
        an answer.
        """
        return self.message if self._continued is None else self._continued.with_used_answers(self.message, self._used)

    def stop_reading(self, problem: Problem) -> Iterator[Problem]:
        """Record that the client fails and stops reading. Yields ``problem``. If the client has stopped before, yields
        nothing.
        """
        if not self._failed and self._terminal != "error":
            self._failed = True
            yield problem

    def check_chunk(self, chunk: Any) -> Iterator[Problem]:
        if self._failed:
            return
        if self._terminal == "error":
            yield from self._check_after_terminal(chunk)
            return
        refused = refusal(chunk, ai_sdk=self._ai_sdk)
        if refused is not None:
            yield from self.stop_reading(schema_problem(chunk, refused))
            return
        yield from self._check_keys(chunk)
        yield from self._check_after_terminal(chunk)
        self._try_last_message(chunk)
        yield from self._check_order(chunk)
        self._inputs.note(chunk)
        self._note_call(chunk)
        yield from self._apply(chunk)

    def _apply(self, chunk: ChunkFields) -> Iterator[Problem]:
        """Apply the chunk to the message. Yields a problem if the client would raise an error for the chunk."""
        if self._terminal is None and chunk["type"] in TERMINALS:
            self._terminal = chunk["type"]
        without_values = {**chunk, **{key: value for key, value in _WITHOUT_VALUES.items() if key in chunk}}
        try:
            write = self._reducer.apply_checked(cast("AnyChunk", without_values))
        except ClientStreamError as error:
            if chunk["type"] == "error":
                self._terminal = "error"
                return
            yield from self.stop_reading(self._client_error(chunk, error))
            return
        if write != "nothing":
            self.is_shown = True
            self._empty_steps = 0
        elif chunk["type"] == "start-step":
            self._empty_steps += 1

    def _note_call(self, chunk: ChunkFields) -> None:
        """Record the id of the call to which the chunk refers. Some chunks contain only the id of an approval
        request.
        """
        if "toolCallId" in chunk:
            self._used.add(chunk["toolCallId"])
        elif "approvalId" in chunk and (call_id := call_of_approval(self._reducer.message, chunk["approvalId"])):
            self._used.add(call_id)

    def _try_last_message(self, chunk: ChunkFields) -> None:
        """Continue the client's last message, if the response's first content belongs to a call of that message."""
        if self._last is None or chunk["type"] in ("start", "message-metadata") or _is_data(chunk):
            return
        if chunk["type"] == "start-step":
            self._first_steps += 1
            return
        if self._last.contains(chunk):
            self._continue(self._last)
            for _ in range(self._first_steps):
                self._reducer.apply_checked({"type": "start-step"})
        self._last = None

    def _client_error(self, chunk: ChunkFields, error: ClientStreamError) -> Problem:
        """Return the ``Problem`` for a chunk on which the client raises ``error``."""
        kind, part_id = chunk["type"], short_json(error.chunk_id)
        match error.chunk_type:
            case "tool-invocation" if any(has_call(message, error.chunk_id) for message in self._earlier):
                text = f"{kind} for call {part_id} of an earlier message: `start` must have that message's id."
                return Problem(Rule.CONTINUED_UNDER_NEW_ID, text)
            case "tool-invocation":
                return Problem(Rule.UNKNOWN_CALL, f"{kind} for call {part_id}, which is not in the message.")
            case "tool-approval-response":
                return Problem(Rule.UNKNOWN_APPROVAL, f"{kind} for approval {part_id}, which no chunk requested.")
            case "tool-input-delta":
                return Problem(Rule.INPUT_NOT_STARTED, f"{kind} for call {part_id}, whose input has not been started.")
            case None:
                return Problem(Rule.METADATA, f"The metadata of {kind} cannot be merged: {error.text}.")
        return Problem(Rule.TEXT_NOT_STARTED, f"{kind} for id {part_id}, which is not open.")

    def _check_keys(self, chunk: ChunkFields) -> Iterator[Problem]:
        """Yield a problem for each key that the oldest supported clients refuse in this chunk."""
        for key in sorted(unknown_keys(chunk, ai_sdk=self._ai_sdk)):
            text = f"Clients before 6.0.231 and 7.0.32 fail at the key {short_json(key)} of {chunk_type(chunk)}."
            yield Problem(Rule.UNKNOWN_KEY, text)

    def _check_after_terminal(self, chunk: Any) -> Iterator[Problem]:
        if self._terminal is None or _is_data(chunk):
            return
        kind = chunk.get("type") if isinstance(chunk, Mapping) else None
        # The AI SDK's own server sends these after an error.
        closes = ("finish-step", "finish") if self._terminal == "error" else ()
        if kind in TERMINALS and kind not in closes:
            yield Problem(Rule.SECOND_TERMINAL, f"{kind} comes after {self._terminal}.")
        elif kind not in (*closes, "message-metadata"):
            yield Problem(Rule.CONTENT_AFTER_TERMINAL, f"{chunk_type(chunk)} comes after {self._terminal}.")

    def _check_order(self, chunk: ChunkFields) -> Iterator[Problem]:
        """Yield the problems of a chunk that is wrong at this position, although the client accepts it."""
        match chunk["type"]:
            case "start":
                yield from self._check_start(chunk)
            case "text-start" | "reasoning-start" as kind:
                if chunk["id"] in self._reducer.open_ids(kind.removesuffix("-start")):
                    yield Problem(Rule.ID_REUSED, f"{kind} for id {short_json(chunk['id'])}, which is still open.")
            case "finish-step" if self._ai_sdk == 6:
                for what in self._open_texts():
                    yield Problem(Rule.OPEN_AT_FINISH_STEP, f"{what} is open at finish-step.")
            case "start-step":
                yield from self._check_start_step()
            case "tool-input-start" | "tool-input-available" | "tool-input-error":
                yield from self._check_call(chunk)
            case "tool-output-available" | "tool-output-error" | "tool-output-denied":
                yield from self._check_output(chunk)

    def _check_start(self, chunk: ChunkFields) -> Iterator[Problem]:
        message_id = chunk.get("messageId", self._message_id)
        if self._message_id is not None and message_id != self._message_id:
            text = (
                f"start has the message id {short_json(message_id)}, but the response began with "
                f"{short_json(self._message_id)}."
            )
            yield Problem(Rule.SECOND_MESSAGE_ID, text)
        self._message_id = message_id

    def _check_start_step(self) -> Iterator[Problem]:
        parts = self._reducer.message["parts"]
        for part in parts[step_start(parts) :]:
            if is_tool_part(part) and part["state"] == "approval-requested":
                call_id = short_json(part["toolCallId"])
                yield Problem(Rule.STEP_WHILE_PENDING, f"A step starts while call {call_id} waits for approval.")

    def _check_call(self, chunk: ChunkFields) -> Iterator[Problem]:
        kind, call_id = chunk["type"], chunk["toolCallId"]
        part = self._reducer.tools.find_in_step(call_id)
        if call_id in self._answered:
            return
        if part is None:
            if self._reducer.tools.find(call_id) is not None:
                text = f"{kind} for call {short_json(call_id)}, which is in an earlier step already."
                yield Problem(Rule.CALL_RESTARTED, text)
            elif call_id in self._earlier_calls:
                text = f"{kind} for call {short_json(call_id)}, which is also the id of a call in an earlier message."
                yield Problem(Rule.CALL_ID_REUSED, text)
        elif kind != "tool-input-error" and (part["type"] == "dynamic-tool") != chunk.get("dynamic", False):
            text = f"{kind} for call {short_json(call_id)} and the chunk before it differ in `dynamic`."
            yield Problem(Rule.DYNAMIC_MISMATCH, text)
        elif part["state"] not in _MAY_START[kind]:
            text = f"{kind} for call {short_json(call_id)}, which is {part['state']} already."
            yield Problem(Rule.CALL_RESTARTED, text)

    def _check_output(self, chunk: ChunkFields) -> Iterator[Problem]:
        kind, call_id = chunk["type"], chunk["toolCallId"]
        part: Any = self._reducer.tools.find(call_id)
        if call_id in self._ended_before:
            self._ended_before.remove(call_id)
        elif part is None:
            return
        elif (
            part["state"] == "input-streaming"
            and kind == "tool-output-available"
            and not self._inputs.is_whole(call_id)
        ):
            yield Problem(Rule.INPUT_INCOMPLETE, f"{kind} for call {short_json(call_id)}, whose input is not complete.")
        elif has_ended(part) and not (part["state"] == "output-error" and kind == "tool-output-error"):
            # The AI SDK's own v6 server sends both for an invalid call.
            text = f"{kind} for call {short_json(call_id)}, which is {part['state']} already."
            yield Problem(Rule.OUTPUT_TWICE, text)

    @cached_property
    def _earlier_calls(self) -> frozenset[str]:
        parts = (part for message in self._earlier for part in message["parts"])
        return frozenset(part["toolCallId"] for part in parts if is_tool_part(part))

    def _open_texts(self) -> Iterator[str]:
        for kind in ("text", "reasoning"):
            for part_id in self._reducer.open_ids(kind):
                yield f"{kind.capitalize()} {short_json(part_id)}"

    def end(self) -> Iterator[Problem]:
        if self._failed:
            return
        if self._terminal is None:
            yield Problem(Rule.TERMINAL_MISSING, "The response ends without finish, error or abort.")
        for problem in self._unfinished():
            yield problem if self._terminal == "finish" else Problem(Rule.OPEN_ON_FAILURE, problem.text)
        if may_resend(self._terminal, self._reducer.finish_reason):
            helper = auto_send_helper(self.next_message["parts"])
            if helper is not None:
                text = f"All calls of the last step have ended: {helper} sends the message again, without end."
                yield Problem(Rule.AUTO_SEND_LOOP, text)

    def _unfinished(self) -> Iterator[Problem]:
        """Yield a problem for each text and each call that has not ended at the end of the response."""
        for what in self._open_texts():
            yield Problem(Rule.TEXT_LEFT_OPEN, f"{what} is not ended.")
        parts = self.message["parts"]
        begin = step_start(parts)
        user_is_asked = any(is_tool_part(part) and self._waits_for_page(part) for part in parts[begin:])
        for index, part in enumerate(parts):
            if is_tool_part(part):
                yield from self._unfinished_call(part, user_is_asked=user_is_asked, in_last_step=index >= begin)

    def _unfinished_call(self, call: ToolPart, *, user_is_asked: bool, in_last_step: bool) -> Iterator[Problem]:
        """Yield a problem if the call has not ended and does not wait for the user.

        ``user_is_asked``: True if a call of the last step waits for the user. Then other calls may also have no result.
        """
        name = f"Call {short_json(call['toolCallId'])}"
        match call["state"]:
            case "input-streaming":
                yield Problem(Rule.INPUT_INCOMPLETE, f"{name} never gets its whole input.")
            case "input-available" if not user_is_asked:
                yield Problem(Rule.CALL_WITHOUT_END, f"{name} gets no output, error or denial.")
            case "approval-responded" if not user_is_asked and not in_last_step:
                yield Problem(Rule.CALL_WITHOUT_END, f"{name} was answered by the user and gets no output or denial.")
            case "output-available" if not user_is_asked and call.get("preliminary"):
                yield Problem(Rule.PRELIMINARY_LEFT, f"{name} has only a preliminary output.")

    def _waits_for_page(self, call: ToolPart) -> bool:
        if call["state"] == "input-available" and not call.get("providerExecuted"):
            return self._terminal == "finish" and self._reducer.finish_reason in _WAITS_FOR_PAGE
        return call["state"] == "approval-requested"


def _is_data(chunk: Any) -> bool:
    return isinstance(chunk, Mapping) and str(chunk.get("type")).startswith("data-")
