"""Every code block of our Markdown files is run by a test, or has a reason here. A new block needs one of both."""

import ast
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest
from google.adk.agents import LlmAgent

from stream_protocol.cli import main
from stream_protocol.serving import ChatService
from tests.batch import batch
from tests.documents import Block, all_blocks, block, install_my_package, our_files, shown_files
from tests.processes import ROOT

Place = tuple[str, str]
"""A file, and a text that is in one block of it."""

_MAKE: Final = "targets of the Makefile, which CI runs"
_INSTALL: Final = (
    "asks a package index; what it installs is what every test runs, and `serve agent` is run for the quick start"
)
_EXAMPLE: Final = "`npm ci` is `make setup-frontends`; tests/frontends builds the example, starts it, and drives it"
_CHECK: Final = "tests/cli/test_check_backend.py runs such commands against servers"
_FRAGMENT: Final = "lines of a component; tests/frontends drives the examples, which have them"
_PROJECT: Final = "tests/cli/test_init_command.py and tests/release run it in a project that `init` has made"

NOT_RUN: Final[Mapping[Place, str]] = {
    ("CONTRIBUTING.md", "make setup"): _MAKE,
    ("CONTRIBUTING.md", "browser: useChat"): "a drawing",
    ("README.md", "make demo "): _MAKE,
    ("README.md", "pip install"): _INSTALL,
    ("README.md", "adk-ui-stream init"): _PROJECT,
    ("README.md", "resume: true"): _FRAGMENT,
    ("README.md", "adk-ui-stream record"): "tests/cli/test_record_command.py runs such a command",
    ("docs/adk-integration.md", "adk create"): "tests/release serves the agent that it makes",
    ("docs/adk-integration.md", "adk-ui-stream init"): _PROJECT,
    ("docs/adk-integration.md", "pip install"): "tests/release installs the wheel",
    ("docs/attachments.md", "useRef"): _FRAGMENT,
    ("docs/attachments.md", "video/mp4"): _FRAGMENT,
    ("docs/citations.md", "sandbox="): "a frame; tests/pages drives the one of the example",
    ("bench/reports/backends.md", "make setup"): "asks package indexes; what it has found is in the page",
    ("docs/check-backend.md", "/api/chat\n"): _CHECK,
    ("docs/check-backend.md", "as clients of"): "an excerpt; tests/cli/test_check_backend.py reads such output",
    ("docs/check-backend.md", "report.json"): _CHECK,
    ("docs/client-tools.md", "useChat({"): _FRAGMENT,
    ("docs/steering.md", "/steer"): _FRAGMENT,
    ("docs/deploy/cloud-run.md", "gcloud run"): "Google's own; tests/deploy holds the file to what `serve` takes",
    (
        "docs/deploy/index.md",
        "docker build",
    ): "Docker's; tests/release carries out the Dockerfile, and runs what it makes",
    ("docs/deploy/index.md", "docker compose build"): "Docker's; tests/fleet restarts one worker after the other",
    ("docs/deploy/index.md", "docker compose up --build"): "Docker's; tests/fleet runs the commands of the file",
    ("docs/deploy/kubernetes.md", "kubectl"): "of a cluster; tests/deploy holds the file to its schema, and to `serve`",
    ("docs/durable.md", "resume: stored.length > 0"): _FRAGMENT,
    ("docs/durable.md", "adk-ui-stream serve"): "tests/fleet kills servers that have such stores",
    ("docs/index.md", "pip install"): _INSTALL,
    (
        "docs/index.md",
        "useChat({ transport })",
    ): "a shorter form of the quick start's page, which tests/frontends drives",
    ("docs/install.md", "npm install"): "asks a package index; `make setup-frontends` installs the same packages",
    ("docs/install.md", "pip install"): _INSTALL,
    ("docs/quick-start.md", "adk-ui-stream init"): _PROJECT,
    ("docs/routes.md", '"nextCursor"'): "a response; tests/serving/http asks for the list",
    ("docs/sub-agents.md", "<Message"): _FRAGMENT,
    ("docs/testing.md", "mkdir -p tests/recordings"): "tests/cli/test_record_command.py runs such a command",
    ("docs/tool-progress.md", "message.parts.find"): _FRAGMENT,
    ("examples/assistant-ui/README.md", "npm ci"): _EXAMPLE,
    ("examples/frontend-tests/README.md", "npm ci"): "tests/test_frontend_example.py runs its scripts",
    ("examples/nextjs/README.md", "adk-ui-stream init"): _PROJECT,
    ("examples/nextjs/README.md", "npm ci"): _EXAMPLE,
    ("examples/plain/README.md", "node chat.mjs"): "tests/frontends/test_plain_clients.py runs it, and types",
    ("examples/plain/README.md", '"state": "approval-responded"'): "what chat.mjs sends, with ids of a response in it",
    ("examples/react/README.md", "npm ci"): _EXAMPLE,
    ("examples/svelte/README.md", "npm ci"): _EXAMPLE,
    ("examples/vue/README.md", "npm ci"): _EXAMPLE,
    ("frontend-fixtures/README.md", "record.py"): "writes fixtures anew; tests/conformance reads what it wrote",
    ("frontend-fixtures/README.md", "record_old.py"): "installs an older ADK",
    ("stream_protocol/cli/project/README.md", "adk-ui-stream record"): _PROJECT,
    ("stream_protocol/cli/project/README.md", "adk-ui-stream types"): "tests/release asks it whether the page has them",
    ("stream_protocol/cli/project/README.md", "python -m venv"): _PROJECT,
    ("stream_protocol/cli/project/README.md", "uvicorn main:app"): _PROJECT,
}
"""Reasons why no test runs a block."""


