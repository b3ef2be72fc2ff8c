"""Credentials of the page's user: the tool gets them, and the browser never gets secrets."""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import pytest
from google.adk.agents import LlmAgent
from google.adk.auth.auth_credential import AuthCredential, AuthCredentialTypes, OAuth2Auth
from google.adk.auth.auth_schemes import AuthScheme
from google.adk.auth.auth_tool import AuthConfig
from google.adk.tools.authenticated_function_tool import AuthenticatedFunctionTool
from pydantic import TypeAdapter
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stream_protocol.serving import ChatService, create_app
from stream_protocol.testing import Call, ScriptedLlm
from tests.comparable_messages import comparable
from tests.served import POLL_SECONDS
from tests.serving.chat_client import Page
from tests.serving.support import chat, client, post, said
from tests.tools import OLD_ADK

pytestmark = pytest.mark.filterwarnings("ignore:.EXPERIMENTAL.:UserWarning")  # ADK about its own classes

CLIENT_SECRET: Final = "client-hunter2"
CODE: Final = "code-hunter2"
ACCESS_TOKEN: Final = "access-hunter2"
REFRESH_TOKEN: Final = "refresh-hunter2"
REQUEST: Final = "adk_request_credential"
CALLBACK: Final = "https://app.example/callback"
TOKENS: Final = {
    "access_token": ACCESS_TOKEN,
    "refresh_token": REFRESH_TOKEN,
    "token_type": "Bearer",
    "expires_in": 3600,
}


@dataclass(slots=True)
class Provider:
    """An authorization server's token endpoint: it takes one code, once."""

    asked: list[dict[str, list[str]]] = field(default_factory=list)
    url: str = ""

    def exchange(self, form: dict[str, list[str]]) -> tuple[int, dict[str, Any]]:
        again = any(earlier["code"] == form["code"] for earlier in self.asked)
        self.asked.append(form)
        if form["code"] != [CODE] or again:
            return 400, {"error": "invalid_grant"}
        return 200, TOKENS


