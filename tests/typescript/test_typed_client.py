"""The types before the real compiler and the real clients: wrong uses do not compile, and streams are as typed."""

import asyncio
import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.runners import InMemoryRunner
from google.genai.types import UserContent

from stream_protocol import stream_sse
from stream_protocol.serving import default_run_config
from stream_protocol.typescript import chat_types
from stream_protocol.typescript._wire_types import DATA_PARTS, REQUESTS
from tests.conformance.fixtures import PROJECT, VERSIONS, fixture_names, load_fixture
from tests.conformance.node_scripts import TIMEOUT, run_script
from tests.documents import block, shown_file
from tests.tools import require_node_project
from tests.typescript.typed_agent import progress, typed_agent, weather

pytestmark = [
    pytest.mark.node,
    pytest.mark.frontends,
    pytest.mark.filterwarnings("ignore:The `plugins` argument is deprecated:DeprecationWarning"),  # of ADK's AgentTool
]

COMPILER_OPTIONS = {
    "target": "es2022",
    "module": "esnext",
    "moduleResolution": "bundler",
    "strict": True,
    "noUncheckedIndexedAccess": True,
    "skipLibCheck": True,
    "types": [],
    "jsx": "react-jsx",
    "lib": ["es2023", "dom", "dom.iterable"],
}
USES = (Path(__file__).parent / "uses.ts").read_text()
ACCEPTED = {"streamed": None, "validated": None}
EXPECTED_ERROR = re.compile(r"// @ts-expect-error: .*")

DOCUMENTED = (
    *("page.tsx", "checked.ts", "quick-start.tsx", "readme.tsx"),
    *("versions.tsx", "context.ts", "state.tsx", "skill.tsx", "payloads.tsx"),
)
"""The files of our pages."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that has the types of the agent."""
    require_node_project(PROJECT)
    project = tmp_path_factory.mktemp("typed")
    (project / "node_modules").symlink_to(PROJECT / "node_modules", target_is_directory=True)
    (project / "package.json").write_text('{"type": "module"}')
    (project / "chat-types.ts").write_text(asyncio.run(chat_types(typed_agent(), [weather, progress], schemas=True)))
    (project / "uses.ts").write_text(USES)
    (project / "wrong.ts").write_text(EXPECTED_ERROR.sub("", USES))
    (project / "plain.ts").write_text(asyncio.run(chat_types(LlmAgent(name="plain"), schemas=True)))
    documented = project / "documented"
    documented.mkdir()
    (documented / "page.tsx").write_text(block("docs/types.md", "export function Parts("))
    (documented / "checked.ts").write_text(shown_file("examples/hooks/use-checked-chat.ts"))
    (documented / "quick-start.tsx").write_text(block("docs/quick-start.md", "export default function Page()"))
    (documented / "versions.tsx").write_text(shown_file("examples/hooks/use-versions.ts"))
    (documented / "context.ts").write_text(block("docs/page-values.md", "export const transport"))
    (documented / "state.tsx").write_text(shown_file("examples/hooks/use-agent-state.ts"))
    (documented / "skill.tsx").write_text(block("skills/adk-ui-stream/SKILL.md", "export function Chat()"))
    (documented / "readme.tsx").write_text(block("README.md", "export default function Page()"))
    (documented / "payloads.tsx").write_text(shown_file("examples/hooks/use-seats.ts"))
    (documented / "chat-types.ts").write_text(types_of_the_documented_agent())
    return project


def types_of_the_documented_agent() -> str:
    scope: dict[str, Any] = {"__name__": "my_package.agent"}
    exec(compile(block("docs/types.md", "root_agent = LlmAgent("), "agent.py", "exec"), scope)  # the page is ours
    return asyncio.run(chat_types(scope["root_agent"], [scope["weather"]], schemas=True))


