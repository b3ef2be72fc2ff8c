"""One check of an answer: it judges each pair of a schema and a value once, and counts the work."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from stream_protocol.session.schemas._budget import Budget
from stream_protocol.session.schemas._patterns import MAX_PATTERN, compile_pattern, is_found, search_steps, translated
from stream_protocol.session.schemas._rules import UNKNOWN, Path, Rule, Steps, judge
from stream_protocol.wire import short_json

if TYPE_CHECKING:
    from collections.abc import Iterator

logger = logging.getLogger(__name__)

_MAX_NAMED: Final = 5
"""A line of the log names so much of what was left out."""

_MAX_NAMED_TEXT: Final = 60

_MAX_REFERENCE: Final = 1_000
"""Characters of a reference."""

_TEXT_STEP: Final = 5_000
"""Characters of a text that are copied in one step."""


def first_misfit(schema: Any, answer: Any, budget: Budget) -> Path | None:
    """The path of the first field that does not fit, empty for the answer itself; ``None`` if none is known to misfit.

    Raises ``TooMuchWorkError`` if the answer is too large. Warns of what of the schema was not checked.
    """
    if not budget.take_schema(schema):
        logger.warning("An answer was not checked: the schema of its question is too large.")
        return None
    budget.take_answer(answer)
    check = Check(schema, budget)
    judgement = check.run(answer)
    if check.skipped:
        left_out = ", ".join(f"{keyword} {short_json(argument)}" for keyword, argument in check.skipped)
        logger.warning("An answer was checked by its question's schema, but for what cannot be run: %s", left_out)
    return judgement if isinstance(judgement, tuple) else None


@dataclass
class Check:
    """The check of one answer. Schema and answer must not change meanwhile."""

    root: Any
    """The whole schema."""
    budget: Budget
    skipped: dict[tuple[str, str], None] = field(default_factory=dict)
    """Keywords that were not checked, each with the beginning of its argument."""
    _known: dict[tuple[Rule, int, int], Any] = field(default_factory=dict)
    """Rule, schema and value, both by identity -> what the rule says."""
    _numbers: dict[int, int] = field(default_factory=dict)
    """Value, by identity -> the number of its form."""
    _forms: dict[str, int] = field(default_factory=dict)
    _targets: dict[str, Any] = field(default_factory=dict)
    """Reference -> what it leads to."""

    def run(self, answer: Any) -> Any:
        """The judgement of the whole answer."""
        asked: tuple[Rule, Any, Any] = (judge, self.root, answer)
        waiting: list[tuple[tuple[Rule, int, int], Steps]] = []
        while True:
            self.budget.spend(1)
            rule, schema, value = asked
            key = (rule, id(schema), id(value))
            said = self._known.setdefault(key, _NEW)
            if said is _NEW:
                self._known[key] = UNKNOWN  # until it is judged: a circle of references tells nothing
                waiting.append((key, rule(self, schema, value)))
                said = None
            while waiting:
                key, steps = waiting[-1]
                try:
                    asked = steps.send(said)
                    break
                except StopIteration as end:
                    waiting.pop()
                    said = self._known[key] = end.value
            else:
                return said

    def skip(self, keyword: str, argument: Any) -> None:
        """Notes a keyword that cannot be checked."""
        self.budget.spend(1)
        if len(self.skipped) < _MAX_NAMED:
            self.skipped[keyword, argument[:_MAX_NAMED_TEXT] if isinstance(argument, str) else "…"] = None

    def matches(self, pattern: str, text: str) -> bool | None:
        """Whether the pattern is found in the text; ``None`` if that cannot be told."""
        patterns = self.budget.patterns
        if pattern not in patterns:
            patterns[pattern] = self._compiled(pattern)
        compiled = patterns[pattern]
        if compiled is None:
            self.skip("pattern", pattern)
            return None
        self.budget.spend(search_steps(compiled, text))
        return is_found(compiled, text)

    def _compiled(self, pattern: str) -> Any:
        """The compiled pattern; ``None`` for one that cannot be run, or if too many others came before it."""
        budget = self.budget
        if len(pattern) > min(MAX_PATTERN, budget.pattern_text):
            return None
        budget.pattern_text -= len(pattern)
        written = translated(pattern)
        if written is None or len(written) > budget.pattern_text:
            return None
        budget.pattern_text -= len(written)
        return compile_pattern(written)

    def equal(self, value: Any) -> int:
        """The number that equal values share, and no others."""
        if id(value) not in self._numbers:
            self.budget.spend(3 + len(value) // _TEXT_STEP if isinstance(value, str) else 3)
            form = self._form(value)  # a text: nobody can make many texts of one hash
            self._numbers[id(value)] = self._forms.setdefault(form, len(self._forms))
        return self._numbers[id(value)]

    def _form(self, value: Any) -> str:
        match value:
            case str():
                return f"'{value}"
            case float() if value.is_integer():
                return str(int(value))
            case list():
                return f"[{','.join(str(self.equal(item)) for item in value)}"
            case dict():
                return f"{{{','.join(sorted(f'{self.equal(key)}:{self.equal(item)}' for key, item in value.items()))}"
        return str(value)

    def target(self, reference: str) -> Any:
        """The schema that a reference leads to; ``None`` if it is not in this document, or if that cannot be told."""
        if len(reference) > _MAX_REFERENCE:
            return None
        if reference not in self._targets:
            self._targets[reference] = self._find(reference)
        return self._targets[reference]

    def _find(self, reference: str) -> Any:
        if self.holds_documents:
            return None
        base = self.root.get("$id") if isinstance(self.root, dict) else None
        document, _, fragment = reference.partition("#")
        if document not in ("", base):
            return None
        if not fragment.startswith("/"):
            return self.anchors.get(fragment) if fragment else self.root
        schema = self.root
        for step in fragment.split("/")[1:]:
            key = unquote(step).replace("~1", "/").replace("~0", "~")
            self.budget.spend(1)
            match schema:
                case dict():
                    schema = schema.get(key)
                case list():
                    schema = schema[int(key)] if key.isdecimal() and int(key) < len(schema) else None
                case _:
                    return None
        return schema

    @cached_property
    def holds_documents(self) -> bool:
        """Whether a schema in this one has an id of its own, from which its references count."""
        return any(isinstance(value.get("$id"), str) for value in self._objects() if value is not self.root)

    @cached_property
    def anchors(self) -> dict[str, Any]:
        """Name -> the schema that has it."""
        return {
            name: value
            for value in self._objects()
            for keyword in ("$anchor", "$dynamicAnchor")
            if isinstance(name := value.get(keyword), str)
        }

    def _objects(self) -> Iterator[dict[str, Any]]:
        """All objects in the whole schema."""
        values = [self.root]
        for value in values:  # which grows
            if isinstance(value, dict):
                yield value
                values.extend(value.values())
            elif isinstance(value, list):
                values.extend(value)


_NEW: Final = object()
