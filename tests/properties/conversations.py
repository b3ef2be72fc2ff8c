"""Random conversations of a page: agents call, ask, transfer, draw and fail, and users do everything, in any order."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Unpack

from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.apps import App
from google.adk.apps.app import EventsCompactionConfig
from google.adk.apps.base_events_summarizer import BaseEventsSummarizer
from google.adk.artifacts import InMemoryArtifactService
from google.adk.events import Event, EventActions
from google.adk.events.event_actions import EventCompaction
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import BaseSessionService, Session
from google.adk.tools import request_input
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types
from hypothesis import strategies as st
from typing_extensions import override

from stream_protocol import ConverterOptions
from stream_protocol.agents import emit_data
from stream_protocol.recording import ChatRecorder, Recording, load_recording, replay
from stream_protocol.serving import create_app
from stream_protocol.serving.chats._artifacts import artifact_url
from stream_protocol.session import Transcript
from stream_protocol.testing import Call, ScriptedLlm, Thought, token_usage
from stream_protocol.wire import SSE_DONE, AiSdkVersion, AnyChunk
from stream_protocol.wire.client import parse_sse
from tests.comparable_messages import comparable
from tests.readings import messages_of, recordings
from tests.recording.recordings import turns as turns_of
from tests.serving.chat_client import Page
from tests.serving.instrumented import InstrumentedService, let_time_out
from tests.serving.support import begin, chunks
from tests.stream_order import outcomes

MAX_ACTIONS = 6
MAX_EVENTS = 40
"""Maximum events of a response before its run is stopped."""

IMAGE = types.Part.from_bytes(data=b"\xfb\xff", mime_type="image/png")
CODE = types.Part(executable_code=types.ExecutableCode(code="plot()", language=types.Language.PYTHON))
RAN = types.Part(code_execution_result=types.CodeExecutionResult(outcome=types.Outcome.OUTCOME_OK, output="ok"))

SAID = ("go", "again", "edited")
"""Messages of the user."""

Act = str | tuple[str, int]
"""Action of the page. ``stop`` and ``expire`` have the number of events after which they happen."""


def pay(amount: int) -> dict[str, int]:
    """Pays."""
    return {"paid": amount}


def look(city: str, tool_context: ToolContext) -> dict[str, str]:
    """Looks."""
    emit_data(tool_context, "weather", {"city": city}, id="w")
    return {"city": city}


async def draw(tool_context: ToolContext, saved: bool = True, returned: bool = True) -> types.Part | None:
    """Draws."""
    if saved:
        await tool_context.save_artifact("sky.png", IMAGE)
    return IMAGE if returned else None


async def dig() -> str:
    """Takes its time."""
    for _ in range(20):
        await asyncio.sleep(0)
    return "dug"


def explode() -> None:
    """Raises."""
    raise RuntimeError("hunter2")


def where(question: str) -> None:
    """Only the page knows."""


def report() -> dict[str, str]:
    """A backend works on it."""
    return {"status": "pending"}


async def pay_if_small(amount: int, tool_context: ToolContext) -> dict[str, Any]:
    """Asks by itself."""
    if tool_context.tool_confirmation is None:
        tool_context.request_confirmation(hint="Pay?")
        return {"status": "asked"}
    return {"confirmed": tool_context.tool_confirmation.confirmed}


async def keep(callback_context: CallbackContext, llm_response: LlmResponse) -> None:
    """Saves the model's picture."""
    for part in (llm_response.content.parts if llm_response.content is not None else None) or ():
        if part.inline_data is not None:
            await callback_context.save_artifact("drawn.png", part)


def with_results(said: list[Any]) -> list[Any]:
    """Return the same content, with the result after each code."""
    return [item for one in said for item in ([CODE, RAN] if one is CODE else [one])]


