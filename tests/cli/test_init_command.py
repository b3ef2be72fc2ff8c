"""``adk-ui-stream init``: the new project runs without changes."""

import importlib
import json
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from packaging.requirements import Requirement

from stream_protocol.cli import init_command, main
from stream_protocol.cli.init_command import TEMPLATE
from stream_protocol.serving import ChatService, create_app
from stream_protocol.testing import Call, ScriptedLlm, Turn
from stream_protocol.typescript import chat_types
from tests.batch import batch
from tests.processes import ROOT, cli, serving, started
from tests.serving.support import chat, only, said, stream
from tests.test_package import VERSION

BAD_NAMES = {
    "empty": "",
    "the folder itself": ".",
    "the folder above": "..",
    "a digit first": "2shops",
    "an option": "-shop",
    "a blank": "my shop",
    "not ASCII": "caffè",
    "a keyword": "class",
    "of the standard library": "json",
    "of a package that is installed": "google",
    "of this package": "stream-protocol",
    "of a folder in the project": "tests",
    "ADK's own": "user",
    "too long": "a" * 300,
    "in no folder": "none/shop",
}


def init(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["init", *arguments])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_serve_finds_the_agent_in_the_folder_of_the_project(folder: Path) -> None:
    assert init("my-shop", "--page", "none").exit_code == 0
    done = cli("serve", "my-shop", cwd=folder)
    sentence = "cannot load my-shop: it has no agent.py; the agent is in my-shop/my_shop."
    assert done.stderr == f"error: {sentence} Try: adk-ui-stream serve my-shop/my_shop\n"
    with serving("my-shop/my_shop", cwd=folder):
        pass


@batch(name=BAD_NAMES)
def test_a_bad_name_is_one_line_and_leaves_nothing(name: str, folder: Path) -> None:
    done = init("--", name)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert [*folder.iterdir()] == []


def test_what_is_there_stays_as_it_is_unless_it_is_an_empty_folder(folder: Path) -> None:
    (folder / "file").write_text("mine")
    (folder / "full").mkdir()
    (folder / "full" / "note.txt").write_text("mine")
    (folder / "link").symlink_to("nowhere")
    for name in ("file", "full", "link"):
        done = init(name)
        assert (done.exit_code, done.stderr) == (
            2,
            f"error: {name} already exists and is not an empty folder: choose another name\n",
        )
    assert files(folder) == {"file", "full/note.txt"}
    (folder / "shop").mkdir()
    assert init("shop").exit_code == 0
    assert (folder / "shop" / "shop" / "agent.py").is_file()


def test_a_disk_that_is_full_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", write)
    done = init("shop")
    assert (done.exit_code, done.stderr) == (2, "error: cannot write shop: No space left on device\n")
    assert [*folder.iterdir()] == []


@pytest.mark.slow
def test_the_page_is_the_example_of_a_next_app(folder: Path) -> None:
    assert init("My-Shop").exit_code == 0
    page = folder / "My-Shop" / "page"
    example = ROOT / "examples" / "nextjs"
    ours = {
        name: (example / name).read_text(encoding="utf-8")
        for name in files(TEMPLATE / "page")
        if not {*Path(name).parts} & {"node_modules", ".next"} and not name.endswith(("next-env.d.ts", ".tsbuildinfo"))
    }
    theirs = {name: (page / name).read_text(encoding="utf-8") for name in files(page)}
    title, picture, text = ours["README.md"].split("\n\n", 2)
    assert picture.startswith("<picture>")
    ours["README.md"] = f"{title}\n\n{text}"  # the picture's file is not in the project
    assert {
        name: text.replace("adk-ui-stream-nextjs", "my-shop-page").replace("my_package", "my_shop")
        for name, text in ours.items()
    } == theirs
    assert {"package.json", "package-lock.json", ".env.example", ".gitignore", "app/route.ts"} <= theirs.keys()


