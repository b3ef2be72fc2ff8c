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
        setup="The server calls `create_app(agent)` with its defaults. It is one process, and keeps chats in memory.",
        guide="[Add it to your app](../../docs/mount.md)",
    ),
    Backend(
        key="pydantic-ai",
        title="pydantic-ai",
        kind="python",
        packages=("pydantic-ai-slim", "starlette", "uvicorn"),
        server="pydantic_ai_adapter.py",
        setup="The server uses Starlette, `VercelAIAdapter.dispatch_request(…, sdk_version=6)`, `ExternalToolset`, "
        "`DeferredToolRequests` and `requires_approval=True`. The client sends the history, which is the default.",
        guide="[UI event streams](https://pydantic.dev/docs/ai/integrations/ui/overview/), Vercel AI",
        notes=(
            "`extra keys`: the request models forbid unknown keys. Current stock clients send no unknown keys.",
            "`repeated POST`, `several turns`: the client generates message ids, because the server sends none.",
        ),
    ),
    Backend(
        key="ai-python",
        title="ai (Python)",
        kind="python",
        packages=("ai", "fastapi", "uvicorn"),
        server="ai_python.py",
        setup="The server uses FastAPI, `to_messages`, `apply_approvals`, `defer_hook`, `to_sse` and "
        "`require_approval=True`.",
        guide="[AI SDK UI](https://ai-python.dev/docs/basics/ai-sdk-ui), and the package's example `web_agent`",
        notes=(
            "`error`: `to_sse` raises the model's exception. The guide's route does not catch it.",
            "`client tool`: the documentation describes no tools that run in the browser, so the server has none.",
        ),
        oldest_python=(3, 12),
    ),
    Backend(
        key="ai-node",
        title="ai (Node)",
        kind="node",
        packages=("ai@7", "zod@4"),
        server="ai_node.mjs",
        setup="The server uses `node:http`, `validateUIMessages`, `convertToModelMessages`, `streamText` with "
        "`toolApproval`, `toUIMessageStream`, `createUIMessageStreamResponse` and `MockLanguageModelV4`.",
        guide="[Chatbot Message Persistence](https://ai-sdk.dev/docs/ai-sdk-ui/chatbot-message-persistence), "
        "[Chatbot Tool Usage](https://ai-sdk.dev/docs/ai-sdk-ui/chatbot-tool-usage)",
        notes=(
            "`unanswered client tool`: the check passes because the server sets `ignoreIncompleteToolCalls: true`.",
            "Node: `ai` 7 requires Node 22 or later. The script used the version in the table.",
        ),
    ),
    Backend(
        key="ai-node-resumable",
        title="ai (Node), resumable",
        kind="node",
        packages=("ai@7", "resumable-stream@2", "zod@4"),
        server="ai_node_resumable.mjs",
        setup="The server extends the server of ai (Node) with `createResumableStreamContext`, `consumeSseStream`, and "
        "routes for resume and stop. It stores streams in the process instead of Redis.",
        guide="[Chatbot Resume Streams](https://ai-sdk.dev/docs/ai-sdk-ui/chatbot-resume-streams)",
        notes=("`repeated POST runs once`: the guide does not say what a repeated POST gets.",),
    ),
)
