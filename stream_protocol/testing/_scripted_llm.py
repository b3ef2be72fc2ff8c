"""A model that responds from a script, for an ``LlmAgent`` in a test or a demo.

    llm = ScriptedLlm(turns=[
        [Thought("The forecast will tell."), Call("get_weather", {"city": "Oslo"}, streamed=True)],
        ["Take an umbrella.", token_usage(prompt=120, answer=4)],
    ])
    agent = LlmAgent(name="guide", model=llm, tools=[get_weather])

A turn is one response of the model. Each item of a turn becomes a ``GenerateContentResponse``, as the Gemini API would
send it. ADK's ``StreamingResponseAggregator`` then creates the partial responses and the complete response, as it does
for ``google.adk.models.Gemini``. So call ids, merged texts, signatures and error codes are the same as with Gemini.
"""

import asyncio
import math
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.utils.streaming_utils import StreamingResponseAggregator
from google.genai import types
from pydantic import ConfigDict, Field, PrivateAttr, SkipValidation
from typing_extensions import override

from stream_protocol.recording import Recording
from stream_protocol.testing._recorded_answers import RecordedAnswer, recorded_answers
from stream_protocol.wire import (
    InvalidArgumentError,
    argument_error,
    check_callable,
    check_count,
    check_flag,
    check_instance,
    check_mapping,
    check_number,
    check_text,
    shown,
)


class ScriptExhaustedError(RuntimeError):
    """Raised if the agent requests more responses than ``turns`` has."""


@dataclass(frozen=True, slots=True)
class Thought:
    """Reasoning of the model, streamed like text. ``signature``: the thought signature of the last fragment."""

    text: str
    signature: bytes | None = None

    def __post_init__(self) -> None:
        check_text("text", self.text)
        check_instance("signature", self.signature, bytes, "bytes", or_none=True)


@dataclass(frozen=True, slots=True)
class Call:
    """One function call of the model. Several calls in one response are parallel calls.

    ``id``: the id of the call. With ``None``, ADK generates an id (``adk-…``). ``streamed``: True to send the arguments
    in fragments, as Vertex does with ``stream_function_call_arguments``. As with Vertex, streamed numbers are floats,
    and empty lists and objects are not sent.
    """

    name: str
    args: Mapping[str, Any] | None = None
    id: str | None = None
    streamed: bool = False
    signature: bytes | None = None

    def __post_init__(self) -> None:
        check_text("name", self.name, empty=False, expected="the name of a tool")
        check_mapping("args", self.args, or_none=True)
        check_text("id", self.id, or_none=True)
        check_flag("streamed", self.streamed)
        check_instance("signature", self.signature, bytes, "bytes", or_none=True)


@dataclass(frozen=True, slots=True)
class Wait:
    """A pause in the stream. ``until``: a number of seconds, or an event that the test sets."""

    until: float | asyncio.Event

    def __post_init__(self) -> None:
        if not isinstance(self.until, asyncio.Event):
            check_number("until", self.until, _is_time, "a number of seconds from 0, or an asyncio.Event")

    async def over(self) -> None:
        if isinstance(self.until, asyncio.Event):
            await self.until.wait()
        else:
            await asyncio.sleep(self.until)


Spoken: TypeAlias = str | Thought | Call | types.Part
"""Content of a response: text, reasoning, a call, or a part of google-genai, such as an image
(``types.Part.from_bytes``). Such a part is sent in one piece."""

Closing: TypeAlias = types.FinishReason | types.GenerateContentResponseUsageMetadata | types.GroundingMetadata
"""Data for the last response of the stream, such as the token usage. The item may stand at any place in the turn. The
default finish reason is STOP."""

Step: TypeAlias = Spoken | Closing | Wait | Exception
"""One step of a response. An exception is raised after the previous steps were streamed."""

Turn: TypeAlias = Step | Sequence[Step] | RecordedAnswer
"""One response of the model."""

_STEPS: Final = (
    *(str, Thought, Call, types.Part, Wait, Exception),
    *(types.FinishReason, types.GenerateContentResponseUsageMetadata, types.GroundingMetadata),
)

Respond: TypeAlias = Callable[[LlmRequest], Turn]
"""Function that takes a request and returns the response."""


def _is_time(seconds: float) -> bool:
    return 0 <= seconds < math.inf


def words(text: str) -> list[str]:
    """Split a text into fragments: each word with the white space before it. The joined fragments are equal to the
    text.
    """
    check_text("text", text)
    return re.findall(r"\s*\S+|\s+", text)


def token_usage(*, prompt: int, answer: int, thoughts: int = 0) -> types.GenerateContentResponseUsageMetadata:
    """Return the token usage of one response. ``prompt``, ``answer`` and ``thoughts``: numbers of tokens."""
    check_count("prompt", prompt, minimum=0)
    check_count("answer", answer, minimum=0)
    check_count("thoughts", thoughts, minimum=0)
    return types.GenerateContentResponseUsageMetadata(
        prompt_token_count=prompt,
        candidates_token_count=answer,
        thoughts_token_count=thoughts or None,
        total_token_count=prompt + answer + thoughts,
    )


