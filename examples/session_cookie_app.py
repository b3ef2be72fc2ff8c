"""Chat endpoint whose login stores the user's id in a signed cookie: ``uvicorn examples.session_cookie_app:app``."""

import os
from secrets import compare_digest

from fastapi import FastAPI, HTTPException, Request
from google.adk.agents import LlmAgent
from pydantic import BaseModel
from starlette.middleware.sessions import SessionMiddleware

from stream_protocol.serving import chat_router

root_agent = LlmAgent(name="assistant", model="gemini-flash-latest", instruction="Answer briefly.")


class Login(BaseModel):
    """Name and password of a user."""

    name: str
    password: str


def verify(login: Login) -> str | None:
    """Return the id of the user, or None."""
    known = compare_digest(login.password.encode(), os.environ["ADA_PASSWORD"].encode())
    return "ada" if login.name == "ada" and known else None


def current_user(request: Request) -> str:
    """Return the id of the signed-in user. An empty id gets 401."""
    return str(request.session.get("user_id", ""))


app = FastAPI()
app.add_middleware(SessionMiddleware, secret_key=os.environ["SESSION_SECRET"], https_only=True)
app.include_router(chat_router(root_agent, identify=current_user))


@app.post("/login", status_code=204)
def sign_in(login: Login, request: Request) -> None:
    """Store the user's id in the cookie."""
    user_id = verify(login)
    if user_id is None:
        raise HTTPException(401, "The name or the password is wrong.")
    request.session["user_id"] = user_id


@app.post("/logout", status_code=204)
def sign_out(request: Request) -> None:
    """Remove the user's id from the cookie."""
    request.session.clear()