# ADK's YAML loses U+0085: see what may differ, in docs/decisions.
texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00\x85"), min_size=1, max_size=12)
calls = st.one_of(
    st.builds(lambda n, streamed: Call("pay", {"amount": n}, streamed=streamed), st.integers(1, 9), st.booleans()),
    st.builds(lambda n: Call("pay_if_small", {"amount": n}), st.integers(1, 9)),
    st.builds(lambda c, streamed: Call("look", {"city": c}, streamed=streamed), texts, st.booleans()),
    st.builds(lambda q, streamed: Call("where", {"question": q}, streamed=streamed), texts, st.booleans()),
    st.builds(
        lambda saved, returned: Call("draw", {"saved": saved, "returned": returned}), st.booleans(), st.booleans()
    ),
    st.sampled_from([Call("explode"), Call("dig"), Call("nothing_of_the_kind"), Call("report")]),
    st.just(Call("adk_request_input", {"message": "Who?"})),
)
spoken = st.lists(
    st.one_of(texts, texts, st.builds(Thought, texts, st.none() | st.just(b"signed")), st.just(IMAGE), st.just(CODE)),
    max_size=4,
).map(with_results)
failures: st.SearchStrategy[list[Any]] = st.sampled_from([[], [], [], [], [RuntimeError("the model failed")]])
endings: st.SearchStrategy[list[Any]] = st.sampled_from(
    [[], [], [token_usage(prompt=3, answer=2)], [types.FinishReason.MAX_TOKENS], [types.FinishReason.SAFETY]]
)


several = st.lists(calls, max_size=3)
handed_over = st.just([Call("booker", {"request": "a table"})])
"""By itself: the results of calls beside it come when it is done, which can be in a later message."""


@st.composite
def turns(draw: st.DrawFn) -> list[Any]:
    """Draw the output of a model in one response: texts, then calls, and perhaps a failure."""
    words: list[Any] = draw(spoken) or ["."]
    return [*words, *draw(st.one_of(several, several, several, handed_over)), *draw(endings), *draw(failures)]


OWN_IDS = "c{index}-{n}"
COUNTED_IDS = "{n}"
ONE_ID = "0"


def with_ids(script: list[list[Any]], form: str = OWN_IDS) -> list[list[Any]]:
    """Return the script with an id for each call: unique, counted in each response, or constant."""
    return [
        [
            Call(step.name, step.args, id=form.format(index=index, n=n), streamed=step.streamed)
            if isinstance(step, Call)
            else step
            for n, step in enumerate(turn)
        ]
        for index, turn in enumerate(script)
    ]


scripts = st.builds(
    with_ids,
    st.lists(turns(), min_size=1, max_size=MAX_ACTIONS),
    st.sampled_from([OWN_IDS, OWN_IDS, COUNTED_IDS, ONE_ID]),
)
ended = st.tuples(st.sampled_from(["stop", "expire"]), st.integers(1, MAX_EVENTS))
actions = st.lists(
    st.sampled_from(["say", "say", "approve", "deny", "answer", "regenerate", "edit", "correct", "report", "monitor"])
    | ended,
    min_size=1,
    max_size=MAX_ACTIONS,
)


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """Services and settings of a chat."""

    ai_sdk: AiSdkVersion
    mode: StreamingMode
    keeps: bool
    """True if the model's pictures are saved as artifacts."""
    compacts: bool
    """True if ADK summarises earlier turns for the model."""


surroundings = st.builds(
    Surroundings,
    ai_sdk=st.sampled_from([6, 7]),
    mode=st.sampled_from([StreamingMode.SSE, StreamingMode.SSE, StreamingMode.NONE]),
    keeps=st.booleans(),
    compacts=st.booleans(),
)


class Summarizer(BaseEventsSummarizer):
    """Summarizer that returns a fixed text."""

    @override
    async def maybe_summarize_events(self, *, events: list[Event]) -> Event | None:
        compaction = EventCompaction(
            start_timestamp=events[0].timestamp,
            end_timestamp=events[-1].timestamp,
            compacted_content=types.Content(role="model", parts=[types.Part(text="We talked.")]),
        )
        return Event(author="user", actions=EventActions(compaction=compaction))


def newest_response(recording: Recording, **options: Unpack[ConverterOptions]) -> list[AnyChunk]:
    """Return the chunks of the last turn of a replay."""
    replayed = b"".join(replay(recording, **options))
    return [*parse_sse(replayed.split(SSE_DONE)[-2] + SSE_DONE)]


