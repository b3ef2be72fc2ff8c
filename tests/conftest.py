import gc
import shutil
import signal
from collections.abc import Generator, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants
from xdist.scheduler import LoadFileScheduling

from stream_protocol.wire import UIMessage
from tests.examples import IN_A_HUNT, IN_EACH_RUN
from tests.histories import Histories
from tests.postgres import Postgres, postgres_server
from tests.redis_server import RedisServer, redis_server

# A shell that starts the tests in the background has them, and what they start, ignore Ctrl-C, which tests try.
signal.signal(signal.SIGINT, signal.default_int_handler)

SEED_OPTION = "--hypothesis-seed"
"""What a hunt gives, for everything that draws by chance. Without it the same is tried each time: what fails is what a
change broke."""

STORES = {"redis", "shared_redis", "cluster", "postgres"}
"""Fixtures that start a server; a parameter may have the name of one."""

TESTS = Path(__file__).parent
FIXTURES = TESTS.parent / "frontend-fixtures"

FIRST = (
    "cli/test_serve_command.py",
    "conformance/test_chat_against_server.py",
    "cli/test_reload.py",
    "fleet/test_durable.py",
    "durable/test_every_event.py",
    "fleet/test_promises_by_store.py",
    "fleet/test_durable_database.py",
    "fleet/test_nginx_alone.py",
    "fleet/test_fleet_pages.py",
    "fleet/test_durable_trouble.py",
    "fleet/test_durable_read_only.py",
    "inspector/test_file_process.py",
    "conformance/test_chat_against_replay_server.py",
    "conformance/test_real_client.py",
    "properties/test_every_reading_agrees.py",
    "conformance/test_readings_of_fixtures.py",
    "serving/test_every_store.py",
    "cli/test_serve_durable.py",
    "recording/test_search_work.py",
    "cli/test_types_command.py",
    "conformance/test_fixtures.py",
)
"""The files that take longest: who starts last makes the others wait. There are four workers, and often two cores: so
about two of the files that mostly wait, as the first two, run at a time, while the other workers compute."""

WITH_LITELLM = (
    "tests/conformance/test_history_on_the_wire.py",
    "tests/conformance/test_litellm_adapter.py",
    "tests/conformance/test_next_turn_on_the_wire.py",
)
"""The files outside of `samples` that import litellm, which takes three seconds: one worker gets them all."""

SUITES = {name: name for name in ("attacks", "fleet", "frontends", "kills", "pages", "release", "samples")}
SUITES["durable"] = "fleet"
"""Folders all of whose tests have this marker."""

TEST_BY_TEST = ("tests/fleet/test_durable.py", "tests/durable/test_every_event.py")
"""The files whose tests take minutes together: any worker gets the next one."""

UNCOUNTED = {
    "attacks",
    "browser",
    "conformance",
    "fleet",
    "frontends",
    "kills",
    "pages",
    "properties",
    "release",
    "samples",
    "soak",
}
"""Folders whose tests drive the whole. `make suite NAME=coverage` leaves them out: each line has tests of its own."""

YOUNG_OBJECTS = 20_000
"""New objects after which the garbage collector looks at them. At Python's 700 it takes 6 % of the tests' time."""

SHRINKING_SECONDS = 900
"""For a property that was refuted, to find the smallest example: that takes minutes."""


def pytest_configure(config: pytest.Config) -> None:
    """Says how properties draw. No test asserts a time, neither of an example nor of making one."""
    is_hunt = config.getoption(SEED_OPTION) is not None
    settings.register_profile(
        "project",
        database=None,
        deadline=None,
        derandomize=not is_hunt,
        max_examples=IN_A_HUNT if is_hunt else IN_EACH_RUN,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("project")
    # Hypothesis would draw constants of the modules that have been imported, too: those that earlier tests needed.
    pytest.MonkeyPatch().setattr(providers, "_get_local_constants", Constants)


class WholeFiles(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
    """Hands out whole files, and as one those that share what is slow to make. The longest come in parts."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        if file in TEST_BY_TEST:
            return nodeid
        return "litellm" if file in WITH_LITELLM else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling | None:
    """For ``--dist loadfile``, as the Makefile says it."""
    return WholeFiles(config, log) if config.option.dist == "loadfile" else None


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leaves out the folders of heavy suites where nobody wants them: to import their modules takes seconds."""
    is_litellm = collection_path in {TESTS.parent / file for file in WITH_LITELLM}
    folder = collection_path.name if collection_path.parent == TESTS else ""
    suite = "samples" if is_litellm else SUITES.get(folder)
    return True if suite and f"not {suite}" in config.option.markexpr else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is imported and collected stays: the garbage collector looks through none of it, neither now nor later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(YOUNG_OBJECTS)
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what needs a Redis or a PostgreSQL server, draws by chance, or is not counted; puts long files first."""
    for item in items:
        if isinstance(item, pytest.Function):
            params = item.callspec.params.values() if hasattr(item, "callspec") else ()
            if STORES & {*item.fixturenames, *(value for value in params if type(value) is str)}:
                item.add_marker("store")
            is_property = getattr(item.obj, "is_hypothesis_test", False)
            if is_property:
                item.add_marker(pytest.mark.timeout(SHRINKING_SECONDS))
            if is_property or "rng" in item.fixturenames:
                item.add_marker("hunt")
            if item.path.parent.name in UNCOUNTED:
                item.add_marker("no_cover")
    items.sort(key=_place)


def _place(item: pytest.Item) -> int:
    name = item.nodeid.partition("::")[0].removeprefix("tests/")
    return FIRST.index(name) if name in FIRST else len(FIRST)


@pytest.fixture(scope="session", autouse=True)
def nobody_records() -> Iterator[None]:
    """ADK's servers give OpenTelemetry providers that cannot be taken back: they would count for all tests after."""
    with pytest.MonkeyPatch.context() as patch:
        for setup in ("trace.set_tracer_provider", "metrics.set_meter_provider", "_logs.set_logger_provider"):
            patch.setattr(f"opentelemetry.{setup}", lambda *_, **__: None)
        yield


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> Random:
    """For what a test draws by chance."""
    return Random(f"{request.config.getoption(SEED_OPTION)} {request.node.name}")


@pytest.fixture(scope="session", autouse=True)
def _valid_histories() -> Iterator[None]:
    """Every history that a test reads passes ``validateUIMessages`` of both clients. Without Node nobody can say."""
    from stream_protocol.session import PageMessages  # noqa: PLC0415  # ADK, for which xdist's own process need not wait

    histories = Histories()
    make = PageMessages.messages

    def noted(page: PageMessages, **options: Any) -> list[UIMessage]:
        messages = make(page, **options)
        histories.add(messages)
        return messages

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(PageMessages, "messages", noted)
        yield
    if (node := shutil.which("node")) and (FIXTURES / "node_modules").is_dir():
        assert histories.refused(node) == []


@pytest.fixture
def _in_a_terminal() -> Iterator[None]:
    """SIGHUP is not ignored, here and in what is started, also if nohup has started the tests."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    """A Redis that a test may break."""
    with redis_server(tmp_path) as server:
        yield server


@pytest.fixture(scope="session")
def shared_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A Redis that tests leave as it is, each with a prefix of its own."""
    with redis_server(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server, started when the first test asks for it."""
    with postgres_server() as server:
        yield server
