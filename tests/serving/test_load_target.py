from pathlib import Path

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps import App

from stream_protocol.serving.adk_runner import TargetError, load_target

AGENT = """
from google.adk.agents import LlmAgent
root_agent = LlmAgent(name="{name}", model="gemini-2.5-flash")
def make():
    return root_agent
class holder:
    inner = root_agent
number = 3
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, which is not on Python's path."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [entry for entry in __import__("sys").path if entry])
    return tmp_path


@pytest.mark.parametrize("attribute", ["root_agent", "make", "holder.inner"])
def test_a_module_of_the_working_directory_gives_its_agent(folder: Path, attribute: str) -> None:
    module = f"agent_for_{attribute.replace('.', '_')}"
    (folder / f"{module}.py").write_text(AGENT.format(name="mine"))
    target = load_target(f"{module}:{attribute}")
    assert isinstance(target, LlmAgent)
    assert target.name == "mine"


def test_an_agent_folder_gives_its_root_agent_as_an_app_of_its_name(folder: Path) -> None:
    (folder / "with_module").mkdir()
    (folder / "with_module" / "agent.py").write_text(AGENT.format(name="mine"))
    target = load_target("with_module")
    assert isinstance(target, App)
    assert target.name == "with_module"
    assert isinstance(target.root_agent, LlmAgent)
    assert target.root_agent.name == "mine"


def test_a_package_with_an_app_gives_the_app(folder: Path) -> None:
    (folder / "with_app").mkdir()
    code = (
        AGENT.format(name="mine") + "\nfrom google.adk.apps import App\napp = App(name='apps', root_agent=root_agent)"
    )
    (folder / "with_app" / "__init__.py").write_text(code)
    target = load_target(str(folder / "with_app"))
    assert isinstance(target, App)
    assert target.name == "apps"


BAD: dict[str, tuple[str, str]] = {
    "no such module": ("nowhere_at_all:agent", "there is no module `nowhere_at_all`"),
    "no such attribute": ("bad_target:agent", "module `bad_target` has no attribute `agent`"),
    "no agent": ("bad_target:number", "it is of type int, not an agent, App or Runner"),
    "an error in it": ("broken_target:agent", "ZeroDivisionError"),
    "a missing variable": ("no_variable_target:agent", "KeyError: 'NO_SUCH_VARIABLE' (no_variable_target.py, line 2)"),
    "a missing package": (
        "no_package_target:agent",
        "No module named 'no_such_package' (no_package_target.py, line 1)",
    ),
    "no Python": ("no_python_target:agent", "SyntaxError: '(' was never closed (no_python_target.py, line 1)"),
    "an agent that ADK refuses": ("refused_target:agent", "LlmAgent cannot be created: its name cannot be 'user': "),
    "an error that tells a secret": ("telling_target:agent", "RuntimeError: cannot log in at https://host/ (telling"),
    "an exit in it": ("exiting_target:agent", "SystemExit: 7"),
    "an error that is not an Exception": ("panicking_target:agent", "Panic: the index is out of range (panicking"),
    "an error that has no text": ("mute_target:agent", "Mute (mute_target.py, line 3)"),
    "no such folder": ("nowhere_at_all", "there is no such folder"),
    "a folder without an agent": ("empty", "the folder is empty"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_target_that_is_none_is_refused_in_one_line(folder: Path, name: str) -> None:
    (folder / "bad_target.py").write_text(AGENT.format(name="mine"))
    (folder / "broken_target.py").write_text("1 / 0\n")
    (folder / "no_variable_target.py").write_text("import os\nos.environ['NO_SUCH_VARIABLE']\n")
    (folder / "no_package_target.py").write_text("import no_such_package\n")
    (folder / "no_python_target.py").write_text("agent = (\n")
    (folder / "refused_target.py").write_text(AGENT.format(name="user"))
    (folder / "telling_target.py").write_text(
        "raise RuntimeError('cannot log in\\nat https://u:hunter2@host/?key=x')\n"
    )
    (folder / "exiting_target.py").write_text("raise SystemExit(7)\n")
    (folder / "panicking_target.py").write_text(
        "class Panic(BaseException): ...\nraise Panic('the index is out of range')\n"
    )
    (folder / "mute_target.py").write_text("class Mute(Exception):\n    def __str__(self): 1 / 0\nraise Mute\n")
    (folder / "empty").mkdir()
    target, reason = BAD[name]
    with pytest.raises(TargetError) as refused:
        load_target(target)
    assert reason in str(refused.value)
    assert "\n" not in str(refused.value)
    assert target in str(refused.value)


def test_the_root_of_all_folders_is_refused_in_one_line() -> None:
    with pytest.raises(TargetError, match=r"\Acannot load /: (it has|it is in|there is) .*\Z"):
        load_target("/")


LIVE = [
    "gemini-2.0-flash-live-001",
    "gemini-2.0-flash-live-preview-04-09",
    "gemini-live-2.5-flash",
    "gemini-live-2.5-flash-preview-native-audio-09-2025",
    "gemini-2.5-flash-native-audio-preview-12-2025",
    "gemini-2.5-flash-preview-native-audio-dialog",
    "gemini-2.5-flash-exp-native-audio-thinking-dialog",
    "gemini-3.1-flash-live-preview",
    "gemini-3.5-live-translate-preview",
    "models/gemini-2.0-flash-live-001",
    "projects/p/locations/us-central1/publishers/google/models/gemini-live-2.5-flash",
]
NOT_LIVE = [
    "gemini-2.5-flash",
    "gemini-2.0-flash-exp",
    "gemini-2.5-flash-preview-tts",
    "",
    "my-live-model",
    "gemini-olive-1",
]

MODELS = """
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models import Gemini
from google.adk.runners import InMemoryRunner
alone = LlmAgent(name="mine", model="{model}")
wrapped = LlmAgent(name="mine", model=Gemini(model="{model}"))
beneath = LlmAgent(name="root", sub_agents=[LlmAgent(name="other"), LlmAgent(name="mine", model="{model}")])
app = App(name="app", root_agent=LlmAgent(name="mine", model="{model}"))
runner = lambda: InMemoryRunner(LlmAgent(name="mine", model="{model}"))
"""


@pytest.mark.parametrize("model", LIVE)
def test_a_model_that_only_does_live_runs_is_refused_in_one_line(folder: Path, model: str) -> None:
    module = f"live_{LIVE.index(model)}"
    (folder / f"{module}.py").write_text(MODELS.format(model=model))
    for attribute in ("alone", "wrapped", "beneath", "app", "runner"):
        with pytest.raises(TargetError) as refused:
            load_target(f"{module}:{attribute}")
        name = model.rpartition("/")[2]
        assert str(refused.value).startswith(f"cannot run {module}:{attribute}: agent 'mine' has the model {name}, ")
        assert "\n" not in str(refused.value)


def test_other_models_are_not_refused(folder: Path) -> None:
    for number, model in enumerate(NOT_LIVE):
        (folder / f"other_{number}.py").write_text(MODELS.format(model=model))
        for attribute in ("alone", "beneath", "app", "runner"):
            assert load_target(f"other_{number}:{attribute}") is not None
