"""Chat endpoint as async views of a Django project: ``uvicorn examples.django_app:application``.

In your project, keep your own settings and migrations. Copy the views below the settings, and the code of ``asgi.py``.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import django
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.core.exceptions import ImproperlyConfigured
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, JsonResponse, StreamingHttpResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from google.adk.agents import LlmAgent
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount
from starlette.types import Message

from stream_protocol.serving import ChatEndpoints, ChatService, response_body

if not settings.configured:
    settings.configure(
        ALLOWED_HOSTS=["*"],
        DATABASES={
            "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": os.environ.get("DJANGO_DB", "django.sqlite3")}
        },
        INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions"],
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.middleware.csrf.CsrfViewMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
        ],
        ROOT_URLCONF=__name__,
        SECRET_KEY=os.environ.get("DJANGO_SECRET_KEY", "only for a try"),
    )
django.setup()

root_agent = LlmAgent(name="assistant", model="gemini-flash-latest", instruction="Answer briefly.")
service = ChatService(root_agent)
endpoints = ChatEndpoints(service)


def hello(_request: HttpRequest) -> JsonResponse:
    """Return a greeting: stands for the views that your project already has."""
    return JsonResponse({"hello": "world"})


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
        raise ImproperlyConfigured(
            "These views need ASGI: run `uvicorn examples.django_app:application`, or add daphne for `runserver`. "
            "Under WSGI use SyncChatService."
        )

    async def receive() -> Message:
        piece = request.read(2**16)
        return {"type": "http.request", "body": piece, "more_body": bool(piece)}

    return Request(request.scope, receive)


def to_django(response: Response) -> StreamingHttpResponse:
    """Return a response of Starlette as a response of Django."""
    return StreamingHttpResponse(response_body(response), status=response.status_code, headers=dict(response.headers))


# The endpoints refuse requests of pages on other sites, so no CSRF token is needed.
urlpatterns = [
    path("hello", hello),
    path("api/chat", csrf_exempt(chat)),
    path("api/chat/<chat_id>", history),
    path("api/chat/<chat_id>/stream", resume),
    path("api/chat/<chat_id>/stop", csrf_exempt(stop)),
]


@asynccontextmanager
async def lifespan(_app: Starlette) -> AsyncIterator[None]:
    """Stop all runs when the server stops. Django has no hook for this."""
    yield
    await service.aclose()


application = Starlette(routes=[Mount("/", app=get_asgi_application())], lifespan=lifespan)
