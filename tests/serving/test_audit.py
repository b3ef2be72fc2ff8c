"""The audit trail: the users' decisions, stops and deletions, and refusals, without texts of messages."""

import asyncio
import copy
import hashlib
import json
import logging
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from fastapi.openapi.models import HTTPBearer
from google.adk.agents import LlmAgent
from google.adk.auth.auth_credential import AuthCredential, AuthCredentialTypes, HttpAuth, HttpCredentials
from google.adk.auth.auth_tool import AuthConfig
from google.adk.tools import ToolContext, request_input
from google.adk.tools.function_tool import FunctionTool

from stream_protocol import parse_chat_request
from stream_protocol.agents import client_tool
from stream_protocol.serving import AuditFile, AuditRecord, ChatService, ServiceLimits, SyncChatService, create_app
from stream_protocol.testing import Call, ScriptedLlm, Wait
from tests.documents import block
from tests.serving.chat_client import Page
from tests.serving.support import begin, chat, client, post, said, soon

pytestmark = pytest.mark.usefixtures("patient_clock")

WHO = {"message": "Who?", "response_schema": {"type": "object", "properties": {"age": {"type": "integer"}}}}
PAY, WHERE, ASK = Call("pay", {"to": "Max", "amount": 5}), Call("where", {}), Call("adk_request_input", WHO)
PAY_SHA256 = hashlib.sha256(b'{"amount":5,"to":"Max"}').hexdigest()


def pay(to: str, amount: int) -> str:
    """Pays."""
    return "paid"


def bearer(tool_context: ToolContext) -> str:
    """Asks for a token."""
    scheme = HTTPBearer()
    raw = AuthCredential(
        auth_type=AuthCredentialTypes.HTTP, http=HttpAuth(scheme="bearer", credentials=HttpCredentials())
    )
    tool_context.request_credential(AuthConfig(auth_scheme=scheme, raw_auth_credential=raw, credential_key="bearer"))
    return "Waiting."


class AuditedPage(Page):
    """A page with an agent that asks, and the audit records of its user."""

    def __init__(self, *turns: Any, tools: Any = (), **options: Any) -> None:
        offered: list[Any] = [client_tool("where", "Where."), request_input, bearer, *tools]
        offered.append(FunctionTool(pay, require_confirmation=True))
        agent = LlmAgent(name="root", model=ScriptedLlm(turns=turns), tools=offered)
        self.records: list[AuditRecord] = []
        self.service = ChatService(agent, on_audit=self._take, **options)
        super().__init__(create_app(self.service, identify=lambda request: request.headers.get("x-user", "ann")))

    async def _take(self, record: AuditRecord) -> None:
        self.records.append(record)

    async def seen(self) -> list[tuple[Any, ...]]:
        """Action, status, tool of each."""
        await self.service.aclose()
        return [(record.action, record.status, record.tool) for record in self.records]


async def test_an_approval_has_a_record_with_the_digest_of_the_stored_arguments() -> None:
    audited_page = AuditedPage(PAY, "Paid.")
    await audited_page.send("pay")
    audited_page.approve(True, "because of s3cret")
    call = audited_page.parts("approval-responded")[0]
    call["input"] = {"to": "Eve", "amount": 1_000_000}  # what the client says of them counts for nothing
    await audited_page.submit()
    assert await audited_page.seen() == [("approve", None, "pay")]
    (record,) = audited_page.records
    assert (record.user_id, record.app, record.chat_id) == ("ann", audited_page.service.runner.app_name, "c1")
    assert (record.outcome, record.call_id) == ("accepted", call["toolCallId"])
    assert record.arguments_sha256 == PAY_SHA256
    assert record.time.endswith("Z")