@pytest.fixture
def provider() -> Iterator[Provider]:
    """The endpoint on a free port of loopback."""
    provider = Provider()

    class Endpoint(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            form = parse_qs(self.rfile.read(int(self.headers["content-length"])).decode())
            status, answer = provider.exchange({**form, "authorization": [self.headers["authorization"] or ""]})
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        def log_message(self, *_message: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Endpoint) as server:
        provider.url = f"http://127.0.0.1:{server.server_address[1]}/token"
        threading.Thread(target=server.serve_forever, args=(POLL_SECONDS,)).start()
        yield provider
        server.shutdown()


def scheme(**fields: Any) -> AuthScheme:
    parsed: AuthScheme = TypeAdapter(AuthScheme).validate_python(fields)
    return parsed


def oauth2(provider: Provider, client_secret: str | None = CLIENT_SECRET) -> AuthConfig:
    flow = {"authorizationUrl": "https://provider.example/auth", "tokenUrl": provider.url, "scopes": {"read": ""}}
    oauth = OAuth2Auth(client_id="app", client_secret=client_secret, redirect_uri=CALLBACK)
    return AuthConfig(
        auth_scheme=scheme(type="oauth2", flows={"authorizationCode": flow}),
        raw_auth_credential=AuthCredential(auth_type=AuthCredentialTypes.OAUTH2, oauth2=oauth),
        credential_key="k",
    )


class Overheard:
    """An app, and every byte that it has answered."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.answered = b""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def tell(message: Message) -> None:
            self.answered += message.get("body", b"")
            await send(message)

        await self._app(scope, receive, tell)


class Calendar:
    """An app with one of ADK's authenticated tools, and the page of its user Ann."""

    def __init__(self, config: AuthConfig, *turns: Any) -> None:
        self.given: list[AuthCredential] = []
        self.model = ScriptedLlm(turns=[Call("calendar"), *turns])
        tool = AuthenticatedFunctionTool(func=self.calendar, auth_config=config)
        service = ChatService(LlmAgent(name="root", model=self.model, tools=[tool]), send_state=True)
        self.app = Overheard(create_app(service, identify=lambda request: request.headers.get("x-user", "ann")))
        self.page = Page(self.app)

    async def calendar(self, credential: AuthCredential) -> dict[str, int]:
        """Reads a calendar."""
        self.given.append(credential)
        return {"entries": 3}

    def asked(self) -> dict[str, Any]:
        """The content of the open credential request."""
        part = next(part for part in self.page.parts("input-available") if part["type"] == f"tool-{REQUEST}")
        asked: dict[str, Any] = part["input"]
        return asked

    async def sign_in(self, code: str = CODE) -> None:
        """The page's answer when the provider has sent its user back."""
        self.page.answer(REQUEST, {"authResponseUri": f"{CALLBACK}?code={code}&state={self.asked()['state']}"})
        await self.page.submit()

    async def assert_kept(self, *secrets: str) -> None:
        """No response of the server and no request to the model has ever had one of these."""
        assert comparable(await self.page.stored()) == comparable(self.page.messages)
        async with client(self.app) as http:
            await http.get("/api/chats")
        told = self.app.answered.decode() + "".join(request.model_dump_json() for request in self.model.requests)
        assert [secret for secret in secrets if secret in told] == []


PUBLIC = pytest.param(
    None,
    id="public client",
    marks=pytest.mark.skipif(OLD_ADK, reason="ADK 2.11 has no PKCE for clients without a secret"),
)


@pytest.mark.parametrize("client_secret", [pytest.param(CLIENT_SECRET, id="confidential client"), PUBLIC])
async def test_a_signed_in_user_s_tool_gets_the_token_and_the_browser_nothing(
    provider: Provider, client_secret: str | None
) -> None:
    app = Calendar(oauth2(provider, client_secret), "Three.")
    await app.page.send("calendar?")
    query = parse_qs(urlsplit(app.asked()["authUri"]).query)
    assert (query["client_id"], query["redirect_uri"]) == (["app"], [CALLBACK])
    assert query["state"] == [app.asked()["state"]]
    await app.sign_in()
    (credential,) = app.given
    assert credential.oauth2 is not None
    assert (credential.oauth2.access_token, credential.oauth2.refresh_token) == (ACCESS_TOKEN, REFRESH_TOKEN)
    (asked,) = provider.asked
    assert (asked["code"], asked["redirect_uri"]) == ([CODE], [CALLBACK])
    assert ("code_verifier" in asked) is (client_secret is None)
    assert app.page.messages[-1]["parts"][-1]["text"] == "Three."
    secrets = [CLIENT_SECRET, CODE, ACCESS_TOKEN, REFRESH_TOKEN, *asked.get("code_verifier", ())]
    await app.assert_kept(*secrets)


async def test_a_sign_in_that_comes_twice_is_exchanged_once(provider: Provider) -> None:
    app = Calendar(oauth2(provider), "Three.")
    await app.page.send("calendar?")
    app.page.answer(REQUEST, {"authResponseUri": f"{CALLBACK}?code={CODE}&state={app.asked()['state']}"})
    body = app.page.body()
    await app.page.submit()
    again = await post(app.app, body)
    assert again.status_code == 200
    assert (len(provider.asked), len(app.given)) == (1, 1)
    await app.assert_kept(CODE, ACCESS_TOKEN)


@pytest.mark.skipif(OLD_ADK, reason="ADK 2.11 goes on with a credential that the provider refused")
async def test_a_sign_in_that_the_provider_refuses_ends_its_call_and_the_next_one_asks_again(
    provider: Provider,
) -> None:
    app = Calendar(oauth2(provider), "Sign in again.", Call("calendar"), "Three.")
    await app.page.send("calendar?")
    await app.sign_in(code="stale")
    assert app.given == []
    (call, _) = app.page.parts("output-available")
    assert call["output"] == {"result": "Pending User Authorization."}
    assert app.page.messages[-1]["parts"][-1]["text"] == "Sign in again."
    await app.page.send("again")
    await app.sign_in()
    assert len(app.given) == 1
    assert app.page.messages[-1]["parts"][-1]["text"] == "Three."
    await app.assert_kept(CLIENT_SECRET, CODE, ACCESS_TOKEN)


FOREIGN: list[str] = [
    f"{CALLBACK}?code={CODE}&state=of-another-sign-in",
    f"{CALLBACK}?code={CODE}",
    f"{CALLBACK}?code={CODE}&state=of-another-sign-in&state={{state}}",
    f"{CALLBACK}?code={CODE}#state={{state}}",
    "https://[",
]


@pytest.mark.parametrize("uri", FOREIGN)
async def test_a_sign_in_that_was_begun_elsewhere_is_refused_before_its_code_is_spent(
    provider: Provider, uri: str
) -> None:
    app = Calendar(oauth2(provider), "Three.")
    await app.page.send("calendar?")
    before = await app.page.stored()
    app.page.answer(REQUEST, {"authResponseUri": uri.format(state=app.asked()["state"])})
    refusal = await post(app.app, app.page.body())
    assert (refusal.status_code, refusal.text) == (422, "The sign-in does not belong to this request.")
    assert (provider.asked, app.given) == ([], [])
    app.page.messages = before
    await app.sign_in()
    assert len(app.given) == 1
    await app.assert_kept(CODE, ACCESS_TOKEN)


OTHER_WAYS: list[dict[str, str]] = [
    {"authCode": CODE},
    {"authCode": CODE, "redirectUri": CALLBACK},
    {"authCode": CODE, "redirectUri": "https://mallory.example/"},
    {"authCode": CODE, "state": "of-another-sign-in"},
    {"authCode": CODE, "state": "{state}", "redirectUri": "https://mallory.example/"},
    {"authResponseUri": f"{CALLBACK}?code={CODE}&state={{state}}", "redirectUri": "https://mallory.example/"},
    {"authResponseUri": f"{CALLBACK}?code={CODE}&state={{state}}", "state": "of-another-sign-in"},
    {"authResponseUri": f"{CALLBACK}?code={CODE}", "state": "{state}"},
    {"accessToken": ACCESS_TOKEN},
    {"accessToken": ACCESS_TOKEN, "state": "of-another-sign-in"},
]
UNCLEAR: list[dict[str, str]] = [
    {"redirectUri": CALLBACK, "state": "{state}"},
    {"authResponseUri": f"{CALLBACK}?code={CODE}&state={{state}}", "authCode": "of-another-sign-in"},
    {"authResponseUri": f"{CALLBACK}?code={CODE}&state={{state}}", "accessToken": "of-another-sign-in"},
    {"authCode": CODE, "accessToken": ACCESS_TOKEN, "state": "{state}"},
]


async def test_no_way_to_end_a_sign_in_goes_around_its_state_or_its_redirect(provider: Provider) -> None:
    app = Calendar(oauth2(provider), "Three.")
    await app.page.send("calendar?")
    state = app.asked()["state"]
    told: list[tuple[int, str]] = []
    for output in [*OTHER_WAYS, *UNCLEAR]:
        app.page.messages = await app.page.stored()
        app.page.answer(REQUEST, {key: text.format(state=state) for key, text in output.items()})
        refusal = await post(app.app, app.page.body())
        told.append((refusal.status_code, refusal.text))
    assert told == [
        *[(422, "The sign-in does not belong to this request.")] * len(OTHER_WAYS),
        *[(422, "A sign-in ends with one of authResponseUri, authCode, accessToken.")] * len(UNCLEAR),
    ]
    app.page.messages = await app.page.stored()
    app.page.answer(REQUEST, {"authCode": "x" * 2**17, "state": state})
    assert (await post(app.app, app.page.body())).status_code == 422
    assert (provider.asked, app.given) == ([], [])


async def test_a_code_that_comes_with_its_state_is_exchanged_for_the_stored_redirect(provider: Provider) -> None:
    app = Calendar(oauth2(provider), "Three.")
    await app.page.send("calendar?")
    app.page.answer(REQUEST, {"authCode": CODE, "state": app.asked()["state"], "redirectUri": CALLBACK})
    await app.page.submit()
    assert len(app.given) == 1
    assert [asked["redirect_uri"] for asked in provider.asked] == [[CALLBACK]]
    await app.assert_kept(CODE, ACCESS_TOKEN)


async def test_nobody_signs_in_for_another_user(provider: Provider) -> None:
    """Neither in the other's chat nor with the ids of its request in a chat of his own, where one waits, too."""
    app = Calendar(oauth2(provider), Call("calendar"))
    await app.page.send("calendar?")
    app.page.answer(REQUEST, {"authResponseUri": f"{CALLBACK}?code={CODE}&state={app.asked()['state']}"})
    async with client(app.app) as http:
        mallory = {"x-user": "mallory"}
        refused = [await http.post("/api/chat", json=app.page.body(), headers=mallory)]
        await http.post("/api/chat", json=chat(said("calendar?")), headers=mallory)
        refused.append(await http.post("/api/chat", json=app.page.body(), headers=mallory))
    assert [response.status_code for response in refused] == [409, 409]
    assert (provider.asked, app.given) == ([], [])


GIVEN: list[tuple[dict[str, Any], dict[str, str], dict[str, Any]]] = [
    (
        {"type": "http", "scheme": "bearer"},
        {"token": "hunter2"},
        {"http": {"scheme": "bearer", "credentials": {"token": "hunter2"}}},
    ),
    (
        {"type": "http", "scheme": "basic"},
        {"username": "ann", "password": "hunter2"},
        {"http": {"scheme": "basic", "credentials": {"username": "ann", "password": "hunter2"}}},
    ),
    ({"type": "apiKey", "in": "header", "name": "x-key"}, {"apiKey": "hunter2"}, {"apiKey": "hunter2"}),
]


@pytest.mark.parametrize(("fields", "output", "given"), GIVEN, ids=["bearer", "basic", "API key"])
async def test_what_the_user_types_reaches_the_tool_and_never_comes_back(
    fields: dict[str, Any], output: dict[str, str], given: dict[str, Any]
) -> None:
    app = Calendar(AuthConfig(auth_scheme=scheme(**fields), credential_key="k"), "Three.")
    await app.page.send("calendar?")
    assert app.asked()["schemeType"] == fields["type"]
    app.page.answer(REQUEST, output)
    await app.page.submit()
    (credential,) = app.given
    assert credential.model_dump(exclude_none=True, by_alias=True, mode="json") == {
        "authType": fields["type"],
        **given,
    }
    assert app.page.messages[-1]["parts"][-1]["text"] == "Three."
    app.page.messages = await app.page.stored()  # the page that has typed it forgets it with a reload
    await app.assert_kept("hunter2")
