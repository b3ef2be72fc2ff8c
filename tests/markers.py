"""Markers that tests get automatically, and heavy folders that are collected only if needed."""

from pathlib import Path
from typing import Final

import pytest

from tests.scheduling import WITH_LITELLM

TESTS: Final = Path(__file__).parent

STORES: Final = {"redis", "shared_redis", "cluster", "postgres"}
"""Fixtures that start a store's server. Also valid as values of a test's parameters."""

SUITES: Final = {
    name: name for name in ("attacks", "fleet", "frontends", "kills", "pages", "release", "samples", "servers")
}
"""Folder -> marker of all its tests."""
SUITES["durable"] = "fleet"
"""Folder -> the marker that all of its tests have."""

UNCOUNTED: Final = {
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
    "servers",
    "simulation",
    "soak",
}
"""Folders with tests of the whole program. `make suite NAME=coverage` skips them: each line has unit tests."""

SLOW: Final = {
    "cli/test_record_command.py",
    "cli/test_types_command.py",
    "conformance/test_readings_of_fixtures.py",
    "recording/test_numbers.py",
    "recording/test_order_of_questions.py",
    "recording/test_record_events.py",
    "recording/test_search_work.py",
    "recording/test_sqlite.py",
    "recording/test_text_redaction.py",
    "serving/errors/test_sentences.py",
    "serving/errors/test_text.py",
    "serving/http/test_hostile_clients.py",
    "serving/http/test_open_responses.py",
    "serving/test_every_store.py",
    "serving/test_held_size.py",
    "serving/test_session_services.py",
    "simulation/test_simulation.py",
    "testing/test_pytest_plugin.py",
    "testing/test_stream_matcher.py",
}
"""Files that take seconds on a machine of two cores: many cases, large inputs, or the import of a library.

In other files, single slow tests and parameters have the marker ``slow`` themselves.
"""

SHRINKING_SECONDS: Final = 900
"""Timeout of a property test: finding the smallest failing example takes minutes."""


def is_ignored(path: Path, markers: str) -> bool:
    """Return True for the folder of a suite that ``-m`` excludes: the import of its modules would take seconds."""
    is_litellm = path in {TESTS.parent / file for file in WITH_LITELLM}
    folder = path.name if path.parent == TESTS else ""
    suite = "samples" if is_litellm else SUITES.get(folder)
    return bool(suite) and f"not {suite}" in markers


def add_markers(item: pytest.Function) -> None:
    """Mark a test that needs a store's server (``store``), is random (``hunt``), takes seconds (``slow``), or is not
    counted by coverage (``no_cover``).
    """
    params = item.callspec.params.values() if hasattr(item, "callspec") else ()
    if STORES & {*item.fixturenames, *(value for value in params if type(value) is str)}:
        item.add_marker("store")
    if item.path.relative_to(TESTS).as_posix() in SLOW:
        item.add_marker("slow")
    is_property = getattr(item.obj, "is_hypothesis_test", False)
    if is_property:
        item.add_marker(pytest.mark.timeout(SHRINKING_SECONDS))
    if is_property or "rng" in item.fixturenames:
        item.add_marker("hunt")
    if item.path.parent.name in UNCOUNTED:
        item.add_marker("no_cover")
