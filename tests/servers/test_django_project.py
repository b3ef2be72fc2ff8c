"""The files that docs/mount.md and docs/converter.md show for Django, in a project that Django has made."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import httpx
import pytest

from tests.documents import shown_file
from tests.frontends.builds import serving_by
from tests.frontends.gemini_server import serving_gemini
from tests.processes import HANG, ROOT
from tests.serving.support import chat, chunks, said, text

pytestmark = pytest.mark.servers

SIGN_IN: Final = """
from django.core.management import call_command
call_command("migrate", verbosity=0)
from django.contrib.auth.models import User
from django.test import Client
browser = Client()
browser.force_login(User.objects.create_user("ann"))
print(browser.cookies["sessionid"].value)
"""
ROUTE_OF_THE_CONVERTER: Final = """
from mysite import converter
urlpatterns.append(path("converter", converter.chat))
"""
UNDER_WSGI: Final = 'from django.test import Client; Client().get("/api/chat/c1", SERVER_NAME="localhost")'


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project as `django-admin startproject` makes it, with the files of the pages."""
    folder = tmp_path_factory.mktemp("django")
    python(folder, "-m", "django", "startproject", "mysite", ".")
    files = {
        "views.py": shown_file("examples/django/mysite/views.py"),
        "urls.py": shown_file("examples/django/mysite/urls.py") + ROUTE_OF_THE_CONVERTER,
        "converter.py": shown_file("examples/converter/django_view.py"),
        "asgi.py": shown_file("examples/django/mysite/asgi.py"),
    }
    for name, code in files.items():
        (folder / "mysite" / name).write_text(code, encoding="utf-8")
    return folder


def test_it_answers_its_users(project: Path) -> None:
    cookie = python(project, "manage.py", "shell", "--verbosity", "0", "-c", SIGN_IN).stdout.strip()
    server = [sys.executable, "-m", "uvicorn", "mysite.asgi:application"]
    with (
        serving_gemini() as environment,
        serving_by(server, cwd=project, env={"PYTHONPATH": str(ROOT), **environment}) as url,
        httpx.Client(base_url=url, timeout=HANG) as http,
    ):
        assert http.post("/api/chat", json=chat(said("Hi"))).status_code == 401
        http.cookies["sessionid"] = cookie
        assert "You said: Hi" in text(chunks(http.post("/api/chat", json=chat(said("Hi"))).text))
        assert "You said: Hi" in text(chunks(http.post("/converter", json=chat(said("Hi"))).text))
        assert [each["role"] for each in http.get("/api/chat/c1").json()["messages"]] == ["user", "assistant"]


def test_under_wsgi_it_says_what_to_run(project: Path) -> None:
    done = python(project, "manage.py", "shell", "--verbosity", "0", "-c", UNDER_WSGI, succeeds=False)
    assert done.stderr.strip().endswith("These views need ASGI: run `uvicorn mysite.asgi:application`.")


def python(folder: Path, *arguments: str, succeeds: bool = True) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=HANG, check=False)
    assert (done.returncode == 0) is succeeds, done.stdout + done.stderr
    return done
