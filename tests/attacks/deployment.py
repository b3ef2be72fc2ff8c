"""Servers that are attacked: real processes on loopback. Each kind has its own stores."""

import os
import socket
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, get_args

from tests.processes import ROOT, PythonModule
from tests.redis_server import redis_server
from tests.serve_settings import on_command_line

DeploymentName = Literal["memory", "SQLite", "Redis", "loopback", "256 files", "recording", "replay"]
DEPLOYMENTS: Final[Sequence[DeploymentName]] = get_args(DeploymentName)

AGENT: Final = "tests.attacks.agent:root_agent"
PROXIED: Final = ("--user-header", "x-user")
"""Options for a proxy that sends the user's name. Each attack has its own user."""

FEW_FILES: Final = 256
PATIENCE: Final = 10.0
RECORDING: Final = ROOT / "frontend-fixtures" / "fixtures" / "approval_then_tool_raises" / "turn1.jsonl"


class Server:
    """A process of ``adk-ui-stream serve``. ``start`` after ``kill`` starts a new process at another port."""

    def __init__(self, folder: Path, arguments: Sequence[str], files: int | None = None) -> None:
        self._folder = folder
        self._cwd = Path(tempfile.mkdtemp(dir=folder))
        self._command = ["stream_protocol", "serve", *on_command_line(arguments, self._cwd), "--port", "0"]
        if files is not None:
            self._command[:1] = ["tests.attacks.few_files", str(files)]
        self.log = folder / f"log-{id(self)}"
        self.port = 0
        self._process: PythonModule | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process is not None and Path(f"/proc/{self.pid}/exe").exists()

    def start(self) -> None:
        module, *arguments = self._command
        env = {**os.environ, "ATTACK_FOLDER": str(self._folder)}
        self._process = PythonModule(module, *arguments, cwd=self._cwd, log=self.log, env=env)
        line = self._process.read_line()
        assert "http://" in line, self.log.read_text()
        self.port = int(line.rpartition(":")[2])

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None

    def forget_peak(self) -> None:
        """Reset the peak of its memory."""
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")

    def memory(self, key: Literal["VmRSS", "VmHWM"]) -> int:
        """Return its current or peak memory, in MiB."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.partition(f"{key}:")[2].split()[0]) // 1024

    def files(self) -> int:
        """Return the number of its open file descriptors, mostly sockets."""
        return len([*Path(f"/proc/{self.pid}/fd").iterdir()])


@dataclass(frozen=True)
class Deployment:
    """Servers of one kind. The first of ``servers`` is attacked. The others share its store, or only its Redis."""

    name: DeploymentName
    folder: Path
    servers: Sequence[Server]
    redis_port: int | None = None

    @property
    def attacked(self) -> Server:
        return self.servers[0]

    @property
    def has_agent(self) -> bool:
        return self.name != "replay"

    def pooled(self) -> int:
        """Return the number of Redis's connections. The servers' pools never close connections."""
        if self.redis_port is None:
            return 0
        with socket.create_connection(("127.0.0.1", self.redis_port), timeout=PATIENCE) as connection:
            connection.sendall(b"INFO clients\r\n")
            return int(connection.recv(4096).partition(b"connected_clients:")[2].split()[0])

    def restart_dead(self) -> None:
        """Restart servers that an attack has killed."""
        for server in self.servers:
            if not server.alive:
                server.start()

    def close(self) -> None:
        for server in self.servers:
            server.kill()


@contextmanager
def open_deployment(name: DeploymentName, folder: Path) -> Iterator[Deployment]:
    with ExitStack() as stack:
        redis_port = None
        database = ("--session-service-uri", f"sqlite:///{folder}/chats.db")
        match name:
            case "memory":
                servers = [Server(folder, [AGENT, *PROXIED])]
            case "SQLite":
                servers = [Server(folder, [AGENT, *PROXIED, *database])]
            case "Redis":
                redis = stack.enter_context(redis_server(folder))
                redis_port, shared = redis.port, ("--run-log", redis.url)
                worker = (AGENT, *PROXIED, *shared, *database)
                other = (AGENT, *PROXIED, *shared)
                apart = ("--run-log-prefix", "another")
                servers = [
                    Server(folder, worker),
                    Server(folder, worker),
                    Server(folder, other),
                    Server(folder, (*other, *apart)),
                ]
            case "loopback":
                servers = [Server(folder, [AGENT])]
            case "256 files":
                servers = [Server(folder, [AGENT, *PROXIED], files=FEW_FILES)]
            case "recording":
                servers = [Server(folder, [AGENT, *PROXIED, "--record", str(folder / "recordings"), "--inspect"])]
            case "replay":
                servers = [Server(folder, ["--replay", str(RECORDING)])]
        deployment = Deployment(name, folder, servers, redis_port)
        try:
            deployment.restart_dead()
            yield deployment
        finally:
            deployment.close()
