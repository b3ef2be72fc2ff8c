"""Recordings for a replay server, made from fixtures: one file for each, as of a session."""

from pathlib import Path

from starlette.applications import Starlette

from stream_protocol.replay_server import INSTANT, Chats, create_replay_app, load_library
from stream_protocol.wire import AiSdkVersion
from tests.conformance.fixtures import FOLDER


def write_recordings(folder: Path, *fixtures: str) -> Path:
    """Write the turns of these fixtures as files with their names. Returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in fixtures:
        turns = sorted((FOLDER / name).glob("turn*.jsonl"))
        (folder / f"{name}.jsonl").write_text("".join(turn.read_text("utf-8") for turn in turns), "utf-8")
    return folder


def replay_app(folder: Path, *, pace: float = INSTANT, ai_sdk: AiSdkVersion = 6) -> Starlette:
    return create_replay_app(Chats(load_library(folder), pace, ai_sdk), page=False)
