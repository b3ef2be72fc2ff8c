"""The pytest plugin: recordings by name, and their streams against what was written down of them.

Every pytest run of an environment with this package loads this module, so it imports nothing but pytest: what a test
needs comes with its fixture.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from stream_protocol.testing import RecordingFinder, StreamMatcher

UPDATE: Final = "--update-recordings"
_WRITTEN: Final = "adk_recording_written"
"""The property of a test that wrote one. Unlike a list, properties get from xdist's workers to the terminal."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--update-recordings``."""
    parser.getgroup("adk-ui-stream").addoption(
        UPDATE, action="store_true", help="Write what assert_stream_matches expects anew. Refused where CI is set."
    )


def pytest_configure(config: pytest.Config) -> None:
    """Refuses to write expectations where ``CI`` is set, as nearly every CI sets it."""
    if config.getoption(UPDATE) and os.environ.get("CI", "").lower() not in ("", "0", "false"):
        raise pytest.UsageError(f"{UPDATE} is refused in CI: expectations are written by hand, read, and committed.")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says which expectations were written."""
    reports = [
        item for items in terminalreporter.stats.values() for item in items if isinstance(item, pytest.TestReport)
    ]
    properties = [pair for report in reports for pair in report.user_properties]
    for path in sorted({str(path) for name, path in properties if name == _WRITTEN}):
        terminalreporter.write_line(f"Wrote {path}: read it before you commit it.")


@pytest.fixture
def adk_recording(request: pytest.FixtureRequest) -> RecordingFinder:
    """``adk_recording("booking")``: the recording ``booking.*`` in ``recordings/`` beside the test, or else in
    ``tests/recordings/`` of the project."""
    from stream_protocol.testing import RecordingFinder

    folders = (request.path.parent / "recordings", request.config.rootpath / "tests" / "recordings")
    return RecordingFinder(tuple(dict.fromkeys(folders)))


@pytest.fixture
def assert_stream_matches(request: pytest.FixtureRequest) -> StreamMatcher:
    """``assert_stream_matches(recording)``: the recording's stream is the one that was written down."""
    from stream_protocol.testing import StreamMatcher

    properties = request.node.user_properties
    update = request.config.getoption(UPDATE)
    return StreamMatcher(update=update, wrote=lambda path: properties.append((_WRITTEN, str(path))))
