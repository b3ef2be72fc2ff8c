"""Hooks and fixtures of all tests. Markers, the order of files and Hypothesis's settings have their own modules."""

import atexit
import gc
import os
import shutil
import signal
from collections.abc import Generator, Iterator
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
from xdist.scheduler import LoadFileScheduling

from tests import compilation, hypothesis_profile, markers, scheduling
from tests.histories import collected_histories
from tests.postgres import Postgres, postgres_server
from tests.redis_server import RedisServer, redis_server

# A shell that starts the tests in the background makes them, and their child processes, ignore SIGINT.
signal.signal(signal.SIGINT, signal.default_int_handler)

SEED_OPTION: Final = "--hypothesis-seed"
"""Seed of a hunt, for all random values. Without it each run uses the same values, so a failure is a regression."""

FIXTURES: Final = Path(__file__).parents[1] / "frontend-fixtures"

YOUNG_OBJECTS: Final = 20_000
"""New objects before a garbage collection. With Python's default of 700 it takes 6 % of the tests' time."""


def pytest_configure(config: pytest.Config) -> None:
    """Load the settings of Hypothesis. Let a worker of pytest-xdist end at once: to free its objects takes seconds."""
    hypothesis_profile.load_profile(is_hunt=config.getoption(SEED_OPTION) is not None)
    if hasattr(config, "workerinput"):
        atexit.register(os._exit, 0)  # runs after all other functions of atexit, since it is the first


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling | None:
    """Return the scheduler for ``--dist loadfile``, which the Makefile uses."""
    return scheduling.scheduler(config, log)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip the folders of suites that ``-m`` excludes."""
    return markers.is_ignored(collection_path, config.option.markexpr) or None


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Exclude all imported and collected objects from garbage collection: they live until the end."""
    gc.disable()
    try:
        compilation.compile_share(session.config)
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(YOUNG_OBJECTS)
        gc.enable()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Exclude all objects of a worker from garbage collection. pytest collects five times, after the last report."""
    if hasattr(session.config, "workerinput"):
        gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Add the automatic markers, and put slow files first."""
    for item in items:
        if isinstance(item, pytest.Function):
            markers.add_markers(item)
    items.sort(key=scheduling.place)


@pytest.fixture(scope="session", autouse=True)
def nobody_records() -> Iterator[None]:
    """Ignore OpenTelemetry providers that ADK's servers set. They are global, and would affect later tests."""
    with pytest.MonkeyPatch.context() as patch:
        for setup in ("trace.set_tracer_provider", "metrics.set_meter_provider", "_logs.set_logger_provider"):
            patch.setattr(f"opentelemetry.{setup}", lambda *_, **__: None)
        yield


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> Random:
    """Random number generator of a test."""
    return Random(f"{request.config.getoption(SEED_OPTION)} {request.node.name}")


@pytest.fixture(scope="session", autouse=True)
def _valid_histories() -> Iterator[None]:
    """Check each history in a test with ``validateUIMessages`` of both client versions. Skipped without Node."""
    with collected_histories() as histories:
        yield
    if (node := shutil.which("node")) and (FIXTURES / "node_modules").is_dir():
        assert histories.refused(node) == []


@pytest.fixture
def _in_a_terminal() -> Iterator[None]:
    """Reset SIGHUP, here and in child processes, even if nohup has started the tests."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    """Redis server that the test may break."""
    with redis_server(tmp_path) as server:
        yield server


@pytest.fixture(scope="session")
def shared_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """Redis server that all tests share, each with its own prefix. Tests must not break it."""
    with redis_server(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """PostgreSQL server, started for the first test that needs it."""
    with postgres_server() as server:
        yield server
