"""The real ``ai`` package fails on exactly those bad streams that ``check`` calls fatal."""

from typing import Any

import pytest

from stream_protocol.check import Rule, check_file
from stream_protocol.wire import AiSdkVersion
from tests.check import bad_streams
from tests.conformance.node_scripts import run_script

VERSIONS: tuple[AiSdkVersion, ...] = (6, 7)
USER = {"id": "u", "role": "user", "parts": [{"type": "text", "text": "hi"}]}


def one_response() -> list[Rule]:
    """The rules whose stream is a single response without an ``error`` of the server's own."""
    texts = {rule: bad_streams.path(rule).read_text(encoding="utf-8") for rule in Rule}
    return [rule for rule, text in texts.items() if text.count("[DONE]") < 2 and '"type":"error"' not in text]


def client_status(cases: list[tuple[Rule, AiSdkVersion]]) -> list[str]:
    requests: list[dict[str, Any]] = []
    for rule, ai_sdk in cases:
        body = bad_streams.path(rule).read_bytes().decode()
        requests.append({"ai": ai_sdk, "body": body, "messages": [USER], "trigger": "submit"})
    return [answer["status"] for answer in run_script("fold-streams.mjs", requests)]


@pytest.mark.node
def test_the_client_dies_of_what_check_says_is_fatal_and_of_nothing_else() -> None:
    cases = [(rule, version) for rule in one_response() for version in VERSIONS]
    for (rule, version), status in zip(cases, client_status(cases), strict=True):
        found = {finding.rule for finding in check_file(bad_streams.path(rule), versions=(version,))}
        assert status == ("error" if found & bad_streams.FATAL else "ready"), (rule, version)
