from weakref import ref

from stream_protocol.session import RunOutput
from tests.stream.building import fragment, text


def test_of_a_streamed_event_only_what_it_says_is_kept() -> None:
    output = RunOutput()
    events = [fragment(text(f" {number}")) for number in range(200)]
    known = [ref(event) for event in events]
    for event in events:
        output.add(event)
    del events, event
    assert sum(one() is not None for one in known) == 1, "the newest, for what else it says"
    [unstored] = output.unstored_events([], [])
    assert unstored.content is not None
    assert unstored.content.parts is not None
    assert [part.text for part in unstored.content.parts] == ["".join(f" {number}" for number in range(200))]
