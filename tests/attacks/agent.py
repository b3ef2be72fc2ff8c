"""Agent of the attacked servers. Its reply depends only on the user's message, ``KIND ARGUMENT``. Tools record their
runs.
"""

import asyncio
import json
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any, Final

from google.adk.agents import LlmAgent
from google.adk.auth.auth_credential import AuthCredential, AuthCredentialTypes, OAuth2Auth
from google.adk.auth.auth_schemes import AuthScheme
from google.adk.auth.auth_tool import AuthConfig
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools import request_input
from google.adk.tools.authenticated_function_tool import AuthenticatedFunctionTool
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types
from pydantic import TypeAdapter
from typing_extensions import override

from stream_protocol.serving.chats._chat_list import OWN_TITLE_KEY
from stream_protocol.testing import Call, ScriptedLlm, Turn

FOLDER: Final = Path(os.environ["ATTACK_FOLDER"])
"""Folder in which tools record their runs, and in which doors are opened."""

TOOL_LOG: Final = "tool_log"

TICK_SECONDS: Final = 0.02

PIECE: Final = "x" * 2**16

CALLBACK: Final = "https://app.example/callback"


def _last_words(request: LlmRequest) -> tuple[str, str, int]:
    """Return kind and argument of the user's last message, and the number of tool results after it."""
    answered = 0
    for content in reversed(request.contents):
        parts = content.parts or []
        answered += sum(part.function_response is not None for part in parts)
        text = "".join(part.text or "" for part in parts)
        if content.role == "user" and text:
            kind, _, argument = text.partition(" ")
            return kind, argument, answered
    raise ValueError("nobody has said anything")


async def _tick(key: str) -> AsyncIterator[str]:
    """Yield a number every 20 ms until a door is opened."""
    number = 0
    while not (FOLDER / key).exists():
        yield f"{number} "
        number += 1
        await asyncio.sleep(TICK_SECONDS)
    yield "whole"


async def _hold(key: str) -> AsyncIterator[str]:
    """Yield a word, then wait until a door is opened."""
    yield "held"
    while not (FOLDER / key).exists():  # noqa: ASYNC110 - another process opens it
        await asyncio.sleep(TICK_SECONDS)


async def _big(argument: str) -> AsyncIterator[str]:
    """Yield ``MEGABYTES`` of text at once, then wait until ``DOOR`` is opened."""
    megabytes, door = argument.split()
    for _ in range(int(megabytes) * 16):
        yield PIECE
    async for text in _hold(door):
        yield text


async def _endless(_: str) -> AsyncIterator[str]:
    """Yield tiny chunks for ever."""
    while True:
        yield "x"
        await asyncio.sleep(0)


HOSTILE_HTML: Final = (
    '<meta http-equiv="refresh" content="0;url=https://evil.example"><script>top.location="https://evil.example"</script>'
    "<style>*{position:fixed;inset:0}</style></iframe><iframe srcdoc='<iframe srcdoc=x>'></iframe>"
)

HOSTILE_URIS: Final = (
    "javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "file:///etc/passwd",
    " JaVaScRiPt:alert(1)",
    "java\nscript:alert(1)",
    "https://ok.example/\u202e",
    "",
)


def _grounded(argument: str) -> LlmResponse:
    """Return a reply with as many supports as ``argument``, whose ranges and indices are mostly wrong."""
    text = "a\u00e9\u4e2d\U0001f600\u05d0" * 50
    size = len(text.encode())
    chunks = [
        types.GroundingChunk(web=types.GroundingChunkWeb(uri=uri, title=f"\u202e\x1b[31m\0{uri}" + "t" * 10_000))
        for uri in HOSTILE_URIS
    ]
    ends = (-1, 0, 1, 2, 3, size, size + 1, 2**31 - 1)
    supports = [
        types.GroundingSupport(
            segment=types.Segment(
                start_index=ends[number % 7] - number % 3, end_index=ends[number % 8], part_index=None
            ),
            grounding_chunk_indices=[number % 9 - 1, -1, 2**31 - 1, *range(len(chunks))],
        )
        for number in range(int(argument))
    ]
    grounding = types.GroundingMetadata(
        grounding_chunks=chunks,
        grounding_supports=supports,
        web_search_queries=["\u202e\0", "q" * 10_000],
        search_entry_point=types.SearchEntryPoint(rendered_content=HOSTILE_HTML + "<div>" * 100_000),
    )
    content = types.ModelContent(text)
    return LlmResponse(content=content, grounding_metadata=grounding, finish_reason=types.FinishReason.STOP)