FILES_RUN_ELSEWHERE: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("examples/chat-page/chat-page.tsx", "examples/chat-page/page.tsx"),
        "tests/frontends/test_documents.py drives the component",
    ),
    **dict.fromkeys(
        (
            *("examples/chatbot-template/agent.ts", "examples/chatbot-template/chat.ts"),
            *("examples/chatbot-template/history.ts", "examples/chatbot-template/messages.ts"),
            "examples/chatbot-template/stream.ts",
        ),
        "tests/conformance/test_template_routes.py calls the routes",
    ),
}
"""Where the tests run a shown file that no call of ``shown_file`` names."""


def run_blocks() -> Iterator[Place]:
    """The blocks that the tests name in calls of ``block``, or of ``shown`` of
    ``tests/frontends/test_documents.py``.
    """
    for arguments in calls("block", "shown"):
        match arguments:
            case [ast.Constant(str(name)), ast.Constant(str(mark))]:
                yield name, mark


def run_files() -> Iterator[str]:
    """The files that the tests name in calls of ``shown_file``."""
    for arguments in calls("shown_file"):
        match arguments:
            case [ast.Constant(str(name))]:
                yield name


def calls(*functions: str) -> Iterator[list[ast.expr]]:
    """The arguments of each call of these functions in the tests."""
    for file in (ROOT / "tests").rglob("*.py"):
        code = file.read_text(encoding="utf-8")
        if any(f"{name}(" in code for name in functions):
            for node in ast.walk(ast.parse(code)):
                match node:
                    case ast.Call(func=ast.Name(name), args=arguments) if name in functions:
                        yield arguments


def blocks_at(place: Place) -> list[Block]:
    return [each for each in all_blocks() if each.file == place[0] and place[1] in each.code]


def test_every_block_is_run_or_says_why_not() -> None:
    run = [each for place in run_blocks() for each in blocks_at(place)]
    excused = [each for place in NOT_RUN for each in blocks_at(place)]
    assert len(excused) == len(NOT_RUN), "a reason is about one block"
    assert {str(each) for each in excused} & {str(each) for each in run} == set()
    assert [str(each) for each in all_blocks() if each not in (*run, *excused)] == []


def test_every_shown_file_is_run() -> None:
    run = {*run_files()}
    assert run & FILES_RUN_ELSEWHERE.keys() == set()
    assert run | FILES_RUN_ELSEWHERE.keys() == shown_files()


def test_the_files_of_a_policy_are_restricted() -> None:
    names: dict[str, Any] = {}
    exec(block("docs/attachments.md", "FilePolicy("), names)  # the page is ours
    assert isinstance(names["service"], ChatService)


def commands(program: str) -> dict[str, tuple[Block, list[str]]]:
    """Each command of this program in a block of shell commands: where it stands, and what it says."""
    return {
        f"{each} {command}": (each, shlex.split(command, comments=True)[1:])
        for each in all_blocks()
        if each.language == "sh"
        for command in re.split(r"\n|&&|>", each.code.replace("\\\n", ""))
        if command.strip().startswith(f"{program} ")
    }


@batch(command=commands("adk-ui-stream"))
def test_the_command_line_takes_what_is_shown(command: tuple[Block, list[str]]) -> None:
    name, *arguments = command[1]
    main.commands[name].make_context(name, [*arguments])


@batch(command=commands("make"))
def test_the_makefile_has_what_is_shown(command: tuple[Block, list[str]]) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {word for word in command[1] if "=" not in word} <= targets


@batch(command=commands("npm"))
def test_a_project_has_the_scripts_that_are_shown(command: tuple[Block, list[str]]) -> None:
    match command:
        case where, ["run", script]:
            project: dict[str, Any] = json.loads((ROOT / where.file).with_name("package.json").read_text())
            assert script in project["scripts"]
        case _, words:
            assert words in (["ci"], ["install", "ai", "@ai-sdk/react"], ["test"])


def test_every_example_sends_what_a_request_is_about_and_not_the_whole_chat() -> None:
    own = {
        "assistant-ui": "sends the ids of the other messages, too: by them the server sees what an edit has cut off",
        "nextjs": "has a function for it: the Inspector shows the next request by the same one",
    }
    stock = {"react": "has nothing that is made for this server; its README shows the lines"}
    ways = re.search(r"prepareSend.*?\}\),", block("docs/large-chats.md", "prepareSendMessagesRequest"), re.DOTALL)
    assert ways is not None
    assert block("examples/react/README.md", "prepareSend") == block(
        "docs/large-chats.md", "prepareSendMessagesRequest"
    )
    for package in (ROOT / "examples").glob("*/package.json"):
        if package.parent.name in stock:
            continue
        files = our_files(".jsx", ".svelte", ".ts", ".tsx", ".vue", folder=package.parent)
        codes = [" ".join(file.read_text(encoding="utf-8").split()) for file in files]
        transports = [code for code in codes if re.search("(?:new|extends) DefaultChatTransport", code)]
        assert transports, package
        said = "prepareSendMessagesRequest" if package.parent.name in own else " ".join(ways[0].split())
        assert all(said in code for code in transports), package


def test_the_services_for_many_workers_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    install_my_package(monkeypatch, LlmAgent(name="assistant"))
    codes = (
        block("docs/durable.md", "DbosEngine("),
        block("docs/redis.md", "RedisRunLog("),
        block("docs/postgresql.md", "PostgresRunLog("),
    )
    for code in codes:
        names: dict[str, Any] = {}
        exec(compile(code, "page", "exec"), names)  # the page is ours
        assert isinstance(names["service"], ChatService)