async def test_denials_answers_and_inputs_have_one_each_and_a_retry_none() -> None:
    audited_page = AuditedPage(PAY, "No.", WHERE, "There.", ASK, "You.")
    for tool, output in (("pay", None), ("where", "Oslo"), ("adk_request_input", {"age": 7})):
        await audited_page.send(tool)
        if output is None:
            audited_page.approve(False)
        else:
            audited_page.answer(tool, output)
        body = copy.deepcopy(audited_page.body())
        await audited_page.submit()
        assert (await post(audited_page.app, body)).status_code == 200
    actions = [("deny", None, "pay"), ("answer", None, "where"), ("answer", None, "adk_request_input")]
    assert await audited_page.seen() == actions


async def test_a_sign_in_has_one_without_the_credential(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "stream_protocol.audit")
    audited_page = AuditedPage(Call("bearer", {}), "Thanks.")
    await audited_page.send("sign in")
    audited_page.answer("adk_request_credential", {"token": "hunter2"})
    await audited_page.submit()
    assert await audited_page.seen() == [("sign-in", None, "adk_request_credential")]
    assert audited_page.records[0].arguments_sha256
    assert "hunter2" not in caplog.text + repr(audited_page.records)


async def test_a_denial_that_comes_with_a_message_has_one() -> None:
    audited_page = AuditedPage(PAY, "As you like.")
    await audited_page.send("pay")
    audited_page.approve(False, "too much")
    await audited_page.send("cheaper?")
    assert await audited_page.seen() == [("deny", None, "pay")]


async def test_a_denial_with_messages_that_are_refused_has_one_and_messages_alone_have_none() -> None:
    audited_page = AuditedPage(PAY, "Well.")
    await audited_page.send("pay")
    audited_page.approve(False)
    refused = {
        "id": "u2",
        "role": "user",
        "parts": [{"type": "file", "mediaType": "text/plain", "url": "file:///etc/passwd"}],
    }
    before, denied = audited_page.messages
    with_denial = await post(audited_page.app, chat(before, denied, refused))
    alone = await post(audited_page.app, chat(before, refused))
    assert with_denial.status_code == alone.status_code
    assert await audited_page.seen() == [("deny", with_denial.status_code, "pay")]
    assert audited_page.records[0].outcome == "refused"


async def test_refused_answers_have_one() -> None:
    audited_page = AuditedPage(ASK, "You.", PAY, "Paid.")
    await audited_page.send("ask")
    audited_page.answer("adk_request_input", {"age": "seven"})
    assert (await post(audited_page.app, audited_page.body())).status_code == 422
    audited_page.parts("output-available")[0]["output"] = {"age": 7}
    await audited_page.submit()
    await audited_page.send("pay")
    audited_page.approve(True)
    other = copy.deepcopy(audited_page.body())
    await audited_page.submit()
    other["messages"][-1]["parts"][-1]["approval"]["approved"] = False
    assert (await post(audited_page.app, other)).status_code == 409
    assert (await post(audited_page.app, {**audited_page.body(), "id": "none"})).status_code == 409
    assert await audited_page.seen() == [
        ("answer", 422, "adk_request_input"),
        ("answer", None, "adk_request_input"),
        ("approve", None, "pay"),
        ("deny", 409, "pay"),
        ("answer", 409, None),
    ]
    assert audited_page.records[3].arguments_sha256 == PAY_SHA256
    assert audited_page.records[3].outcome == "refused"


async def test_thousands_of_forged_answers_have_twenty_and_a_number() -> None:
    audited_page = AuditedPage(PAY)
    await audited_page.send("pay")
    forged = [
        {
            "type": "tool-pay",
            "toolCallId": f"x{number}",
            "state": "approval-responded",
            "input": {},
            "approval": {"id": f"{number}" * 100, "approved": True},
        }
        for number in range(2_000)
    ]
    audited_page.messages[-1]["parts"] = forged
    assert (await post(audited_page.app, audited_page.body())).status_code == 409
    assert await audited_page.seen() == [("approve", 409, None)] * 20
    assert [record.omitted for record in audited_page.records] == [0] * 19 + [1_980]
    assert all(len(record.to_json()) < 1_000 for record in audited_page.records)


