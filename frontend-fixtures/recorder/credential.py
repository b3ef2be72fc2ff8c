"""Tool that needs a credential, and the user's sign-in. Works with old ADK versions."""

import copy
from collections.abc import Sequence

from fastapi.openapi.models import OAuth2, OAuthFlowAuthorizationCode, OAuthFlows
from google.adk.auth.auth_credential import AuthCredential, AuthCredentialTypes, OAuth2Auth
from google.adk.auth.auth_tool import AuthConfig
from google.adk.events.event import Event
from google.adk.tools.tool_context import ToolContext

from recorder.user import Sent, last_call, reply

SECRET = "hunter2-client-secret"
"""Client secret in recorded events. The converter must not write it."""

TOKEN = "hunter2-access-token"
"""Access token in recorded events. The converter must not write it."""


def _auth_config() -> AuthConfig:
    flow = OAuthFlowAuthorizationCode(
        authorizationUrl="https://accounts.example/auth",
        tokenUrl="https://accounts.example/token",
        scopes={"calendar.read": "read the calendar"},
    )
    credential = AuthCredential(
        auth_type=AuthCredentialTypes.OAUTH2,
        oauth2=OAuth2Auth(
            client_id="client-1",
            client_secret=SECRET,
            auth_uri="https://accounts.example/auth?client_id=client-1&state=s1&scope=calendar.read",
            state="s1",
        ),
    )
    return AuthConfig(
        auth_scheme=OAuth2(flows=OAuthFlows(authorizationCode=flow)),
        raw_auth_credential=credential,
        credential_key="calendar",
    )


def calendar(tool_context: ToolContext) -> dict[str, str]:
    """Needs a credential."""
    if tool_context.get_auth_response(_auth_config()) is None:
        tool_context.request_credential(_auth_config())
        return {"status": "needs a credential"}
    return {"next": "lunch"}


def sign_in(events: Sequence[Event]) -> Sent:
    """Sign in: the page sends the result of the redirect, and the server makes ADK's function response from it."""
    asked = last_call(events, "adk_request_credential")
    config = copy.deepcopy((asked.args or {})["authConfig"])
    config["exchangedAuthCredential"]["oauth2"]["accessToken"] = TOKEN
    return Sent([{"answer": asked.id, "output": {"done": True}}], reply(asked, config))
