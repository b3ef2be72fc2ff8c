"""Executes a schedule: three workers with a real ``ChatService`` each, simulated stores, and their clients."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING, Any, Final

from stream_protocol.serving import ChatService, LogBounds, ServiceLimits
from stream_protocol.serving.adk_runner import default_run_config
from stream_protocol.serving.base import ServiceTimes
from stream_protocol.serving.run_logs._readers import RunReader
from stream_protocol.serving.run_logs._run_store import LeaseTimes
from stream_protocol.serving.run_logs._shared_run_log import SharedRunLog
from stream_protocol.session import Transcript
from stream_protocol.session.transcript import has_awaited
from stream_protocol.wire import ChatRequestError
from tests.simulation.agent import APP, Ledger, ModelCall, ScriptedRunner, ToolStart
from tests.simulation.clients import Clients
from tests.simulation.network import Network, Outage
from tests.simulation.run_engine import EngineDatabase, SimulatedEngine
from tests.simulation.run_store import SimulatedStore, StoreServer
from tests.simulation.schedule import COALESCE_ABOVE, LEASE, FailOver, Kill, Pause, Retire, Schedule
from tests.simulation.seen import Response, Seen, StoredEvent
from tests.simulation.stored_sessions import SessionDatabase, SimulatedSessions
from tests.simulation.virtual_time import PROCESS, Process, VirtualLoop

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from google.adk.events import Event

USER: Final = "ann"
CHAT: Final = "c1"

LEASE_TIMES: Final = LeaseTimes(lease=LEASE, log_retention=6.0)

TIMES: Final = ServiceTimes(
    stop=1.0, completing=0.3, max_completing=1.0, look=1.0, recovery=10.0, suspect=4.0, alone=2.0
)

LIMITS: Final = ServiceLimits(stop_timeout=4.0, hook_timeout=4.0)

BOUNDS: Final = LogBounds(coalesce_above=COALESCE_ABOVE)

RUN_CONFIG: Final = default_run_config()
"""One for all workers: nothing changes it."""

MAX_ROUNDS: Final = 200

SETTLING: Final = 120.0
"""Seconds after the last fault within which everything must end."""


class Worker:
    """Process of the deployment. ``generation``: number of earlier processes with this number."""

    def __init__(self, deployment: Deployment, number: int, generation: int) -> None:
        self.number = number
        self.is_retired = False
        name = f"w{number}" + "'" * generation
        self.process = Process(name, rate=deployment.seen.schedule.rates[number], offset=1000.0 * number)
        deployment.processes.append(self.process)
        self._deployment = deployment
        self._responses: dict[Response, asyncio.Task[Any]] = {}
        network = deployment.network
        engine: Any = None  # its runners are the simulation's own
        if deployment.seen.schedule.engine:
            engine = SimulatedEngine(deployment.engine, network, number)
        runner = ScriptedRunner(
            SimulatedSessions(deployment.sessions, network, number),
            deployment.seen.ledger,
            self._note_call,
            self._note_word,
            self._note_tool,
        )
        store = SimulatedStore(deployment.server, network, number, name)
        run_log = SharedRunLog(store, LEASE_TIMES, BOUNDS)
        self.service = ChatService(
            runner, run_log=run_log, engine=engine, limits=LIMITS, times=TIMES, run_config=RUN_CONFIG
        )
        _ = self.do(self.service.start)

    @property
    def is_there(self) -> bool:
        """True if the worker accepts connections."""
        return not self.process.is_dead and not self.is_retired

    @property
    def goes_on(self) -> bool:
        """True if a run or a request is active in this worker."""
        context = self.service._context  # noqa: SLF001 - no other way to see that nothing goes on
        return bool(self._responses) or bool(context.tasks) or context.runs.any_here or bool(context.waiting)

    def respond(self, response: Response, call: Callable[[], Awaitable[AsyncIterator[bytes] | None]]) -> None:
        """Begin the response to a request."""
        task = self._deployment.loop.start_in(self.process, self._respond(response, call))
        self._responses[response] = task
        task.add_done_callback(lambda _: self._responses.pop(response, None))

    def do(self, work: Callable[[], Awaitable[None]]) -> asyncio.Task[Any]:
        """Run work in this process."""
        return self._deployment.loop.start_in(self.process, _of(work))

    def close(self, response: Response) -> None:
        """Close the client's connection. A request without a response continues."""
        if response.answered is not None and (task := self._responses.get(response)) is not None:
            task.cancel()

    def kill(self) -> None:
        """Kill the worker. All its connections break."""
        self.process.kill()
        for response in [*self._responses]:
            self._deployment.clients.cut(response)
        self._responses.clear()

    async def _respond(self, response: Response, call: Callable[[], Awaitable[AsyncIterator[bytes] | None]]) -> None:
        clients = self._deployment.clients
        try:
            events = await call()
        except ChatRequestError as refused:
            clients.refuse(response, refused.status, str(refused))
            return
        except Exception as error:  # noqa: BLE001 - a server would answer 500
            clients.refuse(response, 500, f"{type(error).__name__}: {error}")
            return
        if events is None:
            clients.refuse(response, 204, "")
            return
        clients.accept(response)
        cut_off = events.cut_off if isinstance(events, RunReader) else None
        watching = None if cut_off is None else asyncio.create_task(_cancel_when(cut_off, asyncio.current_task()))
        try:
            if not response.has_left:
                async for piece in events:
                    clients.receive(response, piece)
        except asyncio.CancelledError:
            if cut_off is None or not cut_off.is_set():
                raise
        finally:
            if watching is not None:
                watching.cancel()
            with suppress(asyncio.CancelledError):
                await events.aclose()  # type: ignore[attr-defined]  # each is a generator
        clients.end(response, is_cut=cut_off is not None and cut_off.is_set())

    def _note_call(self, message: str, read: tuple[str, ...]) -> int:
        deployment, ledger = self._deployment, self._deployment.seen.ledger
        number = len(ledger.calls) + 1
        if not deployment.is_over:
            ledger.calls.append(ModelCall(number, message, deployment.loop.now, self.number, read))
            deployment.tell(self.process.name, f"the model is called: m{number}, for {', '.join([message, *read])}")
        return number

    def _note_word(self, call: int) -> None:
        deployment, ledger = self._deployment, self._deployment.seen.ledger
        row = deployment.server.holder(deployment.chat_name)
        if not deployment.is_over and row is not None and row.run.worker != self.process.name:
            ledger.late_words[call] = ledger.late_words.get(call, 0) + 1

    def _note_tool(self, call_id: str, tool: str, message: str) -> None:
        deployment = self._deployment
        if deployment.is_over:
            return
        row = deployment.server.holder(deployment.chat_name)
        holder, holder_worker = ("", "") if row is None else (row.run.run_id, row.run.worker)
        deployment.seen.ledger.tools.append(
            ToolStart(
                call_id, tool, message, deployment.loop.now, self.number, holder, holder_worker, self.process.name
            )
        )
        deployment.tell(self.process.name, f"the tool {call_id} starts")


