"""The chat endpoint as path operations of a FastAPI app: ``uvicorn examples.fastapi_app:app``.

``chat_router`` adds the same paths in one line, where an ``identify`` hook is enough to say who chats.
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
    """Runs end with the server."""
    yield
    await service.aclose()


app = FastAPI(lifespan=lifespan)


def current_user(x_user: Annotated[str, Header()] = "") -> str:
    """The user whom your app has signed in; here a proxy sends the name."""
    if not x_user:
        raise HTTPException(401, "Sign in first.")
    return x_user


User = Annotated[str, Depends(current_user)]


def overrides(request: Request, chat_request: ChatRequest) -> RunOverrides:
    """Tools find the user's own token in the state, for this run alone, and the theme that the page asked for."""
    theme = chat_request.body.get("theme")
    return RunOverrides(
        state_delta={"theme": theme} if theme in ("dark", "light") else {},
        secrets={"token": request.headers.get("authorization", "")},
    )


@app.post("/api/chat")
async def chat(request: Request, user: User) -> Response:
    """The endpoint of ``useChat``."""
    return await endpoints.respond(request, user_id=user, overrides=overrides)


@app.get("/api/chat/{chat_id}")
async def history(request: Request, chat_id: str, user: User) -> Response:
    """The messages of a chat, for a page that reloads."""
    return await endpoints.history(request, chat_id, user_id=user)


@app.get("/api/chat/{chat_id}/stream")
async def resume(request: Request, chat_id: str, user: User) -> Response:
    """Returns the response that is being written in the chat; ``useChat({ resume: true })`` requests it."""
    return await endpoints.resume(request, chat_id, user_id=user)


@app.post("/api/chat/{chat_id}/stop")
async def stop(request: Request, chat_id: str, user: User) -> Response:
    """Stops what runs in the chat."""
    return await endpoints.stop(request, chat_id, user_id=user)


@app.get("/api/chats")
async def chats(request: Request, user: User) -> Response:
    """The user's chats, newest first."""
    return await endpoints.chats(request, user_id=user)


@app.patch("/api/chat/{chat_id}")
async def update(request: Request, chat_id: str, user: User) -> Response:
    """Renames or archives the chat."""
    return await endpoints.update(request, chat_id, user_id=user)
