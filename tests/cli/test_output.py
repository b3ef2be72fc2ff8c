"""The terminal shows the progress of slow work."""

import io
import threading

import pytest

from stream_protocol.cli._output import progress
from stream_protocol.cli._program import refuse
from tests.processes import HANG


class Stream(io.StringIO):
    """A stderr. ``told``: set when something was written."""

    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal
        self.told = threading.Event()

    def isatty(self) -> bool:
        return self._is_terminal

    def write(self, text: str) -> int:
        self.told.set()
        return super().write(text)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stream_protocol.cli._output.SECONDS_BETWEEN", 0.01)


def test_a_terminal_is_told_what_takes_long_and_has_nothing_of_it_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    stream = Stream(is_terminal=True)
    monkeypatch.setattr("sys.stderr", stream)
    with progress("Checking a-file-with-a-long-name.sse"):
        assert stream.told.wait(HANG)
    first, *_, blanks, rest = stream.getvalue().removeprefix("\r").split("\r")
    assert first == "Checking a-file-with-a- … 0 s"
    assert (blanks.strip(), len(blanks), rest) == ("", len(first), "")


@pytest.mark.parametrize("env", ["FORCE_COLOR", "NO_COLOR"])
def test_a_refusal_in_the_meantime_has_a_line_of_its_own(env: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(env, "1")
    stream = Stream(is_terminal=True)
    monkeypatch.setattr("sys.stderr", stream)

    def load() -> None:
        with progress("Loading"):
            assert stream.told.wait(HANG)
            refuse("there is no such agent")

    with pytest.raises(SystemExit):
        load()
    before, refusal = stream.getvalue().split("\r\x1b[K")
    assert before.startswith("\rLoading")
    assert refusal.partition("\n")[0].endswith(" there is no such agent")


def test_a_file_is_told_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Stream(is_terminal=False)
    monkeypatch.setattr("sys.stderr", stream)
    with progress("Checking"):
        assert not stream.told.wait(0.05)


def test_an_error_takes_the_line_away_too(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Stream(is_terminal=True)
    monkeypatch.setattr("sys.stderr", stream)

    def fail() -> None:
        with progress("Checking"):
            assert stream.told.wait(HANG)
            raise ValueError("unreadable")

    with pytest.raises(ValueError, match="unreadable"):
        fail()
    assert stream.getvalue().endswith("\r")
