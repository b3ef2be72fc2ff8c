"""The host names that the serving commands accept, and their warning about an address that others can reach."""

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from click.testing import CliRunner
from starlette.types import ASGIApp

from server.__main__ import main as demo
from stream_protocol.cli import main
from tests.replay_server.fixture_recordings import write_recordings
from tests.serving.support import client

AGENT: Final = """
from google.adk.agents import LlmAgent
from stream_protocol.testing import ScriptedLlm
root_agent = LlmAgent(name="mine", model=ScriptedLlm(turns=["Hello."]))
"""


class Served(NamedTuple):
    """The app that a command would have served, and its output on stderr."""

    app: ASGIApp
    stderr: str

    async def status(self, host: str) -> int:
        async with client(self.app) as http:
            return (await http.get("/healthz", headers={"host": host})).status_code


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Served]:
    """``adk-ui-stream serve`` on a socket that has this address, without a server."""
    (tmp_path / "hosts_agent.py").write_text(AGENT)
    write_recordings(tmp_path, "text")
    monkeypatch.chdir(tmp_path)
    apps: list[ASGIApp] = []

    def bind_socket(host: str, port: int) -> socket.socket:
        bound = socket.socket()
        bound.bind((host, port))
        return bound

    def run_server(app: ASGIApp, _service: object, listener: socket.socket, **_: object) -> None:
        listener.close()
        apps.append(app)

    for module in ("stream_protocol.cli._serve_agent", "stream_protocol.cli._serve_recordings", "server.__main__"):
        monkeypatch.setattr(f"{module}.bind_socket", bind_socket)
        monkeypatch.setattr(f"{module}.run_server", run_server)
        monkeypatch.setattr(f"{module}.log_to_terminal", lambda **_: None)

    def run(*arguments: str) -> Served:
        command = demo if arguments[0] == "demo" else main
        done = CliRunner().invoke(command, [*(arguments[1:] if command is demo else arguments), "--port", "0"])
        assert done.exit_code == 0, done.output
        return Served(apps.pop(), done.stderr)

    return run


COMMANDS: Final = [("serve", "hosts_agent:root_agent"), ("serve", "--replay", "text.jsonl"), ("demo",)]


@pytest.mark.parametrize("command", COMMANDS, ids=["an agent", "a replay", "the demo"])
async def test_only_loopback_is_answered_unless_a_host_is_allowed(
    serve: Callable[..., Served], command: tuple[str, ...]
) -> None:
    served = serve(*command)
    assert served.stderr == ""
    assert [await served.status(host) for host in ("localhost:1", "[::1]", "evil.example")] == [200, 200, 403]
    served = serve(*command, "--allowed-host", "chat.example", "--allowed-host", ".github.dev")
    hosts = ("localhost", "chat.example", "x.github.dev", "evil.example")
    assert [await served.status(host) for host in hosts] == [200, 200, 200, 403]
    served = serve(*command, "--host", "0.0.0.0")
    assert "is one and the same user, who reads, continues and deletes all chats" in served.stderr
    assert served.stderr.count("\n") == 1
    assert await served.status("evil.example") == 200


async def test_behind_a_proxy_that_names_users_any_host_is_answered_unless_some_are_named(
    serve: Callable[..., Served],
) -> None:
    command = ("serve", "hosts_agent:root_agent", "--user-header", "X-User")
    for bound in ("127.0.0.1", "0.0.0.0"):
        served = serve(*command, "--host", bound)
        assert (served.stderr, await served.status("chat.example")) == ("", 200)
    served = serve(*command, "--allowed-host", "chat.example")
    assert [await served.status(host) for host in ("chat.example", "evil.example")] == [200, 403]
    served = serve("serve", "hosts_agent:root_agent", "--user-header", "")
    assert await served.status("evil.example") == 403
