"""Secrets of these shapes are removed at any place. Other values stay, and the recording can still be replayed."""

import copy
import json
from base64 import b64decode, b64encode, urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from google.adk.events import Event
from google.genai import types

from stream_protocol import iter_chunks
from stream_protocol._secret_texts import REDACTED
from stream_protocol.recording import record
from stream_protocol.recording.write._redaction import redact_chunk, redact_event, redact_request
from tests.recording.recordings import drained, source, turns

S: Final = "hunter2"
"""The text at every place of a secret."""

BASIC: Final = b64encode(f"ann:{S}".encode()).decode()
JWT: Final = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJodW50ZXIyIn0.aHVudGVyMg"
PEM: Final = f"-----BEGIN RSA PRIVATE KEY-----\n{S}\n-----END RSA PRIVATE KEY-----"
KEY: Final = "AIza" + "h" * 24 + S + "wxyz"

FULL_WIDTH: Final = "".join(chr(ord(letter) + 0xFEE0) for letter in "password")

GO: list[Any] = [
    # Names in all spellings.
    {"API-KEY": S},
    {"apiKey": S},
    {"APIKey": S},
    {"x-api-key": S},
    {"X_API_KEY": S},
    {"openai.api.key": S},
    {"OPENAI_API_KEY": S},
    {"apikey": S},
    {"xapikey": S},
    {"Ocp-Apim-Subscription-Key": S},
    {"secretAccessKey": S},
    {"aws_secret_access_key": S},
    {"private_key_id": S},
    {"signingKey": S},
    {"Set-Cookie": S},
    {"sessionCookies": [S]},
    {"JSESSIONID": S},
    {"client_secret": S},
    {"clientsecret": S},
    {"webhookSecret": S},
    {"access_token": S},
    {"accessToken2": S},
    {"csrfToken": S},
    {"bigquery_token_cache": S},
    {"refresh_tokens": [S]},
    {"tokens": {"ann": S, "count": 3}},
    {"jwt": S},
    {"Proxy-Authorization": S},
    {"bearer": S},
    {"basic_auth": S},
    {"auth": [S, S]},
    {"db_pass": S},
    {"dbPassword": S},
    {"passwd": S},
    {"PWD": S},
    {"passphrase": S},
    {"seedPhrase": S},
    {"verification_code": S},
    {"recoveryCodes": [S]},
    {"codeVerifier": S},
    {"connectionString": S},
    {"credentials": {"user": "ann", "anything": S}},
    {"otp": S},
    {"Passwort": S},
    {"contraseña": S},
    {FULL_WIDTH: S},
    {"pass\u200bword": S},
    # Values of any type.
    {"pin": {"digits": [S]}},
    {"password": [[S]]},
    {"secret": {"type": "plain", "value": S}},
    {"secret": {"type": "string", "default": S}},
    # A name beside its value.
    {"name": "Authorization", "value": S},
    {"key": "api_key", "value": {"stringValue": S}},
    {"header": "Cookie", "values": [S]},
    {"headers": [["Accept", "*/*"], ["Authorization", S]]},
    {"headers": [["x-api-key", [S]]]},
    {"rawHeaders": ["Accept", "*/*", "Cookie", S]},
    {"headers": ["Accept: */*", f"X-Api-Key: {S}"]},
    {"argv": ["login", "--password", S, "--verbose"]},
    {"argv": ["login", f"--token={S}"]},
    {"google_oauth": S},
    {"PAT": S},
    {"pass": S},
    {"csrfmiddlewaretoken": S},
    {"パスワード": S},
    {"密码": S},
    {"비밀번호": S},
    {"mot_de_passe": S},
    {"params": [{"id": "token", "value": S}]},
    {"conn": f"Server=h;Database=d;User Id=u;Password={S};"},
    {"dsn": f"host=h user=u password='{S}' dbname=d"},
    {"curl": f"curl -H 'Authorization: Bearer {S}' https://a.example"},
    {"curl": f"curl -u ann:{S} https://a.example"},
    {"command": f"mysql --password={S} -h x"},
    {"xml": f"<login><password>{S}</password></login>"},
    {"lines": f'{{"a": 1}}\n{{"password": "{S}"}}'},
    {"form": f"user=a&pass={S}"},
    {"repr": f"{{'password': '{S}'}}"},
    {"log": f"sent {JWT} to a.example"},
    {"escaped": json.dumps(f'got {{"token": "{S}"}}')},
    {"pinNumber": S},
    {"cookieJar": {"sid": S}},
    {"oneTimeCode": S},
    # JSON in texts.
    json.dumps({"password": S}),
    {"text": json.dumps({"a": [{"client_secret": S}]})},
    {"body": json.dumps(json.dumps({"token": S}))},
    "  " + json.dumps([["Cookie", S]]),
    # Credentials in URLs.
    f"postgresql+asyncpg://ann:{S}@host/db",
    f"redis://:{S}@host:6379/0",
    {"url": f"https://ann:{S}@example.com/x?y=1"},
    {"url": f"https://example.com/?access_token={S}&page=2"},
    {"url": f"https://example.com/#id_token={S}"},
    {"url": f"https://b.s3.example.com/k?X-Amz-Credential={S}&X-Amz-Date=1&X-Amz-Signature={S}"},
    {"url": f"https://acc.blob.example.net/c?sv=2024&sig={S}"},
    {"url": f"https://storage.example.com/o?X-Goog-Signature={S}"},
    {"url": f"https://maps.example.com/?key={KEY}"},
    {"location": f"https://app.example.com/back?code={S}&state=x"},
    {"log": f"GET https://example.com/?api_key={S} failed"},
    {"jdbc": f"jdbc:postgresql://h/db?user=ann&password={S}"},
    # Texts with the form of a credential.
    {"h": f"Bearer {S}"},
    {"h": f"Basic {BASIC}"},
    {"h": f"Token {S}abcdef"},
    {"x": JWT},
    {"x": PEM},
    {"x": f"key:\n{PEM}\nend"},
    {"x": KEY},
    {"x": f"sk-proj-{'a' * 16}{S}"},
    {"x": f"ghp_{'a' * 20}{S}"},
    {"x": f"grant_type=x&client_secret={S}"},
    {"x": f"db:\n  host: h\n  password: {S}\n"},
    {"x": f"HOST=h\nexport API_KEY={S}\n"},
    {"x": f"Accept: */*\r\nAuthorization: Digest {S}\r\n"},
    {"stripeKey": S},
    {"app_key": S},
    {"id_token_hint": S},
    {"securityAnswer": S},
    {"connect.sid": S},
    {"webhook": f"https://hooks.slack.com/services/T00000000/B00000000/{S}"},
    {"x": f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n{S}\n-----END PGP PRIVATE KEY BLOCK-----"},
    {"x": f"GOCSPX-{'a' * 16}{S}"},
    {"x": f"xapp-1-{'a' * 16}{S}"},
    {"x": f"hvs.{'a' * 16}{S}"},
    {"x": f"dop_v1_{'a' * 16}{S}"},
]

STAY: list[Any] = [
    {"tokens_used": 3, "max_tokens": 4096, "promptTokenCount": 5, "tokens": 7, "totalTokens": 8},
    {"promptTokensDetails": [{"modality": "TEXT", "tokenCount": 5}]},
    {"inputTokenDetails": {"cacheReadTokens": 0}},
    {"tokens": {"input": 5, "output": 7}},
    {"token_type": "Bearer", "tokenUrl": "https://a.example/token", "token_endpoint": "https://a.example/t"},
    {"tokenizer": "bpe", "tokenized": "a b"},
    {"author": "Ann", "authors": ["Ann"], "authority": "x", "authored_by": "Ann"},
    {"authType": "none", "authentication": "optional", "authorized": "yes"},
    {"pinned": "yes", "pins": [1], "pinning": "x", "spin": 3, "opinion": "fine"},
    {"keyboard": "de", "key": "value", "keys": ["a"], "primaryKey": "id", "public_key": "ssh-ed25519 AAAA"},
    {"monkey": "ape", "hotkey": "ctrl-c", "keyword": "x", "sortKey": "name"},
    {"secretary": "Ann", "secretariat": "UN"},
    {"passage": "of time", "passenger": "Ann", "compass": "north", "passed": 3, "bypass": "no", "pass": 5},
    {"cookiecutter": "template", "cookie_consent": "yes", "cookiePolicy": "https://a.example/cookies"},
    {"password": None, "has_password": True, "api_key": "", "secret": [], "credentials": {}},
    {"password": {"type": "string", "minLength": 8}, "token": {"$ref": "#/$defs/Token"}},
    {"password_length": 12, "passwordPolicy": "8 letters", "secret_name": "db", "client_secret_expires_at": 0},
    {"zip_code": "10115", "status_code": 200, "error_code": "E1", "country_code": "DE", "code": "print(1)"},
    {"timecode": "00:01:02", "time_code": "00:01:02", "function_key": "F5", "storageKey": "theme"},
    {"rawHeaders": ["Accept", "*/*", "X-Author", "Ann"], "headers": ["Accept: */*"]},
    {"argv": ["login", "--keyboard", "de", "password"]},
    {"x": "Password: it must have eight letters.\nToken: a piece of text"},
    {"session": "morning", "sessionId": "s-1", "session_title": "Hello"},
    {"signature": "def f()", "thoughtSignature": "CpYB", "design": "x"},
    {"nextPageToken": "p2", "page_token": "p1", "syncToken": "s", "continuation_token": "c", "cancellationToken": "x"},
    {"tokenAddress": "0x1", "token_symbol": "ETH", "accountKeyFigures": "many", "storage_key": "theme"},
    b64encode(b'{"city": "Oslo"}').decode(),
    {"state": "Texas", "nonce": "n", "hash": "abc", "salt": "sea"},
    {"required": ["password", "email"], "fields": ["token", "name"]},
    {"name": "password", "type": "field"},
    {"name": "get_token", "args": {"city": "Oslo"}},
    {"name": "Oslo", "value": 3},
    {"headers": [["Accept", "*/*"], ["Content-Type", "text/plain"]]},
    "https://example.com/a?page=2&q=token#top",
    "https://example.com/product?code=DE&key=short",
    "ssh://git@host/repo and postgresql://user@host/db",
    "data:text/plain;base64,cGFzc3dvcmQ9aHVudGVyMg==",
    {"text": "Bearer bonds and basic rights: the token of love"},
    {"text": "Basic plan", "scheme": "Bearer"},
    {"text": "[not JSON", "list": '["a", "b"]', "object": '{"tokens": 3}'},
    {"x": "eyJ is how a JSON Web Token begins", "y": "sk-short"},
    {"x": "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----"},
    {"x": "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----"},
    {"x": "a = b\nwidth=3&height=4", "command": "run --max-tokens=100 --author=Ann", "xml": "<author>Ann</author>"},
    {"k" * 300 + "password": "a name of this length is a text"},
]

NUMBER: Final = 471_108_154_711
NUMBERS: list[dict[str, Any]] = [
    {"pin": NUMBER},
    {"otp": NUMBER},
    {"user": {"password": NUMBER}},
    {"api_key": [NUMBER]},
]


def redacted(value: Any) -> Any:
    return redact_chunk({"type": "tool-output-available", "toolCallId": "A", "output": copy.deepcopy(value)})["output"]


def has_secret(value: Any) -> bool:
    text = json.dumps(value, ensure_ascii=False)
    return any(secret in text for secret in (S, BASIC, JWT.partition(".")[0]))


def test_the_table_is_long_enough() -> None:
    assert len(GO) + len(NUMBERS) >= 60
    assert len(STAY) >= 30


@pytest.mark.parametrize("shape", GO, ids=lambda shape: json.dumps(shape)[:60])
def test_this_shape_of_a_secret_goes(shape: Any) -> None:
    assert not has_secret(redacted(shape))
    assert not has_secret(redacted({"deep": [{"x": shape}]}))


@pytest.mark.parametrize("shape", NUMBERS, ids=str)
def test_a_number_that_is_a_secret_goes(shape: dict[str, Any]) -> None:
    assert str(NUMBER) not in json.dumps(redacted(shape))


@pytest.mark.parametrize("shape", STAY, ids=lambda shape: json.dumps(shape)[:60])
def test_this_shape_of_no_secret_stays(shape: Any) -> None:
    assert redacted(shape) == shape


def test_what_stands_around_a_secret_stays() -> None:
    assert redacted({"url": f"https://ann:{S}@a.example/x?y=1"}) == {"url": f"https://ann:{REDACTED}@a.example/x?y=1"}
    assert redacted({"x": f"page=2&token={S}"}) == {"x": f"page=2&token={REDACTED}"}
    assert redacted(json.dumps({"token": S, "n": 1})) == f'{{"token":"{REDACTED}","n":1}}'
    assert redacted({"headers": [["Accept", "*/*"], ["Cookie", S]]}) == {
        "headers": [["Accept", "*/*"], ["Cookie", REDACTED]]
    }


@pytest.mark.parametrize("encoded", [b64encode, urlsafe_b64encode], ids=["plain", "url-safe"])
@pytest.mark.parametrize("indent", [None, 2])
def test_json_in_base64_is_cleaned_like_json(encoded: Callable[[bytes], bytes], indent: int | None) -> None:
    text = encoded(json.dumps({"city": "Zürich?>", "password": S}, indent=indent, ensure_ascii=False).encode()).decode()
    for form in (text, text.rstrip("=")):
        assert json.loads(b64decode(redacted({"x": form})["x"])) == {"city": "Zürich?>", "password": REDACTED}


def event(*parts: types.Part, author: str = "root") -> Event:
    return Event(invocation_id="e-1", author=author, content=types.Content(role="model", parts=list(parts)))


async def test_a_recording_without_its_secrets_replays_to_the_recorded_chunks(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    events = []
    for number, shape in enumerate([*GO, *STAY, *NUMBERS]):
        call_id = f"c{number}"
        events += [
            event(types.Part(function_call=types.FunctionCall(id=call_id, name="f", args={"x": shape}))),
            event(
                types.Part(
                    function_response=types.FunctionResponse(
                        id=call_id, name="f", response=shape if isinstance(shape, dict) else {"result": shape}
                    )
                )
            ),
        ]
    events.append(event(types.Part(text="The password is none of ours to search for.")))
    await drained(record(source(events), path, request={"id": "c1", "messages": [], "x": GO}))
    (turn,) = turns(path)
    assert not has_secret(path.read_text())
    assert str(NUMBER) not in path.read_text()
    assert list(iter_chunks(turn.events, message_id=turn.message_id)) == turn.chunks


def test_what_people_and_models_say_stays_as_it_was_said() -> None:
    said = json.dumps({"password": "it is hunter2"})
    message = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": said}]}
    assert redact_request({"id": "c1", "messages": [message]})["messages"] == [message]
    spoken = {"content": {"parts": [{"text": said}]}, "inputTranscription": {"text": said}}
    assert redact_event(copy.deepcopy(spoken)) == spoken
    delta = {"type": "text-delta", "id": "0", "delta": said}
    assert redact_chunk(delta) == delta


@pytest.mark.parametrize(
    "piece", ["\\", '"', "#a=", "a ", "x-", "<a ", "eyJa.", "://", "cookie:", "-----BEGIN ", "Bearer "]
)
@pytest.mark.parametrize("beginning", ["", "a=", "a://", "sk_"])
def test_no_text_is_searched_for_long(piece: str, beginning: str) -> None:
    text = beginning + piece * (50_000 // len(piece)) + "!"
    assert redacted({"x": text}).keys() == {"x"}  # a backtracking search would take minutes


def test_typed_fields_of_an_event_keep_their_types() -> None:
    typed = {
        "actions": {"artifactDelta": {"password.txt": 3}},
        "usageMetadata": {"promptTokenCount": 3, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 3}]},
        "logprobsResult": {"chosenCandidates": [{"token": "Hi", "tokenId": 3}]},
    }
    assert redact_event(copy.deepcopy(typed)) == typed
