"""Secrets are never written to the disk. The other content is still a valid event, and gives the recorded chunks."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from google.adk.auth.auth_credential import AuthCredential, AuthCredentialTypes, HttpAuth, HttpCredentials, OAuth2Auth
from google.adk.auth.auth_tool import AuthConfig
from google.adk.events import Event, EventActions
from google.genai import types

from stream_protocol import iter_chunks
from stream_protocol._secret_texts import REDACTED
from stream_protocol.recording import record
from stream_protocol.recording.write._recording_lines import event_json
from stream_protocol.recording.write._redaction import redact_chunk, redact_event, redact_request
from stream_protocol.session import STATE_PREFIX
from tests.recording.recordings import drained, said, source, turns

SECRET = "hunter2"
"""The text at every place of a secret. It must not be in any file."""

SCHEME = {
    "type": "oauth2",
    "flows": {
        "authorizationCode": {
            "authorizationUrl": "https://a.example/auth",
            "tokenUrl": "https://a.example/token",
            "scopes": {"mail.read": "Read mail"},
        }
    },
}
OAUTH2 = OAuth2Auth(
    client_id="client",
    client_secret=SECRET,
    auth_uri=f"https://a.example/auth?client_id=client&state={SECRET}",
    state=SECRET,
    nonce=SECRET,
    auth_response_uri=f"https://us.example/back?code={SECRET}",
    auth_code=SECRET,
    access_token=SECRET,
    refresh_token=SECRET,
    id_token=SECRET,
    code_verifier=SECRET,
)
CREDENTIALS = {
    "oauth2": AuthCredential(auth_type=AuthCredentialTypes.OAUTH2, oauth2=OAUTH2),
    "api key": AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key=SECRET),
    "http": AuthCredential(
        auth_type=AuthCredentialTypes.HTTP,
        http=HttpAuth(
            scheme="basic",
            credentials=HttpCredentials(username=SECRET, password=SECRET, token=SECRET),
            additional_headers={"X-Key": SECRET},
        ),
    ),
    "one with more": AuthCredential.model_validate({"authType": "oauth2", "oauth2": {"x": SECRET}, "y": SECRET}),
}


def config(credential: AuthCredential) -> AuthConfig:
    return AuthConfig.model_validate(
        {
            "authScheme": {**SCHEME, "x-mine": SECRET},
            "rawAuthCredential": credential,
            "exchangedAuthCredential": credential,
            "credentialKey": SECRET,
        }
    )


def part(**fields: Any) -> types.Part:
    return types.Part(**fields)


def event(*parts: types.Part, author: str = "root", **fields: Any) -> Event:
    content = types.Content(role="user" if author == "user" else "model", parts=list(parts)) if parts else None
    return Event(invocation_id="e-1", author=author, content=content, **fields)


def call(name: str, args: Any, call_id: str = "A") -> types.Part:
    return part(function_call=types.FunctionCall(id=call_id, name=name, args=args))


def response(name: str, value: Any, call_id: str = "A") -> types.Part:
    return part(function_response=types.FunctionResponse(id=call_id, name=name, response=value))


def sign_in(credential: AuthCredential, *, by_alias: bool) -> list[Event]:
    """Return a call that needs a credential, the request for it, the user's answer, and the call's result."""
    plain = config(credential).model_dump(mode="json", by_alias=by_alias, exclude_none=True)
    names = ("functionCallId", "authConfig") if by_alias else ("function_call_id", "auth_config")
    asked = dict(zip(names, ("A", plain), strict=True))
    return [
        event(call("mail", {})),
        event(call("adk_request_credential", asked, "B"), long_running_tool_ids={"B"}),
        event(
            response("mail", {"pending": True}),
            actions=EventActions(requested_auth_configs={"A": config(credential)}),
        ),
        event(response("adk_request_credential", plain, "B"), author="user"),
        event(response("mail", {"mails": 3})),
    ]


@pytest.mark.parametrize("by_alias", [True, False])
@pytest.mark.parametrize("kind", CREDENTIALS)
async def test_no_part_of_a_credential_is_written_and_the_events_give_the_same_chunks(
    kind: str, by_alias: bool, tmp_path: Path
) -> None:
    path = tmp_path / "chat.jsonl"
    await drained(record(source(sign_in(CREDENTIALS[kind], by_alias=by_alias)), path))
    (turn,) = turns(path)
    assert SECRET not in path.read_text()
    assert list(iter_chunks(turn.events, message_id=turn.message_id)) == turn.chunks
    request = next(chunk for chunk in turn.chunks if chunk.get("input", {}).get("functionCallId"))
    assert request["input"]["scopes"] == ["mail.read"]
    assert turn.events[2].actions.requested_auth_configs.keys() == {"A"}


async def test_of_the_place_to_sign_in_the_query_is_taken(tmp_path: Path) -> None:
    await drained(record(source(sign_in(CREDENTIALS["oauth2"], by_alias=True)), tmp_path / "chat.jsonl"))
    (turn,) = turns(tmp_path / "chat.jsonl")
    (shown,) = [chunk["input"] for chunk in turn.chunks if "authUri" in chunk.get("input", {})]
    assert (shown["authUri"], shown["state"]) == (f"https://a.example/auth?{REDACTED}", REDACTED)


GOOGLE = json.dumps({"token": SECRET, "refresh_token": SECRET, "client_secret": SECRET, "scopes": []})
STATE: dict[str, Any] = {
    "temp:key": SECRET,
    f"{STATE_PREFIX}title": SECRET,
    "bigquery_token_cache": GOOGLE,
    "google": GOOGLE,
    "user:apiKey": SECRET,
    "app:passwords": {"db": SECRET},
    "adk_oauth2_1234": CREDENTIALS["oauth2"],
    "saved": {"deep": [CREDENTIALS["http"].model_dump(exclude_none=True)]},
    "access-token": SECRET,
    "session_cookie": [SECRET],
    "count_tokens": 17,
    "note": "kept",
    "list": '["kept"]',
    "brace": "{kept",
}


async def test_of_the_state_only_what_is_no_secret_is_written_also_where_it_is_sent(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    told = event(part(text="Done."), actions=EventActions(state_delta=STATE, agent_state={"token": SECRET, "step": 2}))
    await drained(record(source([told]), path, send_state=True))
    (turn,) = turns(path)
    assert SECRET not in path.read_text()
    kept = turn.events[0].actions.state_delta
    assert "temp:key" not in kept
    assert not any(key.startswith(STATE_PREFIX) for key in kept)
    assert {key: kept[key] for key in ("count_tokens", "note", "list", "brace")} == {
        "count_tokens": 17,
        "note": "kept",
        "list": '["kept"]',
        "brace": "{kept",
    }
    assert turn.events[0].actions.agent_state == {"token": REDACTED, "step": 2}
    assert list(iter_chunks(turn.events, message_id="e-1", send_state=True)) == turn.chunks


NAMED = [
    "accessToken",
    "access_token",
    "refresh-token",
    "clientSecret",
    "private_key",
    "api_key",
    "password",
    "X-Api-Key",
    "Authorization",
]


@pytest.mark.parametrize("name", NAMED)
async def test_a_text_under_the_name_of_a_secret_is_taken_from_arguments_and_results_alike(
    name: str, tmp_path: Path
) -> None:
    path = tmp_path / "chat.jsonl"
    events = [event(call("f", {name: SECRET, "x": [{name: SECRET}]})), event(response("f", {name: SECRET, "n": 1}))]
    await drained(record(source(events), path))
    (turn,) = turns(path)
    assert SECRET not in path.read_text()
    assert [chunk["output"] for chunk in turn.chunks if "output" in chunk] == [{name: REDACTED, "n": 1}]
    assert list(iter_chunks(turn.events, message_id="e-1")) == turn.chunks


@pytest.mark.parametrize(
    "value",
    [
        {"tokens": 3, "usage": {"totalTokens": 4}},
        {"password": {"type": "string"}},
        {"authors": ["a"], "state": "Texas", "authType": "none"},
        {"author": "x", "http": {"status": 200}},
        {"password": None, "apiKey": True, "secret": ""},
    ],
)
def test_what_is_no_secret_stays(value: dict[str, Any]) -> None:
    chunk = {"type": "tool-output-available", "toolCallId": "A", "output": value}
    assert redact_chunk(copy.deepcopy(chunk)) == chunk


def test_our_own_metadata_is_left_out_and_the_apps_stays() -> None:
    metadata = {"adk_ui_stream": {"message_id": "u1"}, "mine": 1}
    assert redact_event(event_json(said("hi", custom_metadata=metadata)))["customMetadata"] == {"mine": 1}
    assert "customMetadata" not in redact_event(event_json(said("hi")))


def test_a_request_loses_what_an_app_put_beside_the_messages_and_what_signs_in() -> None:
    answered = {
        "type": "tool-adk_request_credential",
        "toolCallId": "B",
        "state": "output-available",
        "input": {"authUri": f"https://a.example/auth?state={SECRET}", "state": SECRET, "scopes": ["x"]},
        "output": {"authResponseUri": f"https://us.example/?code={SECRET}", "anything": SECRET},
    }
    dynamic = {**answered, "type": "dynamic-tool", "toolName": "adk_request_credential"}
    messages = [
        {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "my token is nice"}]},
        {"id": "m1", "role": "assistant", "parts": [answered, dynamic]},
    ]
    body = {"id": "c1", "messages": messages, "trigger": "submit-message", "sessionToken": SECRET, "model": "best"}
    before = copy.deepcopy(body)
    request = redact_request(body)
    assert SECRET not in json.dumps(request)
    assert body == before
    assert request["messages"][0] == messages[0]
    assert request["messages"][1]["parts"][0]["output"] == {"provided": True}
    assert (request["id"], request["model"], request["sessionToken"]) == ("c1", "best", REDACTED)


async def test_an_apps_own_redaction_has_the_last_word_on_every_kind(tmp_path: Path) -> None:
    def redact(kind: str, value: dict[str, Any]) -> dict[str, Any] | None:
        if kind == "chunk":
            return None
        cleaned: dict[str, Any] = json.loads(json.dumps(value).replace("Ada", "N."))
        return {**cleaned, "author": "root"} if kind == "event" else cleaned

    path = tmp_path / "chat.jsonl"
    parts = [{"type": "text", "text": "I am Ada"}]
    request = {"id": "c1", "messages": [{"id": "u1", "role": "user", "parts": parts}]}
    await drained(record(source([said("Hello Ada.")]), path, request=request, redact=redact))
    (turn,) = turns(path)
    assert "Ada" not in path.read_text()
    assert turn.chunks == []
    assert parts == [{"type": "text", "text": "I am Ada"}]
    assert turn.request is not None


@pytest.mark.parametrize("failing", ["request", "event", "chunk"])
async def test_what_a_redaction_fails_on_is_not_written_nor_anything_after_it(
    failing: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def redact(kind: str, value: dict[str, Any]) -> dict[str, Any]:
        if kind == failing and SECRET in json.dumps(value):
            raise KeyError(SECRET[:3])
        return value

    path = tmp_path / "chat.jsonl"
    events = [said("Before.", partial=True), said(SECRET, partial=True), said("Behind.", partial=True)]
    request = {"id": SECRET, "messages": []}
    assert (
        await drained(record(source(events), path, request=request if failing == "request" else None, redact=redact))
        == events
    )
    written = path.read_text() if path.exists() else ""
    assert SECRET not in written or failing == "chunk"
    assert "Behind." not in written
    assert ("Before." in written) is (failing != "request")
    assert len(caplog.records) == 1


async def test_what_a_redaction_returns_that_is_no_json_is_not_written(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "chat.jsonl"
    await drained(record(source([said("Hi")]), path, redact=lambda _kind, _value: {"x": object()}))
    assert [turn.events for turn in turns(path)] == [[]]
    assert len(caplog.records) == 1
