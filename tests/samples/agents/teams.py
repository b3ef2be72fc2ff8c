"""Samples of agents that call agents: transfers, single turns, agents as tools, and tasks that talk with the user."""

from google.adk.agents import LlmAgent
from google.adk.tools import AgentTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from pydantic import BaseModel

from stream_protocol.testing import Call, Thought
from tests.samples.agents.answers import ASK, ask_manager
from tests.samples.sample import Sample, Turn, answer, scripted


class Table(BaseModel):
    day: str
    people: int


def look(city: str) -> str:
    """Looks at the weather."""
    return f"Sun in {city}"


LOOK = Call("look", {"city": "Oslo"})


def to(name: str) -> Call:
    return Call("transfer_to_agent", {"agent_name": name})


def back_and_forth(_at: str) -> LlmAgent:
    guide = scripted("guide", "I guide. ", ["Now back. ", to("root")], "Guide again.")
    return scripted(
        "root", ["To the guide. ", to("guide")], "Root here.", ["And again. ", to("guide")], sub_agents=[guide]
    )


def siblings(_at: str) -> LlmAgent:
    second = scripted("second", "Second.", ["To first. ", to("first")])
    first = scripted("first", LOOK, ["To second. ", to("second")], "First again.", "Still first.", tools=[look])
    return scripted("root", to("first"), sub_agents=[first, second])


def agent_tools(_at: str) -> LlmAgent:
    """Two agents as tools at once. One has its own tool. The output of the other is the reply."""
    forecaster = scripted("forecaster", LOOK, "Sun.", LOOK, "Sun.", tools=[look])
    poet = scripted("poet", "Roses.", "Violets.", description="Writes.")
    ask = Call("forecaster", {"request": "Oslo"})
    write = Call("poet", {"request": "a poem"})
    said = [[ask, write], ["Mind. ", ask], "Sun.", write]
    return scripted("root", *said, tools=[AgentTool(forecaster), AgentTool(poet, skip_summarization=True)])


def typed_agent_tool(_at: str) -> LlmAgent:
    """Agent tool with typed input and output."""
    booker = scripted(
        "booker",
        '{"day": "Monday", "people": 2}',
        '{"day": "Friday", "people": 3}',
        input_schema=Table,
        output_schema=Table,
    )
    book = Call("booker", {"day": "Monday", "people": 2})
    return scripted("root", book, "Booked.", book, "Booked again.", "Bye.", tools=[AgentTool(booker)])


def single_turn(_at: str) -> LlmAgent:
    poet = scripted("poet", [Thought("Hm. "), "Roses."], LOOK, "Sun.", mode="single_turn", tools=[look])
    write = Call("poet", {"request": "a poem"})
    return scripted("root", ["I ask. ", write], "There.", write, "There again.", "Bye.", sub_agents=[poet])


def single_turns(_at: str) -> LlmAgent:
    """Two single-turn agents at once."""
    poet = scripted("poet", "Roses.", "Violets.", mode="single_turn")
    painter = scripted("painter", "Red.", "Blue.", mode="single_turn")
    both = [Call("poet", {"request": "a poem"}), Call("painter", {"request": "a picture"})]
    return scripted("root", both, "Both.", both, "Both again.", "Bye.", sub_agents=[poet, painter])


def task(_at: str) -> LlmAgent:
    """Task agent that talks with the user until it has all details."""
    finish = Call("finish_task", {"day": "Monday", "people": 2})
    booker = scripted("booker", "For which day?", "How many?", ["I book. ", finish], mode="task", output_schema=Table)
    return scripted("root", Call("booker", {"request": "a table"}), "Booked.", sub_agents=[booker])


def tasks(_at: str) -> LlmAgent:
    """Two task agents, one after the other, each with its own tool. Each ends in the turn in which it begins."""
    finish = Call("finish_task", {"result": "sun"})
    scout = scripted("scout", LOOK, ["Found. ", finish], LOOK, finish, mode="task", tools=[look])
    begin = Call("scout", {"request": "Oslo"})
    return scripted("root", begin, "Sun.", ["Again. ", begin], "Sun again.", "Bye.", sub_agents=[scout])


def asking_task(_at: str) -> LlmAgent:
    """Task agent that waits for the page."""
    finish = Call("finish_task", {"result": "yes"})
    buyer = scripted(
        "buyer", ASK, finish, "Which one?", ASK, finish, mode="task", tools=[LongRunningFunctionTool(ask_manager)]
    )
    begin = Call("buyer", {"request": "a wheel"})
    return scripted("root", begin, "Bought.", begin, "Bought, too.", sub_agents=[buyer])


SAMPLES = [
    Sample(
        "agents that hand over and back",
        back_and_forth,
        [
            Turn("one", "To the guide. , adk-agent, I guide. "),
            Turn("two", "Now back. , adk-agent, Root here."),
            Turn("three", "And again. , adk-agent, Guide again."),
        ],
    ),
    Sample(
        "agents that hand over to each other",
        siblings,
        [
            Turn("one", "adk-agent, look output-available, To second. , adk-agent, Second."),
            Turn("two", "To first. , adk-agent, First again."),
            Turn("three", "Still first."),
        ],
    ),
    Sample(
        "agents as tools",
        agent_tools,
        [
            Turn("one", "forecaster output-available, poet output-available, Roses."),
            Turn("two", "Mind. , forecaster output-available, Sun."),
            Turn("three", "poet output-available, Violets."),
        ],
    ),
    Sample(
        "an agent as a tool that takes and gives data",
        typed_agent_tool,
        [
            Turn("one", "booker output-available, Booked."),
            Turn("two", "booker output-available, Booked again."),
            Turn("three", "Bye."),
        ],
    ),
    Sample(
        "an agent called like a function",
        single_turn,
        [
            Turn("one", "I ask. , poet output-available, There."),
            Turn("two", "poet output-available, There again."),
            Turn("three", "Bye."),
        ],
    ),
    Sample(
        "two agents called like functions",
        single_turns,
        [
            Turn("one", "poet output-available, painter output-available, Both."),
            Turn("two", "poet output-available, painter output-available, Both again."),
            Turn("three", "Bye."),
        ],
    ),
    Sample(
        "a task that talks with the user",
        task,
        [
            Turn("a table", "booker output-available, For which day?"),
            Turn("Monday", "How many?"),
            Turn("two", "I book. , Booked."),
        ],
    ),
    Sample(
        "tasks without a question",
        tasks,
        [
            Turn("one", "scout output-available, Sun."),
            Turn("two", "Again. , scout output-available, Sun again."),
            Turn("three", "Bye."),
        ],
    ),
    Sample(
        "tasks that wait for the page",
        asking_task,
        [
            Turn(
                "one",
                "buyer output-available, ask_manager output-available, Bought.",
                "buyer output-available, ask_manager input-available",
                [answer("ask_manager", 1)],
            ),
            Turn("two", "buyer output-available, Which one?"),
            Turn(
                "three",
                "ask_manager output-available, Bought, too.",
                "ask_manager input-available",
                [answer("ask_manager", 2)],
            ),
        ],
    ),
]
