"""The converter in a route of Starlette: ``uvicorn examples.converter.starlette_app:app``."""

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.runners import InMemoryRunner
from google.genai.types import Part, UserContent
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from stream_protocol import SSE_HEADERS, stream_sse

root_agent = LlmAgent(name="assistant", model="gemini-flash-latest", instruction="Answer briefly.")
runner = InMemoryRunner(root_agent)
runner.auto_create_session = True


async def chat(request: Request) -> StreamingResponse:
    """Run the agent: the endpoint of ``useChat``."""
    body = await request.json()
    events = runner.run_async(
        user_id="me",
        session_id=body["id"],
        new_message=UserContent([Part(text=part["text"]) for part in body["messages"][-1]["parts"]]),
        run_config=RunConfig(streaming_mode=StreamingMode.SSE),
    )
    return StreamingResponse(stream_sse(events), headers=SSE_HEADERS)


app = Starlette(routes=[Route("/api/chat", chat, methods=["POST"])])
