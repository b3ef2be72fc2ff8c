"""The chat endpoint in an existing FastAPI app: ``uvicorn examples.fastapi_app:app``."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from google.adk.agents import LlmAgent
from starlette.requests import Request

from stream_protocol import ChatRequest
from stream_protocol.serving import ChatService, RunOverrides, chat_routes, header_user

root_agent = LlmAgent(name="assistant", model="gemini-2.5-flash", instruction="Answer briefly.")
service = ChatService(root_agent)


def prepare(request: Request, chat_request: ChatRequest) -> RunOverrides:
    """Tools find the user's own token in the state, for this run alone, and the theme that the page asked for."""
    theme = chat_request.body.get("theme")
    return RunOverrides(
        state_delta={"theme": theme} if theme in ("dark", "light") else {},
        secrets={"token": request.headers.get("authorization", "")},
    )


@asynccontextmanager
async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
    """Runs end with the server."""
    yield
    await service.aclose()


app = FastAPI(lifespan=lifespan)
app.router.routes.extend(chat_routes(service, identify=header_user("X-User"), prepare=prepare))


@app.get("/api/hello")
async def hello() -> dict[str, str]:
    """What was there before."""
    return {"hello": "world"}
