import json
from pathlib import Path
from random import Random
from typing import NoReturn

import pytest
from click.testing import CliRunner, Result

from stream_protocol.check import Rule, Severity
from stream_protocol.cli.check_command import check
from tests.check import bad_streams
from tests.opened_files import open_as

LEGAL = b'data: {"type":"start"}\n\ndata: {"type":"finish"}\n\ndata: [DONE]\n\n'


def run(*arguments: str) -> Result:
    return CliRunner().invoke(check, arguments)


def bad_stream(rule: Rule) -> str:
    """Return the path of a stream that breaks this rule, as the report names it."""
    return str(bad_streams.path(rule).relative_to(Path.cwd()))


def written(folder: Path, data: bytes) -> str:
    file = folder / "stream"
    file.write_bytes(data)
    return str(file)


def test_a_legal_stream_is_exit_0(tmp_path: Path) -> None:
    file = written(tmp_path, LEGAL)
    result = run(file)
    assert (result.exit_code, result.stdout, result.stderr) == (0, f"{file}: valid for v6 and v7\n", "")


@pytest.mark.parametrize("rule", Rule)
def test_an_error_is_exit_1_and_a_warning_is_not(rule: Rule) -> None:
    result = run(str(bad_streams.path(rule)))
    errors = {each["rule"] for each in expected(rule)} & {str(rule) for rule in Rule if rule.severity is Severity.ERROR}
    assert result.exit_code == (1 if errors else 0)
    assert f" {rule.severity} [{rule}] chunk " in result.stdout
    assert len(result.stdout.splitlines()) == len(expected(rule)) + 1
    assert result.stderr == ""


def expected(rule: Rule) -> list[dict[str, str]]:
    return bad_streams.EXPECTED[rule]


def test_a_finding_says_where_how_bad_and_for_whom() -> None:
    file = bad_stream(Rule.OPEN_AT_FINISH_STEP)
    assert run(file).stdout.splitlines() == [
        f'{file}:9: error [open-at-finish-step] chunk 5, v6: Text "0" is open at finish-step.',
        f'{file}:21: warning [open-on-failure] chunk 11, v7: Text "0" is not ended.',
        f"{file}: invalid for v6, valid for v7 (1 error, 1 warning)",
    ]


def test_a_stream_can_be_judged_for_one_version() -> None:
    file = bad_stream(Rule.V7_ONLY_TYPE)
    assert run(file).stdout.splitlines()[-1] == f"{file}: invalid for v6, valid for v7 (1 error)"
    assert run(file, "--ai-sdk", "7").stdout == f"{file}: valid for v7\n"
    assert run(file, "--ai-sdk", "6").exit_code == 1


def test_findings_are_not_printed_if_the_file_turns_out_unreadable(tmp_path: Path) -> None:
    file = written(tmp_path, LEGAL.replace(b"start", b"begin") + b"{}\n")
    result = run(file)
    text = f"error: {file}: line 7 is JSON without `data:`, in an event stream\n"
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", text)


@pytest.mark.parametrize("name", [".", "missing", "empty", "rubbish"])
def test_what_cannot_be_read_is_exit_2_with_one_line(name: str, tmp_path: Path, rng: Random) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "rubbish").write_bytes(rng.randbytes(2000).replace(b":", b"?"))
    result = run(str(tmp_path / name))
    assert (result.exit_code, result.stdout, len(result.stderr.splitlines())) == (2, "", 1)


def test_a_file_that_may_not_be_read_is_exit_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> NoReturn:
        raise PermissionError(13, "Permission denied")  # root would be let in

    file = written(tmp_path, LEGAL)
    open_as(monkeypatch, Path(file), refuse)
    result = run(file)
    assert (result.exit_code, result.stderr) == (2, f"error: {file}: Permission denied\n")


def test_several_files_are_counted(tmp_path: Path) -> None:
    good, bad = written(tmp_path, LEGAL), bad_stream(Rule.V7_ONLY_TYPE)
    assert run(good, good).stdout.splitlines() == [f"{good}: valid for v6 and v7"] * 2 + ["2 files: 2 valid, 0 invalid"]
    result = run(good, bad)
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (1, "2 files: 1 valid, 1 invalid")
    assert result.stdout.startswith(f"{good}: valid for v6 and v7\n{bad}:")


