"""Options of ``serve`` in the project's ``pyproject.toml``."""

import tomllib
from pathlib import Path
from typing import Any

import click
import httpx
import pytest
from click.testing import CliRunner

from stream_protocol.cli import main
from stream_protocol.cli._serve_options import ServeOptions, file_options, read_options
from stream_protocol.cli.init_command import TEMPLATE
from stream_protocol.cli.serve_command import serve
from tests.documents import block
from tests.processes import HANG, cli, serving
from tests.serve_settings import write_settings

AGENT = """
from google.adk.agents import LlmAgent
from stream_protocol.testing import ScriptedLlm
root_agent = LlmAgent(name="mine", model=ScriptedLlm(respond=lambda request: "Hello."))
"""
WITHOUT_DEFAULT = {"audit", "context", "disconnect-grace", "run-log-prefix", "shared-state"}
"""Options whose example in the file of ``init`` is not their default."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(*words: str) -> ServeOptions:
    context = serve.make_context("serve", ["agent", *words])
    given = {name: value for name, value in context.params.items() if name not in ("target", *NAMES)}
    return read_options(context, given)


NAMES = [option.name for option in file_options().values()]


def test_options_come_from_the_table_and_others_have_their_defaults(folder: Path) -> None:
    write_settings(
        folder, {"max-runs": 7, "lease": 2, "log-whole": ["a", "b"], "show-errors": True, "audit": "a.jsonl"}
    )
    options = read("--drain", "5")
    assert (options.max_runs, options.lease, options.log_whole) == (7, 2.0, ("a", "b"))
    assert (options.show_errors, options.audit_file, options.drain) == (True, "a.jsonl", 5.0)
    assert (options.max_runs_per_user, options.truncated_history, options.disconnect_grace) == (50, "append", None)
    assert (options.idempotent_tools, options.run_log_prefix) == ((), None)


def test_the_file_of_the_page_is_read(folder: Path) -> None:
    (folder / "pyproject.toml").write_text(block("docs/cli.md", "max-runs = 100"))
    options = read()
    assert (options.max_runs, options.log_whole) == (100, ("my_package",))


def test_the_page_on_page_values_names_objects(folder: Path) -> None:
    (folder / "pyproject.toml").write_text(block("docs/page-values.md", "shared-state ="))
    options = read()
    assert (options.context, options.shared_state) == ("my_agent.agent:screen", "my_agent.agent:shared")


@pytest.mark.parametrize("text", [None, "", "[project]\nname = 'mine'\n"])
def test_a_project_without_the_table_has_the_defaults(folder: Path, text: str | None) -> None:
    if text is not None:
        (folder / "pyproject.toml").write_text(text)
    assert read().max_runs == 300


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"max-runs": 0}, "max-runs: 0 is not a whole number from 1"),
        ({"max-runs": "many"}, 'max-runs: "many" is not a whole number from 1'),
        ({"max-runs": True}, "max-runs must be a single value"),
        ({"max-runs": [1]}, "max-runs must be a single value"),
        ({"lease": 0}, "lease: 0 is not a number of seconds: use a number above 0"),
        ({"lease": "nan"}, 'lease: "nan" is not a number of seconds'),
        ({"disconnect-grace": -1}, "disconnect-grace: -1 is not a number of seconds: use 0 or more"),
        ({"log-whole": "my_app"}, 'log-whole must be a list, such as ["first", "second"]'),
        ({"show-errors": "yes"}, "show-errors must be true or false"),
        ({"truncated-history": "drop"}, "truncated-history: 'drop' is not one of 'append', 'rewind'."),
        ({"on-busy": "queue"}, "on-busy: 'queue' is not one of 'interrupt', 'steer', 'reject'."),
        ({"while-busy": "reject"}, "while-busy: 'reject' is not one of 'queue', 'steer', 'interrupt'."),
        ({"context": "screen"}, 'context: "screen" is not module:attr, such as my_package.agent:screen'),
        ({"shared-state": "my agent:shared"}, 'shared-state: "my agent:shared" is not module:attr, such as '),
        ({"audit": ""}, "audit: The path must not be empty."),
        ({"host": "0.0.0.0"}, "host is an option of the command line: remove it here and pass --host"),
        ({"max_runs": 3}, "unknown option max_runs: use one of audit, disconnect-grace, truncated-history, "),
    ],
    ids=str,
)
def test_a_wrong_option_is_one_line_that_names_it(folder: Path, options: dict[str, Any], told: str) -> None:
    write_settings(folder, options)
    for arguments in (["agent:root_agent"], ["--replay", "nowhere"]):
        done = CliRunner().invoke(main, ["serve", *arguments])
        assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert done.stderr.startswith(f"error: pyproject.toml, [tool.adk-ui-stream.serve]: {told}")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (f"disconnect-grace = {10**400}", "disconnect-grace: a number of more than 60 digits is not a number of"),
        ("disconnect-grace = inf", "disconnect-grace: inf is too many seconds: use at most 1,000,000,000"),
        ("lease = 1e20", "lease: 1e+20 is too many seconds: use at most 1,000,000,000"),
        ("max-runs = inf", "max-runs: inf is not a whole number from 1"),
        (f"max-runs = {10**400}", "max-runs: a number of more than 60 digits is not a whole number from 1"),
        ("max-runs = 2026-01-01", "max-runs must be a single value"),
        ('audit = {file = "audit.jsonl"}', "audit must be a single value"),
        ('log-whole = [{logger = "my_app"}]', 'log-whole must be a list, such as ["first", "second"]'),
    ],
)
def test_a_value_of_toml_that_no_option_takes_is_one_line(folder: Path, line: str, told: str) -> None:
    (folder / "pyproject.toml").write_text(f"[tool.adk-ui-stream.serve]\n{line}\n")
    done = CliRunner().invoke(main, ["serve", "agent"])
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"error: pyproject.toml, [tool.adk-ui-stream.serve]: {told}")


def test_a_file_that_is_no_toml_is_one_line(folder: Path) -> None:
    (folder / "pyproject.toml").write_text("[tool")
    done = CliRunner().invoke(main, ["serve", "agent"])
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("error: cannot read pyproject.toml: ")


@pytest.mark.parametrize(
    "text", ["tool = 1", "[tool]\nadk-ui-stream = 'x'", "[tool.adk-ui-stream]\nserve = ['max-runs']"]
)
def test_a_table_that_is_none_is_refused_in_one_line(folder: Path, text: str) -> None:
    (folder / "pyproject.toml").write_text(text)
    done = CliRunner().invoke(main, ["serve", "agent"])
    assert (done.exit_code, done.stderr) == (
        2,
        "error: pyproject.toml: tool.adk-ui-stream.serve must be a table\n",
    )


@pytest.mark.parametrize("key", file_options())
def test_an_option_of_the_file_is_not_on_the_command_line(key: str) -> None:
    done = CliRunner().invoke(main, ["serve", "agent", f"--{key}", "1"])
    assert (done.exit_code, f"No such option '--{key}'" in done.stderr) == (2, True)


def test_init_writes_each_option_with_its_default() -> None:
    text = (TEMPLATE / "pyproject.toml").read_text()
    uncommented = text.replace("\n# ", "\n").replace("\nOptions of", "\n# Options of")
    table = tomllib.loads(uncommented)["tool"]["adk-ui-stream"]["serve"]
    assert [*table] == [*file_options()]
    context = click.Context(serve)
    for key, option in file_options().items():
        if key not in WITHOUT_DEFAULT:
            default, _ = option.handle_parse_result(context, {}, [])
            assert (key, table[key]) == (key, [*default] if option.multiple else default)
    assert tomllib.loads(text)["tool"]["adk-ui-stream"]["serve"] == {}


@pytest.mark.processes
def test_a_server_obeys_its_file(folder: Path) -> None:
    (folder / "agent.py").write_text(AGENT)
    write_settings(folder, {"requests-per-minute": 1, "audit": "audit.jsonl"})
    with serving("agent:root_agent", "--no-page", cwd=folder) as (_, url):
        statuses = [httpx.get(f"{url}/api/chats", timeout=HANG).status_code for _ in range(2)]
    assert statuses == [200, 429]
    assert (folder / "audit.jsonl").exists()


SHARING_AGENT = """
from typing import Literal

