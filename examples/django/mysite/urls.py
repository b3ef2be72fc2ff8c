"""Routes of the chat. The endpoints refuse requests of pages on other sites, so no CSRF token is needed."""

from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from . import views

urlpatterns = [
    path("api/chat", csrf_exempt(views.chat)),
    path("api/chat/<chat_id>", views.history),
    path("api/chat/<chat_id>/stream", views.resume),
    path("api/chat/<chat_id>/stop", csrf_exempt(views.stop)),
]
