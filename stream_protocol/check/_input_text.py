"""Find incomplete inputs of tool calls, without storing the streamed texts."""

from collections.abc import Mapping
from typing import Any


class InputTexts:
    """The streamed inputs of the tool calls in a response."""

    def __init__(self) -> None:
        self._texts: dict[str, _InputText] = {}

    def note(self, chunk: Mapping[str, Any]) -> None:
        """Process a chunk of a call's input. Call this method before the chunk is applied to the message."""
        match chunk:
            case {"type": "tool-input-start"}:
                self._texts[chunk["toolCallId"]] = _InputText(is_json=chunk.get("inputEncoding") != "text")
            case {"type": "tool-input-delta", "toolCallId": call_id} if call_id in self._texts:
                self._texts[call_id].add(chunk["inputTextDelta"])

    def is_whole(self, call_id: str) -> bool:
        """Return True if all brackets in the streamed input of the call are closed. Also return True for an input that
        is plain text.
        """
        return call_id in self._texts and self._texts[call_id].is_whole


class _InputText:
    """The open brackets and quotes in a streamed input."""

    def __init__(self, *, is_json: bool) -> None:
        self._is_json = is_json
        self._begun = self._in_string = self._escaped = False
        self._depth = 0

    def add(self, text: str) -> None:
        for char in text:
            if self._escaped:
                self._escaped = False
            elif self._in_string:
                self._escaped = char == "\\"
                self._in_string = char != '"'
            elif char == '"':
                self._in_string = True
            elif char in "{[":
                self._begun = True
                self._depth += 1
            elif char in "}]":
                self._depth -= 1

    @property
    def is_whole(self) -> bool:
        return not self._is_json or (self._begun and self._depth == 0)
