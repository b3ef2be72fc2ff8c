"""Samples of workflows: routes, parallel nodes, loops, questions, agents and tools as nodes."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

from google.adk.agents.context import Context
from google.adk.events import Event, RequestInput
from google.adk.tools.function_tool import FunctionTool
from google.adk.workflow import START, JoinNode, RetryConfig, Workflow, node
from google.genai import types

from stream_protocol.testing import Call
from tests.samples.agents.answers import REQUEST_INPUT
from tests.samples.agents.teams import LOOK, look
from tests.samples.sample import Sample, Turn, answer, approve, deny, scripted


def words_of(node_input: Any) -> str:
    """Return the user's text. A first node gets it as ``Content``."""
    if isinstance(node_input, types.Content):
        return "".join(part.text or "" for part in node_input.parts or [])
    return str(node_input)


def event(**fields: Any) -> Event:
    """Return an event. ADK accepts short names for a node's outputs, which its type does not list."""
    return Event(**fields)


def chain(_at: str) -> Workflow:
    def upper(node_input: Any) -> str:
        return words_of(node_input).upper()

    def tell(node_input: str) -> Event:
        return event(message=f"You said {node_input}.")

    return Workflow(name="wf", edges=[(START, upper, tell)])


def agents_in_a_row(_at: str) -> Workflow:
    writer = scripted("writer", "A draft.", LOOK, "With sun.", "A third.", tools=[look])
    editor = scripted("editor", " Edited.", " Edited, too.", " Done.")
    return Workflow(name="wf", edges=[(START, writer, editor)])


def fan_out(_at: str) -> Workflow:
    left = scripted("left", "Left.", LOOK, "Left with sun.", "Left again.", tools=[look])
    right = scripted("right", "Right.", "Right, too.", "Right again.")

    def summary(node_input: dict[str, Any]) -> Event:
        return event(message=" and ".join(sorted(map(words_of, node_input.values()))))

    return Workflow(name="wf", edges=[(START, (left, right), JoinNode(name="join"), summary)])


def workers(_at: str) -> Workflow:
    """Workflow with one node run for each item, all at once."""

    def items(node_input: Any) -> list[str]:
        return words_of(node_input).split()

    @node(parallel_worker=True)
    def double(node_input: str) -> str:
        return node_input * 2

    def tell(node_input: list[str]) -> Event:
        return event(message=", ".join(node_input))

    return Workflow(name="wf", edges=[(START, items, double, tell)])


def routed(_at: str) -> Workflow:
    def sort(node_input: Any) -> Event:
        return event(output=words_of(node_input), route="question" if words_of(node_input).endswith("?") else "other")

    helper = scripted("helper", "An answer.", "Another.")

    def thank(node_input: str) -> Event:
        return event(message="Thanks.")

    return Workflow(name="wf", edges=[(START, sort, {"question": helper, "other": thank})])


def looped(_at: str) -> Workflow:
    """Workflow that repeats until the critic is satisfied."""
    writer = scripted("writer", "First draft.", "Second draft.", "Third.", "Fourth.")
    said = iter(["again", "fine", "fine", "fine"])

    def critic(node_input: Any) -> Event:
        return event(route=next(said))

    def publish(node_input: Any) -> Event:
        return event(message="Published.")

    return Workflow(name="wf", edges=[(START, writer, critic, {"again": writer, "fine": publish})])


def asks(_at: str) -> Workflow:
    """Workflow that asks with a new id each time."""

    def ask(ctx: Context) -> Iterator[Any]:
        yield RequestInput(message="Which day?", response_schema={"type": "object"})

    def tell(node_input: Any) -> Event:
        return event(message=f"On {node_input['day']}.")

    return Workflow(name="wf", edges=[(START, ask, tell)])


def asks_under_one_id(_at: str) -> Workflow:
    """Workflow that asks with the same id in each turn, as many workflows do."""

    def ask(ctx: Context) -> Iterator[Any]:
        yield RequestInput(interrupt_id="day", message="Which day?", response_schema={"type": "object"})

    def tell(node_input: Any) -> Event:
        return event(message=f"On {node_input['day']}.")

    return Workflow(name="wf", edges=[(START, ask, tell)])


def asks_in_a_loop(_at: str) -> Workflow:
    """Workflow that repeats a question with the same id until the answer is yes."""

    def draft(node_input: Any) -> Event:
        return event(message="A draft.")

    def ask(ctx: Context) -> Iterator[Any]:
        yield RequestInput(interrupt_id="good", message="Good?", response_schema={"type": "object"})

    def judge(node_input: Any) -> Event:
        return event(route="yes" if node_input["good"] else "no")

    def publish(node_input: Any) -> Event:
        return event(message="Published.")

    return Workflow(name="wf", edges=[(START, draft, ask, judge, {"no": draft, "yes": publish})])


