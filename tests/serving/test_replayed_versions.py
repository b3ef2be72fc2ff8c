"""Replays of stored sessions in which the user has chosen versions."""

from pathlib import Path

from stream_protocol.recording import load_recording, replay, replay_messages
from tests.comparable_messages import comparable
from tests.serving.support import chunks, text
from tests.serving.test_versions import VersionPage


async def test_a_replay_shows_the_chosen_version_three_deep(tmp_path: Path) -> None:
    page = VersionPage(*map(str, range(1, 8)))
    for words in "abc":
        await page.send(words)
    for index, words in ((4, "C"), (2, "B"), (0, "A")):
        await page.edit(page.ids()[index], words)
    for number, chosen in enumerate((None, 0, 2, 4)):
        if chosen is not None:
            await page.choose(page.ids()[chosen], 0)
        file = tmp_path / f"{number}.jsonl"
        file.write_text("\n".join(event.model_dump_json() for event in (await page.session()).events))
        recording = load_recording(file)
        assert comparable([*replay_messages(recording.stream_turns())]) == comparable(page.messages)
        streams = [
            chunks(b"".join(replay(recording, turn=turn)).decode()) for turn in range(1, len(page.texts()) // 2 + 1)
        ]
        assert [text(stream) for stream in streams] == page.texts()[1::2]
    assert page.texts() == ["a", "1", "b", "2", "c", "3"]