def web_sources(titles_by_url: Mapping[str, str]) -> types.GroundingMetadata:
    """Return grounding metadata with these web pages. ``titles_by_url``: the keys are the URLs of the pages, the values
    their titles.
    """
    check_mapping("titles_by_url", titles_by_url, of_texts=True)
    return types.GroundingMetadata(
        grounding_chunks=[
            types.GroundingChunk(web=types.GroundingChunkWeb(uri=url, title=title))
            for url, title in titles_by_url.items()
        ]
    )


def _check_turns(name: str, turns: object) -> None:
    if not isinstance(turns, Sequence) or isinstance(turns, str | bytes):
        hint = f"write [{shown(turns)}]" if isinstance(turns, str) else ""
        raise argument_error(name, "a list of turns", turns, hint)
    for number, turn in enumerate(turns, 1):
        if callable(turn) and not isinstance(turn, type):
            check_callable(f"{name}[{number - 1}]", turn, ("request",), plain=True)
            continue
        if isinstance(turn, RecordedAnswer):
            continue
        steps = turn if isinstance(turn, Sequence) and not isinstance(turn, str | bytes) else [turn]
        for step in steps:
            if not isinstance(step, _STEPS):
                known = "write a text, Thought(…), Call(…), Wait(…), a part of google.genai or an exception"
                text = f"`{name}` has {shown(step)} in turn {number}, which is not a step: {known}."
                raise InvalidArgumentError(text)


_CHECKS: Final[Mapping[str, Callable[[str, object], None]]] = {
    "model": check_text,
    "turns": _check_turns,
    "respond": partial(check_callable, arguments=("request",), plain=True, or_none=True),
    "delay": partial(check_number, accepts=_is_time, expected="a number of seconds from 0"),
    "cut": partial(check_callable, arguments=("text",), plain=True, may_yield=True),
}
"""Field of ``ScriptedLlm`` -> function that validates its value."""