def asks_side_by_side(_at: str) -> Workflow:
    def first(ctx: Context) -> Iterator[Any]:
        yield RequestInput(message="First?", response_schema={"type": "object"})

    def second(ctx: Context) -> Iterator[Any]:
        yield RequestInput(message="Second?", response_schema={"type": "object"})

    def tell(node_input: dict[str, Any]) -> Event:
        return event(message="Both.")

    return Workflow(name="wf", edges=[(START, (first, second), JoinNode(name="join"), tell)])


def gated_node(_at: str) -> Workflow:
    """Workflow with a node that runs only after a confirmation."""

    @node(require_confirmation=True)
    def wipe(node_input: Any) -> Event:
        return event(message="Wiped.")

    return Workflow(name="wf", edges=[(START, wipe)])


def agent_with_gated_tool(_at: str) -> Workflow:
    def refund(amount: int) -> int:
        """Pays back."""
        return amount

    call = Call("refund", {"amount": 5})
    clerk = scripted(
        "clerk",
        call,
        "Refunded.",
        call,
        "Not refunded.",
        "Bye.",
        tools=[FunctionTool(refund, require_confirmation=True)],
    )
    closer = scripted("closer", " Closed.", " Closed, too.", " Bye.")
    return Workflow(name="wf", edges=[(START, clerk, closer)])


def nested(_at: str) -> Workflow:
    inner = Workflow(name="inner", edges=[(START, scripted("one", "One.", "Two.", "Three."))])

    def tell(node_input: Any) -> Event:
        return event(message=" Told.")

    return Workflow(name="outer", edges=[(START, inner, tell)])


def streaming_node(_at: str) -> Workflow:
    """Workflow with a node that reports its progress, and stores state."""

    async def work(ctx: Context) -> AsyncIterator[Any]:
        yield event(message="Begun. ")
        yield event(state={"worked": ctx.state.get("worked", 0) + 1})
        yield event(message="Half. ")
        yield event(output="done")

    def tell(worked: int) -> Event:
        return event(message=f"Worked {worked} times.")

    return Workflow(name="wf", edges=[(START, work, tell)])


def retried(_at: str) -> Workflow:
    """Workflow with a node that fails at the first attempt of each turn."""
    tries = iter(range(100))

    @node(retry_config=RetryConfig(max_attempts=3, initial_delay=0.0))
    def shaky(node_input: Any) -> Event:
        if next(tries) % 2 == 0:
            raise RuntimeError("not yet")
        return event(message="There.")

    return Workflow(name="wf", edges=[(START, shaky)])


def dynamic(_at: str) -> Workflow:
    """Workflow with a node that starts other nodes."""
    helper = scripted("helper", "One.", "Two.", "Three.", "Four.", "Five.", "Six.")

    @node(rerun_on_resume=True)
    async def lead(ctx: Context, node_input: Any) -> Event:
        for _ in range(2):
            await ctx.run_node(helper, node_input="go")
        return event(message=" Both done.")

    return Workflow(name="wf", edges=[(START, lead)])


INPUT_ASKED = "adk_request_input input-available"
INPUT_GIVEN = "adk_request_input output-available"


def three_days() -> list[Turn]:
    return [
        Turn(f"turn {day}", f"{INPUT_GIVEN}, On {day}.", INPUT_ASKED, [answer(REQUEST_INPUT, {"day": day})])
        for day in ("Monday", "Tuesday", "Friday")
    ]


