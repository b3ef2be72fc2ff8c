import socket
from pathlib import Path

import pytest
from click.testing import CliRunner

from stream_protocol.cli import main
from stream_protocol.server import ServerLimits
from tests.replay_server.fixture_recordings import write_recordings
from tests.serve_settings import write_settings

AGENT = "from google.adk.agents import Agent\n\nroot_agent = Agent(name='counted', model='none')\n"


@pytest.mark.parametrize("target", [["counted_agent:root_agent"], ["--replay", "text.jsonl"]])
@pytest.mark.parametrize(("options", "connections"), [({}, 1000), ({"max-connections": 5}, 5)])
def test_serve_bounds_connections(
    target: list[str], options: dict[str, int], connections: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "counted_agent.py").write_text(AGENT)
    write_recordings(tmp_path, "text")
    write_settings(tmp_path, options)
    monkeypatch.chdir(tmp_path)
    given: list[ServerLimits] = []

    def run_server(
        _app: object, _service: object, listener: socket.socket, *, limits: ServerLimits, **_: object
    ) -> None:
        listener.close()
        given.append(limits)

    for module in ("stream_protocol.cli._serve_agent", "stream_protocol.cli._serve_recordings"):
        monkeypatch.setattr(f"{module}.run_server", run_server)
        monkeypatch.setattr(f"{module}.log_to_terminal", lambda **_: None)
    done = CliRunner().invoke(main, ["serve", *target, "--port", "0"])
    assert done.exit_code == 0, done.output
    assert given == [ServerLimits(connections=connections)]