class ScriptedLlm(BaseLlm):
    """A model that responds from a script. Pass either ``turns`` or ``respond``.

    ``turns``: responses that are used in order, one for each request. Pass ``turns`` to test one conversation.
    ``respond``: a function that takes a request and returns the response. Pass ``respond`` to serve many chats with one
    agent. An item of ``turns`` may also be such a function.

    ``delay``: the pause in seconds before each fragment. ``cut``: a function that splits text, reasoning and streamed
    string arguments into fragments. Without streaming (``StreamingMode.NONE``), each response is sent as a whole.
    """

    model_config = ConfigDict(extra="forbid")

    model: str = "scripted"
    turns: SkipValidation[Sequence[Turn | Respond]] = ()
    respond: SkipValidation[Respond | None] = None
    delay: float = Field(default=0.0, ge=0)
    cut: SkipValidation[Callable[[str], Iterable[str]]] = words

    _requests: list[LlmRequest] = PrivateAttr(default_factory=list)

    if not TYPE_CHECKING:  # type checkers derive the parameters from the fields

        def __init__(self, **fields: Any) -> None:
            for name, check in _CHECKS.items():
                if name in fields:
                    check(name, fields[name])
            super().__init__(**fields)
            if bool(self.turns) == (self.respond is not None):
                raise InvalidArgumentError("Give either `turns` or `respond`.")

    @classmethod
    def from_recording(cls, recording: Recording, *, author: str | None = None, **options: Any) -> Self:
        """Create a model that repeats the model responses in a recording.

        The responses are used in order, with the recorded call ids and fragments. ``author``: use only the responses of
        this agent. Pass ``author`` if several agents each need their own model. ``options``: other fields of
        ``ScriptedLlm``, such as ``delay``. Raises ``InvalidArgumentError`` if the recording has no response of a model,
        or none of this agent.
        """
        return cls(turns=recorded_answers(recording, author), **options)

    @property
    def requests(self) -> Sequence[LlmRequest]:
        """The requests that were answered from ``turns``, in order."""
        return self._requests

    @override
    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Yield the model's next response. With ``stream``, yield partial responses, and then the complete response."""
        steps = self._turn(llm_request)
        if isinstance(steps, RecordedAnswer):
            for recorded in steps.replay(stream=stream):
                await asyncio.sleep(self.delay)
                yield recorded
            return
        if not stream:
            parts = [part async for part in self._play(steps, fragment=_whole)]
            yield LlmResponse.create(self._response(parts, closing=steps))
            return
        aggregator = StreamingResponseAggregator()
        async with aclosing(self._stream(steps)) as responses:
            async for response in responses:
                async for partial in aggregator.process_response(response):
                    yield partial
        aggregate = aggregator.close()
        if aggregate is not None:
            yield aggregate

    def _turn(self, request: LlmRequest) -> Sequence[Step] | RecordedAnswer:
        turn: Turn | Respond
        if self.respond is not None:
            turn = self.respond
        else:
            if len(self._requests) == len(self.turns):
                raise ScriptExhaustedError(f"The script has {len(self.turns)} turns and was asked for one more.")
            turn = self.turns[len(self._requests)]
            self._requests.append(request)
        answer = turn(request) if callable(turn) else turn
        if isinstance(answer, RecordedAnswer):
            return answer
        return answer if isinstance(answer, Sequence) and not isinstance(answer, str) else [answer]

    async def _stream(self, steps: Sequence[Step]) -> AsyncGenerator[types.GenerateContentResponse, None]:
        async for part in self._play(steps, fragment=self._fragments):
            yield self._response([part])
        # Gemini ends every stream with an empty text that has the finish reason, usage and grounding.
        yield self._response([types.Part(text="")], closing=steps)

    async def _play(
        self, steps: Iterable[Step], *, fragment: Callable[[Spoken], Iterable[types.Part]]
    ) -> AsyncIterator[types.Part]:
        for step in steps:
            match step:
                case Wait():
                    await step.over()
                case Exception():
                    raise step
                case types.FinishReason() | types.GenerateContentResponseUsageMetadata() | types.GroundingMetadata():
                    pass
                case _:
                    for part in fragment(step):
                        await asyncio.sleep(self.delay)
                        yield part

    def _response(
        self, parts: list[types.Part], closing: Iterable[Step] | None = None
    ) -> types.GenerateContentResponse:
        candidate = types.Candidate(content=types.Content(role="model", parts=parts))
        response = types.GenerateContentResponse(candidates=[candidate], model_version=self.model)
        if closing is not None:
            candidate.finish_reason = types.FinishReason.STOP
        for step in closing or ():
            match step:
                case types.FinishReason():
                    candidate.finish_reason = step
                case types.GroundingMetadata():
                    candidate.grounding_metadata = step
                case types.GenerateContentResponseUsageMetadata():
                    response.usage_metadata = step
        return response

    def _fragments(self, step: Spoken) -> Iterator[types.Part]:
        match step:
            case str():
                yield from (types.Part(text=text) for text in self.cut(step))
            case Thought():
                *head, last = list(self.cut(step.text)) or [""]
                yield from (types.Part(text=text, thought=True) for text in head)
                yield types.Part(text=last, thought=True, thought_signature=step.signature)
            case Call(streamed=True):
                yield from self._call_fragments(step)
            case _:
                yield from _whole(step)

    def _call_fragments(self, call: Call) -> Iterator[types.Part]:
        opening = types.FunctionCall(id=call.id, name=call.name, will_continue=True)
        yield types.Part(function_call=opening, thought_signature=call.signature)
        for path, value in _scalars("$", call.args or {}):
            for arg in self._partial_args(path, value):
                yield types.Part(function_call=types.FunctionCall(partial_args=[arg], will_continue=True))
        yield types.Part(function_call=types.FunctionCall())

    def _partial_args(self, path: str, value: object) -> Iterator[types.PartialArg]:
        match value:
            case str():
                for text in self.cut(value):
                    yield types.PartialArg(json_path=path, string_value=text, will_continue=True)
                yield types.PartialArg(json_path=path, string_value="")
            case bool():
                yield types.PartialArg(json_path=path, bool_value=value)
            case int() | float():
                yield types.PartialArg(json_path=path, number_value=value)
            case None:
                yield types.PartialArg(json_path=path, null_value="NULL_VALUE")
            case _:
                raise TypeError(f"A streamed argument must be JSON; {path} is {value!r}.")


def _whole(step: Spoken) -> Iterator[types.Part]:
    match step:
        case str():
            yield types.Part(text=step)
        case Thought():
            yield types.Part(text=step.text, thought=True, thought_signature=step.signature)
        case Call():
            args = None if step.args is None else dict(step.args)
            call = types.FunctionCall(id=step.id, name=step.name, args=args)
            yield types.Part(function_call=call, thought_signature=step.signature)
        case types.Part():
            # A copy, because the aggregator and the Runner change parts.
            yield step.model_copy(deep=True)


def _scalars(path: str, value: object) -> Iterator[tuple[str, object]]:
    """Yield each scalar in a value, with its JSON path, in order."""
    match value:
        case Mapping():
            for key, inner in value.items():
                yield from _scalars(path + _path_step(key), inner)
        case list() | tuple():
            for index, inner in enumerate(value):
                yield from _scalars(f"{path}[{index}]", inner)
        case _:
            yield path, value


def _path_step(key: str) -> str:
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", key):
        return f".{key}"
    quoted = key.replace("\\", "\\\\").replace("'", "\\'")
    return f"['{quoted}']"
