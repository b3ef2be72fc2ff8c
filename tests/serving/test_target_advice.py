"""Names that are not targets: the error names the problem, and each suggested name can be loaded."""

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from stream_protocol.serving.adk_runner import TargetError, load_target
from stream_protocol.serving.adk_runner._agent_search import module_targets

AGENT = """
from google.adk.agents import LlmAgent
{name} = LlmAgent(name="mine", model="gemini-2.5-flash")
"""
ROOT_AGENT = AGENT.format(name="root_agent")
IMPORT = "from google.adk.agents import LlmAgent\nfrom google.adk.apps import App\n"

# ADK warns about its own class for YAML.
pytestmark = pytest.mark.filterwarnings("ignore:LlmAgentConfig is deprecated:DeprecationWarning")

TREE: Mapping[str, str] = {
    "weather_bot/agent.py": ROOT_AGENT,
    "weather_bot/__init__.py": "from . import agent\n",
    "bots/stress/agent.py": ROOT_AGENT,
    "bots/broken/agent.py": "1 / 0\n",
    "bots/cut/agent.py": "root_agent = (\n",
    "my-chat/my_chat/agent.py": ROOT_AGENT,
    "my-chat/main.py": "import my_chat\n",
    "__special/agent.py": ROOT_AGENT,
    "nothing/.keep": "",
    "notes/readme.md": "# Notes",
    "unnamed/agent.py": AGENT.format(name="helper"),
    "bare/agent.py": "x = 1\n",
    "my-bot/agent.py": ROOT_AGENT,
    "json/agent.py": ROOT_AGENT,
    "user/agent.py": ROOT_AGENT,
    "classy/agent.py": f"{IMPORT}root_agent = LlmAgent\n",
    "lazy/agent.py": f"{IMPORT}def root_agent():\n    return LlmAgent(name='mine')\n",
    "boxed/agent.py": f"{IMPORT}root_agent = App(name='boxed', root_agent=LlmAgent(name='mine'))\n",
    "configured/root_agent.yaml": "name: mine\nmodel: gemini-2.5-flash\ninstruction: Be kind.\n",
    "misspelt/root_agent.yaml": "nam: mine\n",
    "not_yaml/root_agent.yaml": "name: mine\nmodel: [1\ninstruction: hi\n",
    "startup/__init__.py": "x = 1\nraise RuntimeError('not yet')\n",
    "startup/agent.py": ROOT_AGENT,
    "valued/agent.py": "raise ValueError('no such city')\n",
    "denied/agent.py": "raise PermissionError(13, 'Permission denied', 'key.pem')\n",
    "raising.py": f"{ROOT_AGENT}raise RuntimeError('not yet')\n",
    "nested/__init__.py": "from . import agent\n",
    "nested/agent.py": "x = 1\n\ny = (\n",
    "loose/main.py": ROOT_AGENT,
    "single.py": ROOT_AGENT,
    "two_words.py": f"{IMPORT}assistant_one = LlmAgent(name='one')\nassistant_two = LlmAgent(name='two')\n",
    "severed.py": "root_agent = (\n",
    "absent.py": f"import no_such_package_at_all\n{ROOT_AGENT}",
    "plain.py": "x = 1\n",
    "silent.py": "print('ran')\nraise SystemExit(3)\n",
    "odd.py": f"""
{ROOT_AGENT}
from fastapi import FastAPI
import os
app = FastAPI()
number = 3
nothing = None
text = "root_agent"
agents = [root_agent]
class Own(LlmAgent): pass
class Other: pass
class Complete(LlmAgent):
    name: str = "complete"
def make(): return root_agent
def make_for(city): return root_agent
async def make_later(): return root_agent
def make_nothing(): return None
def make_number(): return 3
def without_name(): return LlmAgent(model="x")
def with_bad_name(): return LlmAgent(name="my agent")
def with_typo(): return LlmAgent(name="mine", instructions="Be kind.")
def with_too_much(): return LlmAgent(name="mine", a=1, b=2, c=3, d=4)
""",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The working directory, with the files of ``tree``. Imported modules are unloaded afterwards."""
    for name, text in TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    before = {*sys.modules}
    yield tmp_path
    for name in {*sys.modules} - before:
        if str(tmp_path) in str(vars(sys.modules[name]).get("__file__") or vars(sys.modules[name]).get("__path__")):
            del sys.modules[name]


def refused(target: str) -> TargetError:
    with pytest.raises(TargetError) as error:
        load_target(target)
    text = str(error.value)
    assert text.startswith(f"cannot load {target}: ")
    assert "\n" not in text
    assert "…" not in text
    return error.value


MEANT = {
    "wether_bot": "weather_bot",
    "Weather_Bot": "weather_bot",
    "bots/stres": "bots/stress",
    "stress": "bots/stress",
    "bots.stress": "bots/stress",
    "weather_bot/agent.py": "weather_bot",
    "weather_bot/__init__.py": "weather_bot",
    "weather_bot/agnt.py": "weather_bot",
    "configured/root_agent.yaml": "configured",
    "single.py": "single:root_agent",
    "./single.py": "single:root_agent",
    "single": "single:root_agent",
    "single.root_agent": "single:root_agent",
    "weather_bot.agent": "weather_bot.agent:root_agent",
    "weather_bot.agent.root_agent": "weather_bot.agent:root_agent",
    "weather_bot/agent": "weather_bot",
    "two_words.py": "two_words:assistant_one",
    "two_words.assistant_two": "two_words:assistant_two",
    "single.py:root_agent": "single:root_agent",
    "two_words.py:assistant_two": "two_words:assistant_two",
    "weather_bot/agent.py:root_agent": "weather_bot.agent:root_agent",
    "weather_bot/agent:root_agent": "weather_bot.agent:root_agent",
    "bots/stress:root_agent": "bots/stress",
    "singel:root_agent": "single:root_agent",
    "two_word:assistant_two": "two_words:assistant_two",
    "weather_bot.agnt:root_agent": "weather_bot.agent:root_agent",
    "single:root_agnt": "single:root_agent",
    "single:Root_Agent": "single:root_agent",
    "two_words:asistant_two": "two_words:assistant_two",
    "unnamed": "unnamed.agent:helper",
    "loose": "loose.main:root_agent",
}


@pytest.mark.parametrize(("name", "meant"), MEANT.items())
def test_a_name_that_is_close_to_a_target_offers_it_and_it_is_loaded(name: str, meant: str, folder: Path) -> None:
    assert re.findall(r" Did you mean `([^`]*)`\?$", str(refused(name))) == [meant]
    assert load_target(meant) is not None


FOUND = {
    "nowhere": "there is no such folder.",
    "": "the name is empty.",
    "no/such/place": "there is no such folder.",
    "nowhere:root_agent": "there is no module `nowhere`.",
    ":root_agent": "it names no module.",
    "two_words:": "it names no attribute of the module.",
    "two_words:xyz": "module `two_words` has no attribute `xyz`.",
    "two_words:assistant_one.tool": "`assistant_one` in module `two_words` has no attribute `tool`.",
    "weather_bot:root_agent": "module `weather_bot` has no attribute `root_agent`.",
    "odd:number": "it is of type int, not an agent, App or Runner.",
    "odd:nothing": "it is None, not an agent, App or Runner.",
    "odd:text": "it is of type str, not an agent, App or Runner.",
    "odd:agents": "it is of type list, not an agent, App or Runner.",
    "odd:os": "it is the module os, not an agent, App or Runner.",
    "odd:app": "it is of type FastAPI, a web app for `uvicorn odd:app`, not an agent, App or Runner.",
    "odd:Own": "it is the class Own: create an object of it, and name that.",
    "odd:LlmAgent": "it is the class LlmAgent: create an object of it, and name that.",
    "odd:Other": "it is the class Other, not an agent, App or Runner.",
    "odd:make_later": "it is an `async` function, not an agent, App or Runner.",
    "odd:make_nothing": "it returned None, not an agent, App or Runner.",
    "odd:make_number": "it returned a value of type int, not an agent, App or Runner.",
}


@pytest.mark.parametrize(("name", "reason"), FOUND.items())
def test_a_name_that_is_close_to_no_target_has_a_reason_and_targets_that_are_loaded(
    name: str, reason: str, folder: Path
) -> None:
    error = refused(name)
    assert reason in str(error)
    assert str(error).partition(" Found here: ")[2] == ", ".join(error.found)
    assert bool(error.found) == (name != "two_words:assistant_one.tool")
    for target in error.found[:5]:
        assert load_target(target) is not None


def test_an_unknown_name_lists_five_targets_at_most_and_none_of_the_tests_or_examples(folder: Path) -> None:
    for inner in ("tests/one", "bench/one", "examples/one"):
        (folder / inner).mkdir(parents=True)
        (folder / inner / "agent.py").write_text(ROOT_AGENT)
    found = refused("zzzzzz").found
    assert len(found) == 6
    assert re.fullmatch(r"and \d+ more", found[5])
    assert [name for name in found if name.startswith(("tests", "bench", "examples"))] == []
    assert refused("tests/zzzzzz").found[0] == "tests/one"


def test_no_target_is_listed_whose_imports_work_only_in_a_folder_below(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = tmp_path / "trip/trip/agent.py"
    agent.parent.mkdir(parents=True)
    (tmp_path / "trip/trip/__init__.py").touch()
    agent.write_text(ROOT_AGENT)
    (tmp_path / "trip/main.py").write_text("from trip.agent import root_agent\n")
    monkeypatch.chdir(tmp_path)
    assert list(refused("zzzzzz").found) == ["trip/trip"]
    monkeypatch.chdir(tmp_path / "trip")
    assert list(refused("zzzzzz").found) == ["trip", "main:root_agent"]


SAID = {
    "bots": "it has 3 agents: broken, cut, stress.",
    "./bots/": "it has 3 agents: broken, cut, stress.",
    "my-chat": "it has no agent.py; the agent is in my-chat/my_chat.",
    "nothing": "there is no agent.py in it.",
    "notes": "there is no agent.py in it.",
    "notes/readme.md": "it is a file, and not Python.",
    "plain.py": "it is a file that defines no agent.",
    "severed.py": "it is a file, and cannot be imported: SyntaxError: '(' was never closed (severed.py, line 1)",
    "absent.py": "it is a file, and cannot be imported: it imports no_such_package_at_all, which is not installed",
    "raising.py": "it is a file, and cannot be imported: it raises an error (raising.py, line 4)",
    "silent.py": "it is a file, and cannot be imported: it raises an error (silent.py, line 2)",
    "bare": "bare/agent.py does not define `root_agent`",
    "bare/": "bare/agent.py does not define `root_agent`",
    "unnamed": "unnamed/agent.py does not define `root_agent`, but `helper`: rename it.",
    "my-bot": "is not `user`: rename `my-bot`, for example to `my_bot`",
    "user": "is not `user`: rename `user`, for example to `agent_user`",
    "json": "Python has another module `json` (",
    "classy": "`root_agent` in classy/agent.py is the class LlmAgent, not an agent: create an object of it",
    "lazy": "`root_agent` in lazy/agent.py is a function, not an agent: assign what it returns",
    "boxed": "`root_agent` in boxed/agent.py is of type App, not an agent: call it `app`",
    "misspelt": "LlmAgentConfig cannot be created: it has no `name`: give it one, such as my_agent;",
    "not_yaml": "expected ',' or ']', but got ':' (root_agent.yaml, line 3)",
    "bots/broken": "ZeroDivisionError: division by zero (agent.py, line 1)",
    "bots/cut": "SyntaxError: '(' was never closed (agent.py, line 1)",
    "startup": "RuntimeError: not yet (startup/__init__.py, line 2)",
    "valued": "cannot load valued: ValueError: no such city (agent.py, line 1)",
    "denied": "PermissionError: [Errno 13] Permission denied: 'key.pem' (agent.py, line 1)",
    "__special": "the name of an agent's folder has letters, digits and underscores, begins with a letter",
    "nested": "cannot load nested: SyntaxError: '(' was never closed (agent.py, line 3)",
    "absent:root_agent": "ModuleNotFoundError: No module named 'no_such_package_at_all' (absent.py, line 1)",
    "odd:make_for": "it takes arguments (city); a function that makes a target is called without any",
    "odd:without_name": "LlmAgent cannot be created: it has no `name`: give it one, such as my_agent (odd.py, line ",
    "odd:with_bad_name": "LlmAgent cannot be created: its name cannot be 'my agent': take letters, digits and under",
    "odd:with_typo": "LlmAgent cannot be created: it has no field `instructions` (did you mean `instruction`?) (odd.py",
    "odd:with_too_much": "`a` is not one of its fields; `b` is not one of its fields; `c` is not one of its fields; 1 ",
}


@pytest.mark.parametrize(("name", "sentence"), SAID.items())
def test_a_target_that_is_not_usable_has_a_sentence_that_says_why(name: str, sentence: str, folder: Path) -> None:
    assert sentence in str(refused(name))


@pytest.mark.parametrize(("name", "example"), [("bots", "bots/stress"), ("my-chat", "my-chat/my_chat")])
def test_of_a_folder_of_agents_one_that_works_is_the_example(name: str, example: str, folder: Path) -> None:
    assert refused(name).example == example
    assert load_target(example) is not None


UNUSABLE = {
    "an agent without root_agent": "x = 1\n",
    "one that is no Python": "root_agent = (\n",
    "one that imports what is missing": f"import no_such_package_at_all\n{ROOT_AGENT}",
    "one that imports a sibling that is missing": f"from .no_such_sibling import x\n{ROOT_AGENT}",
    "a class": f"{IMPORT}root_agent = LlmAgent\n",
    "a number": "root_agent = 3\n",
    "a function": "def root_agent(): pass\n",
    "a web app": "from fastapi import FastAPI\napp = FastAPI()\n",
    "an agent without a name": f"{IMPORT}root_agent = LlmAgent(model='x')\n",
    "an agent with a bad name": f"{IMPORT}root_agent = LlmAgent(name='my agent')\n",
    "an agent that is deleted": f"{ROOT_AGENT}del root_agent\n",
    "an agent that is overwritten": f"{ROOT_AGENT}root_agent = None\n",
    "an App as root_agent": f"{IMPORT}root_agent = App(name='a', root_agent=LlmAgent(name='mine'))\n",
    "one whose sibling has no such agent": "from .parts import helper as root_agent\n",
    "one whose sibling is no Python": "from .severed import root_agent\n",
    "one that imports itself": "from .agent import root_agent\n",
    "an agent in a function": "def make():\n    root_agent = 1\n",
}


@pytest.mark.parametrize("kind", UNUSABLE)
def test_what_would_not_be_loaded_is_not_offered(kind: str, folder: Path) -> None:
    for name in ("solo", "only"):  # as a folder of an agent, and in one that has a single agent
        place = folder / "bots" / name
        place.mkdir()
        (place / "agent.py").write_text(UNUSABLE[kind])
        (place / "parts.py").write_text(ROOT_AGENT)
        (place / "severed.py").write_text("root_agent = (\n")
    for name in ("bots/sol", "bots/solo/agent.py", "solo", "bots.solo"):
        offered = re.findall(r"Did you mean `([^`]*)`", str(refused(name)))
        assert offered != ["bots/solo"]
        assert all(load_target(target) is not None for target in offered)
    assert refused("bots").example == "bots/stress"
    refused("bots/solo")


USABLE = {
    "an agent of a class of its own": f"{IMPORT}class Own(LlmAgent): pass\nroot_agent = Own(name='mine')\n",
    "an agent of a module's class": "import google.adk.agents as a\nroot_agent = a.LlmAgent(name='mine')\n",
    "an agent of a dotted class": "import google.adk.agents\nroot_agent = google.adk.agents.LlmAgent(name='mine')\n",
    "an agent under two names": f"{AGENT.format(name='helper')}root_agent = helper\n",
    "an agent that a function makes": f"{IMPORT}def make(): return LlmAgent(name='mine')\nroot_agent = make()\n",
    "an agent with its type": f"{IMPORT}root_agent: LlmAgent = LlmAgent(name='mine')\n",
    "an agent in a try": f"{IMPORT}try:\n    import no_such_package_at_all\nexcept ImportError:\n"
    "    root_agent = LlmAgent(name='mine')\n",
    "an agent from a sibling": "from .parts import root_agent\n",
    "an agent of another name from a sibling": "from .parts import helper as root_agent\n",
    "an agent of the package": "from solo.parts import root_agent\n",
    "an agent of given fields": f"{IMPORT}fields = {{'name': 'mine'}}\nroot_agent = LlmAgent(**fields)\n",
    "an App": f"{IMPORT}app = App(name='a', root_agent=LlmAgent(name='mine'))\n",
}


@pytest.mark.parametrize("kind", USABLE)
def test_whatever_would_be_loaded_is_offered(kind: str, folder: Path) -> None:
    place = folder / "bots" / "solo"
    place.mkdir()
    (place / "parts.py").write_text(f"{ROOT_AGENT}helper = root_agent\n")
    (place / "agent.py").write_text(USABLE[kind])
    assert str(refused("bots/sol")).endswith(" Did you mean `bots/solo`?")
    assert load_target("bots/solo") is not None


def test_for_advice_no_code_runs(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    loud = "print('it ran')\nopen('ran', 'w')\n" + ROOT_AGENT
    (folder / "loud").mkdir()
    (folder / "loud" / "agent.py").write_text(loud)
    (folder / "loudly.py").write_text(loud)
    for name in ("loud/agent.py", "loudly.py", "loudly", "loudy", "nowhere", "loudly.root_agent", "nowhere:root_agent"):
        refused(name)
    assert not (folder / "ran").exists()
    assert capfd.readouterr() == ("", "")


def test_a_class_that_needs_no_arguments_and_a_function_are_called(folder: Path) -> None:
    assert load_target("odd:make") is load_target("odd:root_agent")
    assert load_target("odd:Complete") is not None


def test_a_file_in_another_folder_says_where_to_go(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder / "bots")
    text = "it is a file in another folder: go to .., and name single:root_agent there"
    assert str(refused("../single.py")) == f"cannot load ../single.py: {text}"


def test_what_may_be_mended_is_told_apart_from_a_name_that_means_nothing(folder: Path) -> None:
    for name in ("bots/broken", "bare", "unnamed", "odd:missing", "odd:number", "absent:root_agent", "not_yaml"):
        assert refused(name).is_fixable, name
    for name in ("nowhere", "nowhere:agent", "bots", "my-chat", "nothing", "my-bot", "notes/readme.md"):
        assert not refused(name).is_fixable, name


def test_a_folder_outside_of_the_working_directory_is_not_searched(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "bots" / "elsewhere").symlink_to(folder / "my-chat")
    monkeypatch.chdir(folder / "bots")
    for name in ("/nope", "/proc/nope", "../nope", f"{folder}/nope", f"{folder}/weather_bt", "elsewhere/my_cht"):
        assert refused(name).found == ["stress"], name


@pytest.mark.parametrize("place", ["/", "/proc", "/sys", "{home}/..", "{home}/../.."])
def test_the_system_and_the_homes_of_users_are_not_searched(
    place: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = folder / "nothing"
    monkeypatch.setenv("HOME", str(home))
    place = place.format(home=home)
    assert str(refused(place)).endswith(
        "Name the folder of an agent, or an attribute of a module, such as my_package.agent:root_agent."
    )
    monkeypatch.chdir(place)
    for name in ("nope", "nope:root_agent", "./nope"):
        assert refused(name).found == []


def test_symbolic_links_are_not_followed(folder: Path) -> None:
    others = folder / "nothing" / "others"
    others.mkdir()
    (others / "again").symlink_to(folder)
    (others / "itself").symlink_to(others / "itself")
    (folder / "looped.py").symlink_to(folder / "looped.py")
    (others / "system").symlink_to("/")
    assert "again" not in str(refused("nothing"))
    assert not any("looped" in name for name in module_targets(Path()))


def test_a_folder_that_cannot_be_read_is_skipped(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real_stat, real_scandir = Path.stat, os.scandir

    def refuse(path: object) -> None:
        if "my-chat" in str(path):
            raise PermissionError(13, "Permission denied", str(path))

    def stat(path: Path, **options: Any) -> os.stat_result:
        refuse(path)
        return real_stat(path, **options)

    def scandir(path: Path) -> Any:
        refuse(path)
        return real_scandir(path)

    monkeypatch.setattr(Path, "stat", stat)
    monkeypatch.setattr("stream_protocol.serving.adk_runner._agent_search.os.scandir", scandir)
    assert re.findall(r"Did you mean `([^`]*)`", str(refused("wether_bot"))) == ["weather_bot"]
    assert "Permission denied" in str(refused("my-chat/my_chat"))


@pytest.mark.parametrize(("limit", "value"), [("_MAX_ENTRIES", 0), ("_MAX_SECONDS", -1.0), ("_MAX_FOLDERS", 0)])
def test_a_search_has_limits(limit: str, value: float, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"stream_protocol.serving.adk_runner._agent_search.{limit}", value)
    assert refused("nowhere").found == []
    assert "weather_bot" not in str(refused(".")), "agents below a named folder"


def test_a_search_reads_no_huge_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for other in (*folder.iterdir(),):
        if other.name != "single.py":
            shutil.rmtree(other) if other.is_dir() else other.unlink()
    assert refused("nowhere").found == ["single:root_agent"]
    monkeypatch.setattr("stream_protocol.serving.adk_runner._agent_search._MAX_BYTES", 10)
    assert refused("nowhere").found == []