async def test_stops_and_deletions_have_one_also_of_chats_that_are_not_the_users() -> None:
    audited_page = AuditedPage(["Half ", Wait(asyncio.Event())], "Whole.")
    async with client(audited_page.app) as http, begin(audited_page.app, chat(said("hi"))) as run:
        await run.status()
        await run.until("text-delta")
        for method, path in (("POST", "/stop"), ("DELETE", "")):
            assert (await http.request(method, f"/api/chat/c1{path}", headers={"x-user": "eve"})).status_code == 404
        assert (await http.post("/api/chat/c1/stop")).status_code == 202
        await run.until("abort")
        assert (await http.delete("/api/chat/c1")).status_code == 204
    assert await audited_page.seen() == [
        ("stop", 404, None),
        ("delete", 404, None),
        ("stop", None, None),
        ("delete", None, None),
    ]
    assert [record.user_id for record in audited_page.records] == ["eve", "eve", "ann", "ann"]


async def test_new_messages_that_interrupt_a_run_are_a_stop() -> None:
    audited_page = AuditedPage(["Half ", Wait(asyncio.Event())], "Whole.")
    async with begin(audited_page.app, chat(said("hi"))) as run:
        await run.status()
        await run.until("text-delta")
        assert (await post(audited_page.app, chat(said("and?", "u2")))).status_code == 200
    assert await audited_page.seen() == [("stop", None, None)]


async def test_an_answer_that_waits_and_is_refused_late_has_one() -> None:
    go_on = asyncio.Event()

    async def slow() -> str:
        """Takes its time."""
        await go_on.wait()
        return "done"

    audited_page = AuditedPage(
        [WHERE, Call("slow", {})], "Done.", tools=[slow], limits=ServiceLimits(stop_timeout=0.01)
    )
    async with begin(audited_page.app, chat(said("hi"))) as run:
        await run.status()
        start = await run.until("start")
        asked = await run.until("tool-input-available")
        part = {"type": "tool-where", "toolCallId": asked["toolCallId"], "state": "output-available", "input": {}}
        answer = {
            "id": start["messageId"],
            "role": "assistant",
            "parts": [{"type": "step-start"}, {**part, "output": 1}],
        }
        async with begin(audited_page.app, chat(said("hi"), answer, messageId=start["messageId"])) as late:
            assert await late.status() == 200
            closing = asyncio.create_task(audited_page.service.aclose())
            await late.until("error")
            go_on.set()
        await closing
    assert ("answer", 503, "where") in await audited_page.seen()


async def test_where_the_client_has_the_history_the_arguments_are_nobodys() -> None:
    audited_page = AuditedPage("There.", history="client")
    part = {"type": "tool-where", "toolCallId": "w", "state": "output-available", "input": {"forged": 1}, "output": 1}
    audited_page.messages = [said("hi"), {"id": "m", "role": "assistant", "parts": [{"type": "step-start"}, part]}]
    await audited_page.submit()
    assert await audited_page.seen() == [("answer", None, "where")]
    assert audited_page.records[0].arguments_sha256 is None


def test_a_service_without_an_event_loop_has_the_same() -> None:
    records: list[AuditRecord] = []
    agent = LlmAgent(name="root", model=ScriptedLlm(turns=["Well."]))
    service = SyncChatService(lambda: ChatService(agent, on_audit=records.append))
    b"".join(service.respond(parse_chat_request(chat(said("hi"))), user_id="ann"))
    service.run(lambda chats: chats.delete("c1", user_id="ann"))
    service.close()
    assert [(record.user_id, record.action, record.outcome) for record in records] == [("ann", "delete", "accepted")]