@pytest.fixture
def my_package(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module of the template's agent."""
    monkeypatch.syspath_prepend(TEMPLATE)
    for name in ("my_package", "my_package.agent", "my_package.scripted_model"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield importlib.import_module("my_package.agent")
    for name in ("my_package", "my_package.agent", "my_package.scripted_model"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("example", ["nextjs/lib", "react/src", "svelte/src", "vue/src"])
async def test_a_page_has_the_types_of_the_agent(example: str, my_package: Any) -> None:
    written = (ROOT / "examples" / example / "chat-types.ts").read_text(encoding="utf-8")
    assert written == await chat_types(my_package.root_agent, [my_package.shopping_list])


async def test_the_script_of_a_new_project_understands_each_suggestion_of_its_page(my_package: Any) -> None:
    script = importlib.import_module("my_package.scripted_model")
    called = {}
    for prompt in my_package.SUGGESTIONS:
        app = create_app(ChatService(my_package.shopping_agent(script.scripted_model())))
        answer = await stream(app, chat(said(prompt)))
        called[prompt] = [(chunk["toolName"], chunk["input"]) for chunk in only(answer, "tool-input-available")]
    assert called == {
        "Put milk and tea on my list": [("add_item", {"item": "milk"}), ("add_item", {"item": "tea"})],
        "What is on my list?": [("show_list", {})],
        "What is my time zone?": [("get_time_zone", {})],
        "Clear my list": [("clear_list", {})],
    }
    assert all(f"“{prompt}”" in script.HELP for prompt in called)


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("What time is it where I am?", ["get_time_zone"]),
        ("Add bread, cheese and jam to the list.", ["add_item"] * 3),
        ("Show me my list", ["show_list"]),
        ("What is the capital of France?", []),
    ],
)
async def test_the_script_of_a_new_project_understands_what_is_near_its_suggestions(
    my_package: Any, text: str, calls: list[str]
) -> None:
    model = importlib.import_module("my_package.scripted_model").scripted_model()
    answer = await stream(create_app(ChatService(my_package.shopping_agent(model))), chat(said(text)))
    assert [chunk["toolName"] for chunk in only(answer, "tool-input-available")] == calls


async def test_the_page_is_shown_the_list_with_each_change(my_package: Any) -> None:
    script: list[Turn] = [
        Call("add_item", {"item": "milk"}),
        Call("show_list"),
        Call("add_item", {"item": "tea"}),
        "Done.",
    ]
    app = create_app(ChatService(my_package.shopping_agent(ScriptedLlm(turns=script))))
    answer = await stream(app, chat(said("Milk and tea")))
    shown = [(chunk["id"], chunk["data"]) for chunk in only(answer, "data-shopping-list")]
    assert shown == [("list", {"items": ["milk"]}), ("list", {"items": ["milk", "tea"]})]


def test_without_a_page_nothing_speaks_of_one(folder: Path) -> None:
    done = init("shop", "--page", "none")
    assert (done.exit_code, "Next" in done.stdout) == (0, False)
    assert not (folder / "shop" / "page").exists()
    assert "npm" not in (folder / "shop" / "README.md").read_text()


def test_the_commands_that_come_next_start_the_page_too(folder: Path) -> None:
    done = init("my-shop")
    assert [line.partition("#")[0].strip() for line in done.stdout.splitlines()[2:]] == [
        "cd my-shop",
        "python -m venv .venv",
        ". .venv/bin/activate",
        "pip install -r requirements.txt",
        "pytest",
        "adk-ui-stream serve my_shop --open",
        "cd page && npm ci && npm run dev",
    ]


def test_the_first_command_finds_a_folder_with_blanks(folder: Path) -> None:
    (folder / "my apps").mkdir()
    done = init("my apps/shop")
    assert shlex.split(done.stdout.splitlines()[2]) == ["cd", "my apps/shop"]


def test_no_name_of_the_template_is_left(folder: Path) -> None:
    assert init("shop").exit_code == 0
    texts = [path.read_bytes() for path in (folder / "shop").rglob("*") if path.is_file()]
    assert [text for text in texts if re.search(rb"my[-_](project|package)|adk-ui-stream-nextjs", text)] == []
    requirements = map(Requirement, (TEMPLATE / "requirements.txt").read_text().splitlines())
    assert [each.specifier.contains(VERSION) for each in requirements if each.name == "adk-ui-stream"] == [True]


INSTALLED = {
    "an index": (None, "adk-ui-stream~=0.1.0"),
    "a clone": (
        {"url": "file:///home/ann/a%20clone", "dir_info": {"editable": True}},
        "adk-ui-stream @ file:///home/ann/a%20clone",
    ),
    "a wheel": (
        {"url": "file:///tmp/adk_ui_stream-0.1.0-py3-none-any.whl", "archive_info": {}},
        "adk-ui-stream @ file:///tmp/adk_ui_stream-0.1.0-py3-none-any.whl",
    ),
    "a repository": (
        {"url": "https://git.example/it.git", "vcs_info": {"vcs": "git", "commit_id": "1a2b"}},
        "adk-ui-stream @ git+https://git.example/it.git@1a2b",
    ),
}


@batch(case=INSTALLED)
def test_the_project_requires_the_package_from_where_it_was_installed(
    case: tuple[dict[str, Any] | None, str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, requirement = case

    class Installed:
        def read_text(self, name: str) -> str | None:
            assert name == "direct_url.json"
            return None if source is None else json.dumps(source)

    monkeypatch.setattr(init_command, "distribution", lambda name: Installed())
    assert init("shop", "--page", "none").exit_code == 0
    lines = (folder / "shop" / "requirements.txt").read_text().splitlines()
    assert lines == [requirement, "httpx", "pytest>=9,<10"]
    assert [Requirement(line).name for line in lines] == ["adk-ui-stream", "httpx", "pytest"]
    shutil.rmtree("shop")


def commands(readme: Path, mark: str) -> list[str]:
    """The commands in the one block of the README that has this text."""
    blocks: list[str] = re.findall(r"^```sh\n(.*?)^```$", readme.read_text(), re.DOTALL | re.MULTILINE)
    (block,) = (block for block in blocks if mark in block)
    return block.splitlines()


@pytest.mark.release
@pytest.mark.processes
def test_the_project_passes_its_test_and_records_and_serves_as_its_readme_says(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GOOGLE_API_KEY", "CI"):
        monkeypatch.delenv(name, raising=False)
    assert init("shop", "--page", "none").exit_code == 0
    project = folder / "shop"
    start = commands(project / "README.md", "pip install")
    assert start[-2:] == ["pytest", "adk-ui-stream serve shop --open --reload"]
    with started("pytest", "-p", "adk_ui_stream_pytest", "-q", cwd=project) as process:
        output = process.read()
        assert process.wait() == 0, output
    assert re.search(r"^2 passed", output, re.MULTILINE), output
    remove, record, update = commands(project / "README.md", "adk-ui-stream record")
    before = {name for name in files(project) if "cache" not in name}
    (project / shlex.split(remove)[1]).unlink()
    monkeypatch.chdir(project)
    with started("stream_protocol", *shlex.split(record)[1:], cwd=project) as process:
        assert process.wait() == 0, process.log.read_text()
    expected = (project / "tests" / "recordings" / "shopping.expected.jsonl").read_bytes()
    arguments = shlex.split(update)[1:]
    with started("pytest", "-p", "adk_ui_stream_pytest", "-q", *arguments, cwd=project) as process:
        output = process.read()
        assert process.wait() == 0, output
    assert (project / "tests" / "recordings" / "shopping.expected.jsonl").read_bytes() == expected
    assert {name for name in files(project) if "cache" not in name} == before
    with serving("shop", cwd=project) as (process, _):
        assert [process.read_line().split() for _ in range(7)][-2:] == [["Agent", "shopper"], ["Model", "scripted"]]
