"""The distributions as strangers get them: installed alone, on each Python that we name.

Run with ``make suite NAME=release``.
"""

import os
import re
import shlex
import sys
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import httpx
import pytest

from stream_protocol import parse_sse
from tests.frontends.builds import serving_by
from tests.frontends.gemini_server import serving_gemini
from tests.processes import HANG, ROOT
from tests.release.conftest import INSTALLING, Dist, Shell, find_python, run
from tests.test_package import PROJECT, VERSION
from tests.tools import require_command

pytestmark = [pytest.mark.release, pytest.mark.timeout(600)]

VERSIONS = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["project"]["classifiers"]))
PYTHONS = [pytest.param(version, marks=pytest.mark.xdist_group(version)) for version in VERSIONS]
"""One worker has all tests of a Python: its environment is made once."""

on_each_python = pytest.mark.parametrize("shell", PYTHONS, indirect=True)

ROOT_FILES = {"CHANGELOG.md", "LICENSE", "PKG-INFO", "README.md", "pyproject.toml", ".gitignore"}
RECORDED_TEST = """
def test_the_chat(adk_recording, assert_stream_matches):
    assert_stream_matches(adk_recording("chat"))
"""


def test_twine_finds_nothing_wrong(dist: Dist) -> None:
    run(sys.executable, "-m", "twine", "check", "--strict", str(dist.sdist), str(dist.wheel), cwd=dist.sdist.parent)


def test_the_sdist_holds_what_the_wheel_is_built_from_and_nothing_else(dist: Dist) -> None:
    with tarfile.open(dist.sdist) as archive:
        assert all(member.isfile() for member in archive), "a link leads out of it"
        names = {member.name.removeprefix(f"adk_ui_stream-{VERSION}/") for member in archive}
    with zipfile.ZipFile(dist.wheel) as archive:
        wheel = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert {name.partition("/")[0] for name in wheel} == {"stream_protocol", "adk_ui_stream_pytest.py"}
    assert names - wheel == ROOT_FILES
    assert wheel - names == set()


def test_the_wheel_of_the_sdist_is_that_of_the_tree(dist: Dist, tmp_path: Path) -> None:
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT), cwd=tmp_path)
    (built,) = tmp_path.glob("*.whl")
    assert contents(built) == contents(dist.wheel)


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def post_words(url: str, text: str) -> bytes:
    words = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": text}]}
    response = httpx.post(f"{url}/api/chat", json={"id": "c1", "messages": [words]}, timeout=HANG)
    return response.raise_for_status().content


def text_of(stream: bytes) -> str:
    chunks: Iterable[Any] = parse_sse([stream])
    return "".join(chunk["delta"] for chunk in chunks if chunk["type"] == "text-delta")


@on_each_python
def test_the_agent_of_adk_create_is_served_recorded_and_tested(shell: Shell) -> None:
    assert shell.run("adk-ui-stream", "--version").strip() == f"adk-ui-stream, version {VERSION}"
    shell.run("adk", "create", "my_agent", "--model", "gemini-flash-latest", "--api_key", "a-key")
    with (
        serving_gemini() as gemini,
        shell.serving("my_agent", "--record", "tests/recordings", **gemini) as (url, screen),
    ):
        assert [line for line in screen if line.startswith(("Agent", "Model", "Missing"))] == [
            "Agent      root_agent",
            "Model      gemini-flash-latest",
        ]
        page = httpx.get(url)
        assert (page.status_code, "<div id=" in page.text) == (200, True)
        assert {httpx.get(f"{url}{asset}").status_code for asset in assets(page.text)} == {200}
        stream = post_words(url, "Hello there")
    assert text_of(stream).endswith("You said: Hello there")
    (shell.folder / "answer.sse").write_bytes(stream)
    assert "valid for v6 and v7" in shell.run("adk-ui-stream", "check", "answer.sse")
    (recording,) = (shell.folder / "tests" / "recordings").iterdir()
    recording.rename(recording.with_name("chat.jsonl"))
    (shell.folder / "tests" / "test_chat.py").write_text(RECORDED_TEST)
    assert "1 passed" in shell.run("pytest", "--update-recordings")
    assert "1 passed" in shell.run("pytest", "-W", "error")


def assets(html: str) -> list[str]:
    """The paths of the page's script and style."""
    return re.findall(r'(?:src|href)="\.?(/assets/[^"]+)"', html)


