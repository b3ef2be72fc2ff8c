"""Samples of remote tools: an MCP server over stdio and over HTTP, and a web service that OpenAPI describes."""

import sys
from typing import Any

from fastapi.openapi.models import APIKey
from google.adk.agents import LlmAgent
from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams, StreamableHTTPConnectionParams
from google.adk.tools.openapi_tool import OpenAPIToolset
from mcp import StdioServerParameters

from stream_protocol.testing import Call
from tests.processes import ROOT
from tests.samples.agents.answers import CREDENTIAL
from tests.samples.sample import Sample, Turn, answer, approve, deny, scripted
from tests.samples.services import shop_spec

BIKE = {"item": "bike"}
KEY = APIKey.model_validate({"type": "apiKey", "in": "header", "name": "x-key"})
SAID = [
    ["I look. ", Call("price", BIKE), Call("tell", BIKE)],
    "Five.",
    [Call("photo", BIKE), Call("pack", BIKE)],
    "Packed.",
    Call("order", BIKE),
    "None left.",
]


def stdio(**more: Any) -> McpToolset:
    program = StdioServerParameters(command=sys.executable, args=["-m", "tests.samples.mcp_tools"], cwd=ROOT)
    return McpToolset(connection_params=StdioConnectionParams(server_params=program, timeout=60), **more)


def http(at: str, **more: Any) -> McpToolset:
    return McpToolset(connection_params=StreamableHTTPConnectionParams(url=f"{at}/mcp", timeout=60), **more)


def mcp_over_stdio(_at: str) -> LlmAgent:
    return scripted("root", *SAID, tools=[stdio()])


def mcp_over_http(at: str) -> LlmAgent:
    return scripted("root", *SAID, tools=[http(at)])


def mcp_approved(at: str) -> LlmAgent:
    price = Call("shop_price", BIKE)
    said = [price, "Five.", price, "As you like.", "Bye."]
    return scripted("root", *said, tools=[http(at, require_confirmation=True, tool_name_prefix="shop")])


def openapi(at: str) -> LlmAgent:
    said = [
        Call("get_item", BIKE),
        "Five.",
        [Call("get_item", {"item": "unicorn"}), Call("get_item", BIKE)],
        "No unicorn.",
        Call("place_order", {"item": "bike", "count": 2}),
        "Ordered.",
    ]
    return scripted("root", *said, tools=[OpenAPIToolset(spec_dict=shop_spec(at), allow_private_network_access=True)])


def openapi_with_key(at: str) -> LlmAgent:
    """Agent whose toolset asks for the user's key once."""
    order = Call("place_order", {"item": "bike", "count": 1})
    toolset = OpenAPIToolset(
        spec_dict=shop_spec(at), allow_private_network_access=True, auth_scheme=KEY, credential_key="shop"
    )
    return scripted("root", order, "Ordered.", order, "Again.", "Bye.", tools=[toolset])


NO_CREDENTIALS = ("Authentication failed using Compute Engine", "Failed to configure mTLS")
"""ADK of each MCP server over HTTP, where it finds no credentials for Google's cloud."""

MCP_TURNS = [
    Turn("one", "I look. , price output-available, tell output-available, Five."),
    Turn("two", "photo output-available, pack output-available, Packed."),
    Turn("three", "order output-error, None left."),
]

SAMPLES = [
    Sample("an MCP server over stdio", mcp_over_stdio, MCP_TURNS),
    Sample("an MCP server over HTTP", mcp_over_http, MCP_TURNS, logs=NO_CREDENTIALS),
    Sample(
        "an MCP server whose tools need a yes",
        mcp_approved,
        [
            Turn("one", "shop_price output-available, Five.", "shop_price approval-requested", [approve("shop_price")]),
            Turn(
                "two", "shop_price output-denied, As you like.", "shop_price approval-requested", [deny("shop_price")]
            ),
            Turn("three", "Bye."),
        ],
        logs=NO_CREDENTIALS,
    ),
    Sample(
        "a web service",
        openapi,
        [
            Turn("one", "get_item output-available, Five."),
            Turn("two", "get_item output-error, get_item output-available, No unicorn."),
            Turn("three", "place_order output-available, Ordered."),
        ],
        logs=["API call failed for tool get_item: Status 404"],
    ),
    Sample(
        "a web service with the user's key",
        openapi_with_key,
        [
            Turn(
                "one",
                "place_order output-available, adk_request_credential output-available, Ordered.",
                "place_order input-available, adk_request_credential input-available",
                [answer(CREDENTIAL, {"apiKey": "secret"})],
            ),
            Turn("two", "place_order output-available, Again."),
            Turn("three", "Bye."),
        ],
    ),
]