STREAMS: Final[Mapping[str, Callable[[str], AsyncIterator[str]]]] = {
    "tick": _tick,
    "hold": _hold,
    "big": _big,
    "endless": _endless,
}


def respond(request: LlmRequest) -> Turn:
    kind, argument, answered = _last_words(request)
    if kind == "loop":
        return Call("note", {"key": "again"})
    if answered or kind not in CALLS:
        return f"Said {argument[:100]}."
    return CALLS[kind](argument)


CALLS: Final[Mapping[str, Callable[[str], Call]]] = {
    "ask": lambda schema: Call("adk_request_input", {"message": "Which?", "response_schema": json.loads(schema)}),
    "calendar": lambda _: Call("calendar"),
    "pay": lambda key: Call("pay", {"key": key}),
    "seed": lambda count: Call("seed", {"count": int(count)}),
    "fetch": lambda megabytes: Call("fetch", {"megabytes": int(megabytes)}),
    "parameters": lambda megabytes: Call("parameters", {"megabytes": int(megabytes)}),
}


class Model(ScriptedLlm):
    """Model with endless streams, which a script cannot have."""

    @override
    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        kind, argument, _ = _last_words(llm_request)
        if kind == "ground":
            yield _grounded(argument)
            return
        if kind not in STREAMS:
            async for response in super().generate_content_async(llm_request, stream):
                yield response
            return
        said = []
        async for text in STREAMS[kind](argument):
            said.append(text)
            yield LlmResponse(partial=True, content=types.ModelContent(text))
        yield LlmResponse(content=types.ModelContent("".join(said)), finish_reason=types.FinishReason.STOP)


def _note(tool: str, context: ToolContext) -> None:
    """Record the run of a tool. One write per line: lines of several servers do not mix."""
    with (FOLDER / TOOL_LOG).open("ab", buffering=0) as tool_log:
        tool_log.write(f"{tool} {context.user_id} {context.session.id}\n".encode())


def note(key: str) -> str:
    """Notes a key."""
    return key


def pay(key: str, tool_context: ToolContext) -> str:
    """Pays, if the user approves."""
    _note("pay", tool_context)
    return "paid"


def fetch(megabytes: int) -> str:
    """Returns a long text."""
    return "x" * (megabytes * 2**20)


def parameters(megabytes: int) -> str:
    """Returns the address of a form."""
    return "http://a?" + "a=b&" * (megabytes * 2**18)


async def calendar(credential: AuthCredential, tool_context: ToolContext) -> str:
    """Reads a calendar."""
    _note("calendar", tool_context)
    return "three entries"


async def seed(count: int, tool_context: ToolContext) -> str:
    """Makes the given number of chats of this user."""
    invocation = tool_context._invocation_context  # noqa: SLF001 - ADK's tools have no other way to the store
    for number in range(count):
        await invocation.session_service.create_session(
            app_name=invocation.app_name,
            user_id=invocation.user_id,
            session_id=f"seeded-{number}",
            state={OWN_TITLE_KEY: f"Chat {number}"},
        )
    return "seeded"


def _sign_in() -> AuthConfig:
    """Return a provider at a closed port. A code that is sent there fails at once."""
    flow = {"authorizationUrl": "https://provider.example/auth", "tokenUrl": "http://127.0.0.1:9/", "scopes": {"r": ""}}
    scheme: Any = TypeAdapter(AuthScheme).validate_python({"type": "oauth2", "flows": {"authorizationCode": flow}})
    oauth = OAuth2Auth(client_id="app", client_secret="hunter2", redirect_uri=CALLBACK)
    credential = AuthCredential(auth_type=AuthCredentialTypes.OAUTH2, oauth2=oauth)
    return AuthConfig(auth_scheme=scheme, raw_auth_credential=credential, credential_key="k")


root_agent: Final = LlmAgent(
    name="root",
    model=Model(respond=respond),
    tools=[
        note,
        fetch,
        parameters,
        seed,
        request_input,
        FunctionTool(pay, require_confirmation=True),
        AuthenticatedFunctionTool(func=calendar, auth_config=_sign_in()),
    ],
)
