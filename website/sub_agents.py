"""Agent that calls another agent, for the picture of the page about sub-agents."""

from google.adk.agents import LlmAgent
from google.adk.models.llm_request import LlmRequest
from google.adk.tools import AgentTool

from stream_protocol.testing import Call, ScriptedLlm, Step, Thought


def look_up(city: str) -> dict[str, object]:
    """The weather in a city."""
    return {"city": city, "degrees": 18, "sky": "clear"}


def _answers(request: LlmRequest) -> int:
    """Return the number of tool results since the user's message."""
    parts = [part for content in request.contents for part in content.parts or ()]
    return sum(part.function_response is not None for part in parts)


def _forecast(request: LlmRequest) -> list[Step]:
    if _answers(request):
        return ["It is **18 degrees** in Oslo, under a clear sky."]
    return [Thought("Oslo is on the list of stations."), "I look it up.", Call("look_up", {"city": "Oslo"})]


def _plan(request: LlmRequest) -> list[Step]:
    if _answers(request):
        return ["A walk along the fjord, then. Take no umbrella."]
    return [Call("weather", {"request": "How is the weather in Oslo?"})]


weather = LlmAgent(
    name="weather", model=ScriptedLlm(respond=_forecast), description="Knows the weather.", tools=[look_up]
)
root_agent = LlmAgent(name="planner", model=ScriptedLlm(respond=_plan), tools=[AgentTool(weather)])