def assert_replays_as_recorded(path: Path, **options: Unpack[ConverterOptions]) -> None:
    """Check that a replay of recorded runs gives their chunks in order. The text of an error may differ."""
    options["on_error"] = lambda _: ""
    replayed = b"".join(replay(load_recording(path), **options)).split(SSE_DONE)[:-1]
    for turn, stream in zip(turns_of(path), replayed, strict=True):
        sent = [chunk | {"errorText": ""} if chunk["type"] == "error" else chunk for chunk in turn.chunks]
        assert [*parse_sse(stream + SSE_DONE)] == sent


class Chat:
    """Page whose requests alternate between two workers, and a model that checks its requests."""

    def __init__(
        self,
        script: list[Any],
        about: Surroundings,
        stores: Sequence[BaseSessionService],
        recordings: Path | None = None,
    ) -> None:
        """``stores``: session service of each worker, with a common store. ``recordings``: folder for recordings."""
        self.half_asked: list[set[str | None]] = []
        self.about = about
        self._recordings = recordings
        self._left = iter(script)
        self._numbers = count()
        artifacts = InMemoryArtifactService()
        app = App(name="root", root_agent=self._agent(), events_compaction_config=self._compaction())
        self.workers = [
            InstrumentedService(
                Runner(app=app, session_service=store, artifact_service=artifacts),
                ai_sdk=about.ai_sdk,
                run_config=RunConfig(streaming_mode=about.mode),
                recorder=None if recordings is None else ChatRecorder(recordings),
            )
            for store in stores
        ]
        self.apps = [create_app(worker) for worker in self.workers]
        self.page = Page(self.apps[0], ai_sdk=about.ai_sdk)

    def _agent(self) -> LlmAgent:
        booker = LlmAgent(name="booker", mode="task", description="Books.", model=ScriptedLlm(respond=self._book))
        return LlmAgent(
            name="root",
            model=ScriptedLlm(respond=self._answer),
            tools=[
                FunctionTool(pay, require_confirmation=True),
                LongRunningFunctionTool(where),
                LongRunningFunctionTool(report),
                *(pay_if_small, look, draw, dig, explode, request_input),
            ],
            sub_agents=[booker],
            after_model_callback=keep if self.about.keeps else None,
        )

    def _compaction(self) -> EventsCompactionConfig | None:
        if not self.about.compacts:
            return None
        return EventsCompactionConfig(summarizer=Summarizer(), compaction_interval=2, overlap_size=0)

    def _answer(self, request: LlmRequest) -> Any:
        parts = [part for content in request.contents for part in content.parts or ()]
        asked = {part.function_call.id for part in parts if part.function_call}
        if parts[-1].text in SAID:  # within a turn ADK goes on beside a call that waits
            self.half_asked.append(asked ^ {part.function_response.id for part in parts if part.function_response})
        return next(self._left, "That is all.")

    def _book(self, _request: LlmRequest) -> Any:
        number = next(self._numbers)
        return Call("finish_task", {"result": "Booked."}, id=f"b{number}") if number % 2 else "Which day?"

    async def act(self, action: Act) -> None:
        """Do an action if it is possible now, else send a text. The next request goes to the other worker."""
        page = self.page
        if isinstance(action, tuple):
            await self._end(*action)
        elif action in ("approve", "deny") and page.messages and page.parts("approval-requested"):
            while page.parts("approval-requested"):
                page.approve(action == "approve", "because" if action == "deny" else None)
            self._answer_questions()
            await page.submit()
        elif action == "answer" and self._is_asked():
            self._answer_questions()
            await page.submit()
        elif action in ("regenerate", "edit", "correct") and page.messages:
            await self._take_back(action)
        elif action == "report" and (call := await self._reported()) is not None:
            await self._store_report(*call)
        elif action == "monitor" and self.page.messages:
            await self._store_update()
        else:
            await page.send("go")
        await self.workers[0].runs.free()  # the workers share no run log: the other one waits for no run
        self.workers.reverse()
        self.apps.reverse()
        page.app = self.apps[0]

    def _is_asked(self) -> bool:
        page = self.page
        return bool(page.messages and page.parts("input-available") and not page.parts("approval-requested"))

    def _answer_questions(self) -> None:
        for part in self.page.parts("input-available"):
            self.page.answer(part["type"].removeprefix("tool-"), {"there": True})

    async def _take_back(self, action: str) -> None:
        """Regenerate the newest reply, or edit the oldest or newest user message."""
        page = self.page
        users = [message["id"] for message in page.messages if message["role"] == "user"]
        try:
            if action == "regenerate":
                await page.regenerate()
            else:
                await page.edit(users[0] if action == "edit" else users[-1], "edited")
        except AssertionError:  # refused: these words are in the midst of an invocation
            page.messages = await page.stored()

    async def _reported(self) -> tuple[Event, str] | None:
        """Return the newest call of a long-running tool, and its event."""
        if not self.page.messages:
            return None
        exchanges = Transcript((await self.session()).events).turns
        events = [event for exchange in exchanges for event in exchange.events]
        calls = [(event, call) for event in events for call in event.get_function_calls() if call.name == "report"]
        return (calls[-1][0], str(calls[-1][1].id)) if calls else None

    async def _store_report(self, event: Event, call_id: str) -> None:
        """Store the result of a long-running tool. The page cannot learn of it, so it is reloaded."""
        response = types.FunctionResponse(id=call_id, name="report", response={"done": next(self._numbers)})
        content = types.Content(role="user", parts=[types.Part(function_response=response)])
        late = Event(author="user", invocation_id=event.invocation_id, branch=event.branch, content=content)
        await self.workers[0].runner.session_service.append_event(await self.session(), late)
        self.page.messages = await self.page.stored()

    async def _store_update(self) -> None:
        """Store state from outside of the conversation. No page shows it."""
        number = next(self._numbers)
        update = Event(
            author="monitor",
            invocation_id="" if number % 2 else f"monitor-{number}",
            actions=EventActions(state_delta={"load": number}),
        )
        await self.workers[0].runner.session_service.append_event(await self.session(), update)

    async def _end(self, how: str, after: int) -> None:
        """Send a message. If the run is still active after ``after`` chunks, end it from outside."""
        received: list[Any] = []
        self.page.messages.append(
            {"id": f"s{len(self.page.messages)}", "role": "user", "parts": [{"type": "text", "text": "go"}]}
        )
        async with begin(self.apps[0], self.page.body()) as exchange:
            await exchange.status()
            while (event := await exchange.event()) and event != "data: [DONE]":
                received += chunks(f"{event}\n\ndata: [DONE]\n\n")
                if len(received) == after and self.workers[0].runs.running:
                    self.workers[0].runs.run.stop() if how == "stop" else let_time_out()
        self.page.take(received)

    async def session(self) -> Session:
        """Return the stored session."""
        session = await self.workers[0].runner.session_service.get_session(
            app_name="root", user_id="local", session_id=self.page.chat_id
        )
        assert session is not None
        return session

    async def assert_readings_agree(self, folder: Path, file: Path | None = None) -> None:
        """Check that all readings agree. ``folder``: for written sessions. ``file``: the store, if it is a file."""
        one, *others = [await Page(app, chat_id=self.page.chat_id).stored() for app in self.apps]
        assert all(other == one for other in others)
        assert comparable(one) == comparable(self.page.messages)
        link = partial(artifact_url, "/api/chat", self.page.chat_id)
        options: ConverterOptions = {"ai_sdk": self.about.ai_sdk, "artifact_url": link}
        store = () if file is None else (("the store", load_recording(file)),)
        for form, recording in (*store, *recordings(await self.session(), folder)):
            assert messages_of(recording, **options) == one, form
            self._assert_order(recording, **options)
        for path in () if self._recordings is None else self._recordings.iterdir():
            assert_replays_as_recorded(path, **options)

    def _assert_order(self, recording: Recording, **options: Unpack[ConverterOptions]) -> None:
        """Check the order of the calls that are both in the newest response and at the end of this recording."""
        responses = self.page.responses[-1], newest_response(recording, **options)
        said, replayed = (outcomes(chunks) for chunks in responses)
        assert [one for one in said if one in replayed] == [one for one in replayed if one in said]

    async def aclose(self) -> None:
        for worker in self.workers:
            await worker.aclose()
