"""Several clients over one stream: what they have in common is said once."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from stream_protocol.check._chat_page import ChatPage
from stream_protocol.check._response_rules import TERMINALS
from stream_protocol.check._rules import Finding, Problem, Rule
from stream_protocol.wire import AiSdkVersion, parse_client_json, parse_json


class Judge:
    """Takes the data of a stream piece by piece. A problem is told once a response.

    ``start_begins``: nothing else separates responses, so a ``start`` behind the end of one begins the next.
    """

    def __init__(self, versions: Sequence[AiSdkVersion], *, start_begins: bool = False) -> None:
        self._start_begins = start_begins
        self._pages = {version: ChatPage(version) for version in versions}
        self._line = 1
        self._chunk = 0
        self._told: set[tuple[AiSdkVersion, Problem]] = set()
        self.in_response = False
        """Whether something has come since the last response ended."""
        self._has_terminal = False

    def take(self, data: str, line: int) -> Iterator[Finding]:
        """Takes what should be a chunk's JSON, and the number of its first line."""
        try:
            chunk = parse_client_json(data)
        except ValueError:
            self._advance(line)
            yield from self._say(lambda page: page.die(why_not_json(data)))
            return
        kind = chunk.get("type") if isinstance(chunk, dict) else None
        if self._start_begins and self._has_terminal and kind == "start":
            yield from self.end_response()
        self._advance(line)
        self._has_terminal = self._has_terminal or kind in TERMINALS
        yield from self._say(lambda page: page.take(chunk))

    def take_unterminated(self, data: str, line: int) -> Iterator[Finding]:
        """Takes the data of an event that the stream breaks off in: the client drops it."""
        self._advance(line)
        problem = Problem(Rule.UNTERMINATED_EVENT, "No blank line follows the last event.")
        if not _is_json(data) and why_not_json(data).rule is Rule.MISSING_BLANK_LINE:
            problem = why_not_json(data)
        yield from self._say(lambda page: [problem])

    def note(self, problem: Problem, *, line: int | None = None) -> Iterator[Finding]:
        """Reports what concerns the stream rather than a chunk; at its end, if no line is given."""
        self._line = line or self._line
        yield from self._say(lambda page: [problem])

    def end_response(self) -> Iterator[Finding]:
        """Ends a response; the next chunk begins another one."""
        yield from self._say(lambda page: page.end())
        self._told.clear()
        self.in_response = self._has_terminal = False

    def _advance(self, line: int) -> None:
        self._line = line
        self._chunk += 1
        self.in_response = True

    def _say(self, ask: Callable[[ChatPage], Iterable[Problem]]) -> Iterator[Finding]:
        concerned: dict[Problem, list[AiSdkVersion]] = {}
        for version, page in self._pages.items():
            for problem in ask(page):
                if (version, problem) not in self._told:
                    self._told.add((version, problem))
                    concerned.setdefault(problem, []).append(version)
        for problem, versions in concerned.items():
            yield Finding(self._line, self._chunk, tuple(versions), problem.rule, problem.text)


def why_not_json(data: str) -> Problem:
    """What is wrong with the data of an event that the client's parser refuses."""
    if not data.strip():
        return Problem(Rule.EMPTY_DATA, "The data is empty.")
    if _is_json(data):
        return Problem(Rule.FORBIDDEN_KEY, "A key is __proto__, or prototype in an object called constructor.")
    if "\n" in data and all(map(_is_json, data.split("\n"))):
        return Problem(Rule.MISSING_BLANK_LINE, "Several chunks follow each other without a blank line between them.")
    if constants := _constants(data):
        return Problem(Rule.NOT_A_NUMBER, f"{constants[0]} is not JSON.")
    return Problem(Rule.INVALID_JSON, "The data is not JSON.")


def _is_json(text: str) -> bool:
    try:
        parse_json(text)
    except ValueError:
        return False
    return True


def _constants(text: str) -> list[str]:
    """The ``NaN`` and ``Infinity`` in what Python's parser takes for JSON."""
    found: list[str] = []

    def note(constant: str) -> Any:
        found.append(constant)

    try:
        json.loads(text, parse_constant=note)
    except (ValueError, RecursionError):
        return []
    return found
