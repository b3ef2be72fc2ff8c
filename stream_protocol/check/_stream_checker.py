"""Check one stream for clients of several versions. A problem in several versions becomes one finding."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from stream_protocol.check._problem_texts import is_json, json_problem
from stream_protocol.check._response_checker import TERMINALS
from stream_protocol.check._rules import Finding, Problem, Rule
from stream_protocol.check._simulated_chat import SimulatedChat
from stream_protocol.wire import AiSdkVersion, parse_client_json


class StreamChecker:
    """Checks a stream, event by event. The same problem is reported only once in each response.

    ``start_begins_response``: True for a file that has no ``[DONE]`` lines between responses. If a response has had its
    last chunk, a ``start`` chunk then begins the next response.
    """

    def __init__(self, versions: Sequence[AiSdkVersion], *, start_begins_response: bool = False) -> None:
        self._start_begins_response = start_begins_response
        self._chats = {version: SimulatedChat(version) for version in versions}
        self._line = 1
        self._chunk = 0
        self._reported: set[tuple[AiSdkVersion, Problem]] = set()
        self.in_response = False
        """True after data of a response, until the response ends."""
        self._has_terminal = False

    def check_data(self, data: str, line: int) -> Iterator[Finding]:
        """Check the data of an SSE event, which must be one chunk as JSON. ``line``: the number of the data's first
        line.
        """
        try:
            chunk = parse_client_json(data)
        except ValueError:
            self._advance(line)
            yield from self._findings(lambda chat: chat.stop_reading(json_problem(data)))
            return
        kind = chunk.get("type") if isinstance(chunk, dict) else None
        if self._start_begins_response and self._has_terminal and kind == "start":
            yield from self.end_response()
        self._advance(line)
        self._has_terminal = self._has_terminal or kind in TERMINALS
        yield from self._findings(lambda chat: chat.check_chunk(chunk))

    def check_unterminated(self, data: str, line: int) -> Iterator[Finding]:
        """Check the last SSE event of a stream without a blank line at its end. The client ignores this event."""
        self._advance(line)
        problem = Problem(Rule.UNTERMINATED_EVENT, "No blank line follows the last event.")
        if not is_json(data) and json_problem(data).rule is Rule.MISSING_BLANK_LINE:
            problem = json_problem(data)
        yield from self._findings(lambda chat: [problem])

    def report(self, problem: Problem, *, line: int | None = None) -> Iterator[Finding]:
        """Yield the findings for a problem of the whole stream. ``line``: the line of the problem; ``None`` for the
        last line that was checked.
        """
        self._line = line or self._line
        yield from self._findings(lambda chat: [problem])

    def end_response(self) -> Iterator[Finding]:
        yield from self._findings(lambda chat: chat.end_response())
        self._reported.clear()
        self.in_response = self._has_terminal = False

    def _advance(self, line: int) -> None:
        self._line = line
        self._chunk += 1
        self.in_response = True

    def _findings(self, check: Callable[[SimulatedChat], Iterable[Problem]]) -> Iterator[Finding]:
        """Call ``check`` with the simulated client of each version. Yields a finding for each problem that is new in
        this response.
        """
        versions_by_problem: dict[Problem, list[AiSdkVersion]] = {}
        for version, chat in self._chats.items():
            for problem in check(chat):
                if (version, problem) not in self._reported:
                    self._reported.add((version, problem))
                    versions_by_problem.setdefault(problem, []).append(version)
        for problem, versions in versions_by_problem.items():
            yield Finding(self._line, self._chunk, tuple(versions), problem.rule, problem.text)
