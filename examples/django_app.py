"""The chat endpoint beside a Django project that says who chats: ``uvicorn examples.django_app:application``.

In a project of yours the settings are its own, migrated as ever, and what follows them here is its ``asgi.py``.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import django
from django.conf import settings
from django.contrib.auth import aget_user
from django.contrib.sessions.backends.db import SessionStore
from django.core.asgi import get_asgi_application
from django.http import HttpRequest, JsonResponse
from django.urls import path
from google.adk.agents import LlmAgent
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Mount

from stream_protocol.serving import ChatService, chat_routes

if not settings.configured:
    settings.configure(
        ALLOWED_HOSTS=["*"],
        DATABASES={
            "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": os.environ.get("DJANGO_DB", "django.sqlite3")}
        },
        INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions"],
        ROOT_URLCONF=__name__,
        SECRET_KEY=os.environ.get("DJANGO_SECRET_KEY", "only for a try"),
    )
django.setup()

root_agent = LlmAgent(name="assistant", model="gemini-2.5-flash", instruction="Answer briefly.")
service = ChatService(root_agent)


def hello(_request: HttpRequest) -> JsonResponse:
    """What was there before."""
    return JsonResponse({"hello": "world"})


urlpatterns = [path("hello", hello)]


async def signed_in(request: Request) -> str:
    """Whoever Django's own session cookie names; nobody (401) without one."""
    asked = HttpRequest()
    asked.session = SessionStore(request.cookies.get(settings.SESSION_COOKIE_NAME))
    user = await aget_user(asked)
    return str(user.pk) if user.is_authenticated else ""


@asynccontextmanager
async def lifespan(_app: Starlette) -> AsyncIterator[None]:
    """Runs end with the server."""
    yield
    await service.aclose()


application = Starlette(
    routes=[*chat_routes(service, identify=signed_in), Mount("/", app=get_asgi_application())], lifespan=lifespan
)