def compiled(folder: Path, *files: str, ai: str, react: str) -> list[str]:
    """The compiler's output for the files, with these packages of the AI SDK."""
    paths = {"ai": [f"./node_modules/{ai}"], "@ai-sdk/react": [f"./node_modules/{react}"]}
    options = {**COMPILER_OPTIONS, "paths": paths, "rootDir": ".", "outDir": "out"}
    config = folder / f"tsconfig.{ai}.json"
    config.write_text(json.dumps({"compilerOptions": options, "files": files}))
    run = subprocess.run(
        [
            require_node_project(PROJECT),
            PROJECT / "node_modules/typescript/bin/tsc",
            "--pretty",
            "false",
            "-p",
            config.name,
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    return (run.stdout + run.stderr).splitlines()


@pytest.mark.parametrize(("ai", "react"), [("ai-v6", "react-v6"), ("ai-v7", "react-v7")])
def test_right_uses_compile_and_each_wrong_one_does_not(folder: Path, ai: str, react: str) -> None:
    documented = [f"documented/{name}" for name in DOCUMENTED]
    errors = compiled(folder, "uses.ts", "wrong.ts", *documented, ai=ai, react=react)
    wrong = [number + 1 for number, line in enumerate(USES.splitlines(), 1) if "@ts-expect-error" in line]
    assert len(wrong) > 15
    assert [line.partition(",")[0] for line in errors if line.startswith("wrong.ts")] == [
        f"wrong.ts({n}" for n in wrong
    ]
    assert [line for line in errors if not line.startswith(("wrong.ts", " "))] == []


@pytest.fixture(scope="module")
def compiled_schemas(folder: Path) -> Path:
    """The folder of the schemas, compiled."""
    assert compiled(folder, "chat-types.ts", "plain.ts", ai="ai-v6", react="react-v6") == []
    return folder / "out"


async def body() -> str:
    """A response in which the agent calls all its tools."""
    runner = InMemoryRunner(typed_agent())
    runner.auto_create_session = True
    events = runner.run_async(
        user_id="me", session_id="s", new_message=UserContent("hi"), run_config=default_run_config()
    )
    return b"".join([chunk async for chunk in stream_sse(events)]).decode()


def with_locate_answered(text: str, output: Any) -> str:
    """The response, in which the page's tool has given this."""
    call_id = re.findall(r'"toolCallId":"([^"]+)","toolName":"locate"', text)[-1]
    answer = json.dumps({"type": "tool-output-available", "toolCallId": call_id, "output": output})
    return text.replace(
        'data: {"type":"finish-step"}\n\ndata: {"type":"finish"', f'data: {answer}\n\ndata: {{"type":"finish"'
    )


async def test_a_real_stream_is_as_its_types_say_and_another_is_not(compiled_schemas: Path) -> None:
    streamed = await body()
    assert '"errorText"' not in streamed
    right = with_locate_answered(streamed, {"lat": 1.5})
    changes = {
        (
            '"sky":"rain","at":"2026-01-01T00:00:00Z"',
            '"sky":"snow","at":"2026-01-01T00:00:00Z"',
        ): "streamed",  # the part
        ('"modelId":"scripted"', '"modelId":1'): "streamed",
        ('"price":"9.50"', '"price":9.5'): "validated",
        ('"name":"some"', '"name":null'): "validated",
        ('"output":{"done":true}', '"output":5'): "",  # nothing is known of it
        ('"output":{"title":"All"}', '"output":{"name":"All"}'): "validated",
        ('"structuredContent":{"price":5}', '"structuredContent":{}'): "validated",
        ('"output": {"lat": 1.5}', '"output": {"lat": "1"}'): "validated",
        ('"class":"fixed"', '"class":"other"'): "validated",
    }
    bodies = [right, *(right.replace(*change) for change in changes)]
    asked = [{"ai": ai, "body": text} for ai in (6, 7) for text in bodies]
    answers = run_script("validate-streams.mjs", asked, str(compiled_schemas / "chat-types.js"))
    refused = ["streamed" if said["streamed"] else "validated" if said["validated"] else "" for said in answers]
    assert refused == ["", *changes.values()] * 2, answers


PARTS = {f"data-{name}" for name in DATA_PARTS}


def own_chunks(chunks: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The chunks of a response that have types for all agents: metadata, our data parts, and ADK's questions."""
    asked = {chunk["toolCallId"] for chunk in chunks if chunk.get("toolName") in REQUESTS}
    kinds = PARTS | {"start", "message-metadata", "finish"}
    return [
        chunk
        for chunk in chunks
        if chunk["type"] in kinds or (chunk["type"].startswith("tool-input") and chunk["toolCallId"] in asked)
    ]


def test_what_the_fixtures_hold_of_our_own_is_as_typed(compiled_schemas: Path) -> None:
    streams = {
        f"{name} {turn} {version}": own_chunks(chunks)
        for name in fixture_names()
        if "message_metadata" not in (fixture := load_fixture(name)).options_for(6)
        for version in VERSIONS
        for turn, chunks in enumerate(fixture.convert(version))
    }
    asked = [
        {"ai": int(name[-1]), "body": "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)}
        for name, chunks in streams.items()
    ]
    answers = run_script("validate-streams.mjs", asked, str(compiled_schemas / "plain.js"))
    wrong = {name: said for name, said in zip(streams, answers, strict=True) if said != ACCEPTED}
    assert wrong == {}
    held = [chunk for chunks in streams.values() for chunk in chunks]
    assert PARTS - {chunk["type"] for chunk in held} == {"data-adk-data"}, "which may be anything"
    assert {chunk["toolName"] for chunk in held if "toolName" in chunk} == {*REQUESTS}
