"""Random, valid runs of agents, as ADK events. Each knows the content that a user must see."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from google.adk.events import Event, EventActions
from google.adk.tools.tool_confirmation import ToolConfirmation
from google.genai.types import Blob, Content, FinishReason, FunctionCall, FunctionResponse, Part, PartialArg
from hypothesis import assume, strategies as st

from tests.properties.json_pieces import (
    ANY_OBJECTS,
    FULL_OBJECTS,
    ended_too_early,
    grown_states,
    model_texts,
    pieces,
    tracked,
    vertex_fragments,
)

Speaker = tuple[str, str | None]
"""Author and branch."""

Outcome = Literal["result", "failure", "approval", "client"]

ALONE: Speaker = ("root", None)
IN_PARALLEL: list[Speaker] = [("left", "both.left"), ("right", "both.right"), ("right", "both.right.again")]

OUTCOMES: list[Outcome] = ["result", "approval", "client", "failure", "result"]

FORMS = ["echoed", "renamed", "vertex", "tracked", "raw", "grown", "nameless", "whole"]
"""Forms of a streamed call. The last two have no fragments."""

TEXTS = st.text(min_size=1, max_size=12)
SMALL: st.SearchStrategy[Any] = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4)
RESULTS: st.SearchStrategy[dict[str, Any]] = st.dictionaries(st.sampled_from(["result", "a", "b"]), SMALL, max_size=2)
FAILURES: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [{"error": "no luck"}, {"isError": True, "content": [{"type": "text", "text": "no luck"}]}]
)


@dataclass
class Call:
    """A call and its result."""

    name: str
    args: dict[str, Any]
    outcome: Outcome
    response: dict[str, Any]
    first_id: str | None
    """Id on its fragments."""
    id: str | None
    """Id on the complete call and on its response."""
    fragments: list[FunctionCall] = field(default_factory=list)
    is_streamed: bool = False
    """True if its arguments arrive in fragments."""
    progress: list[str] = field(default_factory=list)

    @property
    def ids(self) -> set[str]:
        return {known for known in (self.first_id, self.id) if known is not None}

    @property
    def complete(self) -> FunctionCall:
        return FunctionCall(id=self.id, name=self.name, args=self.args or None)


@dataclass(repr=False)
class Run:
    """Events of a run, and its calls."""

    events: list[Event]
    calls: list[Call]

    def __repr__(self) -> str:
        told = (repr(item.model_dump(exclude_defaults=True, exclude={"id", "timestamp"})) for item in self.events)
        return "Run:\n" + "\n".join(told) + "\n"

    def whole(self) -> list[Event]:
        """Return the same run without fragments."""
        return [event for event in self.events if not event.partial]


def event(speaker: Speaker, *parts: Part, role: str = "model", **fields: Any) -> Event:
    author, branch = speaker
    content = Content(role=role, parts=list(parts)) if parts else None
    return Event(author=author, branch=branch, invocation_id="run", content=content, **fields)


@st.composite
def calls(draw: st.DrawFn, number: str, *, last: bool) -> Call:
    """Draw a call of a response. Only the last calls may have no fragments.

    After any other call without fragments, the streamed texts before and after the call would be joined.
    """
    outcome: Outcome = draw(st.sampled_from(OUTCOMES))
    call = Call(
        name=draw(st.sampled_from(["look", "book"])),
        args=draw(ANY_OBJECTS),
        outcome=outcome,
        response=draw(FAILURES if outcome == "failure" else RESULTS),
        first_id=f"fc-{number}",
        id=f"fc-{number}",
        progress=draw(st.lists(TEXTS, max_size=2)) if outcome == "result" else [],
    )
    match draw(st.sampled_from(FORMS if last else FORMS[:-2])):
        case "renamed":  # by a model of one's own that gives no ids
            call.first_id, call.id, call.name = f"adk-first-{number}", f"adk-second-{number}", "fetch"
            call.fragments = [call.complete.model_copy(update={"id": call.first_id})]
        case "nameless" if outcome in {"result", "failure"}:
            call.first_id = call.id = None
            call.name = f"tool-{number}"
            call.progress = []
        case "vertex":
            call.args, arguments = draw(vertex_fragments())
            draw(vertex_calls(call, arguments))
        case "tracked":
            call.args, cut = draw(model_texts(FULL_OBJECTS))
            arguments = tracked(cut)
            assume(not ended_too_early(arguments))
            tracked_calls(call, [[argument] for argument in arguments])
        case "echoed":
            call.fragments = [call.complete]
        case "raw":
            call.args, cut = draw(model_texts(FULL_OBJECTS))
            tracked_calls(call, [[PartialArg(string_value=piece)] for piece in cut if piece])
        case "grown":
            states = draw(grown_states())
            call.args = states[-1]
            call.fragments = [
                FunctionCall(id=call.id, name=call.name, args=state, will_continue=True) for state in states
            ]
    return call


@st.composite
def vertex_calls(draw: st.DrawFn, call: Call, arguments: list[PartialArg]) -> None:
    """Draw fragments in Vertex's form: only one has the name, and the last is empty."""
    call.is_streamed = True
    steps: list[list[PartialArg] | None] = [None, *([argument] for argument in arguments)]
    call.fragments = [FunctionCall(id=call.id, partial_args=step, will_continue=True) for step in steps]
    named = draw(st.sampled_from([0, 0, 0, len(steps) // 2]))
    call.fragments[named].name = call.name
    if draw(st.booleans()):
        call.fragments.append(FunctionCall(id=call.id))


def tracked_calls(call: Call, steps: list[list[PartialArg]]) -> None:
    """Return fragments in the form of ADK's tracker: each has the name, and none ends the call."""
    call.is_streamed = True
    call.fragments = [
        FunctionCall(id=call.id, name=call.name, partial_args=step or None, will_continue=True) for step in [[], *steps]
    ]


@st.composite
def model_responses(draw: st.DrawFn, speaker: Speaker, number: str) -> tuple[list[Event], list[Call]]:
    """Draw a response of a model: fragments, the complete event, and the results of its calls."""
    kinds = draw(st.lists(st.sampled_from(["call", "text", "call", "thought", "file"]), min_size=1, max_size=4))
    parts: list[Part] = []
    fragments: list[Part] = []
    made: list[Call] = []
    for place, kind in enumerate(kinds):
        if kind == "call":
            made.append(draw(calls(f"{number}-{place}", last=set(kinds[place:]) == {"call"})))
            parts.append(Part(function_call=made[-1].complete))
            fragments += [Part(function_call=fragment) for fragment in made[-1].fragments]
        elif kind == "file":
            parts.append(Part(inline_data=Blob(data=b"\xff\xfe", mime_type="image/png")))
            fragments.append(parts[-1])
        elif not (parts and parts[-1].text and bool(parts[-1].thought) == (kind == "thought")):
            parts.append(Part(text=draw(TEXTS), thought=kind == "thought" or None))
            words = draw(pieces(parts[-1].text or ""))
            fragments += [Part(text=piece, thought=parts[-1].thought) for piece in words]
    events = [event(speaker, part, partial=True) for part in fragments] if draw(st.booleans()) else []
    tail = [Part(text="")] if draw(st.booleans()) else []
    client = {call.id for call in made if call.outcome == "client" and call.id}
    end = draw(st.sampled_from(ENDS))
    events.append(event(speaker, *parts, *tail, partial=False if events else None, long_running_tool_ids=client, **end))
    return events + draw(outcomes(speaker, made)), made


ENDS: list[dict[str, Any]] = [
    {"finish_reason": FinishReason.STOP},
    {"finish_reason": FinishReason.MAX_TOKENS, "error_code": "MAX_TOKENS"},
    {},
]


@st.composite
def outcomes(draw: st.DrawFn, speaker: Speaker, made: list[Call]) -> list[Event]:
    """Draw progress, then one event with all responses, and requests for approval before or after it."""
    progress = [
        event((call.name, f"{speaker[1] or 'root'}.{call.name}@{call.id}"), Part(text=words), role="user")
        for call in made
        for words in call.progress
    ]
    asking = [call for call in made if call.outcome == "approval"]
    answered = [call for call in made if call.outcome != "client"]
    actions = EventActions(
        requested_tool_confirmations={str(call.id): ToolConfirmation(hint="Sure?") for call in asking},
        artifact_delta=draw(st.dictionaries(st.sampled_from(["a.txt", "b.txt"]), st.integers(0, 3), max_size=1)),
    )
    responses = [event(speaker, *map(response_part, answered), role="user", actions=actions)] if answered else []
    requests = [event(speaker, *map(request_part, asking), long_running_tool_ids=set(map(approval_id, asking)))]
    if not asking:
        return progress + responses
    return progress + (requests + responses if draw(st.booleans()) else responses + requests)


def response_part(call: Call) -> Part:
    response = {"error": "This tool call requires confirmation."} if call.outcome == "approval" else call.response
    return Part(function_response=FunctionResponse(id=call.id, name=call.name, response=response))


def approval_id(call: Call) -> str:
    return f"approve-{call.id}"


def request_part(call: Call) -> Part:
    original = {"id": call.id, "name": call.name, "args": call.args}
    args = {"originalFunctionCall": original, "toolConfirmation": {"hint": "Sure?", "confirmed": False}}
    return Part(function_call=FunctionCall(id=approval_id(call), name="adk_request_confirmation", args=args))


@st.composite
def tracks(draw: st.DrawFn, speaker: Speaker, number: str) -> tuple[list[Event], list[Call]]:
    """Draw all events of one agent."""
    events: list[Event] = []
    made: list[Call] = []
    for place in range(draw(st.integers(1, 2))):
        more, called = draw(model_responses(speaker, f"{number}-{place}"))
        events += more
        made += called
        if draw(st.booleans()):
            events.append(event(speaker))  # agents write bare events: checkpoints, state
    return events, made


@st.composite
def runs(draw: st.DrawFn, speakers: list[Speaker] | None = None) -> Run:
    """Draw a run of one agent, or of parallel agents, whose events interleave in any order."""
    if speakers is None:
        speakers = draw(st.sampled_from([[ALONE], IN_PARALLEL[:2], IN_PARALLEL, [ALONE, *IN_PARALLEL[:1]]]))
    told = [draw(tracks(speaker, str(number))) for number, speaker in enumerate(speakers)]
    turns = [number for number, (events, _) in enumerate(told) for _ in events]
    waiting = [iter(events) for events, _ in told]
    events = [next(waiting[number]) for number in draw(st.permutations(turns) if len(told) > 1 else st.just(turns))]
    user = Event(author="user", invocation_id="run", content=Content(role="user", parts=[Part(text="Hi")]))
    return Run([user, *events], [call for _, made in told for call in made])


def spoken(events: Iterable[Event], *, thoughts: bool) -> dict[Speaker, str]:
    """Return the text of each speaker: of complete events, or of fragments without a complete event."""
    whole: dict[Speaker, str] = {}
    begun: dict[Speaker, str] = {}
    for item in events:
        if item.content is None or item.content.role == "user":
            continue
        speaker = (item.author, item.branch)
        words = "".join(part.text or "" for part in item.content.parts or () if bool(part.thought) is thoughts)
        if item.partial:
            begun[speaker] = begun.get(speaker, "") + words
        else:
            whole[speaker] = whole.get(speaker, "") + words
            begun.pop(speaker, None)
    said = {speaker: whole.get(speaker, "") + begun.get(speaker, "") for speaker in {*whole, *begun}}
    return {speaker: words for speaker, words in said.items() if words}


def continuation(waiting: list[Call], *, approved: bool) -> list[Event]:
    """Return the run after the user's answers to these calls."""
    confirmed = [call for call in waiting if call.outcome == "approval"]
    answers = [
        FunctionResponse(id=approval_id(call), name="adk_request_confirmation", response={"confirmed": approved})
        if call.outcome == "approval"
        else FunctionResponse(id=call.id, name=call.name, response={"result": call.response})
        for call in waiting
    ]
    user = Event(
        author="user",
        invocation_id="run",
        content=Content(role="user", parts=[Part(function_response=answer) for answer in answers]),
    )
    rejected = {"error": "This tool call is rejected."}
    results = [
        FunctionResponse(id=call.id, name=call.name, response=call.response if approved else rejected)
        for call in confirmed
    ]
    told = [event(ALONE, *(Part(function_response=result) for result in results), role="user")] if results else []
    return [user, *told, event(ALONE, Part(text="Well."))]
