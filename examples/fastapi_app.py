"""Chat endpoint as path operations of a FastAPI app: ``uvicorn examples.fastapi_app:app``.

``chat_router`` adds the same paths in one line, if an ``identify`` hook is enough to find the user.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

from fastapi import Depends, FastAPI, Header, HTTPException, Request, Response
from google.adk.agents import LlmAgent

from stream_protocol import ChatRequest
from stream_protocol.serving import ChatEndpoints, ChatService, RunOverrides

root_agent = LlmAgent(name="assistant", model="gemini-flash-latest", instruction="Answer briefly.")
service = ChatService(root_agent)
endpoints = ChatEndpoints(service)


@asynccontextmanager
async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
    """Stop all runs when the server stops."""
    yield
    await service.aclose()


app = FastAPI(lifespan=lifespan)


def current_user(x_user: Annotated[str, Header()] = "") -> str:
    """Return the user whom your app has signed in. In this example a proxy sends the name."""
    if not x_user:
        raise HTTPException(401, "Sign in first.")
    return x_user


User = Annotated[str, Depends(current_user)]


def overrides(request: Request, chat_request: ChatRequest) -> RunOverrides:
    """Add the user's token and the page's theme to the session state, for this run only."""
    theme = chat_request.body.get("theme")
    return RunOverrides(
        state_delta={"theme": theme} if theme in ("dark", "light") else {},
        secrets={"token": request.headers.get("authorization", "")},
    )


@app.post("/api/chat")
async def chat(request: Request, user: User) -> Response:
    """Run the agent: the endpoint of ``useChat``."""
    return await endpoints.respond(request, user_id=user, overrides=overrides)


@app.get("/api/chat/{chat_id}")
async def history(request: Request, chat_id: str, user: User) -> Response:
    """Return the messages of a chat, for a reloaded page."""
    return await endpoints.history(request, chat_id, user_id=user)


@app.get("/api/chat/{chat_id}/stream")
async def resume(request: Request, chat_id: str, user: User) -> Response:
    """Return the running response of a chat: ``useChat({ resume: true })`` requests it."""
    return await endpoints.resume(request, chat_id, user_id=user)


@app.post("/api/chat/{chat_id}/stop")
async def stop(request: Request, chat_id: str, user: User) -> Response:
    """Stop the run of a chat."""
    return await endpoints.stop(request, chat_id, user_id=user)


@app.get("/api/chats")
async def chats(request: Request, user: User) -> Response:
    """Return the user's chats, newest first."""
    return await endpoints.chats(request, user_id=user)


@app.patch("/api/chat/{chat_id}")
async def update(request: Request, chat_id: str, user: User) -> Response:
    """Rename or archive a chat."""
    return await endpoints.update(request, chat_id, user_id=user)