async def test_a_hook_that_fails_or_hangs_is_told_in_the_log_and_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    given: list[AuditRecord] = []
    released = threading.Event()

    def hook(record: AuditRecord) -> None:
        given.append(record)
        if len(given) == 1:
            raise ValueError("no disk")
        released.wait()

    agent = LlmAgent(name="root", model=ScriptedLlm(turns=["One."] * 3))
    service = ChatService(agent, on_audit=hook, limits=ServiceLimits(hook_timeout=1.0))
    app = create_app(service)
    async with client(app) as http:
        for _ in range(3):
            await post(app, chat(said("hi")))
            assert (await http.delete("/api/chat/c1")).status_code == 204
    assert len(given) <= 2, "the hook is called again though it hangs"
    released.set()
    await service.aclose()
    assert "`on_audit` failed." in caplog.text


async def test_what_a_hook_cannot_take_in_goes_to_the_log_alone(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("stream_protocol.serving.base._audit.MAX_WAITING", 1)
    may_go_on, begun = asyncio.Event(), asyncio.Event()
    given: list[AuditRecord] = []

    async def hook(record: AuditRecord) -> None:
        begun.set()
        await may_go_on.wait()
        given.append(record)

    service = ChatService(LlmAgent(name="root", model=ScriptedLlm(turns=["One."])), on_audit=hook)
    async with client(create_app(service)) as http:
        assert (await http.delete("/api/chat/c1")).status_code == 404
        await soon(begun)
        for _ in range(2):
            assert (await http.delete("/api/chat/c1")).status_code == 404
    may_go_on.set()
    await service.aclose()
    assert len(given) == 2
    assert "too slow" in caplog.text


async def test_the_log_has_each_record_as_the_docs_show_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "stream_protocol.audit")
    audited_page = AuditedPage(PAY, "Paid.")
    await audited_page.send("pay")
    audited_page.approve(True)
    await audited_page.submit()
    await audited_page.seen()
    shown = json.loads(block("docs/trust/auditors.md", '"arguments_sha256"'))
    (line,) = [json.loads(one.message) for one in caplog.records if one.name == "stream_protocol.audit"]
    assert line == json.loads(audited_page.records[0].to_json())
    own = {key: line[key] for key in ("time", "app", "call_id")}
    assert shown.keys() == line.keys()
    assert {**shown, **own} == line


def test_a_file_has_a_line_each_and_is_its_owners_alone(tmp_path: Path) -> None:
    path, moved = tmp_path / "audit.jsonl", tmp_path / "yesterday.jsonl"
    append = AuditFile(path)
    first, second, third = (
        AuditRecord(
            time="2026-03-02T09:30:00.125Z", user_id=who, app="bank", chat_id='a"\n', action="stop", outcome="accepted"
        )
        for who in ("ann", "bob\n", "eve")
    )
    append(first)
    append(second)
    path.rename(moved)
    append(third)
    assert moved.read_text() == f"{first.to_json()}\n{second.to_json()}\n"
    assert path.read_text() == f"{third.to_json()}\n"
    assert [file.stat().st_mode & 0o777 for file in (path, moved)] == [0o600] * 2


@pytest.mark.skipif(os.name == "nt", reason="Windows has no limit for the size of a file")
def test_a_record_after_a_full_disk_begins_on_a_line_of_its_own(tmp_path: Path) -> None:
    import resource  # noqa: PLC0415 - Windows has none

    path = tmp_path / "audit.jsonl"
    append = AuditFile(path)
    record = AuditRecord(
        time="2026-03-02T09:30:00.125Z", user_id="ann", app="bank", chat_id="c1", action="stop", outcome="accepted"
    )
    append(record)
    room = path.stat().st_size + 20
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            append(record)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    append(record)
    append(record)
    whole = record.to_json()
    assert path.read_text().splitlines() == [whole, whole[:20], whole, whole]


def test_a_record_goes_to_a_pipe_as_it_is(tmp_path: Path) -> None:
    record = AuditRecord(
        time="2026-03-02T09:30:00.125Z", user_id="ann", app="bank", chat_id="c1", action="stop", outcome="accepted"
    )
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as file:
        append = AuditFile(f"/dev/fd/{writer}")
        append(record)
        append(record)
        os.close(writer)
        assert file.read() == f"{record.to_json()}\n".encode() * 2
