"""ASGI application of the project: ``uvicorn mysite.asgi:application``. Its runs stop when the server stops."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from django.core.asgi import get_asgi_application
from starlette.applications import Starlette
from starlette.routing import Mount

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mysite.settings")
django_app = get_asgi_application()  # before the views are imported


@asynccontextmanager
async def lifespan(_app: Starlette) -> AsyncIterator[None]:
    """Stop all runs when the server stops. Django has no hook for this."""
    from .views import service

    yield
    await service.aclose()


application = Starlette(routes=[Mount("/", app=django_app)], lifespan=lifespan)
