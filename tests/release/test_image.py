"""The images that our Dockerfiles make: without root, on a read-only file system."""

import json
import re
import shutil
import signal
from pathlib import Path
from typing import Final

import pytest

from tests.processes import ROOT
from tests.release.conftest import Dist
from tests.release.image import BUILDING, Container, build_image, started
from tests.release.test_release import text_of

pytestmark = [pytest.mark.release, pytest.mark.timeout(2 * BUILDING)]

DEPLOY: Final = ROOT / "examples" / "deploy"

POST: Final = """
import sys
from urllib.request import Request, urlopen

url, kind = "http://127.0.0.1:8000/api/chat", {"content-type": "application/json"}
print(urlopen(Request(url, sys.argv[1].encode(), kind)).read().decode(), end="")
"""


def ask(container: Container, text: str) -> str:
    """The agent's answer to a client in the container."""
    words = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": text}]}
    return text_of(container.execute("python", "-c", POST, json.dumps({"id": "c1", "messages": [words]})).encode())


def holds_to_its_place(container: Container, health: list[str]) -> None:
    """It is not root, writes nothing, and is healthy."""
    assert container.execute("id", "--user") == "10001\n"
    assert container.execute("sh", "-c", "touch /tmp/a && rm /tmp/a; touch /app/a 2>&1 || true").endswith(
        "Read-only file system\n"
    )
    container.execute(*health)
    assert container.execute("find", "/tmp", "-mindepth", "1") == ""


def test_the_image_of_a_new_project_chats_without_root_on_a_read_only_file_system(dist: Dist, tmp_path: Path) -> None:
    project = tmp_path / "project"
    shutil.copytree(ROOT / "stream_protocol" / "cli" / "project", project, ignore=shutil.ignore_patterns("page"))
    shutil.copytree(DEPLOY, project, dirs_exist_ok=True)
    (project / "my_package" / ".env").write_text("GOOGLE_API_KEY=secret")
    image = build_image(project / "Dockerfile", project, tmp_path / "image", dist.wheel)
    assert not [*(image.folder / "layer" / "app").rglob(".env")], "a key is in the image"
    with started(image) as container:
        assert ask(container, "Put milk on the list") == "On the list: milk."
        holds_to_its_place(container, image.health)
        assert container.end() == -signal.SIGTERM
        assert not re.search("Errno|Read-only|Permission|Traceback", container.log())


def test_the_image_of_the_demo_chats_without_root_on_a_read_only_file_system(dist: Dist, tmp_path: Path) -> None:
    image = build_image(ROOT / "server" / "Dockerfile", ROOT, tmp_path / "image", dist.wheel)
    with started(image) as container:
        assert ask(container, "Hello") != ""
        holds_to_its_place(container, image.health)
        assert container.end() == -signal.SIGTERM
        assert not re.search("Errno|Read-only|Permission|Traceback", container.log())
