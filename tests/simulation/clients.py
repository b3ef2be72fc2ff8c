"""Clients of a schedule: pages that send, read, stop, answer, and reconnect after a lost connection."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Final

from stream_protocol.wire import ChatRequestError, parse_chat_request
from tests.simulation.agent import Script
from tests.simulation.schedule import WORKERS, Action, Answer, Look, Read, Repeat, Send, Steer, Stop
from tests.simulation.seen import History, Response, SteerRequest, StopRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.simulation.deployment import Deployment, Worker

ATTEMPTS: Final = 6
"""Maximum attempts of a page to get its response."""

USER: Final = "ann"
CHAT: Final = "c1"

LAST_WORDS: Final = "last words"


class Clients:
    """All clients. They see only what a browser sees."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self._seen = deployment.seen
        self._over: dict[Response, asyncio.Event] = {}
        """Set when the response has ended, or its page has closed it."""
        self._sent: list[str] = []
        self._asked: dict[str, dict[str, Any]] = {}
        """By the words of the user: the approval that the agent has asked for, with ``messageId``."""

    # What a server does with a connection.

    def accept(self, response: Response) -> None:
        response.status, response.answered = 200, self._deployment.loop.now
        self._tell(response, "is accepted")

    def refuse(self, response: Response, status: int, reason: str) -> None:
        response.status, response.reason = status, reason
        response.answered = response.ended = self._deployment.loop.now
        self._tell(response, f"gets {status} {reason}")
        self._over[response].set()

    def receive(self, response: Response, piece: bytes) -> None:
        response.pieces.append((self._deployment.loop.now, piece))
        if self._deployment.tells:
            self._tell(response, _short(piece))
        if b"tool-approval-request" in piece:
            self._note_question(response, piece)

    def end(self, response: Response, *, is_cut: bool) -> None:
        response.is_cut, response.ended = is_cut, self._deployment.loop.now
        self._tell(response, "is cut off" if is_cut else "ends")
        self._over[response].set()

    def cut(self, response: Response) -> None:
        """Close the connection of a dead worker."""
        if response.status is None:
            response.status = 0
        self.end(response, is_cut=True)

    def waiting(self) -> list[str]:
        """Return the requests without an end."""
        return [_name(each) for each in self._seen.responses if each.ended is None and not each.has_left]

    # What users do.

    async def act(self, actions: Sequence[Action]) -> None:
        """Do all actions, each at its time."""
        async with asyncio.TaskGroup() as group:
            for number, action in enumerate(actions):
                if isinstance(action, Send):
                    words = f"u{number}"
                    self._seen.ledger.scripts[words] = action.script
                    group.create_task(self._send(action, words))
                elif isinstance(action, Steer):
                    words = f"s{number}"
                    self._seen.ledger.scripts[words] = action.script
                    group.create_task(self._steer(action, words))
                else:
                    group.create_task(self._act(action))

    async def look(self, number: int) -> History:
        """Load the history."""
        loaded = History(number, self._deployment.loop.now)
        worker = self._worker(number)

        async def load() -> None:
            try:
                loaded.messages = await worker.service.history(CHAT, user_id=USER)
                loaded.status = 404 if loaded.messages is None else 200
            except ChatRequestError as refused:
                loaded.status = refused.status

        await self._do(worker, load)
        loaded.answered = self._deployment.loop.now
        return loaded

    async def say_last_words(self) -> Response:
        """Send a message after all runs have ended."""
        self._seen.ledger.scripts[LAST_WORDS] = Script("talk", 1, 0.0, 0.0)
        for number in range(WORKERS):
            response = await self._post(number, LAST_WORDS)
            await self._until_ended(response)
            if response.status == 200:
                break
        return response

    async def _act(self, action: Action) -> None:
        await asyncio.sleep(action.at)
        match action:
            case Repeat() if self._sent:
                await self._until_ended(await self._post(action.worker, self._sent[-1]))
            case Stop():
                await self._stop(action.worker)
            case Read():
                response = await self._resume(action.worker)
                if action.leaves is not None:
                    self._leave_later(response, action.leaves)
                await self._until_ended(response)
            case Look():
                self._seen.histories.append(await self.look(action.worker))

    async def _send(self, action: Send, words: str) -> None:
        await asyncio.sleep(action.at)
        self._sent.append(words)
        worker, resumes = action.worker, False
        for _ in range(ATTEMPTS):
            response = await (self._resume(worker) if resumes else self._post(worker, words))
            if action.leaves is not None:
                self._leave_later(response, action.leaves)
            await self._until_ended(response)
            if response.has_left or action.on_loss == "leaves":
                break
            if response.status in {200, 204} and not response.is_cut:
                break
            resumes = action.on_loss == "resumes" and (resumes or response.status == 200)
            await asyncio.sleep(action.back_after)
            worker = (worker + 1) % WORKERS
        if action.answer is not None and words in self._asked:
            await self._answer(action.answer, words)

    async def _steer(self, action: Steer, words: str) -> None:
        """Send a message to the running agent. Repeats the request until there is an outcome."""
        await asyncio.sleep(action.at)
        worker = action.worker
        for _ in range(ATTEMPTS):
            request = await self._ask_to_steer(worker, words)
            if request.outcome == "delivered":
                return
            if request.outcome or request.status == 404 or action.sends:
                break
            await asyncio.sleep(0.5)
            worker = (worker + 1) % WORKERS
        for _ in range(ATTEMPTS if action.sends else 0):
            response = await self._post(worker, words)
            await self._until_ended(response)
            if response.status == 200:
                return
            await asyncio.sleep(0.5)
            worker = (worker + 1) % WORKERS

    async def _ask_to_steer(self, number: int, words: str) -> SteerRequest:
        request = SteerRequest(words, number, self._deployment.loop.now)
        self._seen.steers.append(request)
        worker = self._worker(number)
        self._deployment.tell("user", f"steers with {words} at {worker.process.name}")
        body = parse_chat_request({"id": CHAT, "messages": [_message(words)], "trigger": "submit-message"})

        async def ask() -> None:
            try:
                outcome = await worker.service.steer(body, user_id=USER)
                request.outcome, request.reason = outcome["type"], outcome.get("reason", "")
                request.status = 200
            except ChatRequestError as refused:
                request.status, request.reason = refused.status, str(refused)
            request.answered = self._deployment.loop.now
            self._deployment.tell("user", f"{words}: {request.outcome or request.status} {request.reason}")

        await self._do(worker, ask)
        return request

    async def _answer(self, answer: Answer, words: str) -> None:
        """Answer the agent's question. Repeats the request until it gets a response."""
        await asyncio.sleep(answer.after)
        asked, worker = self._asked[words], answer.worker
        for _ in range(ATTEMPTS):
            response = Response(
                "answer", worker, self._deployment.loop.now, words, answer.approves, asked["toolCallId"]
            )
            part = {
                "type": "tool-pay",
                "toolCallId": asked["toolCallId"],
                "state": "approval-responded",
                "input": {"message": words},
                "approval": {"id": asked["approvalId"], "approved": answer.approves},
            }
            message = {"id": asked["messageId"], "role": "assistant", "parts": [{"type": "step-start"}, part]}
            self._request(response, {"id": CHAT, "messages": [message], "messageId": message["id"]})
            await self._until_ended(response)
            if response.status not in {0, 503} and not response.is_cut:
                return
            await asyncio.sleep(0.5)
            worker = (worker + 1) % WORKERS

    async def _post(self, number: int, words: str) -> Response:
        response = Response("words", number, self._deployment.loop.now, words)
        self._request(response, {"id": CHAT, "messages": [_message(words)], "trigger": "submit-message"})
        return response

    async def _resume(self, number: int) -> Response:
        response = Response("resume", number, self._deployment.loop.now)
        worker = self._begin(response)
        if worker is not None:
            worker.respond(response, lambda: worker.service.resume(CHAT, user_id=USER))
        return response

    async def _stop(self, number: int) -> None:
        stop = StopRequest(number, self._deployment.loop.now)
        self._seen.stops.append(stop)
        worker = self._worker(number)
        self._deployment.tell("user", f"stops the chat at {worker.process.name}")

        async def ask() -> None:
            try:
                await worker.service.stop(CHAT, user_id=USER)
                stop.acknowledged = self._deployment.loop.now
                self._deployment.tell("user", "the stop is acknowledged")
            except ChatRequestError as refused:
                stop.reason = f"{refused.status} {refused}"
                self._deployment.tell("user", f"the stop gets {stop.reason}")

        await self._do(worker, ask)

    def _request(self, response: Response, body: dict[str, Any]) -> None:
        worker = self._begin(response)
        if worker is not None:
            request = parse_chat_request(body)
            worker.respond(response, lambda: worker.service.respond(request, user_id=USER))

    def _begin(self, response: Response) -> Worker | None:
        """Connect to the worker; returns ``None`` if it does not run."""
        self._seen.responses.append(response)
        self._over[response] = asyncio.Event()
        worker = self._worker(response.worker)
        self._tell(response, f"is sent to {worker.process.name}")
        if worker.is_there:
            return worker
        self.refuse(response, 0, "no connection")
        return None

    def _leave_later(self, response: Response, seconds: float) -> None:
        self._deployment.loop.call_later(seconds, self._leave, response)

    def _leave(self, response: Response) -> None:
        if response.ended is None:
            response.has_left = True
            self._tell(response, "is closed by its page")
            self._worker(response.worker).close(response)
            self._over[response].set()

    async def _do(self, worker: Worker, work: Any) -> None:
        """Wait for a result of a worker, which may be killed meanwhile."""
        if not worker.is_there:
            return
        task = worker.do(work)
        while not task.done() and not worker.process.is_dead:
            await asyncio.wait([task], timeout=0.5)

    async def _until_ended(self, response: Response) -> None:
        await self._over[response].wait()

    def _worker(self, number: int) -> Worker:
        return self._deployment.workers[number]

    def _note_question(self, response: Response, piece: bytes) -> None:
        message_id = ""
        for chunk in chunks(response):
            if chunk["type"] == "start":
                message_id = chunk["messageId"]
            if chunk["type"] == "tool-approval-request":
                words = self._words_of(str(chunk["toolCallId"]))
                self._asked.setdefault(words, {**chunk, "messageId": message_id})

    def _words_of(self, call_id: str) -> str:
        for stored in self._seen.stored:
            for call in stored.event.get_function_calls():
                if call.id == call_id:
                    return str((call.args or {})["message"])
        return ""

    def _tell(self, response: Response, what: str) -> None:
        if self._deployment.tells:
            self._deployment.tell(f"page {self._seen.responses.index(response)}", f"{_name(response)} {what}")


def chunks(response: Response) -> list[dict[str, Any]]:
    """Return the chunks that the client has, without ``[DONE]``."""
    events = b"".join(piece for _, piece in response.pieces).split(b"\n\n")
    return [json.loads(event[6:]) for event in events if event.startswith(b"data: {")]


def _message(words: str) -> dict[str, Any]:
    return {"id": words, "role": "user", "parts": [{"type": "text", "text": words}]}


def _name(response: Response) -> str:
    return f"{response.kind} {response.words}".strip()


def _short(piece: bytes) -> str:
    return " ".join(event.removeprefix("data: ")[:110] for event in piece.decode().split("\n\n") if event)
