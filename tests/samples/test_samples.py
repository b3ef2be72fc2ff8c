"""Agents of the kinds that people write, each in a chat of three turns with the AI SDK's own client."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeAlias

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from stream_protocol.wire import AiSdkVersion
from tests.comparable_messages import comparable
from tests.conformance.chat_apps import ChatApp, combined_app, shown
from tests.conformance.node_scripts import run_script
from tests.samples.agents import SAMPLES
from tests.samples.sample import Sample, Turn
from tests.samples.services import services
from tests.served import served
from tests.serving.instrumented import InstrumentedService

pytestmark = [
    pytest.mark.node,
    pytest.mark.samples,
    pytest.mark.filterwarnings("ignore:.EXPERIMENTAL.:UserWarning"),
    pytest.mark.filterwarnings("ignore:The .plugins. argument is deprecated:DeprecationWarning"),  # ADK's own AgentTool
    pytest.mark.filterwarnings("ignore:Setting per-request cookies:DeprecationWarning"),  # ADK's own OpenAPIToolset
    pytest.mark.filterwarnings("ignore:(Loop|Parallel|Sequential)Agent is deprecated:DeprecationWarning"),
]

RELOAD = {"reload": True}

OPEN_STATES = {"input-streaming", "input-available", "approval-requested", "approval-responded"}
"""Of a call that is not at its end."""

EXPECTED_LOGS = (
    "Skipping missing token usage metadata",  # ADK of a model that tells no usage
)

visited = ContextVar("visited", default="")
"""The name of the sample whose request is served."""

Seen: TypeAlias = dict[str, Any]
"""The state at the end of a step, as ``visit-chats.mjs`` reports it."""


@dataclass(frozen=True, slots=True)
class Visit:
    """The observations of each turn of a sample, step by step, and the server's log of it."""

    turns: Sequence[Sequence[Seen]]
    log: Sequence[str]


def steps(sample: Sample) -> list[list[Mapping[str, Any]]]:
    """The actions of each turn: the message, a reload in mid-turn if answers follow, the answers, and a reload."""
    return [
        [{"text": turn.text, "files": turn.files}, *([RELOAD, *turn.answers] if turn.answers else []), RELOAD]
        for turn in sample.turns
    ]


class Log(logging.Handler):
    """Warnings and worse, by the sample that they are of."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: dict[str, list[str]] = {}
        self.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.setdefault(visited.get(), []).append(self.format(record))


@contextmanager
def logged() -> Iterator[Log]:
    """Uvicorn's own log has no parent."""
    log = Log()
    loggers = [logging.getLogger(), logging.getLogger("uvicorn")]
    for logger in loggers:
        logger.addHandler(log)
    try:
        yield log
    finally:
        for logger in loggers:
            logger.removeHandler(log)


class Named:
    """Assigns each request to its sample, by the path ``/<number>``."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._names = list(SAMPLES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            visited.set(self._names[int(scope["path"].split("/")[1])])
        await self._app(scope, receive, send)


@pytest.fixture(scope="module", params=[6, 7], ids=["ai@6", "ai@7"])
def visits(request: pytest.FixtureRequest) -> dict[str, Visit]:
    """All samples, visited by one version of the client in one process."""
    ai_sdk: AiSdkVersion = request.param
    with services() as at:
        app = combined_app(ChatApp(InstrumentedService(sample.build(at), ai_sdk=ai_sdk)) for sample in SAMPLES.values())
        app.add_middleware(Named)
        with served(app) as url, logged() as log:
            asked = [
                {"ai": ai_sdk, "url": f"{url}/{number}", "steps": [step for turn in steps(sample) for step in turn]}
                for number, sample in enumerate(SAMPLES.values())
            ]
            told = run_script("visit-chats.mjs", asked)
    return {
        sample.name: Visit(list(by_turn(sample, seen)), log.lines.get(sample.name, []))
        for sample, seen in zip(SAMPLES.values(), told, strict=True)
    }


def by_turn(sample: Sample, seen: Sequence[Seen]) -> Iterator[Sequence[Seen]]:
    rest = iter(seen)
    for turn in steps(sample):
        yield [next(rest) for _ in turn]


each_sample = pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)


def turns_of(sample: Sample, visits: Mapping[str, Visit]) -> list[tuple[Turn, Sequence[Seen]]]:
    """Each turn with the observed steps, before the reload that ends it."""
    return [(turn, seen[:-1]) for turn, seen in zip(sample.turns, visits[sample.name].turns, strict=True)]


def last_shown(step: Seen) -> str:
    """Agents side by side in the order of their names."""
    (message,) = comparable(step["messages"][-1:])
    return shown(message)


@each_sample
def test_the_page_shows_what_the_agent_did(sample: Sample, visits: dict[str, Visit]) -> None:
    for turn, seen in turns_of(sample, visits):
        if turn.asks is not None:
            assert last_shown(seen[0]) == turn.asks
        assert last_shown(seen[-1]) == turn.shows
        assert (seen[-1]["status"], seen[-1]["error"]) == ("error" if turn.error else "ready", turn.error)
    assert len(seen[-1]["messages"]) == 2 * len(sample.turns)


@each_sample
def test_what_is_shown_is_what_a_reload_shows(sample: Sample, visits: dict[str, Visit]) -> None:
    """An answer is stored with the last one of those that wait."""
    for turn, seen in turns_of(sample, visits):
        for step in seen:
            if turn.stored is not None:
                assert [shown(message) for message in step["stored"][-2:]] == [*turn.stored]
                assert comparable(step["messages"][:-2]) == comparable(step["stored"][:-2])
            elif step["posts"]:
                assert comparable(step["messages"]) == comparable(step["stored"])


@each_sample
def test_a_page_sends_once_for_what_its_user_does(sample: Sample, visits: dict[str, Visit]) -> None:
    for turn, seen in turns_of(sample, visits):
        assert len(seen[0]["posts"]) == 1
        answers = [len(step["posts"]) for step in seen[2:]]
        assert all(posts <= 1 for posts in answers), answers
        assert not turn.answers or answers[-1] == 1
    for reloaded in reloads(sample, visits):
        assert reloaded["posts"] == []


@each_sample
def test_nothing_is_left_open(sample: Sample, visits: dict[str, Visit]) -> None:
    for _turn, seen in turns_of(sample, visits):
        for message in [*seen[-1]["messages"], *seen[-1]["stored"]]:
            for part in message["parts"]:
                assert part.get("state") not in {"streaming", *OPEN_STATES}, part


@each_sample
def test_what_is_stored_is_what_both_clients_take(sample: Sample, visits: dict[str, Visit]) -> None:
    for seen in visits[sample.name].turns:
        for step in seen:
            assert step["refusals"] == []


@each_sample
def test_the_log_is_quiet(sample: Sample, visits: dict[str, Visit]) -> None:
    expected = [*EXPECTED_LOGS, *sample.logs]
    unexpected = [line for line in visits[sample.name].log if not any(words in line for words in expected)]
    assert not unexpected, "\n".join(unexpected)


def reloads(sample: Sample, visits: Mapping[str, Visit]) -> Iterator[Seen]:
    for turn, seen in zip(steps(sample), visits[sample.name].turns, strict=True):
        yield from (step for do, step in zip(turn, seen, strict=True) if do == RELOAD)
