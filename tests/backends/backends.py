"""Compared backends: their installation, start and description."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

SERVERS: Final = Path(__file__).parent / "servers"


@dataclass(frozen=True, kw_only=True)
class Backend:
    """One column of the grid. The first of ``packages`` is compared."""

    key: str
    title: str
    kind: Literal["own", "python", "node"]
    packages: tuple[str, ...]
    server: str
    setup: str
    """Parts of the package that the server uses, and its options."""
    guide: str
    """Page that the server follows."""
    notes: tuple[str, ...] = ()
    oldest_python: tuple[int, int] = (3, 11)


BACKENDS: Final = (
    Backend(
        key="own",
        title="adk-ui-stream",
        kind="own",
        packages=("adk-ui-stream", "google-adk"),
        server="own.py",
        setup="`create_app(agent)` with its defaults, in one process, with chats in memory",
        guide="[Add it to your app](../../docs/mount.md)",
    ),
    Backend(
        key="pydantic-ai",
        title="pydantic-ai",
        kind="python",
        packages=("pydantic-ai-slim", "starlette", "uvicorn"),
        server="pydantic_ai_adapter.py",
        setup="`VercelAIAdapter.dispatch_request(…, sdk_version=6)` in Starlette, `requires_approval=True`, "
        "`ExternalToolset` and `DeferredToolRequests`; the history comes from the client, as by default",
        guide="[UI event streams](https://pydantic.dev/docs/ai/integrations/ui/overview/), Vercel AI",
        notes=(
            "`extra keys`: the request models forbid unknown keys. Stock clients of today send none.",
            "`repeated POST` and `several turns` hold, because the client makes the message ids that the server omits.",
        ),
    ),
    Backend(
        key="ai-python",
        title="ai (Python)",
        kind="python",
        packages=("ai", "fastapi", "uvicorn"),
        server="ai_python.py",
        setup="`to_messages`, `apply_approvals`, `defer_hook` and `to_sse` in FastAPI, `require_approval=True`",
        guide="[AI SDK UI](https://ai-python.dev/docs/basics/ai-sdk-ui), its example `web_agent`",
        notes=(
            "`error`: `to_sse` passes the model's exception on. The guide's route has no `try` around it.",
            "`client tool`: the package's pages describe no tool that runs in the browser, so the server has none.",
        ),
        oldest_python=(3, 12),
    ),
    Backend(
        key="ai-node",
        title="ai (Node)",
        kind="node",
        packages=("ai@7", "zod@4"),
        server="ai_node.mjs",
        setup="`validateUIMessages`, `convertToModelMessages`, `streamText` with `toolApproval`, `toUIMessageStream` "
        "and `createUIMessageStreamResponse` in `node:http`, with `MockLanguageModelV4`",
        guide="[Chatbot Message Persistence](https://ai-sdk.dev/docs/ai-sdk-ui/chatbot-message-persistence), "
        "[Chatbot Tool Usage](https://ai-sdk.dev/docs/ai-sdk-ui/chatbot-tool-usage)",
        notes=(
            "`ignoreIncompleteToolCalls: true` is set. `unanswered client tool` needs it.",
            "`ai` 7 asks for Node 22 or later. The table has the version that the script found.",
        ),
    ),
    Backend(
        key="ai-node-resumable",
        title="ai (Node), resumable",
        kind="node",
        packages=("ai@7", "resumable-stream@2", "zod@4"),
        server="ai_node_resumable.mjs",
        setup="the same, with `createResumableStreamContext`, `consumeSseStream`, and routes for resume and stop; "
        "a store in the process instead of Redis",
        guide="[Chatbot Resume Streams](https://ai-sdk.dev/docs/ai-sdk-ui/chatbot-resume-streams)",
        notes=("`repeated run`: the guide does not say what a repeated POST gets.",),
    ),
)
