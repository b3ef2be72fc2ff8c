"""Builds the expected streams of the fixtures: ``python frontend-fixtures/build.py [--write] [NAME …]``.

Without ``--write`` it prints each fixture's number of deltas, and the fixtures whose expectation differs. If one
differs, the exit code is 1. With ``--write``, it writes ``expected.v6.json``, ``expected.v7.json`` and the index in
README.md. Review the difference before you commit it.
"""

import argparse
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from stream_protocol.wire import AiSdkVersion
from tests.conformance.fixtures import (
    README,
    VERSIONS,
    Fixture,
    count_deltas,
    expectation,
    fixture_names,
    load_fixture,
    readme_with_index,
)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="fixtures; all of them by default")
    parser.add_argument("--write", action="store_true", help="write the expectations and the index")
    options = parser.parse_args(arguments)
    logging.disable(logging.CRITICAL)  # the runs that raise are meant to
    all_hold = True
    for name in options.names or fixture_names():
        fixture = load_fixture(name)
        if options.write:
            _write(fixture)
        holds = all(_holds(fixture, version) for version in VERSIONS)
        all_hold = all_hold and holds
        print(f"{count_deltas(fixture):5} deltas  {name}{'' if holds else '  (differs from its expectation)'}")
    if options.write:
        README.write_text(readme_with_index(), encoding="utf-8")
    return 0 if all_hold else 1


def _write(fixture: Fixture) -> None:
    for version in VERSIONS:
        fixture.expected_path(version).write_text(expectation(fixture, version), encoding="utf-8", newline="\n")


def _holds(fixture: Fixture, version: AiSdkVersion) -> bool:
    path = fixture.expected_path(version)
    return path.exists() and path.read_text(encoding="utf-8") == expectation(fixture, version)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
