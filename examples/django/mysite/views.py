"""Chat endpoint as async views of a Django project with Django's users."""

from django.core.exceptions import ImproperlyConfigured
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse
from google.adk.agents import LlmAgent
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message

from stream_protocol.serving import ChatEndpoints, ChatService, response_body

root_agent = LlmAgent(name="assistant", model="gemini-flash-latest", instruction="Answer briefly.")
service = ChatService(root_agent)
endpoints = ChatEndpoints(service)


async def chat(request: HttpRequest) -> StreamingHttpResponse:
    """Run the agent: the endpoint of ``useChat``. A client shows the text of a refusal unchanged."""
    return to_django(await endpoints.respond(from_django(request), user_id=await user_id(request)))


async def history(request: HttpRequest, chat_id: str) -> StreamingHttpResponse:
    """Return the messages of a chat, for a reloaded page."""
    return to_django(await endpoints.history(from_django(request), chat_id, user_id=await user_id(request)))


async def resume(request: HttpRequest, chat_id: str) -> StreamingHttpResponse:
    """Return the running response of a chat: ``useChat({ resume: true })`` requests it."""
    return to_django(await endpoints.resume(from_django(request), chat_id, user_id=await user_id(request)))


async def stop(request: HttpRequest, chat_id: str) -> StreamingHttpResponse:
    """Stop the run of a chat."""
    return to_django(await endpoints.stop(from_django(request), chat_id, user_id=await user_id(request)))


async def user_id(request: HttpRequest) -> str:
    """Return the user whom Django has signed in. Without a session the request gets 401."""
    user = await request.auser()
    return str(user.pk) if user.is_authenticated else ""


def from_django(request: HttpRequest) -> Request:
    """Return the request as a request of Starlette. Django has read its body, into a file if it is large."""
    if not isinstance(request, ASGIRequest):
        raise ImproperlyConfigured("These views need ASGI: run `uvicorn mysite.asgi:application`.")

    async def receive() -> Message:
        piece = request.read(2**16)
        return {"type": "http.request", "body": piece, "more_body": bool(piece)}

    return Request(request.scope, receive)


def to_django(response: Response) -> StreamingHttpResponse:
    """Return a response of Starlette as a response of Django."""
    return StreamingHttpResponse(response_body(response), status=response.status_code, headers=dict(response.headers))
