"""The converter in a route of Flask: ``flask --app examples.converter.flask_app run``."""

from flask import Flask, Response, request
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.runners import InMemoryRunner
from google.genai.types import Part, UserContent

from stream_protocol import iter_sse
from stream_protocol.serving import WSGI_SSE_HEADERS

root_agent = LlmAgent(name="assistant", model="gemini-flash-latest", instruction="Answer briefly.")
runner = InMemoryRunner(root_agent)
runner.auto_create_session = True
app = Flask(__name__)


@app.post("/api/chat")
def chat() -> Response:
    """Run the agent: the endpoint of ``useChat``."""
    body = request.get_json()
    events = runner.run(
        user_id="me",
        session_id=body["id"],
        new_message=UserContent([Part(text=part["text"]) for part in body["messages"][-1]["parts"]]),
        run_config=RunConfig(streaming_mode=StreamingMode.SSE),
    )
    return Response(iter_sse(events), headers=dict(WSGI_SSE_HEADERS))