def test_one_unreadable_file_of_several_is_exit_2(tmp_path: Path) -> None:
    good, missing = written(tmp_path, LEGAL), str(tmp_path / "missing")
    result = run(good, missing)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"error: {missing}: No such file or directory\n"


def test_the_standard_input_is_checked_like_a_file() -> None:
    data = bad_streams.path(Rule.V7_ONLY_TYPE).read_bytes()
    result = CliRunner().invoke(check, ["-"], input=data)
    whole = run(file := bad_stream(Rule.V7_ONLY_TYPE))
    assert (result.exit_code, result.stdout, result.stderr) == (1, whole.stdout.replace(file, "stdin"), "")


def test_events_are_checked_from_the_standard_input(tmp_path: Path) -> None:
    turn = {"userContent": {"parts": [{"text": "hi"}]}, "finalResponse": {"parts": [{"text": "yo"}]}}
    cases = json.dumps({"eval_set_id": "e", "eval_cases": [{"evalId": "a", "conversation": [turn]}]})
    result = CliRunner().invoke(check, [written(tmp_path, LEGAL), "-"], input=cases)
    assert (result.exit_code, result.stdout.splitlines()[1:]) == (
        0,
        ["stdin: valid for v6 and v7", "2 files: 2 valid, 0 invalid"],
    )


def test_an_unreadable_standard_input_is_exit_2() -> None:
    for data, reason in (("", "the file is empty"), ("[project]", "not a stream")):
        result = CliRunner().invoke(check, ["-"], input=data)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.startswith(f"error: stdin: {reason}")


@pytest.mark.parametrize("arguments", [("-", "-"), ("-", "--session", "a")])
def test_the_standard_input_is_read_once_and_has_no_sessions(arguments: tuple[str, ...]) -> None:
    assert run(*arguments).exit_code == 2


def test_a_path_below_the_working_directory_is_relative_in_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "inner").mkdir()
    file = written(tmp_path / "inner", LEGAL)
    monkeypatch.chdir(tmp_path)
    assert run(file).stdout == "inner/stream: valid for v6 and v7\n"
    monkeypatch.chdir(tmp_path / "inner")
    assert run(f"{tmp_path}/inner/stream", "../inner/stream").stdout.splitlines()[:2] == [
        "stream: valid for v6 and v7",
        "../inner/stream: valid for v6 and v7",
    ]


def test_a_session_is_one_of_one_file(tmp_path: Path) -> None:
    file = written(tmp_path, LEGAL)
    result = run(file, file, "--session", "a")
    assert (result.exit_code, "--session needs one FILE." in result.stderr) == (2, True)


def test_bad_usage_is_exit_2(tmp_path: Path) -> None:
    assert run().exit_code == 2
    assert run(written(tmp_path, LEGAL), "--ai-sdk", "5").exit_code == 2


def test_a_session_of_several_can_be_judged(tmp_path: Path) -> None:
    turn = {"userContent": {"parts": [{"text": "hi"}]}, "finalResponse": {"parts": [{"text": "yo"}]}}
    cases = [{"evalId": name, "conversation": [turn]} for name in ("a", "b")]
    file = written(tmp_path, json.dumps({"eval_set_id": "e", "eval_cases": cases}).encode())
    text = f'error: {file}: 2 eval cases are in it, and --session chooses one: "a", "b"\n'
    assert (run(file).exit_code, run(file).stderr) == (2, text)
    assert run(file, "--session", "b").stdout == f"{file}: valid for v6 and v7\n"


def test_ids_from_a_stream_cannot_write_to_the_terminal(tmp_path: Path) -> None:
    chunk = '{"type":"text-delta","id":"\\u001b[31m\\u009b\\n' + "x" * 500 + '","delta":""}'
    lines = run(written(tmp_path, f"data: {chunk}\n\n".encode())).stdout
    assert lines.replace("\n", "").isprintable()
    assert max(map(len, lines.splitlines())) < len(str(tmp_path)) + 200