from google.adk.agents import LlmAgent
from pydantic import BaseModel

from stream_protocol.serving import PageContext, SharedState
from stream_protocol.testing import Wait, ScriptedLlm


class Screen(BaseModel):
    path: str


screen = PageContext(Screen)
shared = SharedState(read=["cart"], write={"currency": Literal["EUR", "JPY"]})


def respond(request):
    texts = [part.text for content in request.contents for part in content.parts if part.text]
    context = next((text for text in texts if '"path"' in text), "nothing")
    return [Wait(0.3), f"{texts[-1]}: {context[context.find('{'):]} {request.config.system_instruction}"]


root_agent = LlmAgent(name="mine", instruction="Prices in {currency?}.", model=ScriptedLlm(respond=respond))
"""


@pytest.mark.processes
@pytest.mark.parametrize("target", ["agent:root_agent", "mine"])
def test_the_file_names_the_context_and_the_shared_state(folder: Path, target: str) -> None:
    module = "agent" if target.startswith("agent") else "mine.agent"
    (folder / "mine").mkdir()
    for path in (folder / "agent.py", folder / "mine" / "agent.py"):
        path.write_text(SHARING_AGENT)
    (folder / "mine" / "__init__.py").write_text("from . import agent\n")
    write_settings(folder, {"context": f"{module}:screen", "shared-state": f"{module}:shared"})
    message = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "Where am I?"}]}
    with serving(target, "--no-page", cwd=folder) as (_, url), httpx.Client(base_url=url, timeout=HANG) as http:

        def post(**values: Any) -> httpx.Response:
            return http.post("/api/chat", json={"id": "c1", "messages": [message], **values})

        refused = [post(context={"path": 1}), post(state={"cart": []}), post(state={"currency": "USD"})]
        expected = [(422, "The context is not"), (422, "The page may not write"), (422, "The state currency is not")]
        for response, (status, text) in zip(refused, expected, strict=True):
            assert (response.status_code, response.text.startswith(text)) == (status, True)
        assert http.get("/api/chat/c1").status_code == 404
        reply = post(context={"path": "/cart", "not declared": 1}, state={"currency": "JPY"}).text
        assert "/cart" in reply
        assert "not declared" not in reply
        assert "JPY" in reply
        assert http.get("/api/chat/c1").json()["state"] == {"currency": "JPY"}
        changed = http.patch("/api/chat/c1/state", json={"currency": "EUR"})
        assert (changed.status_code, changed.json()) == (200, {"state": {"currency": "EUR"}})


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("agent:root_agent", "cannot load context = agent:root_agent: it is not a PageContext"),
        ("agent:nothing", "cannot load context = agent:nothing: it is not a PageContext"),
        ("nowhere:screen", "cannot load context = nowhere:screen: ModuleNotFoundError: No module named 'nowhere'"),
        ("broken:screen", "cannot load context = broken:screen: ZeroDivisionError: division by zero (broken.py"),
    ],
)
@pytest.mark.processes
def test_a_context_that_cannot_be_loaded_is_one_line(folder: Path, name: str, told: str) -> None:
    (folder / "agent.py").write_text(AGENT)
    (folder / "broken.py").write_text("1 / 0\n")
    write_settings(folder, {"context": name})
    done = cli("serve", "agent:root_agent", cwd=folder)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"error: {told}")


@pytest.mark.processes
@pytest.mark.parametrize("on_busy", ["steer", "reject"])
def test_the_file_chooses_the_effect_of_a_message_during_a_run(folder: Path, on_busy: str) -> None:
    (folder / "agent.py").write_text(SHARING_AGENT)
    write_settings(folder, {"on-busy": on_busy, "while-busy": "steer"})
    with serving("agent:root_agent", cwd=folder) as (_, url), httpx.Client(base_url=url, timeout=HANG) as http:
        assert http.get("/page.json").json()["whileBusy"] == "steer"
        bodies = [
            {"id": "c1", "messages": [{"id": each, "role": "user", "parts": [{"type": "text", "text": each}]}]}
            for each in ("first", "second")
        ]
        with http.stream("POST", "/api/chat", json=bodies[0]) as first:
            second = http.post("/api/chat", json=bodies[1])
            first.read()
        assert (second.status_code, '"finish"' in first.text) == (409 if on_busy == "reject" else 200, True)
