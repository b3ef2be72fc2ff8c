"""Changes stored runs into the form of the previous release, or into an unreadable form."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any, Final

import pytest

from tests.durable.shared_state import SharedState

NEWER: Final = re.compile(r"adk-ui-stream\.2/[0-9a-f]{16}/")
"""The beginning of workflow ids. The second part names the deployment."""

TOOL: Final = re.compile(r"/tool/[^/]*/[^/]*/(?P<id>[^/]+)/(?P<phase>called|confirmed)/[0-9a-f]{16}/1#")
"""Name of a call."""

NEW_IN_RECORD: Final = ("words", "trace", "deployment", "rewind_before")

TABLES: Final = ("workflow_status", "workflow_input", "workflow_output", "operation_outputs")


@contextmanager
def kept_in(shared: SharedState) -> Iterator[sqlite3.Connection]:
    """Open the shared file as SQLite."""
    if not (shared.kept or "").startswith("sqlite:///"):
        pytest.skip("SQLite is too old for DBOS")
    with closing(sqlite3.connect((shared.kept or "").removeprefix("sqlite:///"))) as database, database:
        yield database


def change_kept(shared: SharedState, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the stored record of each run."""

    def changed(text: str) -> str:
        whole = json.loads(text)
        if not whole.get("positionalArgs"):
            return text
        kept = json.loads(whole["positionalArgs"][0])
        change(kept)
        return json.dumps({**whole, "positionalArgs": [json.dumps(kept)]})

    with kept_in(shared) as database:
        database.create_function("changed", 1, changed)
        database.execute("UPDATE workflow_input SET inputs = changed(inputs)")


def make_older(shared: SharedState) -> None:
    """Rewrite all stored records."""
    change_kept(shared, _make_older)
    with kept_in(shared) as database:
        database.create_function("older_id", 1, _older_id)
        for table in TABLES:
            database.execute(f"UPDATE {table} SET workflow_uuid = older_id(workflow_uuid)")
        database.execute("UPDATE workflow_status SET name = 'adk_ui_stream.run' WHERE name = 'adk_ui_stream.run.2'")


def _older_id(workflow_id: str) -> str:
    return TOOL.sub(r"/tool/\g<id>/\g<phase>#", NEWER.sub("adk-ui-stream/", workflow_id))


def _make_older(kept: dict[str, Any]) -> None:
    kept["version"] = json.dumps(["1", *kept["version"]])
    del kept["format"]
    for name in NEW_IN_RECORD:
        kept["record"].pop(name, None)
