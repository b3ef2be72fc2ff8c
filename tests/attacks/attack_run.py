"""Runs one attack on one deployment, beside another user's chat. Measures the costs, and reports violations."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Event, Thread
from typing import Final

from tests.attacks.attacker import Attacker, Outcome
from tests.attacks.deployment import Deployment, DeploymentName, Server
from tests.attacks.registry import Attack
from tests.attacks.victim import VictimReport, run_victim
from tests.processes import FORKS

HANG: Final = 60.0
"""Seconds after which an attack without a response means that the server hangs."""

SETTLING: Final = 30.0
"""Seconds in which a busy server must release the resources of an attack. Keep-alive connections last 5 seconds."""

SPARE_FILES: Final = 48
"""Files that may stay open: of the page's last visitors, and of SQLite, which closes files when no lock is left."""

LOOK_SECONDS: Final = 0.02
SETTLING_LOOK: Final = 0.2


@dataclass(frozen=True)
class Row:
    """Result of an attack.

    ``delay``: longest delay of the other chat and of ``/healthz``, in milliseconds. ``memory``: growth in MiB.
    ``files``: most open files. ``log``: bytes. ``broken``: violations, as sentences.
    """

    attack: Attack
    deployment: DeploymentName
    statuses: Mapping[int, int]
    delay: float
    memory: int
    files: int
    log: int
    broken: Sequence[str]


def run_attack(attack: Attack, deployment: Deployment) -> Row:
    """Run the attack beside another user's chat. Checks the server during the attack and after it."""
    deployment.restart_dead()
    server = deployment.attacked
    user = attack.name.replace("_", "-")
    ports = [each.port for each in deployment.servers]
    door = f"victim-{user}"
    victim, victim_says = _started(run_victim, server.port, "victim", door, deployment.has_agent)
    assert victim_says.poll(HANG), "the victim's stream does not begin"
    victim_says.recv()
    logged = _logged(deployment)
    before, files_before = server.memory("VmRSS"), _files(deployment)
    server.forget_peak()
    over, seen_files = Event(), [files_before]
    watch = Thread(target=_watch, args=(server, over, seen_files))
    watch.start()
    process, says = _started(_attack, attack.run, ports, user, deployment.folder)
    outcome = says.recv() if says.poll(HANG) else Outcome({}, [f"the attack was not over after {HANG:.0f} s"])
    process.kill()
    over.set()
    watch.join()
    broken = list(outcome.broken)
    if not server.alive:
        victim.kill()
        return Row(
            attack, deployment.name, outcome.statuses, 0.0, 0, max(seen_files), 0, [*broken, "the server is dead"]
        )
    memory = server.memory("VmHWM") - before
    (deployment.folder / door).touch()
    victim_says.send("over")
    seen = victim_says.recv() if victim_says.poll(HANG) else VictimReport(HANG, HANG, whole=False)
    victim.kill()
    broken += _left_behind(deployment, user, files_before)
    log = _logged(deployment)[len(logged) :]
    for holds, sentence in (
        (seen.whole, "the victim's stream was cut"),
        (memory <= attack.memory, f"{memory} MiB more than before, of at most {attack.memory}"),
        (max(seen_files) <= attack.files, f"{max(seen_files)} files open, of at most {attack.files}"),
        (len(log) <= attack.log * 1024, f"{len(log)} bytes logged, of at most {attack.log} KiB: {log[:300]!r}"),
        ("Traceback" not in log, f"a traceback in the log: {log[-1500:]}"),
    ):
        if not holds:
            broken.append(sentence)
    delay = max(seen.pause, seen.healthz) * 1000
    return Row(attack, deployment.name, outcome.statuses, delay, memory, max(seen_files), len(log), broken)


def _started(target: Callable[..., None], *arguments: object) -> tuple[BaseProcess, Connection]:
    ours, theirs = FORKS.Pipe()
    process = FORKS.Process(target=target, args=(*arguments, theirs), daemon=True)
    process.start()
    theirs.close()
    return process, ours


def _attack(run: Callable[[Attacker], None], ports: Sequence[int], user: str, folder: Path, result: Connection) -> None:
    attacker = Attacker(ports, user, folder)
    try:
        run(attacker)
    except Exception as error:  # noqa: BLE001 - what stops an attack is a finding of it
        attacker.expect(False, f"the attack ended with {error!r}")
    result.send(attacker.outcome)


def _watch(server: Server, over: Event, seen: list[int]) -> None:
    while not over.wait(LOOK_SECONDS):
        try:
            seen.append(server.files())
        except OSError:  # it is dead
            return


def _logged(deployment: Deployment) -> str:
    return "".join(server.log.read_text(errors="replace") for server in deployment.servers if server.log.exists())


def _left_behind(deployment: Deployment, user: str, files_before: int) -> list[str]:
    """Return problems after an attack: no response, active runs, occupied slots, open descriptors."""
    attacker = Attacker([deployment.attacked.port], user, deployment.folder)
    if deployment.has_agent:
        turn = attacker.say("say hello", f"after-{user}", user="ann")
        attacker.expect(turn.status == 200 and "hello." in turn.text, f"a turn after it: {turn.status}")
    else:
        attacker.expect(attacker.ask("GET", "/healthz").status == 200, "no answer after it")
    until = time.monotonic() + SETTLING
    most = files_before + SPARE_FILES
    # One look decides: a request that waited for its turn may begin its run after a look that found none.
    while ((files := _files(deployment)) > most) | bool(
        running := _running(attacker, deployment)
    ) and time.monotonic() < until:
        time.sleep(SETTLING_LOOK)
    attacker.expect(files <= most, f"{files} files are open after it, {files_before} were before")
    attacker.expect(not running, f"runs are left behind: {running}")
    return list(attacker.outcome.broken)


def _files(deployment: Deployment) -> int:
    """Return the number of open files, without the connections to Redis."""
    return deployment.attacked.files() - deployment.pooled()


def _running(attacker: Attacker, deployment: Deployment) -> list[str]:
    """Return the attacker's chats with an active run."""
    if not deployment.has_agent:
        return []
    listed = attacker.ask("GET", "/api/chats?limit=100")
    return [chat["id"] for chat in listed.json["chats"] if chat["running"]] if listed.status == 200 else []
