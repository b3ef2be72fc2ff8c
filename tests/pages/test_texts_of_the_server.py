"""The texts of the server that the page compares."""

from pathlib import Path
from typing import Final

from stream_protocol.stream import RUN_FAILED_TEXT
from stream_protocol.stream._conversion import NO_RESULT_TEXT
from stream_protocol.wire import RUN_STOPPED_TEXT

COMPONENTS: Final = Path(__file__).parent.parent.parent / "examples" / "nextjs" / "components"


def test_the_page_knows_the_errors_of_calls_that_ended_with_their_run() -> None:
    code = (COMPONENTS / "chat" / "message-types.ts").read_text()
    for text in (RUN_STOPPED_TEXT, RUN_FAILED_TEXT, NO_RESULT_TEXT):
        assert f'"{text}"' in code