SAMPLES = [
    Sample(
        "a workflow of functions",
        chain,
        [
            Turn("one", "adk-output, You said ONE."),
            Turn("two", "adk-output, You said TWO."),
            Turn("3", "adk-output, You said 3."),
        ],
    ),
    Sample(
        "a workflow of agents",
        agents_in_a_row,
        [
            Turn("one", "A draft.,  Edited."),
            Turn("two", "look output-available, With sun.,  Edited, too."),
            Turn("three", "A third.,  Done."),
        ],
    ),
    Sample(
        "a workflow of agents side by side",
        fan_out,
        [
            Turn("one", "Left., Right., adk-output, Left. and Right."),
            Turn(
                "two", "look output-available, Left with sun., Right, too., adk-output, Left with sun. and Right, too."
            ),
            Turn("three", "Left again., Right again., adk-output, Left again. and Right again."),
        ],
    ),
    Sample(
        "a workflow with a worker for each item",
        workers,
        [
            Turn("a b", "adk-output, adk-output, adk-output, adk-output, aa, bb"),
            Turn("c", "adk-output, adk-output, adk-output, cc"),
            Turn("d e f", "adk-output, adk-output, adk-output, adk-output, adk-output, dd, ee, ff"),
        ],
    ),
    Sample(
        "a workflow with routes",
        routed,
        [
            Turn("why?", "adk-output, An answer."),
            Turn("so", "adk-output, Thanks."),
            Turn("how?", "adk-output, Another."),
        ],
    ),
    Sample(
        "a workflow that goes back",
        looped,
        [
            Turn("one", "First draft., Second draft., Published."),
            Turn("two", "Third., Published."),
            Turn("three", "Fourth., Published."),
        ],
    ),
    Sample("a workflow that asks", asks, three_days()),
    Sample("a workflow that asks under one id", asks_under_one_id, three_days()),
    Sample(
        "a workflow that asks until it is content",
        asks_in_a_loop,
        [
            Turn(
                "one",
                f"A draft., {INPUT_GIVEN}, A draft., {INPUT_GIVEN}, Published.",
                f"A draft., {INPUT_ASKED}",
                [answer(REQUEST_INPUT, {"good": False}), answer(REQUEST_INPUT, {"good": True})],
            ),
            Turn(
                "two",
                f"A draft., {INPUT_GIVEN}, Published.",
                f"A draft., {INPUT_ASKED}",
                [answer(REQUEST_INPUT, {"good": True})],
            ),
            Turn(
                "three",
                f"A draft., {INPUT_GIVEN}, A draft., {INPUT_GIVEN}, Published.",
                f"A draft., {INPUT_ASKED}",
                [answer(REQUEST_INPUT, {"good": False}), answer(REQUEST_INPUT, {"good": True})],
            ),
        ],
    ),
    Sample(
        "a workflow that asks two things at a time",
        asks_side_by_side,
        [
            Turn(
                text,
                f"{INPUT_GIVEN}, {INPUT_GIVEN}, adk-output, Both.",
                f"{INPUT_ASKED}, {INPUT_ASKED}",
                [answer(REQUEST_INPUT, {"a": 1}), answer(REQUEST_INPUT, {"b": 2})],
            )
            for text in ("one", "two", "three")
        ],
    ),
    Sample(
        "a workflow with a node that needs a yes",
        gated_node,
        [
            Turn("one", f"{INPUT_GIVEN}, Wiped.", INPUT_ASKED, [answer(REQUEST_INPUT, {"confirmed": True})]),
            Turn("two", f"{INPUT_GIVEN}, adk-output", INPUT_ASKED, [answer(REQUEST_INPUT, {"confirmed": False})]),
            Turn("three", f"{INPUT_GIVEN}, Wiped.", INPUT_ASKED, [answer(REQUEST_INPUT, {"confirmed": True})]),
        ],
    ),
    Sample(
        "a workflow whose agent needs a yes",
        agent_with_gated_tool,
        [
            Turn(
                "one",
                "refund output-available, Refunded.,  Closed.",
                "refund approval-requested",
                [approve("refund")],
            ),
            Turn(
                "two",
                "refund output-denied, Not refunded.,  Closed, too.",
                "refund approval-requested",
                [deny("refund")],
            ),
            Turn("three", "Bye.,  Bye."),
        ],
    ),
    Sample(
        "a workflow in a workflow",
        nested,
        [Turn("one", "One.,  Told."), Turn("two", "Two.,  Told."), Turn("three", "Three.,  Told.")],
    ),
    Sample(
        "a workflow that tells of its progress",
        streaming_node,
        [
            Turn(text, f"Begun. , Half. , adk-output, Worked {n} times.")
            for n, text in enumerate(("one", "two", "three"), 1)
        ],
    ),
    Sample(
        "a workflow that tries again",
        retried,
        [Turn(text, "adk-retry, There.") for text in ("one", "two", "three")],
        logs=["Node execution failed with exception", "Node shaky failed and is being retried"],
    ),
    Sample(
        "a workflow that runs nodes as it likes",
        dynamic,
        [
            Turn("one", "One., Two.,  Both done."),
            Turn("two", "Three., Four.,  Both done."),
            Turn("three", "Five., Six.,  Both done."),
        ],
    ),
]