class Deployment:
    """Workers, stores and clients of one schedule. ``tells``: record the story."""

    chat_name = f'["{APP}", "{USER}", "{CHAT}"]'

    def __init__(self, schedule: Schedule, *, tells: bool) -> None:
        self.loop = VirtualLoop()
        self.loop.set_exception_handler(self._note_exception)
        self.seen = Seen(schedule, Ledger())
        self.tells = tells
        outages = tuple(fault for fault in schedule.faults if isinstance(fault, Outage))
        away = tuple(
            Outage("run log", None, "refuses", fault.at, fault.away)
            for fault in schedule.faults
            if isinstance(fault, FailOver)
        )
        note = (lambda worker, text: self.tell(f"w{worker}", text)) if tells else None
        self.network = Network(self.loop, outages + away, Random(f"network {schedule.seed}"), note)
        self.server = StoreServer(LEASE_TIMES, lambda: self.loop.now)
        self.sessions = SessionDatabase(self._note_event)
        self.engine = EngineDatabase()
        self.clients = Clients(self)
        self.workers: list[Worker] = []
        self._generations = [0] * len(schedule.rates)
        self._replicas: dict[FailOver, Any] = {}
        self.processes: list[Process] = []
        self.is_over = False

    def tell(self, who: str, what: str) -> None:
        """Add a line to the story."""
        if self.tells and not self.is_over:
            self.seen.story.append((self.loop.now, who, what))

    async def execute(self) -> None:
        """Execute the schedule to its end."""
        schedule = self.seen.schedule
        self.workers = [Worker(self, number, 0) for number in range(len(schedule.rates))]
        await asyncio.sleep(0)
        for fault in schedule.faults:
            if isinstance(fault, FailOver):
                self._at(max(0.0, fault.at - fault.forgets), self._note_replica, fault)
            if not isinstance(fault, Outage):
                self._at(fault.at, self._strike, fault)
        acting = asyncio.create_task(self.clients.act(schedule.actions))
        await asyncio.sleep(schedule.end)
        self._repair()
        await asyncio.sleep(0.01)
        await self._settle(acting)
        self.tell("checker", "all is quiet")
        await self._visit()
        await self._close()

    async def bury(self) -> None:
        """End the tasks of dead workers, so that their objects are freed."""
        self.is_over = self.network.is_over = True
        for process in self.processes:
            self.loop.thaw(process)
        for _ in range(MAX_ROUNDS):
            tasks = [task for process in self.processes for task in self.loop.tasks_of(process)]
            if not tasks:
                break
            for task in tasks:
                task.cancel()
            await asyncio.sleep(0)
        await self.loop.shutdown_asyncgens()

    def _at(self, when: float, action: Callable[..., object], *arguments: Any) -> None:
        self.loop.call_at(when, action, *arguments)

    def _note_replica(self, fault: FailOver) -> None:
        self._replicas[fault] = self.server.tables.snapshot()

    def _strike(self, fault: Kill | Pause | Retire | FailOver) -> None:
        match fault:
            case FailOver():
                self.tell("run log", f"a replica takes over, which lacks the last {fault.forgets:.3f} s")
                self.server.fail_over(self._replicas.get(fault) or self.server.tables.snapshot())
            case Kill():
                worker = self.workers[fault.worker]
                if not worker.process.is_dead:
                    self.tell(worker.process.name, "is killed")
                    worker.kill()
                    if fault.back_after is not None:
                        self._at(self.loop.now + fault.back_after, self._replace, fault.worker)
            case Pause():
                worker = self.workers[fault.worker]
                if worker.is_there and not worker.process.is_frozen:
                    self.tell(worker.process.name, "is frozen")
                    worker.process.freeze()
                    self._at(self.loop.now + fault.seconds, self._thaw, worker)
            case Retire():
                worker = self.workers[fault.worker]
                if worker.is_there:
                    self.tell(worker.process.name, "is told to end")
                    worker.is_retired = True
                    _ = worker.do(lambda: self._retire(worker, fault.drain))

    def _thaw(self, worker: Worker) -> None:
        if not worker.process.is_dead:
            self.tell(worker.process.name, "wakes up")
            self.loop.thaw(worker.process)

    async def _retire(self, worker: Worker, drain: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(drain):
                await worker.service.drain()
        await worker.service.aclose()
        self.tell(worker.process.name, "has ended")
        self._check_tasks(worker)
        worker.kill()

    def _replace(self, number: int) -> None:
        if self.workers[number].process.is_dead:
            self._generations[number] += 1
            self.workers[number] = Worker(self, number, self._generations[number])
            self.tell(self.workers[number].process.name, "starts")

    def _repair(self) -> None:
        """Start dead workers, so that orphaned runs are recovered."""
        for number, worker in enumerate(self.workers):
            if worker.process.is_dead:
                self._replace(number)

    async def _settle(self, acting: asyncio.Task[None]) -> None:
        """Wait until nothing is active."""
        deadline = self.loop.now + SETTLING
        while self.loop.now < deadline:
            self._repair()
            if acting.done() and self._is_quiet():
                acting.result()
                return
            await asyncio.sleep(0.25)
        if not acting.done():
            self.seen.problems.append(f"clients wait for ever: {self.clients.waiting()}")
        for worker in self.workers:
            if not worker.process.is_dead and (worker.goes_on or worker.is_retired):
                self.seen.problems.append(f"{worker.process.name}: something goes on for ever")
        if self.server.holder(self.chat_name) is not None:
            self.seen.problems.append("the chat is taken for ever")
        if self.engine.runs:
            self.seen.problems.append(f"runs are never finished: {[*self.engine.runs]}")
        acting.cancel()

    def _is_quiet(self) -> bool:
        return (
            not self.engine.runs
            and self.server.holder(self.chat_name) is None
            and not any(worker.goes_on or worker.is_retired for worker in self.workers if not worker.process.is_dead)
        )

    async def _visit(self) -> None:
        """Load the history as a last visitor, and send a message."""
        number = self.seen.schedule.seed % len(self.workers)
        self.seen.final_history = await self.clients.look(number)
        self.seen.last_words = await self.clients.say_last_words()
        if self.seen.steers:
            self.seen.last_history = await self.clients.look(number)

    async def _close(self) -> None:
        for worker in self.workers:
            if worker.is_there:
                await asyncio.wait([worker.do(lambda worker=worker: self._retire(worker, 1.0))])  # type: ignore[misc]

    def _check_tasks(self, worker: Worker) -> None:
        """Check that an ended worker has no tasks, except the task that ends it."""
        left = [task for task in self.loop.tasks_of(worker.process) if task is not asyncio.current_task()]
        if left:
            self.seen.problems.append(f"{worker.process.name}: tasks are left: {[_name(task) for task in left]}")

    def _note_event(self, session_id: str, event: Event, worker: int) -> None:
        stored = self.sessions.sessions[session_id]
        newest = Transcript(stored.events).turns[-1:]
        waits = any(call.is_awaited for turn in newest for call in turn.external_calls)
        self.seen.stored.append(StoredEvent(self.loop.now, worker, event, waits, has_awaited(stored.state)))

    def _note_exception(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        process = PROCESS.get()
        if not self.is_over:
            self.seen.problems.append(f"{process and process.name}: {context['message']}: {context.get('exception')!r}")


async def _of(work: Callable[[], Awaitable[None]]) -> None:
    await work()


async def _cancel_when(event: asyncio.Event, task: asyncio.Task[Any] | None) -> None:
    await event.wait()
    assert task is not None
    task.cancel()


def _name(task: asyncio.Task[Any]) -> str:
    return str(getattr(task.get_coro(), "__qualname__", task))
