"""The real clients and steered runs: the stream as it is, and the message that they make of it."""

import json
from typing import Any

import pytest

from stream_protocol.testing import Call
from tests.conformance.node_scripts import run_script
from tests.serving.steering import SteeredApp, rest
from tests.serving.support import begin, chat, said, soon

pytestmark = pytest.mark.node


async def steered(ai_sdk: Any) -> tuple[SteeredApp, str]:
    """The app, and the stream of a run that is steered twice while its tool runs."""
    app = SteeredApp(Call("dig", {}), "Dug one.", ai_sdk=ai_sdk)
    async with begin(app.app, chat(said("Dig two."))) as answer:
        await answer.status()
        await soon(app.digging)
        for number, text in enumerate(("Stop at one.", "No, at two."), 1):
            assert (await app.steer(text, f"s{number}"))["type"] == "delivered"
        app.may_end.set()
        response = await rest(answer)
    await app.service.runs.free()
    return app, "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in response)


@pytest.mark.parametrize(
    ("ai_sdk", "client", "part"),
    [(6, 6, "data-adk-steering"), (7, 7, "data-adk-steering"), ("7.0.163", 7, "steering-message")],
)
async def test_the_real_client_makes_the_message_of_the_history(ai_sdk: Any, client: int, part: str) -> None:
    app, body = await steered(ai_sdk)
    user, assistant = await app.history()
    case = {"ai": client, "body": body, "messages": [user], "trigger": "submit"}
    (folded,) = run_script("fold-streams.mjs", [case])
    assert folded["status"] == "ready"
    assert folded["message"] == assistant
    assert [one["type"] for one in assistant["parts"]].count(part) == 2
