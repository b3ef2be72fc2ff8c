import os
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import entry_points
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version
from trove_classifiers import classifiers

import stream_protocol
from stream_protocol.cli.init_command import TEMPLATE

ROOT = Path(__file__).parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
VERSION: str = PROJECT["project"]["version"]
PUBLIC = (
    *("SSE_DONE", "SSE_HEADERS", "AgentRunError", "AiSdkVersion", "AnyChunk", "ChatRequest", "ChatRequestError"),
    *("Chunk", "ClientStreamError", "ConverterOptions", "StreamProtocolConverter", "StreamProtocolError", "UIMessage"),
    *("encode_sse", "iter_chunks", "iter_sse", "message_to_chunks", "parse_chat_request", "parse_sse"),
    *("reduce_chunks", "stream_chunks", "stream_sse"),
)
NOT_LOADED_BY_ANY_NAME = {"asyncio", "click", "google.adk", "google.genai", "pydantic", "starlette", "uvicorn"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel that is built from this tree, without a network."""
    out = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True, timeout=120)
    (wheel,) = out.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(built: Path) -> set[str]:
    """The names of the files in the wheel."""
    with zipfile.ZipFile(built) as archive:
        return set(archive.namelist())


@pytest.mark.slow
def test_the_wheel_installs_one_package_its_plugin_and_nothing_else_at_top_level(wheel: set[str]) -> None:
    metadata = f"adk_ui_stream-{VERSION}.dist-info"
    assert {name.split("/")[0] for name in wheel} == {"stream_protocol", "adk_ui_stream_pytest.py", metadata}


def test_the_wheel_holds_the_page_and_the_mark_of_a_typed_package(wheel: set[str]) -> None:
    assert {"stream_protocol/py.typed", "stream_protocol/page/index.html"} <= wheel


def test_the_wheel_holds_the_project_that_is_made_with_its_page(wheel: set[str]) -> None:
    project = "stream_protocol/cli/project/"
    assert {f"{project}README.md", f"{project}.gitignore", f"{project}page/package.json"} <= wheel
    assert [name for name in wheel if re.search(r"node_modules|\.next/|__pycache__|\.pyc$", name)] == []


def test_what_a_package_index_shows_leads_to_no_file_of_the_repository(built: Path) -> None:
    with zipfile.ZipFile(built) as archive:
        metadata = archive.read(f"adk_ui_stream-{VERSION}.dist-info/METADATA").decode()
    headers, _, page = metadata.partition("\n\n")
    assert "Description-Content-Type: text/markdown" in headers
    assert "adk-ui-stream serve my_chat" in page
    assert re.findall(r"\]\((?!https://)[^)]*\)", page) == []
    assert "<img" not in page


def test_the_wheel_holds_every_module_of_the_package(wheel: set[str]) -> None:
    modules = {str(path.relative_to(ROOT)) for path in (ROOT / "stream_protocol").rglob("*.py")}
    assert modules | {"adk_ui_stream_pytest.py"} == {name for name in wheel if name.endswith(".py")}


def files_of_git(*options: str) -> list[Path]:
    if not (ROOT / ".git").exists():
        pytest.skip("not a clone")
    listing = subprocess.run(["git", "ls-files", *options], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / line for line in listing.splitlines()]


def test_a_link_in_the_repository_leads_to_a_file_of_the_repository() -> None:
    """A link to a path of one machine breaks `make setup` in every other clone."""
    files = files_of_git()
    folders = {folder for file in files for folder in file.parents}
    links = {link: Path(os.path.normpath(link.parent / link.readlink())) for link in files if link.is_symlink()}
    assert {link for link, target in links.items() if target not in folders.union(files)} == set()


def test_the_repository_holds_nothing_that_git_shall_ignore() -> None:
    assert files_of_git("--cached", "--ignored", "--exclude-standard") == []


def test_the_public_names_are_those_that_were_promised() -> None:
    promised = set(PUBLIC)
    assert set(stream_protocol.__all__) == promised
    assert all(getattr(stream_protocol, name) is not None for name in promised)


def test_another_name_is_none_of_the_packages() -> None:
    with pytest.raises(AttributeError, match="module 'stream_protocol' has no attribute 'reduce_chunk'"):
        _ = stream_protocol.reduce_chunk  # type: ignore[attr-defined]  # mypy knows as well


def test_a_prompt_shows_the_names() -> None:
    assert set(PUBLIC) < set(dir(stream_protocol))


def loaded_by(code: str) -> set[str]:
    command = [sys.executable, "-c", f"{code}; import sys; print(*sys.modules)"]
    run = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    return set(run.stdout.split())


def test_the_import_loads_nothing_that_was_not_asked_for() -> None:
    ours = {name for name in loaded_by("import stream_protocol") if name.startswith("stream_protocol")}
    assert ours == {"stream_protocol", "stream_protocol._lazy_front"}


def test_no_name_of_the_package_loads_adk_or_a_server() -> None:
    assert not loaded_by("from stream_protocol import *") & NOT_LOADED_BY_ANY_NAME


def test_the_command_is_installed() -> None:
    (script,) = entry_points(group="console_scripts", name="adk-ui-stream")
    assert callable(script.load())


def test_the_changelog_has_an_entry_for_this_version() -> None:
    assert re.search(rf"^## \[{re.escape(VERSION)}\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)


def test_the_citation_is_of_this_version_and_licence() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {name: citation[name] for name in ("cff-version", "type", "version", "license")} == {
        "cff-version": "1.2.0",
        "type": "software",
        "version": VERSION,
        "license": PROJECT["project"]["license"],
    }


def test_the_classifiers_are_those_that_the_index_knows_and_name_the_pythons_of_the_tests() -> None:
    named: list[str] = PROJECT["project"]["classifiers"]
    assert set(named) <= classifiers
    assert named == sorted(named)
    pythons = [name.rpartition(" ")[2] for name in named if re.search(r"Python :: 3\.\d", name)]
    assert PROJECT["project"]["requires-python"] == f">={pythons[0]}"


def test_a_new_project_wants_this_version() -> None:
    requirements = (TEMPLATE / "requirements.txt").read_text().splitlines()
    assert f"adk-ui-stream~={VERSION}" in requirements


def locked(name: str) -> dict[str, str]:
    """Package -> version."""
    lock = (ROOT / "requirements" / name).read_text()
    return dict(re.findall(r"^([\w.-]+)==(\S+)", lock, re.MULTILINE))


def runtime_ranges() -> list[Requirement]:
    extras = PROJECT["project"]["optional-dependencies"].values()
    return [*map(Requirement, [*PROJECT["project"]["dependencies"], *chain(*extras)])]


NOT_OLDEST = {"dbos"}
"""It wants a newer SQLAlchemy than all else."""


def test_the_page_on_dependencies_explains_each_one() -> None:
    page = (ROOT / "docs/decisions/dependencies.md").read_text(encoding="utf-8")
    assert [each.name for each in runtime_ranges() if f"`{each.name}`" not in page] == []


@pytest.mark.parametrize(("name", "groups"), [("ci.txt", ["dev", "docs"]), ("oldest.txt", ["dev"])])
def test_the_locked_versions_lie_in_the_declared_ranges(name: str, groups: list[str]) -> None:
    ranges = [
        *runtime_ranges(),
        *(Requirement(each) for group in groups for each in PROJECT["dependency-groups"][group]),
    ]
    left_out = NOT_OLDEST if name == "oldest.txt" else set()
    versions = locked(name)
    assert [r for r in ranges if r.name not in left_out and not r.specifier.contains(versions[r.name.lower()])] == []


@pytest.mark.parametrize("name", ["ci.txt", "oldest.txt", "server.txt"])
def test_every_locked_version_has_its_hashes(name: str) -> None:
    lock = (ROOT / "requirements" / name).read_text()
    entries = re.split(r"^(?=[\w.-]+==)", lock, flags=re.MULTILINE)[1:]
    assert entries
    assert [entry for entry in entries if "--hash=sha256:" not in entry] == []


def test_the_image_has_what_the_tests_had_and_nothing_of_the_tests() -> None:
    server, tested = locked("server.txt"), locked("ci.txt")
    assert server.items() <= tested.items()
    assert {r.name for r in runtime_ranges()} <= server.keys()
    assert "pytest" not in server


def test_the_oldest_versions_are_the_lower_ends_of_the_ranges() -> None:
    versions = locked("oldest.txt")
    ends = {r.name.lower(): end.version for r in runtime_ranges() for end in r.specifier if end.operator == ">="}
    other = {name for name in ends.keys() - NOT_OLDEST if Version(ends[name]) != Version(versions[name])}
    assert other == {"click"}, "which the tests want newer"
