"""Words that readers search for, and that the pages themselves do not use, or less than others: page -> words."""

from collections.abc import Mapping
from typing import Final

KEYWORDS: Final[Mapping[str, str]] = {
    "all-pages.md": "sitemap changelog license overview",
    "approvals.md": "human-in-the-loop human loop hitl approve deny confirmation confirm permission allow",
    "attachments.md": "upload images pictures pdf artifacts multimodal",
    "authentication.md": "auth oauth sso logout account",
    "chat-component.md": "react component",
    "citations.md": "grounding references rag google search",
    "cli.md": "cli serve configuration config commands terminal environment variables",
    "client-tools.md": "frontend tools browser tools useChat onToolCall geolocation",
    "compatibility.md": "v6 v7 python version versions support",
    "converter.md": "sse streaming agent engine",
    "data.md": "data parts generative ui",
    "deploy/index.md": "load balancer docker container hosting aws azure heroku",
    "durable.md": "stop cancel abort resume reconnect reload background disconnect",
    "errors.md": "errors debug exception traceback 401 403 404 409 413 415 422 429 500 503",
    "events.md": "event mapping a2a workflow transfer",
    "faq.md": "models openai anthropic claude ollama litellm reasoning thoughts thinking",
    "inspector.md": "debug devtools trace",
    "large-chats.md": "body size",
    "monitoring.md": "observability opentelemetry logging logs tracing alerts grafana",
    "mount.md": "integrate embed asgi",
    "operations.md": "serve graceful shutdown health check healthcheck restart drain",
    "performance.md": "benchmark latency throughput scale scaling",
    "persistence.md": "session sessions history database storage save chats",
    "quick-start.md": "quickstart getting started start tutorial beginner example hello",
    "recording.md": "record recordings fixtures",
    "replay-server.md": "mock msw frontend e2e",
    "routes.md": "rest api endpoints delete chat list chats rename title",
    "steering.md": "steering queue interrupt interject",
    "sub-agents.md": "multi-agent subagents nested agents agenttool",
    "testing.md": "tests pytest mock unit test fixtures ci",
    "trust/developers.md": "csrf xss cross-site untrusted",
    "trust/operators.md": "rate limit limits timeout quota dos",
    "trust/owasp.md": "prompt injection",
    "types.md": "typescript zod",
    "versions.md": "branches branch edit message regenerate versions",
}
"""Words of one page are alike for the search: a page is found by each of them."""
