"""The real client with two real servers: versions three deep, chosen before and after a reload, then a tool and an
approval."""

from typing import Any
from uuid import uuid4

import pytest

from tests.comparable_messages import comparable
from tests.conformance.node_scripts import run_script
from tests.fleet.browser import CLIENT_VERSIONS
from tests.fleet.proxy import Proxy
from tests.fleet.workers import Fleet
from tests.served import served

pytestmark = [pytest.mark.fleet, pytest.mark.node, CLIENT_VERSIONS]

FIRST, SECOND = ["say a", "Said a."], ["say b", "Said b."]

STEPS: list[tuple[dict[str, Any], list[str]]] = [
    ({"text": "say a"}, FIRST),
    ({"text": "say b"}, [*FIRST, *SECOND]),
    ({"text": "say c"}, [*FIRST, *SECOND, "say c", "Said c."]),
    ({"edit": 4, "text": "say C"}, [*FIRST, *SECOND, "say C", "Said C."]),
    ({"edit": 2, "text": "say B"}, [*FIRST, "say B", "Said B."]),
    ({"edit": 0, "text": "say A"}, ["say A", "Said A."]),
    ({"choose": [0, 0]}, [*FIRST, "say B", "Said B."]),
    ({"choose": [2, 0]}, [*FIRST, *SECOND, "say C", "Said C."]),
    ({"reload": True}, [*FIRST, *SECOND, "say C", "Said C."]),
    ({"choose": [4, 0]}, [*FIRST, *SECOND, "say c", "Said c."]),
    ({"text": "dig KEY"}, [*FIRST, *SECOND, "say c", "Said c.", "dig KEY", "I dig. Done KEY."]),
    ({"text": "pay KEY"}, [*FIRST, *SECOND, "say c", "Said c.", "dig KEY", "I dig. Done KEY.", "pay KEY", "Shall I? "]),
    ({"choose": [0, 1]}, ["say A", "Said A."]),
    ({"reload": True}, ["say A", "Said A."]),
    (
        {"choose": [0, 0]},
        [*FIRST, *SECOND, "say c", "Said c.", "dig KEY", "I dig. Done KEY.", "pay KEY", "Shall I? "],
    ),
    (
        {"approve": True},
        [*FIRST, *SECOND, "say c", "Said c.", "dig KEY", "I dig. Done KEY.", "pay KEY", "Shall I? Done KEY."],
    ),
]
"""Actions on the page, and the texts that it then shows."""


def test_versions_are_chosen_at_either_worker_and_the_chat_continues_from_them(deployment: Fleet) -> None:
    deployment.mend()
    chat, key = uuid4().hex, uuid4().hex
    deployment.tool_log.open(key)
    steps = [
        ({**step, "text": step["text"].replace("KEY", key)} if "text" in step else step, texts) for step, texts in STEPS
    ]
    with served(Proxy(deployment.ports).app) as url:
        asked: dict[str, Any] = {
            "ai": deployment.ai_sdk,
            "url": url,
            "id": chat,
            "body": {},
            "steps": [step for step, _ in steps],
        }
        (seen,) = run_script("branch-chats.mjs", [asked])
    for (step, expected), shown in zip(steps, seen, strict=True):
        texts = ["".join(part.get("text", "") for part in message["parts"]) for message in shown["messages"]]
        assert (texts, shown["error"]) == ([text.replace("KEY", key) for text in expected], None), step
        assert comparable(shown["stored"]) == comparable(shown["messages"]), step
    assert [len(listed["ids"]) for listed in seen[-1]["versions"]] == [2, 2, 2]
    assert [run.tool for run in deployment.tool_log.tool_runs(chat)] == ["dig", "pay"]
