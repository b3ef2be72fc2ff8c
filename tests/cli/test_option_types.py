"""Values of options that are refused on the command line, before an agent is loaded: origins, headers, paths."""

import pytest
from click.testing import CliRunner

from stream_protocol.cli import main

SERVING = [["serve", "nowhere"], ["serve", "--replay", "nowhere"]]


@pytest.mark.parametrize("command", SERVING, ids=["an agent", "recordings"])
@pytest.mark.parametrize(
    ("origin", "told"),
    [
        ("localhost:3000", 'which no browser sends: write "http://localhost:3000".'),
        ("http://localhost:3000/", 'which no browser sends: write "http://localhost:3000".'),
        ("https://app.example:443", 'which no browser sends: write "https://app.example".'),
        ("https://*.app.example", 'which is not an origin: name each host, or write "*" for all.'),
        ("", "which is not an origin: write scheme, host and port"),
    ],
)
def test_an_origin_that_no_browser_sends_is_refused(command: list[str], origin: str, told: str) -> None:
    done = CliRunner().invoke(main, [*command, "--cors-origin", "https://a.example", "--cors-origin", origin])
    assert done.exit_code == 2
    assert done.stderr.startswith(f'error: `--cors-origin` has "{origin}"')
    assert told in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["X User", "X-User:", "Ü"])
def test_what_no_header_is_called_names_no_user(name: str) -> None:
    done = CliRunner().invoke(main, ["serve", "nowhere", "--user-header", name])
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith('error: `--user-header` must be the name of a header, such as "X-User", not ')


@pytest.mark.parametrize(
    "command",
    [
        ["check", ""],
        ["replay", ""],
        ["serve", ""],
        ["serve", "--replay", ""],
        ["serve", "nowhere", "--record", ""],
        ["types", ""],
    ],
    ids=" ".join,
)
def test_an_empty_path_is_refused(command: list[str]) -> None:
    done = CliRunner().invoke(main, command)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "The path must not be empty." in done.stderr
