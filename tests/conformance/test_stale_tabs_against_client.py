"""The real clients and the response to a tab that lacks newer calls of its message."""

import json
from typing import Any

import pytest

from tests.conformance.node_scripts import run_script
from tests.serving.two_tabs import TwoTabs
from tests.tools import OLD_ADK

pytestmark = [
    pytest.mark.node,
    pytest.mark.filterwarnings("ignore:ParallelAgent is deprecated:DeprecationWarning"),
    pytest.mark.skipif(OLD_ADK, reason="ADK resumes one of the agents alone from 2.11 on"),
]


@pytest.mark.parametrize("ai_sdk", [6, 7])
@pytest.mark.parametrize("is_stopped", [False, True])
async def test_the_real_client_knows_each_call_of_the_response(ai_sdk: Any, is_stopped: bool) -> None:
    tabs = TwoTabs(ai_sdk=ai_sdk)
    await tabs.ask()
    received = await tabs.approve_in_stale_tab(is_stopped=is_stopped)
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in received) + "data: [DONE]\n\n"
    case = {"ai": ai_sdk, "body": body, "messages": tabs.stale.messages, "trigger": "submit"}
    (folded,) = run_script("fold-streams.mjs", [case])
    assert folded["status"] == "ready"
    tabs.stale.take(received)
    assert folded["message"] == tabs.stale.messages[-1]
    assert [part["toolCallId"] for part in folded["message"]["parts"] if "toolCallId" in part] == ["left", "right"]
