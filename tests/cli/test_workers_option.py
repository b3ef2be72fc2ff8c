"""The refusals of ``adk-ui-stream serve --workers``. The processes are in ``tests/fleet/test_workers.py``."""

import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from stream_protocol.cli import main
from stream_protocol.cli._serve_agent import AgentServer
from stream_protocol.cli._workers import reserved_address, workers_socket
from stream_protocol.server import bind_socket
from tests.replay_server.fixture_recordings import write_recordings

AGENT = "from google.adk.agents import Agent\n\nroot_agent = Agent(name='several', model='none')\n"
REDIS = ("--run-log", "redis://127.0.0.1:1/0")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ((), "--workers needs --run-log and --session-service-uri (or a Runner that stores its chats)"),
        (("--session-service-uri", "sqlite:///chats.db"), "--workers needs --run-log"),
        (
            ("--reload", "--inspect"),
            (
                "--workers needs --run-log and --session-service-uri (or a Runner that stores its chats); --reload and "
                "--inspect cannot be combined with --workers: remove one of them"
            ),
        ),
        (
            ("--run-log", "postgresql://127.0.0.1:1/db", "--reload"),
            "--reload cannot be combined with --workers: remove one of them",
        ),
        ((*REDIS, "--reload"), "--reload cannot be combined with --workers: remove one of them"),
        ((*REDIS, "--inspect"), "--inspect cannot be combined with --workers: remove one of them"),
    ],
)
def test_several_workers_are_refused_where_they_would_be_strangers(options: tuple[str, ...], sentence: str) -> None:
    done = CliRunner().invoke(main, ["serve", "agent:root_agent", "--workers", "2", *options])
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", f"error: {sentence}\n")


def test_there_is_one_worker_at_least() -> None:
    done = CliRunner().invoke(main, ["serve", "agent:root_agent", "--workers", "0"])
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("error: Invalid value for '--workers': ")


def test_recordings_have_one_worker(tmp_path: Path) -> None:
    write_recordings(tmp_path, "text")
    done = CliRunner().invoke(main, ["serve", "--replay", str(tmp_path), "--workers", "2"])
    assert (done.exit_code, done.stderr) == (2, "error: --workers cannot be combined with --replay\n")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., AgentServer]:
    """The server that several workers would get from these options; without a Redis, which these tests do not need."""
    (tmp_path / "several_agent.py").write_text(AGENT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("stream_protocol.cli._workers.prepare_processes", lambda: None)

    def told(*options: str) -> AgentServer:
        given: list[AgentServer] = []

        def serve_with_workers(server: AgentServer, listener: socket.socket, **_: object) -> None:
            listener.close()
            given.append(server)

        monkeypatch.setattr("stream_protocol.cli._workers.serve_with_workers", serve_with_workers)
        done = CliRunner().invoke(
            main, ["serve", "several_agent:root_agent", "--workers", "2", "--port", "0", *REDIS, *options]
        )
        assert done.exit_code == 0, done.output
        return replace(given[0], options=replace(given[0].options, run_log_url=None))

    return told


@pytest.mark.parametrize("uri", [None, "memory://", "sqlite+aiosqlite://", "sqlite+aiosqlite:///:memory:"])
def test_chats_in_memory_are_refused(
    uri: str | None, server: Callable[..., AgentServer], capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--session-service-uri", uri) if uri else ()
    with pytest.raises(SystemExit, match="2"):
        server(*options).load()
    assert capsys.readouterr() == (
        "",
        "error: --workers needs shared chats: add --session-service-uri with a file or a database\n",
    )


def test_chats_in_a_file_are_shared(server: Callable[..., AgentServer]) -> None:
    told = server("--session-service-uri", "sqlite:///chats.db")
    assert told.options.workers == 2
    told.load()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere all workers accept from one socket")
def test_the_kernel_gives_each_worker_its_share_of_connections() -> None:
    reserved = reserved_address(bind_socket("127.0.0.1", 0))
    address = reserved.getsockname()
    with reserved, workers_socket(reserved) as one, workers_socket(reserved) as other, ExitStack() as clients:
        for each in (one, other):
            each.setblocking(False)
        for _ in range(64):
            clients.enter_context(socket.create_connection(address))
        shares = [sum(1 for _ in accepted(each)) for each in (one, other)]
        assert sum(shares) == 64
        assert min(shares) > 0
        other.close()
        with socket.create_connection(address):
            assert len([*accepted(one)]) == 1


def accepted(listener: socket.socket) -> Iterator[None]:
    """The connections that wait there; they are closed."""
    with suppress(BlockingIOError):
        while True:
            listener.accept()[0].close()
            yield


def test_an_address_that_another_server_has_is_refused() -> None:
    with bind_socket("127.0.0.1", 0) as taken:
        done = CliRunner().invoke(
            main, ["serve", "agent", "--workers", "2", *REDIS, "--port", str(taken.getsockname()[1])]
        )
    assert done.exit_code == 2
    assert "cannot listen on 127.0.0.1" in done.stderr
