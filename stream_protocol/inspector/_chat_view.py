"""Data of a live chat for the Inspector's page: the newest entries, a recording, and the findings of ``adk-ui-stream
check``.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from io import BytesIO
from itertools import dropwhile, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

import orjson

from stream_protocol.check import ALL_VERSIONS, Finding, check_stream
from stream_protocol.inspector._entries import as_recording, json_array
from stream_protocol.wire import AiSdkVersion

if TYPE_CHECKING:
    from stream_protocol.inspector._inspector import InspectedTurn

MAX_RESPONSE_BYTES: Final = 2**20
"""Maximum number of bytes of entries in one response. The page requests the rest."""


def newest_entries(turns: Sequence[InspectedTurn], after: int) -> bytes:
    """Return the entries with a number above ``after``, as ``{"entries": […], "next": 7}``.

    ``next``: the value of ``after`` for the next request. A response has at most about ``MAX_RESPONSE_BYTES``.
    """
    shown: list[bytes] = []
    size = 0
    for turn in turns:
        for number, entry in islice(turn.entries, bisect(turn.entries, after, key=itemgetter(0)), None):
            if size > MAX_RESPONSE_BYTES:
                break
            shown.append(b'{"number":%d,' % number + entry.shown[1:])
            size += len(shown[-1])
            after = number
    return b'{"entries":%b,"next":%d}' % (json_array(shown), after)


def chat_recording(turns: Sequence[InspectedTurn]) -> bytes:
    return as_recording(turns[0].header, (entry for turn in turns for _, entry in turn.entries)) if turns else b""


def check_chat(turns: Sequence[InspectedTurn]) -> bytes:
    """Return the findings of ``adk-ui-stream check`` for the chunks of the chat, as ``{"findings": […], "unchecked":
    0}``.

    Each finding has a ``number``: the number of the entry (see ``newest_entries``) in which the problem was found. A
    response is not checked if the beginning of its message is no longer in memory. ``unchecked``: the number of these
    responses.
    """
    checked = [*dropwhile(lambda turn: turn.continues, turns)]
    numbers: list[int] = []
    lines: list[bytes] = []
    for turn in checked:
        for number, entry in turn.entries:
            chunk = orjson.loads(entry.line).get("chunk")
            if chunk is not None:
                numbers.append(number)
                lines.append(orjson.dumps(chunk))
        if any(b'"end"' in entry.line[:6] for _, entry in turn.entries[-1:]):
            numbers.append(turn.entries[-1][0])
            lines.append(b"[DONE]")
    versions: Sequence[AiSdkVersion] = (7,) if any(turn.ai_sdk == 7 for turn in checked) else ALL_VERSIONS
    found = check_stream(BytesIO(b"\n".join(lines)), versions=versions) if lines else ()
    findings = [{**finding_json(finding), "number": numbers[finding.line - 1]} for finding in found]
    return orjson.dumps({"findings": findings, "unchecked": len(turns) - len(checked)})


def finding_json(finding: Finding) -> dict[str, Any]:
    return {
        "severity": finding.rule.severity,
        "rule": finding.rule,
        "effect": finding.rule.effect,
        "text": finding.text,
        "chunk": finding.chunk,
        "versions": finding.versions,
    }