@on_each_python
def test_the_demo_needs_the_wheel_alone(shell: Shell) -> None:
    with shell.serving(command="demo", GOOGLE_API_KEY="") as (url, screen):
        assert "Model      scripted" in screen
        assert "I answer from a script" in text_of(post_words(url, "Hello there"))


@on_each_python
def test_without_a_key_the_screen_and_the_log_say_so(shell: Shell) -> None:
    shell.run("adk", "create", "my_agent", "--model", "gemini-flash-latest", "--api_key", "a-key")
    (shell.folder / "my_agent" / ".env").unlink()
    sentence = "No API key for gemini-flash-latest: set GOOGLE_API_KEY in the environment of this server."
    with shell.serving("my_agent") as (url, screen):
        assert f"Missing    {sentence}" in screen
        assert f'"errorText":"{sentence}"'.encode() in post_words(url, "Hello there")
    assert shell.log() == f"ERROR: chat c1: {sentence}\n"


@on_each_python
def test_a_new_project_passes_its_test_and_answers_on_both_servers(shell: Shell) -> None:
    shell.run("adk-ui-stream", "init", "shop", "--page", "none")
    assert "2 passed" in shell.run("pytest", "-W", "error", cwd="shop")
    with shell.serving("shop", cwd="shop") as (url, _):
        assert text_of(post_words(url, "Put milk on the list")) == "On the list: milk."
    (command,) = blocks(shell.folder / "shop" / "README.md", "uvicorn")
    uvicorn, target, _port, _number = command.split()
    with serving_by([str(shell.bin / uvicorn), target], cwd=shell.folder / "shop", env=shell.env()) as url:
        assert text_of(post_words(url, "Put milk on the list")) == "On the list: milk."


def test_a_new_project_begins_as_its_readme_says(dist: Dist, tmp_path: Path) -> None:
    """With pip, as printed: our package comes from here, all others from where pip looks."""
    run(
        sys.executable,
        "-m",
        "stream_protocol",
        "init",
        "shop",
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    shell = Shell(tmp_path / "bin", tmp_path / "shop")
    shell.bin.mkdir()
    (shell.bin / "python").symlink_to(find_python(VERSIONS[-1]))
    *install, serve = blocks(tmp_path / "shop" / "README.md", "venv")
    said = shell.run("bash", "-ec", "\n".join(install), PIP_FIND_LINKS=str(dist.wheel.parent))
    assert re.search(r"2 passed in ", said), said
    options = shlex.split(serve)[2:]
    with Shell(tmp_path / "shop" / ".venv" / "bin", tmp_path / "shop").serving(*options, BROWSER="true") as (url, _):
        assert text_of(post_words(url, "Put milk on the list")) == "On the list: milk."


@pytest.mark.parametrize("shell", PYTHONS[-1:], indirect=True)
def test_the_page_of_a_new_project_runs_as_its_readme_says(shell: Shell) -> None:
    npm = require_command("npm")
    shell.run("adk-ui-stream", "init", "shop")
    commands = blocks(shell.folder / "shop" / "page" / "README.md", "npm ci")
    copy_command, install_command, dev_command = (shlex.split(each, comments=True) for each in commands)
    assert (install_command, dev_command) == (["npm", "ci"], ["npm", "run", "dev"])
    shell.run(*copy_command, cwd="shop/page")
    shell.run(npm, *install_command[1:], cwd="shop/page")
    (write_types,) = blocks(shell.folder / "shop" / "README.md", "adk-ui-stream types")
    types, _, file = write_types.partition(" > ")
    assert shell.run(*shlex.split(types), "--check", file, cwd="shop") == f"{file}: up to date\n"
    shell.run(npm, "run", "check", cwd="shop/page")
    with (
        shell.serving("shop.agent:root_agent", "--no-page", cwd="shop") as (agent, _),
        serving_by([npm, *dev_command[1:], "--"], cwd=shell.folder / "shop" / "page", env={"AGENT_URL": agent}) as url,
    ):
        page = httpx.get(url, follow_redirects=True, timeout=INSTALLING)
        assert (page.status_code, page.url.path.startswith("/chat/")) == (200, True)
        assert text_of(post_words(url, "Put milk on the list")) == "On the list: milk."


def blocks(readme: Path, mark: str) -> list[str]:
    """The commands of the one block of the README that has this text."""
    found: list[str] = re.findall(r"^```sh\n(.*?)^```$", readme.read_text(), re.DOTALL | re.MULTILINE)
    (block,) = (block for block in found if mark in block)
    return block.splitlines()
