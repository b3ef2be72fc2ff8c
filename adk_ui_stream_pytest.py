"""The pytest plugin: fixtures that load recordings by name, and compare their streams with expected streams.

Each pytest run in an environment with this package loads this module. So the module imports only pytest. Fixtures
import the modules that they need.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from stream_protocol.testing import RecordingFinder, StreamMatcher

UPDATE_OPTION: Final = "--update-recordings"
_WRITTEN: Final = "adk_recording_written"
"""The property of a test that has written an expected stream. pytest-xdist sends properties from workers to the
terminal."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option ``--update-recordings``."""
    parser.getgroup("adk-ui-stream").addoption(
        UPDATE_OPTION,
        action="store_true",
        help="Write what assert_stream_matches expects anew. Refused where CI is set.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Refuses ``--update-recordings`` if the environment variable ``CI`` is set, as on CI systems."""
    if config.getoption(UPDATE_OPTION) and os.environ.get("CI", "").lower() not in ("", "0", "false"):
        raise pytest.UsageError(
            f"{UPDATE_OPTION} is refused in CI: expectations are written by hand, read, and committed."
        )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints the paths of the expected streams that were written."""
    reports = [
        item for items in terminalreporter.stats.values() for item in items if isinstance(item, pytest.TestReport)
    ]
    properties = [pair for report in reports for pair in report.user_properties]
    for path in sorted({str(path) for name, path in properties if name == _WRITTEN}):
        terminalreporter.write_line(f"Wrote {path}: read it before you commit it.")


@pytest.fixture
def adk_recording(request: pytest.FixtureRequest) -> RecordingFinder:
    """Loads recordings by name: ``adk_recording("booking")`` returns the recording ``booking.*``.

    The file is in ``recordings/`` beside the test, or in ``tests/recordings/`` below pytest's root directory.
    """
    from stream_protocol.testing import RecordingFinder

    folders = (request.path.parent / "recordings", request.config.rootpath / "tests" / "recordings")
    return RecordingFinder(tuple(dict.fromkeys(folders)))


@pytest.fixture
def assert_stream_matches(request: pytest.FixtureRequest) -> StreamMatcher:
    """``assert_stream_matches(recording)`` compares the recording's stream with the expected stream."""
    from stream_protocol.testing import StreamMatcher

    properties = request.node.user_properties
    update = request.config.getoption(UPDATE_OPTION)
    return StreamMatcher(update=update, on_write=lambda path: properties.append((_WRITTEN, str(path))))
