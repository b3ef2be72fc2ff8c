"""The converter in an async view of Django."""

import json

from django.http import HttpRequest, StreamingHttpResponse
from django.views.decorators.csrf import csrf_exempt
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.runners import InMemoryRunner
from google.genai.types import Part, UserContent

from stream_protocol import SSE_HEADERS, stream_sse

root_agent = LlmAgent(name="assistant", model="gemini-flash-latest", instruction="Answer briefly.")
runner = InMemoryRunner(root_agent)
runner.auto_create_session = True


@csrf_exempt
async def chat(request: HttpRequest) -> StreamingHttpResponse:
    """Run the agent: the endpoint of ``useChat``."""
    body = json.loads(request.body)
    events = runner.run_async(
        user_id="me",
        session_id=body["id"],
        new_message=UserContent([Part(text=part["text"]) for part in body["messages"][-1]["parts"]]),
        run_config=RunConfig(streaming_mode=StreamingMode.SSE),
    )
    return StreamingHttpResponse(stream_sse(events), headers=SSE_HEADERS)
