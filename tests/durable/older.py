"""What the release before this one has kept of runs, made of what this one keeps."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from typing import Final

import pytest

from tests.durable.world import World

NEWER: Final = re.compile(r"adk-ui-stream\.2/[0-9a-f]{16}/")
"""How the ids of workflows begin: the second part names the deployment."""

TOOL: Final = re.compile(r"/tool/[^/]*/[^/]*/(?P<id>[^/]+)/(?P<phase>called|confirmed)/[0-9a-f]{16}/1#")
"""The name of a call."""

NEW_IN_RECORD: Final = ("words", "trace", "deployment")

TABLES: Final = ("workflow_status", "workflow_input", "workflow_output", "operation_outputs")


def make_older(world: World) -> None:
    """Rewrites all that is kept in the world's file."""
    if not (world.kept or "").startswith("sqlite:///"):
        pytest.skip("SQLite is too old for DBOS")
    with closing(sqlite3.connect((world.kept or "").removeprefix("sqlite:///"))) as database, database:
        database.create_function("older_id", 1, older_id)
        database.create_function("older_input", 1, older_input)
        for table in TABLES:
            database.execute(f"UPDATE {table} SET workflow_uuid = older_id(workflow_uuid)")
        for table in TABLES[:2]:
            database.execute(f"UPDATE {table} SET inputs = older_input(inputs) WHERE inputs IS NOT NULL")
        database.execute("UPDATE workflow_status SET name = 'adk_ui_stream.run' WHERE name = 'adk_ui_stream.run.2'")


def older_id(workflow_id: str) -> str:
    return TOOL.sub(r"/tool/\g<id>/\g<phase>#", NEWER.sub("adk-ui-stream/", workflow_id))


def older_input(text: str) -> str:
    whole = json.loads(text)
    if not whole.get("positionalArgs"):
        return text
    kept = json.loads(whole["positionalArgs"][0])
    kept["version"] = json.dumps(["1", *kept["version"]])
    del kept["format"]
    for name in NEW_IN_RECORD:
        del kept["record"][name]
    return json.dumps({**whole, "positionalArgs": [json.dumps(kept)]})
